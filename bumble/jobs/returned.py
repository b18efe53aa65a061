"""Forgetting once more what a merge, an import or a copy brought back.

Looking means reading every record, so it is done only after git has moved the folder to commits
that bumble did not make itself (`history/clone`). `doctor` looks each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from pathlib import Path

from bumble.entity import commits, companions
from bumble.entity.changes import ChangeSet
from bumble.entity.commits import Keeping
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.files import git
from bumble.history.findings import Finding
from bumble.index.place import Place
from bumble.jobs.forgetting import brought_back, traces
from bumble.jobs.forgetting.forget import Forgetting
from bumble.records import forgotten

MOST_ROUNDS = 20
TITLE = "person forget: what a merge brought back"


def check(entity: Entity, zone: tzinfo) -> Iterator[Finding]:
    """Yield what is here again though it was forgotten."""
    try:
        again = brought_back.plan(entity, zone)
    except RecordInvalidError as error:
        if error.path.name == forgotten.PATH:
            yield Finding("record-invalid", error.problem, forgotten.PATH, error.line)
        return  # another file is a finding of its own
    for change in again.changes:
        sentence = "what was forgotten is here again"
        yield Finding("forgotten-back", sentence, change.path, fix="bumble doctor --fix")


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
    done = Forgetting((), {}, ())
    for _ in range(MOST_ROUNDS):  # what two people share is done for one after the other
        more = brought_back.plan(entity, zone)
        if not more.changes:
            break
        done = more
        change_set = ChangeSet(TITLE, done.changes)
        commits.apply(entity.root, change_set, keeping, timeout_seconds=timeout_seconds)
        _stage(entity, keeping, done)
        traces.drop_caches(entity, caches)
        traces.scrub(entity, [done], at, name=keeping.name, zone=zone)
    return done


def _stage(entity: Entity, keeping: Keeping, plan: Forgetting) -> None:
    """Have what git is in the middle of go on with what is left, instead of stopping at it."""
    place = git.at(entity.root, trusted=keeping.trusted)
    if place is not None and place.repository.under_way and keeping.autocommit:
        pairs = [(change.path, companions.place(change.path)) for change in plan.changes]
        paths = [name for pair in pairs for name in pair if name]
        known = place.call("--literal-pathspecs", "ls-files", "-z", "--", *paths).text.split("\0")
        there = [name for name in paths if name in known or (entity.root / name).exists()]
        place.call("--literal-pathspecs", "add", "--all", "--ignore-errors", "--", *there)
