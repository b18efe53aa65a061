"""Forgetting once more what a merge, an import or a copy brought back, and when to look for it.

Looking means reading every record, so it is done only after git has moved the folder to commits
that bumble did not make itself: its log of HEAD tells. `doctor` looks each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path

from bumble import files, gitdir
from bumble.entity import commits
from bumble.entity.changes import ChangeSet
from bumble.entity.commits import Keeping
from bumble.entity.folder import Entity
from bumble.errors import FolderUnwritableError, RecordInvalidError
from bumble.forgetting import brought_back, traces
from bumble.forgetting.forget import Forgetting
from bumble.index.place import Place
from bumble.records import forgotten
from bumble.upkeep.findings import Finding

MARK = "forgotten"  # in `.bumble/`: how long the log of HEAD was when all was looked through
MOST_ROUNDS = 20
TITLE = "person forget: what a merge brought back"


def may_be_back(entity: Entity) -> bool:
    """Whether git has brought commits since the last look, where anybody was forgotten."""
    if not (entity.root / forgotten.PATH).exists():
        return False
    repository = gitdir.find(entity.root)
    if repository is None or repository.under_way:
        return False
    mark = (files.read_cache(entity.private / MARK) or b"").strip()
    log = gitdir.content(repository.private / "logs" / "HEAD")
    if log is None:
        return False
    start = int(mark) if mark.isdigit() and int(mark) <= len(log) else 0
    return any(not _is_plain_commit(line) for line in log[start:].splitlines())


def _is_plain_commit(line: bytes) -> bool:
    """Whether a line of the log is of a commit that was made here, on what was here before."""
    message = line.partition(b"\t")[2]
    return message.startswith((b"commit:", b"commit (initial):"))


def check(entity: Entity, zone: tzinfo) -> Iterator[Finding]:
    """Yield what is here again though it was forgotten."""
    try:
        plan = brought_back.plan(entity, zone)
    except RecordInvalidError as error:
        if error.path.name == forgotten.PATH:
            yield Finding("record-invalid", error.problem, forgotten.PATH, error.line)
        return  # another file is a finding of its own
    for change in plan.changes:
        sentence = "what was forgotten is here again"
        yield Finding("forgotten-back", sentence, change.path, fix="bumble doctor --fix")


def note_look(entity: Entity) -> None:
    """Remember that all that git has brought by now was looked through."""
    repository = gitdir.find(entity.root)
    log = gitdir.content(repository.private / "logs" / "HEAD") if repository else None
    with suppress(FolderUnwritableError):
        files.write_atomic(entity.private / MARK, str(len(log or b"")).encode())


def forget_again(
    entity: Entity,
    keeping: Keeping,
    caches: Iterable[Path],
    *,
    at: Place,
    zone: tzinfo,
    timeout_seconds: float,
) -> Forgetting:
    """Forget what is back, in the folder and around it.

    Args:
        entity: Who forgets.
        keeping: How commits are made.
        caches: The folders of the user's cache that hold something of this entity alone.
        at: Where its index stands.
        zone: Its time zone.
        timeout_seconds: How long to wait for another writer.

    Returns:
        What was done; without changes if nothing was back.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    plan = Forgetting((), {}, ())
    for _ in range(MOST_ROUNDS):  # what two people share is done for one after the other
        more = brought_back.plan(entity, zone)
        if not more.changes:
            break
        plan = more
        change_set = ChangeSet(TITLE, plan.changes)
        commits.apply(entity.root, change_set, keeping, timeout_seconds=timeout_seconds)
        traces.drop_caches(entity, caches)
        traces.scrub(entity, [plan], at, name=keeping.name, zone=zone)
    note_look(entity)
    return plan
