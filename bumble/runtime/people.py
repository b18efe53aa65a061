"""People in talks: interaction counts, stages and health of a relationship, pending notes.

Until scores have been read off a portrait, and always where portraits are switched off, the scalar
model of `bumble.body.familiarity` moves them.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.body import familiarity, significance
from bumble.entity.changes import Change
from bumble.entity.config import NAMELESS, Identity
from bumble.entity.folder import Entity
from bumble.errors import NameUnclearError, RecordInvalidError, UsageError
from bumble.files import disk
from bumble.guard.names import inflects, meant
from bumble.records import base, relationships, session_files
from bumble.records.provenance import BY_FORM, is_untrusted
from bumble.records.sessions import Session
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

UNNAMED = "you"  # an owner of whom the folder has no name
STAGES = ("forming", "developing", "established", "deep")
STAGE_ENDS = (10, 50, 150)  # talks
STEADY = 0.01  # a change of health smaller than this is none
_WITHIN = patterns.compile(r"(?<=[\w,;] )\w+")
OWNER_MARK = b'"owner"'  # stands in every transcript that has a word of the owner


def find_person(runtime: Runtime, person: str) -> relationships.Relationship | None:
    """Read the file of a person; None where there is none."""
    file = runtime.entity.root / relationships.PERSON.path(person)
    return base.load(file, relationships.PERSON.parse) if file.exists() else None


def readable_person(runtime: Runtime, person: str) -> relationships.Relationship | None:
    """Read the file of a person for a talk; None where there is none that can be read."""
    return runtime.read_or(lambda: find_person(runtime, person), None)


class Person(Struct, frozen=True):
    """Who speaks."""

    id: str
    name: str
    trust: str  # "owner" or "person"

    @property
    def called(self) -> str:
        """Their name; empty where it only stands for one that nobody has said."""
        return "" if self.name in (UNNAMED, NAMELESS) else self.name


def speaker(entity: Entity, identity: Identity, name: str | None) -> Person:
    """Return who speaks: somebody the entity knows, a new name, or the owner.

    Raises:
        UsageError: If the name is none.
        NameUnclearError: If it is that of somebody known but for its marks.
    """
    if name is not None and not (name.strip() and name.isprintable()):
        raise UsageError("A person's name should be one line of text.")
    owner = identity.owner.name or UNNAMED
    known_people = list(relationships.PERSON.readable(entity.relationships))
    given = name or owner
    own_name = disk.same_name(given) == disk.same_name(owner)
    find = relationships.match if own_name else relationships.match_surely
    match = find(known_people, given)
    if match is None and disk.without_marks(owner) == disk.without_marks(given) and not own_name:
        raise NameUnclearError(given, owner)
    written = " ".join(
        part if part in stop_words.WORDS else f"{part[:1].upper()}{part[1:]}"
        for part in given.split()
    )
    # whoever types a name in small letters has a capital all the same
    shown = match.names[0] if match and match.names else written if given.islower() else given
    owner_id = owner_among(known_people, entity, identity)
    new_id = owner_id if own_name else relationships.person_id(given)
    person_id = match.id if match else new_id
    return Person(person_id, shown, "owner" if person_id == owner_id else "person")


def names(runtime: Runtime) -> tuple[str, ...]:
    """Return the entity's name, and those of everybody it knows, however they are written."""
    known = relationships.PERSON.readable(runtime.entity.relationships)
    return (runtime.identity.name, *(name for person in known for name in person.names))


def name_of(runtime: Runtime, person: str) -> str:
    """Return what somebody is called, by id; empty for an owner of whom nobody has said it."""
    record, owner = readable_person(runtime, person), runtime.identity.owner.name
    is_owner = person == owner_id(runtime.entity, runtime.identity)
    name = record.name if record else owner if is_owner else person
    return "" if name in (UNNAMED, NAMELESS) else name


def spelt(runtime: Runtime, speaker: str) -> str:
    """Return the name of whoever the index knows by their id alone, as they write it."""
    record = readable_person(runtime, relationships.person_id(speaker)) if speaker else None
    return record.name if record else speaker


def called(runtime: Runtime) -> dict[str, str]:
    """Return what everybody it knows is called, by id."""
    return {one.id: one.name for one in relationships.PERSON.readable(runtime.entity.relationships)}


def names_of(runtime: Runtime, ids: Iterable[str]) -> list[str]:
    """Return what some people may be called, and the entity: their ids, and all known names."""
    known = [(one, readable_person(runtime, one)) for one in ids]
    named = (name for _, person in known if person for name in person.names)
    return [runtime.identity.name, *(one.replace("-", " ") for one, _ in known), *named]


