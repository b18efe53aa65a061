"""What a merge, an import or a copy brought back of the forgotten, and how it goes again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path

from msgspec import Struct, field

from bumble.entity import commits, companions
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.commits import CommitPolicy
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.files import git
from bumble.history.findings import Finding
from bumble.index.place import Place
from bumble.jobs.forgetting import forget, transcripts
from bumble.jobs.forgetting.forget import Forgetting, Undecided
from bumble.records import base, forgotten, jsonl, kinds, relationships, session_files
from bumble.records.forgotten import Forgotten
from bumble.records.sessions import Session

NOBODY = "?"  # in the place of an id that is not known: no id is like it


class _Back(Struct):
    """What is here of somebody who was forgotten."""

    names: list[str] = field(default_factory=list)
    returned: bool = False  # there is something that has to go
    speaks: bool = False  # said to an entity that did not know of it: in a clone, or before
    met_anew: bool = False  # said to one that did
    new: bool = False  # they have a file that was begun since

    def until(self, entry: Forgotten) -> datetime | None:
        """Return until when what is no message of theirs goes; None: all of it does."""
        return entry.at if self.met_anew or (self.new and not self.speaks) else None


def plan(entity: Entity, zone: tzinfo) -> Forgetting:
    """Plan to forget once more what a merge, an import or a copy brought back.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    planned: dict[str, Change] = {}
    counts: Counter[str] = Counter()
    undecided: list[Undecided] = []
    for entry in forgotten.read(entity.root):
        for person, back in _returned(entity, entry, zone).items():
            until = entry.at if person == NOBODY else back.until(entry)
            more = forget.plan(entity, person, back.names, zone, entry=entry, until=until)
            if planned.keys().isdisjoint(change.path for change in more.changes):
                planned |= {change.path: change for change in more.changes}
                counts.update(more.counts)
                undecided += more.undecided if more.changes else ()
    return Forgetting(tuple(planned.values()), dict(counts), tuple(undecided))


def _returned(entity: Entity, entry: Forgotten, zone: tzinfo) -> dict[str, _Back]:
    """Return whom of the forgotten the folder holds something of again.

    Where only messages or records are back, without their names, the id is NOBODY.
    """
    found: defaultdict[str, _Back] = defaultdict(_Back)
    for path in kinds.PERSON.paths(entity):
        person = base.load(path, relationships.parse)
        if any(map(entry.is_named, (person.id, *person.names))):
            back = found[person.id]
            back.names += person.names
            back.new = bool(person.first_met and person.first_met > entry.at)
            back.returned |= not back.new
    for path in kinds.SESSION.paths(entity):
        _hear(session_files.load(path), entry, found)
    of_ids = (kind for kind in kinds.KINDS if kind.prefix and kind is not kinds.SESSION)
    if any(kind.stem(path) in entry.ids for kind in of_ids for path in kind.paths(entity)):
        found[NOBODY].returned = True
    for name in _listed(entity, zone):
        if entry.is_named(name) and found[name].until(entry) is None:
            found[name].returned = True
    returned = {person: back for person, back in found.items() if back.returned}
    if len(returned) > 1:
        returned.pop(NOBODY, None)  # their ids go with the first of them
    return returned


def _hear(session: Session, entry: Forgotten, found: defaultdict[str, _Back]) -> None:
    """Find what somebody who was forgotten says in a conversation."""
    if jsonl.doubles(jsonl.read(session.source)[0]):
        found[NOBODY].returned = True
    for message in session.messages:
        speaker = transcripts.speaker(session, message)
        if transcripts.is_emptied(message):
            continue
        if entry.is_named(speaker):
            back = found[speaker]
            back.names.append(str(message.extra.get("name") or ""))
            is_met = entry.is_met_after(message)
            back.met_anew |= is_met
            back.speaks |= not is_met
            back.returned |= not is_met
        elif message.id in entry.ids:
            found[NOBODY].returned = True


def _listed(entity: Entity, zone: tzinfo) -> set[str]:
    """Return the ids of all whom a record is of or for; one that can't be read names nobody."""
    listed = set[str]()
    for kind in kinds.KINDS:
        for path in kind.paths(entity) if kind not in (kinds.PERSON, kinds.SESSION) else ():
            with suppress(RecordInvalidError):
                views = kind.read(path, zone)
                listed |= {one for view in views for one in (*view.origin.audience, *view.people)}
    return listed


MOST_ROUNDS = 20
TITLE = "person forget: what a merge brought back"


def check(entity: Entity, zone: tzinfo) -> Iterator[Finding]:
    """Yield what is here again though it was forgotten."""
    try:
        again = plan(entity, zone)
    except RecordInvalidError as error:
        if error.path.name == forgotten.PATH:
            yield Finding("record-invalid", error.problem, forgotten.PATH, error.line)
        return  # another file is a finding of its own
    for change in again.changes:
        sentence = "what was forgotten is here again"
        yield Finding("forgotten-back", sentence, change.path, fix="bumble doctor --fix")


def forget_again(
    entity: Entity,
    policy: CommitPolicy,
    caches: Iterable[Path],
    *,
    at: Place,
    zone: tzinfo,
    timeout_seconds: float,
) -> Forgetting:
    """Forget what is back, in the folder and around it.

    Args:
        entity: Who forgets.
        policy: How commits are made.
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
        more = plan(entity, zone)
        if not more.changes:
            break
        done = more
        change_set = ChangeSet(TITLE, done.changes)
        commits.apply(entity.root, change_set, policy, timeout_seconds=timeout_seconds)
        _stage(entity, policy, done)
        forget.drop_caches(entity, caches)
        forget.scrub_traces(entity, [done], at, name=policy.name, zone=zone)
    return done


def _stage(entity: Entity, policy: CommitPolicy, plan: Forgetting) -> None:
    """Have what git is in the middle of go on with what is left, instead of stopping at it."""
    place = git.at(entity.root, trusted=policy.trusted)
    if place is not None and place.repository.under_way and policy.autocommit:
        pairs = [(change.path, companions.place(change.path)) for change in plan.changes]
        paths = [name for pair in pairs for name in pair if name]
        known = place.call("--literal-pathspecs", "ls-files", "-z", "--", *paths).text.split("\0")
        there = [name for name in paths if name in known or (entity.root / name).exists()]
        place.call("--literal-pathspecs", "add", "--all", "--ignore-errors", "--", *there)
