"""What is left of a forgotten person outside of the records: caches, ledgers, the index, notes.

All of it lies in `.bumble/`, in `memory.db` or in the user's cache, and is this entity's alone. The
counts and times of a ledger stay, since the day's limits rest on them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bumble.entity import commits, review_branch
from bumble.entity.folder import Entity
from bumble.errors import IndexServerError
from bumble.files import disk
from bumble.index import place, sync
from bumble.index.place import Place
from bumble.jobs.forgetting.forget import Forgetting
from bumble.runtime import review_queue

_STILL_THERE = (
    "The files have forgotten. What the server holds of it is deleted, and its space freed, by the"
    " next search or `bumble index` that reaches it."
)
FORGOTTEN = "forgotten"  # in the place of a text of a ledger that told of them


def drop_caches(entity: Entity, caches: Iterable[Path]) -> None:
    """Remove what is kept for speed, and the prompts that are kept: it may hold what was said.

    Args:
        entity: Who forgets.
        caches: The folders of the user's cache that hold something of this entity, and of no other.
    """
    disk.clear(entity.private / "cache")
    disk.remove(entity.prompts)  # it holds all that was said
    disk.remove(entity.typed)  # and that what they said at this terminal
    for folder in caches:
        disk.clear(folder)


def scrub(
    entity: Entity, plans: Sequence[Forgetting], at: Place, *, name: str, zone: tzinfo
) -> tuple[str, ...]:
    """Take a person out of the ledgers, the notes of commits that wait, and the index.

    Args:
        entity: Who forgets.
        plans: What was forgotten.
        at: Where its index stands. One that it left behind in the folder forgets, too.
        name: What the entity is called.
        zone: Its time zone.

    Returns:
        What may still be left of it.

    Raises:
        IndexServerError: If the server of the index does not answer; the next sync deletes the
            rows there.
    """

    def tells(text: str) -> bool:
        return any(plan.tells_of(text) for plan in plans)

    for path in (entity.ledger, entity.runs):
        _scrub_ledger(path, tells)
    commits.reword_notes(entity.root, tells)
    review_branch.drop(
        entity.root, review_queue.stray(entity.root)
    )  # what told of them waits no more
    remains: tuple[str, ...] = ()
    if entity.vectors.exists():
        local = place.of(entity)
        remains += sync.sync(entity, None, name=name, zone=zone, where=local, shreds=True).notes
    if at.server:
        server = replace(at, local=None)  # nothing stands in for it: it has to forget
        sync.owe_sweep(entity)
        try:
            remains += _forgotten_there(entity, server, name, zone)
        except IndexServerError as error:
            problem = str(error).splitlines()[0].removeprefix(f"{at.shown}: ")
            raise IndexServerError(at.shown, problem, _STILL_THERE) from error
    return remains


def _forgotten_there(entity: Entity, at: Place, name: str, zone: tzinfo) -> tuple[str, ...]:
    if at.server and at.server.holds(entity):
        return sync.sync(entity, None, name=name, zone=zone, where=at, shreds=True).notes
    disk.remove(entity.private / sync.SWEEP)
    return ()


def _scrub_ledger(path: Path, tells: Callable[[str], bool]) -> None:
    data = disk.read_if_there(path)
    if data is None or not tells(data.decode(errors="replace")):
        return
    lines = []
    for line in data.decode(errors="replace").splitlines():
        if not tells(line):
            lines.append(line)
            continue
        try:
            lines.append(json.dumps(_scrubbed(json.loads(line), tells), ensure_ascii=False))
        except (ValueError, RecursionError):  # torn: nobody reads it
            continue
    disk.write_atomic(path, "".join(f"{line}\n" for line in lines).encode())


def _scrubbed(value: Any, tells: Callable[[str], bool]) -> Any:
    if isinstance(value, str):
        return FORGOTTEN if tells(value) else value
    if isinstance(value, list):
        return [_scrubbed(element, tells) for element in value]
    if isinstance(value, dict):
        return {key: _scrubbed(inner, tells) for key, inner in value.items()}
    return value