def named(
    runtime: Runtime, text: str, readers: Collection[str]
) -> list[relationships.Relationship]:
    """Return those who are not there and whom a text names, by their names or a part of them."""
    everybody = list(relationships.PERSON.readable(runtime.entity.relationships))
    short = relationships.short_names(everybody)
    # whoever writes no capitals within a sentence writes none of names, either
    within = [word for word in _WITHIN.findall(text) if word != "I"]
    is_small = text.isupper() or not any(word[0].isupper() for word in within)
    genitive = "" if is_small else "s?"
    folded, case = text.casefold(), re.IGNORECASE if is_small else 0

    def is_named(one: relationships.Relationship) -> bool:
        called = filter(str.strip, (*one.names, *short.get(one.id, ())))
        there = (name for name in called if name.split()[0].casefold().rstrip(".") in folded)
        found = (
            match
            for name in there
            for match in re.finditer(stop_words.name_pattern(name, genitive), text, case)
        )
        return any(match[0] not in stop_words.WORDS for match in found)  # "will"

    found = {one.id for one in everybody if is_named(one)}
    if inflects(words.language(text)):  # "o Idze" is of Iga
        called = {one.id: (*one.names, *short.get(one.id, ())) for one in everybody}
        found |= {one for word in within if word[0].isupper() for one in meant(word, called)}
    return [one for one in everybody if one.id in found and one.id not in readers]


def plan_met(
    runtime: Runtime, person: str, name: str, at: datetime, session: Session, met: str
) -> Change | None:
    """Plan to count one more exchange with somebody, who gets a file at the first.

    Args:
        runtime: Whose.
        person: Their id.
        name: What they are called now.
        at: The present.
        session: The conversation.
        met: The sentence that says they met on this day.
    """
    record = find_person(runtime, person)
    note = relationships.PendingNote(met, at, _by_form(session))
    known, scores = record or _stub(person, name, at, session), None
    if _is_scalar(runtime, known):  # nobody knows yet what good it did
        last, said = known.last_interaction or at, session.messages[-1:]
        scores = familiarity.after_exchange(
            _present(known),
            silence_hours=max(0.0, (at - last).total_seconds() / 3600),
            interactions=known.interaction_count + 1,
            meaningful=significance.is_meaningful(said[0].text if said else "", used_tool=False),
        )
    why = f"talked with {name}" if record else f"meet {name}"
    change = relationships.plan_met(known, at, why, scores=scores, name=name, met=note)
    return Change(change.path, why, change.data) if change and record is None else change


def plan_heard_of(
    runtime: Runtime, person: str, name: str, at: datetime, session: Session, met: str
) -> Change | None:
    """Plan a file for somebody who hears a talk without speaking; None where there is one."""
    if (runtime.entity.root / relationships.PERSON.path(person)).exists():
        return None
    stub, why = _stub(person, name, at, session), f"meet {name}"
    page = relationships.unportrayed(stub, met, _by_form(session))
    change = relationships.plan_update(stub, why, **page)
    return change and Change(change.path, why, change.data)


def _stub(person: str, name: str, at: datetime, session: Session) -> relationships.Relationship:
    origin = base.Provenance(by="chat", sources=(session.id,), audience=(person,))
    return relationships.new(name, at, provenance=origin, id=person)


def _by_form(session: Session) -> base.Provenance:
    return base.Provenance(by=f"chat {BY_FORM}", sources=(session.id,))


def owner_id(entity: Entity, identity: Identity) -> str:
    """Return the id of the person the entity belongs to."""
    return owner_among(list(relationships.PERSON.readable(entity.relationships)), entity, identity)


def owner_among(
    listed: Sequence[relationships.Relationship], entity: Entity, identity: Identity
) -> str:
    """Return the same, of people that were read already."""
    owner = identity.owner.name or UNNAMED
    match = relationships.match(listed, owner)
    return match.id if match else _earlier_owner(entity) or relationships.person_id(owner)


def _earlier_owner(entity: Entity) -> str:
    """Return who spoke as the owner last, under whatever name; empty: nobody has.

    An owner who takes another name stays who they are.
    """
    if not any(entity.relationships.glob("*.md")):  # whoever spoke has no file
        return ""
    for path in reversed(session_files.paths(entity.sessions)):
        if OWNER_MARK not in (disk.read_cache(path) or b""):
            continue  # imported: there may be thousands, which need not be taken apart
        with suppress(RecordInvalidError):
            for message in reversed(session_files.load(path).messages):
                if message.trust == "owner" and message.speaker:
                    file = entity.root / relationships.PERSON.path(message.speaker)
                    return message.speaker if file.exists() else ""
    return ""


def plan_lived(
    record: relationships.Relationship, link: str, origin: base.Provenance
) -> dict[str, Any]:
    """Return what `plan_update` is given for a page that leads to something lived together.

    Nothing, where there is a portrait, or somebody may see the page who was not there.
    """
    shown = record.audience and base.may_read(origin.audience, record.audience)
    return relationships.unportrayed(record, link, origin) if shown else {}


