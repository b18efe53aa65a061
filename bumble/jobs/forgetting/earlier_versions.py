"""Forgetting earlier versions: what `.history/` holds of files that change, or of them."""

from __future__ import annotations

from pathlib import Path

from bumble.entity import changes, companions
from bumble.files import disk
from bumble.jobs.forgetting.draft import ForgettingDraft
from bumble.records import relationships

HISTORY = str(changes.HISTORY)
ARCHIVE = ".zip"


def forget(draft: ForgettingDraft) -> None:
    """Remove earlier versions kept in `.history/`: of files that change, and what tells of them."""
    for path in companions.orphans(draft.entity.root):
        text = (disk.read_if_there(path) or b"").decode(errors="replace")
        if (
            draft.is_named(text)
            or draft.speech.echoes(text)
            or any(one in text for one in draft.gone)
        ):
            draft.remove(path, "sources of what is gone")
    history = draft.entity.root / HISTORY
    if not (draft.planned or history.is_dir()):
        return
    changed = {*draft.planned, relationships.path(draft.person)}
    for path in sorted(history.rglob("*")) if history.is_dir() else []:
        if not path.is_file():
            continue
        place = path.relative_to(history)
        original = place.with_name(f"{place.stem.rsplit('.', 1)[0]}{place.suffix}").as_posix()
        cut_off = place.name.partition(".")[2]  # what a kill kept from being written
        data = disk.read_if_there(path) or b""
        holds = (
            original in changed
            or path.suffix == ARCHIVE  # the folder before a migration: packed, and whole
            or cut_off in {Path(changed_path).name for changed_path in changed}
            or draft.is_named_in(data)
            or draft.speech.echoes(data.decode(errors="replace"))
        )
        if holds:
            draft.remove(path, "earlier versions")
