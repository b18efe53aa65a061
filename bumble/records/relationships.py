"""Relationship files: a portrait, scores and pending notes of each person.

Layout: `relationships/<person id>.md`; front matter holds names, scores and counters, the body is
the portrait. A person's id is the file's stem. Counters change in place, so a portrait that was
written by hand stays as it is. Each line of a portrait that a program wrote has a mark in `lines`,
by a hash of its words: an edited line loses it, and is whose hand it was. Knows nothing of models
or of how scores are found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble.body.familiarity import STRANGER
from bumble.body.familiarity import Scores as Scores
from bumble.entity import changes, companions
from bumble.errors import NameUnclearError, RecordMissingError
from bumble.files import disk
from bumble.records import base, fields, kind
from bumble.records.provenance import BY_FORM
from bumble.text import markdown, schema, stop_words, words, yaml_edit

# What stands in a name and names nobody: "Frau Brandt", "Mia von Berg".
_TITLES = """
mister missus miss doctor aunt uncle frau herr doktor professor tante onkel señor señora tía tío
signora signor signore zia zio madame monsieur
"""
_NO_NAMES = stop_words.WORDS | frozenset(_TITLES.split())
line_key = companions.key_of  # what a line is marked by
ITEM = "- "  # before a link to what was lived with somebody
MOST_LINKS = 12  # of them, the newest
LEAST_PART = 3  # letters of a part of a name that stands for somebody: not Mr, not M.
FOR_ALL = base.Provenance(trust="owner")  # marks a line of a hand on a page that all could read
MAX_PENDING = 12  # notes that wait, of those for the same people; the oldest go first


class PendingNote(Struct, frozen=True):
    """Something to work into the portrait at the next reflection."""

    text: str
    at: datetime | None = None
    provenance: base.Provenance = base.BY_HAND


def _pending(base: Any, current: Any, incoming: Any) -> Any:
    together = fields.joined(base, current, incoming) or []
    by_time = sorted(
        together, key=lambda note: str(note.get("at")) if isinstance(note, dict) else ""
    )
    circles = [str(note.get("audience")) if isinstance(note, dict) else "" for note in by_time]
    return _newest(by_time, circles) or fields.ABSENT


def _newest(notes: Sequence[base.T], circles: Sequence[Hashable]) -> list[base.T]:
    """Return the newest notes of each circle of people; `circles` says whose each is."""
    places = [
        (note, circles[n + 1 :].count(circle))
        for n, (note, circle) in enumerate(zip(notes, circles, strict=True))
    ]
    return [note for note, newer in places if newer < MAX_PENDING]


def _moved_score(first: float, base: Any, current: Any, incoming: Any) -> Any:
    """Let both sides move a score, from what it is `first`, where they met apart."""
    base = first if base is fields.ABSENT else base
    values = [0 if value is fields.ABSENT else value for value in (base, current, incoming)]
    return round(min(max(values[1] + values[2] - values[0], 0.0), 1.0), 4)


_EITHER_MOVES = fields.nested(
    {name: partial(_moved_score, first) for name, first in asdict(STRANGER).items()}
)


def _scores(meta: Mapping[str, Any], key: str) -> Scores:
    stored = base.field(meta, key, dict, {})
    return Scores(**{name: base.unit(stored, name, 0.0) for name in asdict(Scores())})


def _count(meta: Mapping[str, Any], name: str) -> int:
    count = base.field(meta, name, int, 0)
    if count < 0:
        raise ValueError(f"`{name}` should not be negative")
    return count


def _language(meta: Mapping[str, Any], key: str) -> str:
    code = base.field(meta, key, str, "")
    if code and not re.fullmatch(schema.LANGUAGE_CODE, code):
        raise ValueError(f"`{key}` should be a language's code, like de, not `{code}`")
    return code


def _lines(meta: Mapping[str, Any], key: str) -> dict[str, base.Provenance] | None:
    if meta.get(key) is None:
        return None
    raw = base.field(meta, key, dict)
    if not all(isinstance(value, dict) for value in raw.values()):
        raise ValueError(f"`{key}` should be a mapping of hashes to {{by, model, from, trust}}")
    return {str(line): base.provenance(value) for line, value in raw.items()}


def _notes(meta: Mapping[str, Any], key: str) -> tuple[PendingNote, ...]:
    return tuple(map(_note, base.field(meta, key, list, [])))


def _note(item: object) -> PendingNote:
    if isinstance(item, str):
        return PendingNote(item)
    if not isinstance(item, dict):
        raise ValueError("`pending` should be a list of texts or of {text, at, by, from}")
    at = base.field(item, "at", datetime) if item.get("at") is not None else None
    return PendingNote(base.field(item, "text", str), at, base.provenance(item))


def _moved(was: Scores, now: Scores) -> list[str]:
    pairs = [(name, getattr(was, name), value) for name, value in asdict(now).items()]
    return [f": {name} {old:.2f} -> {new:.2f}" for name, old, new in pairs if old != new]


def _noted(was: Sequence[PendingNote], now: Sequence[PendingNote]) -> list[str]:
    known = {note.text for note in was}
    return [f": to think about: {note.text}" for note in now if note.text not in known]


class Relationship(kind.Record, frozen=True, kw_only=True):
    """One person."""

    ABOUT: ClassVar[kind.About] = kind.About(
        headline="person {0.name} ({0.id})",
        changed="{1.name}",
        retold="{1.name}: portrait",
        when="last_reflection",
        of_newer=dict.fromkeys(("previous_health", "scores", "dynamic"), "last_reflection"),
    )

    # what the person is called, `aliases` too; the first is shown
    names: Annotated[
        tuple[str, ...],
        fields.Key(merge=fields.joined, said=lambda was, now: [f": called {', '.join(now)}"]),
    ]
    scores: Annotated[Scores, fields.Key(read=_scores, merge=_EITHER_MOVES, said=_moved)]
    interaction_count: Annotated[
        int,
        fields.Key(
            read=_count, merge=fields.counted, said=fields.told(": interactions {0} -> {1}")
        ),
    ]
    first_met: Annotated[datetime | None, fields.EARLIER] = None
    last_interaction: Annotated[datetime | None, fields.LATER] = None
    last_reflection: Annotated[datetime | None, fields.LATER] = None
    # when the scores were read off the portrait; None: never
    last_scored: Annotated[datetime | None, fields.LATER] = None
    previous_health: float | None = None  # before the scores last changed, in [0, 1]
    # interaction_count at the last deep review
    reviewed_at_count: Annotated[int, fields.Key(read=_count, merge=fields.greater)]
    # at most MAX_PENDING of a circle, oldest first
    pending: Annotated[
        tuple[PendingNote, ...], fields.Key(read=_notes, merge=_pending, said=_noted)
    ]
    dynamic: str = ""  # one line: how the two are with each other
    topics: Annotated[tuple[str, ...], fields.JOINED]
    unresolved: Annotated[tuple[str, ...], fields.JOINED]
    # that they are spoken to in, `de`, whatever they write; empty: what they speak
    language: Annotated[str, fields.Key(read=_language)]
    # by `line_key`: what a program wrote; None: not marked
    lines: Annotated[
        Mapping[str, base.Provenance] | None,
        fields.Key(
            read=_lines,
            merge=fields.nested({}, fields.nested(fields.ORIGIN)),
            said=lambda was, now: (
                [": portrait rests on other words"] if set(was or ()) == set(now or ()) else []
            ),
        ),
    ]
    # the portrait, Markdown, without what stands in for one; empty until the first reflection
    text: Annotated[str, fields.BODY]

    @classmethod
    def drawn(cls, document: markdown.Document, record_id: str) -> Mapping[str, Any]:
        """Read the names, behind them those that note programs keep as `aliases`; the portrait."""
        names, aliases = (base.texts(document.meta, key) for key in ("names", "aliases"))
        if aliases and not names:
            names = (record_id,)
        portrait, formed = document.body, _formed(_lines(document.meta, "lines"))
        if formed:
            rows = (row for row in markdown.lines(portrait) if line_key(row) not in formed)
            portrait = markdown.trimmed("".join(rows).lstrip("\r\n"))
        return {"names": tuple(dict.fromkeys((*names, *aliases))), "text": portrait}

    @property
    def notes(self) -> tuple[kind.RecordView, ...]:
        return tuple(
            kind.RecordView(
                id=f"{self.id}, note {number}",
                text=note.text,
                origin=note.provenance,
                sources=note.provenance.sources,
                at=note.at,
                document=self.source,
                sources_key="pending",
            )
            for number, note in enumerate(self.pending, 1)
        )

    @property
    def name(self) -> str:
        """What to call the person."""
        return self.names[0] if self.names else self.id

    @property
    def is_acquainted(self) -> bool:
        """Whether they talked here, or were introduced; else others spoke of them, for themselves.

        What is told of somebody is for those who heard it.
        """
        return bool(self.interaction_count) or base.may_read(self.audience, (self.id,))

    @property
    def apart(self) -> tuple[PendingNote, ...]:
        """What others told of them, for those who heard it: no portrait takes that in."""
        return tuple(
            note
            for note in self.pending
            if note.provenance.by and not base.may_read(note.provenance.audience, (self.id,))
        )

    @property
    def met(self) -> list[str]:
        """What stands in for a portrait: when they met, and links to what they lived."""
        formed = _formed(self.lines)
        return [line for line in text_lines(self.source.body) if line_key(line) in formed]

    @property
    def for_all(self) -> str:
        """What a hand wrote of them for everybody, before the page was for them alone."""
        return "\n".join(one for one in text_lines(self.text) if self.origin_of(one) == FOR_ALL)

    def origin_of(self, line: str) -> base.Provenance:
        """Say where a line of the portrait comes from.

        Where lines have marks, one without is a person's own; a portrait without marks is of one
        origin.
        """
        if self.lines is None:
            return self.provenance
        return self.lines.get(line_key(line), base.BY_HAND)


def _formed(lines: Mapping[str, base.Provenance] | None) -> set[str]:
    """Return the keys of the lines that stand in for a portrait: no model wrote them."""
    return {key for key, origin in (lines or {}).items() if origin.by.endswith(BY_FORM)}


def text_lines(text: str) -> list[str]:
    """Return the lines of a portrait that hold something, without their ends."""
    return [line.rstrip("\r\n") for line in markdown.lines(text) if line.strip()]


PERSON = kind.RecordKind(
    name="person",
    singular="person",
    plural="people",
    key="people",
    patterns=("relationships/*.md",),
    record=Relationship,
    forgetting="portrait",
    merging="bumble",
    paired=True,
    text_keys=("dynamic", "topics", "unresolved"),
    passages="person",
    claims=True,
    explained=True,
    counted=True,
    page=True,
    edit="bumble person edit",
)


def _note_meta(note: PendingNote) -> Any:
    at = base.stamp(note.at) if note.at else None
    return {"text": note.text} | base.filled({"at": at}) | note.provenance.meta()


def circle(people: Mapping[str, Relationship], audience: Sequence[str]) -> str:
    """Name who alone hears a text; empty where nobody else is there to hear it.

    Args:
        people: All who are known, by id.
        audience: Ids of who hears it; none: everyone.
    """
    others = any(
        one.interaction_count or one.id in one.audience
        for one in people.values()
        if one.id not in audience
    )
    named = (people[one].name if one in people else one for one in audience)
    return ", ".join(named) if others else ""


def person_id(name: str) -> str:
    """Return the id of a person met under a name: safe as a file name on every system."""
    return disk.file_name(name)


def new(
    name: str,
    first_met: datetime,
    *,
    provenance: base.Provenance | None = None,
    id: str = "",  # noqa: A002  (the record's own field)
) -> Relationship:
    """Make a person who is not in the folder yet: a stub without a portrait."""
    return PERSON.new(
        id or person_id(name),
        "",
        provenance,
        names=(name,),
        first_met=first_met,
        interaction_count=0,
    )


def match(people: Iterable[Relationship], name: str) -> Relationship | None:
    """Return the person of an id or a name, by their normal forms (`files.same_name`).

    An id goes before a name, a name before the later names of somebody else, and before all of them
    goes what is spelt so to the letter: older folders may hold two people of one normal form.
    """
    wanted = disk.same_name(name)
    everybody = list(people)
    spellings = [
        [(one.id, one) for one in everybody],
        [(one.name, one) for one in everybody],
        [(other, one) for one in everybody for other in one.names],
    ]
    exact = next((one for tier in spellings for key, one in tier if key == name), None)
    same = (one for tier in spellings for key, one in tier if disk.same_name(key) == wanted)
    return exact or next(same, None)


def alike(people: Iterable[Relationship], name: str) -> list[Relationship]:
    """Return whom a name may mean: who has it, else all whose is it but for marks: Zoë and Zoe."""
    everybody, wanted = list(people), disk.without_marks(name)
    if found := match(everybody, name):
        return [found]
    names = ((one, map(disk.without_marks, (one.id, *one.names))) for one in everybody)
    return [one for one, own in names if wanted and wanted in own]


def short_names(everybody: Iterable[Relationship]) -> dict[str, tuple[str, ...]]:
    """Return the parts of names that one person alone has, by their id: Mila of "Mila Brandt"."""
    of: dict[str, dict[str, str]] = {}  # by normal form, then by id, as it is written
    for person in everybody:
        for name in person.names:
            for part in (part.strip(".,") for part in name.split()):
                of.setdefault(disk.same_name(part), {})[person.id] = part if " " in name else ""
    found: dict[str, tuple[str, ...]] = {}
    for spelt in of.values():
        [*others, (person_id, part)] = spelt.items()
        if not others and len(part) >= LEAST_PART and part.casefold() not in _NO_NAMES:
            found[person_id] = (*found.get(person_id, ()), part)
    return found


def match_surely(people: Iterable[Relationship], name: str) -> Relationship | None:
    """Return the person of a name; None: nobody has it, or one like it.

    Raises:
        NameUnclearError: If a name that somebody has differs from it by marks alone.
    """
    everybody = list(people)
    found = match(everybody, name)
    if found is None and (like := alike(everybody, name)):
        raise NameUnclearError(name, like[0].name)
    return found


def find(folder: Path, name: str) -> Relationship:
    """Read one person by id or by any name.

    Raises:
        RecordMissingError: If nobody is called that.
    """
    everybody = list(PERSON.readable(folder))
    found = match(everybody, name)
    if found is None:
        known = [other for one in everybody for other in (one.id, *one.names)]
        raise RecordMissingError("person", name, base.nearest(name, known))
    return found


def plan_update(
    person: Relationship,
    why: str,
    *,
    scores: Scores | None = None,
    pending: tuple[PendingNote, ...] | None = None,
    lines: Mapping[str, base.Provenance] | None = None,
    provenance: base.Provenance | None = None,
    text: str | None = None,
    **values: Any,
) -> changes.Change | None:
    """Plan to change what is given and leave the rest, byte for byte.

    Args:
        person: As it was read.
        why: For the change set.
        scores: Where the entity stands to them; what is as it was stays as it is written.
        pending: All notes that wait; of each circle the oldest beyond MAX_PENDING are dropped.
        lines: Where the lines of a portrait come from, by `line_key`; goes with `text`.
        provenance: Where the portrait comes from; goes with `text`.
        text: A new portrait.
        values: Others by key; None leaves one as it is, an empty text takes it out.
    """
    given = {key: fields.written(value) for key, value in values.items() if value is not None}
    changed = {key: value for key, value in given.items() if value != person.source.meta.get(key)}
    document = base.with_values(
        person.source, {key: None if value == "" else value for key, value in changed.items()}
    )
    for name, value in asdict(scores or person.scores).items():
        if value != getattr(person.scores, name):
            moved = round(min(max(value, 0.0), 1.0), 4)
            document = document.with_meta("scores", name, value=moved)
    if pending is not None and pending != person.pending:
        raw = base.field(document.meta, "pending", list, [])
        newest = _newest(pending, [note.provenance.audience for note in pending])
        notes = [  # one that was there stays as it was written, fields we don't know included
            raw[person.pending.index(note)] if note in person.pending else _note_meta(note)
            for note in newest
        ]
        document = base.with_values(document, {"pending": notes or None})
    if provenance is not None:
        document = base.with_values(document, provenance.meta())
    if lines is not None:
        marks = {key: yaml_edit.Row(origin.meta()) for key, origin in lines.items()}
        if marks != document.meta.get("lines"):
            document = base.with_values(document, {"lines": marks})
    if text is not None:
        document = document.with_body(text)
    return base.plan_edit(PERSON.place(person), person.source, document, why)


def heard(person: Relationship, circle: Sequence[str]) -> list[PendingNote]:
    """Return what a circle of people told of somebody, as lines of their page or as notes."""
    lines = [
        PendingNote(line, None, replace(person.origin_of(line), audience=person.audience))
        for line in text_lines(person.text)
        if person.interaction_count == 0 and person.origin_of(line).by
    ]
    return [
        note
        for note in (*lines, *person.pending)
        if note.provenance.by and set(note.provenance.audience) == set(circle)
    ]


def unportrayed(person: Relationship, line: str, origin: base.Provenance) -> dict[str, Any]:
    """Return what `plan_update` is given for a page that says more of whom nobody drew yet.

    Args:
        person: As they are; empty where there is a portrait.
        line: When they met, which stands first, or a link to what they lived, the newest above.
        origin: Of the line.
    """
    marks = {**(person.lines or {}), line_key(line): replace(origin, audience=())}
    return {} if person.text else _page((*person.met, line), marks)


def joined_page(current: Relationship, incoming: Relationship) -> dict[str, Any]:
    """Return the same for two sides of a page that nobody drew on either."""
    marks = {**(incoming.lines or {}), **(current.lines or {})}
    rows = (*current.met, *incoming.met)
    return _page(rows, marks) if rows else {}


def _page(rows: Sequence[str], marks: Mapping[str, base.Provenance]) -> dict[str, Any]:
    def lived(row: str) -> tuple[str, ...]:
        return marks[line_key(row)].sources  # ids sort by time

    links = sorted({row for row in rows if row.startswith(ITEM)}, key=lived, reverse=True)
    met = [row for row in rows if not row.startswith(ITEM)][:1]
    shown = (*met, *[""] * bool(met and links), *links[:MOST_LINKS])
    lines = {key: marks[key] for row in shown if (key := line_key(row)) in marks}
    return {"text": "\n".join(shown), "lines": lines}


def told_of(
    person: Relationship, notes: Sequence[PendingNote], gone: Collection[str] = ()
) -> dict[str, Any]:
    """Return what `plan_update` is given for a page that says more of somebody, a line a note.

    Args:
        person: As they are.
        notes: What is told of them now.
        gone: Lines that give way to it; it stands where the first of them stood.
    """
    marks = {line_key(note.text): replace(note.provenance, audience=()) for note in notes}
    rows = person.text.rstrip().splitlines()
    there = {line_key(row) for row in rows if row not in gone}
    new = [words.one_line(note.text) for note in notes if line_key(note.text) not in there]
    place = next((n for n, row in enumerate(rows) if row in gone), len(rows))
    above, below = (
        [row for row in part if row not in gone] for part in (rows[:place], rows[place:])
    )
    stays = {line_key(row) for row in (*above, *below)}
    lines = {key: mark for key, mark in (person.lines or {}).items() if key in stays}
    return {"text": "\n".join((*above, *new, *below)), "lines": {**lines, **marks}}


def _spoke(person: Relationship) -> dict[str, Any]:
    """Return the same for somebody who speaks at last: what others told of them, they never read.

    Such lines wait as notes, for whom they were told; lines that were written by hand stay.
    """
    if person.interaction_count or not person.lines or person.id in person.audience:
        return {}
    told = [line for line in text_lines(person.text) if person.origin_of(line).by]
    notes = [
        PendingNote(
            line, person.first_met, replace(person.origin_of(line), audience=person.audience)
        )
        for line in told
    ]
    rows = [line for line in markdown.lines(person.text) if line.rstrip("\r\n") not in told]
    left = "".join(rows).strip()
    theirs = None if left else replace(person.provenance, audience=(person.id,))
    return {"pending": (*person.pending, *notes), "text": left, "lines": {}, "provenance": theirs}


def plan_met(
    person: Relationship,
    at: datetime,
    why: str,
    *,
    scores: Scores | None = None,
    name: str = "",
    met: PendingNote | None = None,
) -> changes.Change | None:
    """Plan to count one more interaction, which may have moved the scores.

    Who goes by another `name` since keeps the old ones behind it. What the page of somebody says
    whom nobody drew yet is when they `met`; of whom others only spoke till now is met today.
    """
    count = person.interaction_count + 1
    called = {disk.same_name(label) for label in ("", person.id, *person.names)}
    names = None if disk.same_name(name) in called else (name, *person.names)
    page = _spoke(person)
    if met is not None and not (person.interaction_count or person.met):
        undrawn = replace(person, text=page.get("text", person.text))
        page |= unportrayed(undrawn, met.text, met.provenance)
    return plan_update(
        person,
        why,
        names=names,
        first_met=None if person.first_met and person.is_acquainted else at,
        interaction_count=count,
        last_interaction=at,
        scores=scores,
        **page,
    )