def plan_felt(
    runtime: Runtime,
    record: relationships.Relationship,
    points: Mapping[str, float],
    page: Mapping[str, Any],
) -> Change | None:
    """Plan to let what an exchange did to the body move warmth and trust.

    Args:
        runtime: Whose body.
        record: Who said it.
        points: What it did, by bar.
        page: What changes of their page beside that.
    """
    direction, values, why = familiarity.direction(points), dict(page), "what was lived together"
    if direction and _is_scalar(runtime, record):
        scores = _present(record)
        why = f"{record.name} left it {'warmer' if direction > 0 else 'cooler'}"
        felt = familiarity.felt(scores, direction)
        values |= {"scores": felt, "previous_health": health(scores)}
    return relationships.plan_update(record, why, **values)


def plan_noted(
    person: relationships.Relationship,
    notes: Sequence[relationships.PendingNote],
    gone: Collection[str] = (),
    *,
    known: bool,
    names: tuple[str, ...] | None = None,
) -> Change | None:
    """Plan to keep notes about somebody, each once; for the next reflection where there is one.

    Of somebody who never spoke here the page itself says what was told of them.

    Args:
        person: As it was read, or a stub.
        notes: In order.
        gone: What was told of them before, and is no longer so.
        known: Whether there is a file; else there will be one of the stub.
        names: What they are called now.
    """
    stays = [note for note in person.pending if note.text not in gone]
    waiting = {disk.same_name(note.text) for note in stays}
    new = [note for note in notes if disk.same_name(note.text) not in waiting]
    told = [
        note
        for note in new
        # nobody drew that page yet, and both are for the same
        if person.interaction_count == 0
        and set(person.audience) == set(note.provenance.audience)
        and not is_untrusted(note.provenance.trust)
    ]
    pending = (*stays, *(note for note in new if note not in told))
    is_heard_of = person.interaction_count == 0
    page = relationships.told_of(person, told, gone) if is_heard_of and (told or gone) else {}
    why = f"notes on {person.name}" if known else f"hear of {person.name}"
    change = relationships.plan_update(person, why, pending=pending, names=names, **page)
    if change is None or not known:
        return change and Change(change.path, why, change.data)
    return replace(change, keeps=bool(gone))


def _is_scalar(runtime: Runtime, person: relationships.Relationship) -> bool:
    return person.last_scored is None or not runtime.config.memory.relational.enabled


def _present(person: relationships.Relationship) -> relationships.Scores:
    """Return the scores as stored; those of somebody new where there are none yet."""
    return person.scores if person.source.meta.get("scores") else familiarity.STRANGER


def interactions(runtime: Runtime) -> int:
    """Return how many exchanges the entity has had in its whole life."""
    return sum(
        person.interaction_count
        for person in relationships.PERSON.readable(runtime.entity.relationships)
    )


class RelationshipStanding(Struct, frozen=True):
    """The state of a relationship: its stage, health, direction and silence."""

    stage: str  # forming, developing, established or deep
    health: float  # in [0, 1]
    trajectory: str  # warming, cooling or steady; empty while there is nothing to compare with
    silence: timedelta | None  # since the last talk; None: there was none

    @property
    def line(self) -> str:
        """Stage, health, direction and last talk on one line."""
        way = f", {self.trajectory}" if self.trajectory else ""
        last = "never talked" if self.silence is None else f"last talk {ago(self.silence)} ago"
        return f"{self.stage}, health {self.health:.2f}{way}, {last}"


def standing(person: relationships.Relationship, at: datetime) -> RelationshipStanding:
    """Tell how the two stand at a time."""
    now, trajectory = health(person.scores), ""
    if person.previous_health is not None:
        change = now - person.previous_health
        trajectory = "steady" if abs(change) < STEADY else "warming" if change > 0 else "cooling"
    last = person.last_interaction
    silence = None if last is None else max(timedelta(0), at - last)
    return RelationshipStanding(stage(person.interaction_count), now, trajectory, silence)


def stage(interaction_count: int) -> str:
    """Name how far a relationship has come, by the number of talks."""
    return STAGES[bisect(STAGE_ENDS, interaction_count)]


def health(scores: relationships.Scores) -> float:
    """Tell how good a relationship is, in [0, 1]."""
    good = scores.warmth + scores.trust + scores.investment - 0.5 * scores.tension
    return min(1.0, max(0.0, good / 2.5))


def ago(gap: timedelta) -> str:
    """Say how long something is, in the largest unit that fits; 42 hours are two days."""
    seconds = max(0, round(gap.total_seconds()))
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return words.counted(
                round(seconds / length) if name == "day" else seconds // length, name
            )
    return "a moment"
