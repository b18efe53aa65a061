"""What stays and may still tell of them: files somebody has to look at, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from bumble.entity import changes, companions
from bumble.jobs.forgetting.draft import ForgettingDraft
from bumble.records import forgotten, kinds
from bumble.records.kind import RecordView

STILL_NAMED = "it still has the name, in words that are a person's to edit"
NAMED_BEFORE = "the name is gone from it; whether its words still tell of them is yours to see"
RESTS_IN_PART = "it rests in part on what is forgotten"
FILE_NAMED = "its file is named for them"
STILL_QUOTED = "it has words of theirs, in what a person wrote"
_LARGEST_LOOKED_INTO = 4_000_000  # of files that no kind of record reads, in bytes


class Undecided(Struct, frozen=True):
    """A file that stays and may still tell of the person: somebody has to look at it."""

    path: str
    kind: str  # name of a kind of record, or `settings`
    reason: str


def find(draft: ForgettingDraft) -> Iterator[Undecided]:
    """Find what stays and may still tell of them, with what speaks for that."""
    entity = draft.entity
    yield from _judge(draft, entity.file, "settings", ())
    for kind in kinds.KINDS:
        for path in kind.paths(entity):
            views = next(
                (views for place, views in draft.views.get(kind.name, ()) if place == path), ()
            )
            yield from _judge(draft, path, kind.name, views)
    for path in _other_files(draft):
        yield from _judge(draft, path, "file", ())


def _other_files(draft: ForgettingDraft) -> Iterator[Path]:
    """Yield the files that no kind of record reads, those of the workspace among them."""
    entity = draft.entity
    read = {path for kind in kinds.KINDS for path in kind.paths(entity)} | {entity.file}
    derived = {".git", ".bumble", str(changes.HISTORY)}
    derived_names = ("memory.db", forgotten.PATH)
    for path in sorted(entity.root.rglob("*")):
        place = path.relative_to(entity.root)
        beside = len(place.parts) > 2 and place.parts[2] == "blobs"  # looked at with the transcript
        if beside or path in read or not derived.isdisjoint(place.parts):
            continue
        record = companions.record_of(place.as_posix())
        if record is not None and (entity.root / record).is_file():  # read with it
            continue
        if path.is_symlink() or not path.is_file() or place.name.startswith(derived_names):
            continue
        if path.stat().st_size <= _LARGEST_LOOKED_INTO:
            yield path


def _judge(
    draft: ForgettingDraft, path: Path, kind: str, views: Sequence[RecordView]
) -> Iterator[Undecided]:
    relative = draft.entity.relative(path)
    change, old = draft.planned.get(relative), companions.read(draft.entity.root, relative) or b""
    new = old if change is None else change.data
    if new is None:
        return
    reasons = {
        STILL_NAMED: draft.is_named_in(new),
        STILL_QUOTED: draft.speech.quotes(new.decode(errors="replace")),
        NAMED_BEFORE: bool(views) and draft.is_named_in(old),
        RESTS_IN_PART: any(
            draft.gone & set(view.sources) for view in views if not draft.is_own(view)
        ),
        FILE_NAMED: bool(views) and f"-{draft.person}-" in f"-{kinds.BY_NAME[kind].stem(path)}-",
    }
    reason = next((text for text, holds in reasons.items() if holds), None)
    if reason:
        yield Undecided(relative, kind, reason)
