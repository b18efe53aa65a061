"""A life as its page shows it: what happened, who is known, what is held true; for one reader.

Every text is without secrets and without what would deceive its reader. Reads files alone, writes
nothing, and knows no HTML.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.entity.secrets import redacted
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.fallback import quotes
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    kinds,
    narrative,
    provenance,
    relationships,
    session_files,
)
from bumble.records.kind import Kind, RecordKind, RecordView, unite
from bumble.records.sessions import Compaction, Message, Session
from bumble.text.markdown import Document
from bumble.text.printable import clean, whole
from bumble.text.words import counted, one_line, shorten

ON_TIMELINE = (
    episodes.EPISODE,
    session_files.SESSION,
    dreams.DREAM,
    beliefs.BELIEF,
    journal.JOURNAL,
)
TITLE_CHARS = 120
QUOTE_CHARS = 1_200  # of a message, in its talk
BASIS_CHARS = 400  # of a message, where something rests on it
FIRST_CHARS = 200  # of the first words of a talk
IMPORTED, UNANSWERED = "imported", "unanswered"
MOST_BELOW = 2  # messages shown under an episode that something rests on
MOST_BASES = 12  # of what one memory rests on
Progress = Callable[[float, float | None], None]


class Basis(Struct, frozen=True):
    """Something that a memory rests on."""

    kind: str  # name of its kind, or `message`
    anchor: str  # where it stands in the page
    at: datetime | None
    text: str
    speaker: str = ""
    below: tuple[Basis, ...] = ()


class Ground(Struct, frozen=True):
    """All that a memory rests on, as far as the reader may know it."""

    bases: tuple[Basis, ...] = ()
    more: int = 0  # that are not shown
    missing: int = 0  # ids that lead nowhere; told to the owner alone


class LifeEntry(Struct, frozen=True):
    """A memory with a time."""

    kind: str  # name of its kind
    anchor: str
    at: datetime  # in the entity's zone
    text: str
    people: tuple[str, ...] = ()  # ids
    title: str = ""
    marks: tuple[str, ...] = ()  # a few words each
    sources: tuple[str, ...] = ()  # ids of what it rests on
    ground: Ground = Ground()
    quotes: tuple[Basis, ...] = ()  # of a talk
    against: tuple[Basis, ...] = ()  # of a belief: those that contradict it
    record: Any = None  # all it says, as a page may hold it; None: a kind that has no such
    apart: str = ""  # of a conversation that is no talk: why, in a word


class Portrait(Struct, frozen=True):
    """Somebody the entity knows, and how the two stand."""

    id: str
    anchor: str
    record: relationships.Relationship  # as a page may hold it
    notes: tuple[str, ...]  # that wait for the next reflection
    sources: tuple[str, ...] = ()
    ground: Ground = Ground()


class Life(Struct):
    """What a reader may know of an entity."""

    zone: tzinfo
    people: list[Portrait] = field(default_factory=list)
    # what those are called who are shown, by id: by their page, else as a talk had it
    names: dict[str, str] = field(default_factory=dict)
    # by kind, and conversations that are no talks apart; the newest first
    entries: dict[str, list[LifeEntry]] = field(default_factory=dict)
    story: str = ""
    unread: list[str] = field(default_factory=list)  # paths of files that can't be read
    withheld: int = 0  # memories that are not for the reader

    def of(self, kind: Kind) -> list[LifeEntry]:
        """Return the entries of a kind, the newest first; talks before what is none."""
        groups = self.entries.values()
        return [entry for group in groups for entry in group if entry.kind == kind.name]

    @property
    def count(self) -> int:
        """How many memories there are."""
        return len(self.people) + sum(map(len, self.entries.values())) + bool(self.story)


def shown(text: str) -> str:
    """Return a text as a page may hold it: nothing secret in it, and nothing that deceives."""
    return redacted(clean(str(whole(text))))


@lru_cache(maxsize=1_000)
def _mark(text: str) -> str:
    """Return a few words that stand beside many memories."""
    return shown(text)


def anchor(kind: str, record_id: str) -> str:
    """Return where a record stands in the page: its id where that can be nothing else's."""
    if not base.is_id(record_id):
        record_id = hashlib.sha256(record_id.encode("utf-8", "replace")).hexdigest()[:16]
    prefix = kinds.PREFIXES.get(kind)
    return record_id if prefix and record_id.startswith(f"{prefix}_") else f"{kind}-{record_id}"


class Collector:
    """Reads a life, a file after another."""

    def __init__(self, entity: Entity, zone: tzinfo, name: str, reader: provenance.Reader) -> None:
        self.entity, self.name, self.reader = entity, shown(name), reader
        self.life = Life(zone)
        self.quotes: dict[str, Basis] = {}
        self.places: dict[str, Basis] = {}  # what a source is shown as, by its id
        self.sources: dict[str, tuple[str, ...]] = {}  # of each episode
        self.talks: dict[str, str] = {}  # the conversation of each quote
        self.company: dict[str, tuple[str, ...]] = {}  # ids of who took part, by id of a source
        self._people: dict[str, relationships.Relationship] = {}
        self._anchors: set[str] = set()
        self._hidden: set[str] = set()  # ids of what is not for the reader

    def collect(self, progress: Progress) -> Life:
        """Read everything, conversations last."""
        paths = [(kind, path) for kind in READ for path in self._paths(kind)]
        talks = self._paths(session_files.SESSION)
        total = len(paths) + len(talks)
        for number, (kind, path) in enumerate(paths):
            progress(number, total)
            self._take(kind, path)
        # the ids of all that something rests on
        entries = (entry for group in self.life.entries.values() for entry in group)
        lists = [*(entry.sources for entry in entries), *(who.sources for who in self.life.people)]
        wanted = {source for sources in lists for source in sources}
        for number, path in enumerate(talks, len(paths)):
            progress(number, total)
            self._take_talk(path, wanted)
        self._join()
        return self.life

    def _paths(self, kind: Kind) -> list[Path]:
        try:
            return kind.paths(self.entity)
        except UnsafePathError:
            self.life.unread.append(kind.patterns[0])
            return []

    def _take(self, kind: Kind, path: Path) -> None:
        try:
            record: Any = kind.load(path) if isinstance(kind, RecordKind) else None
            views = [record.view()] if record else kind.read(path, self.life.zone)
        except (RecordInvalidError, UnsafePathError, OSError):
            self.life.unread.append(self.entity.relative(path))
            return
        if kind is relationships.PERSON:
            self._people[record.id] = record
        for view in views:
            if not self.reader.may_read(view.origin):
                self._withhold(view.id)
                if kind is relationships.PERSON:
                    self._take_heard(view, self._clean(record))
            elif kind is relationships.PERSON:
                self._take_person(view, self._clean(record))
            elif kind is narrative.NARRATIVE:
                self.life.story = shown(narrative.uncited(view.text))
            else:
                self._take_memory(kind, view, self._clean(record))

    def _withhold(self, record_id: str) -> None:
        self.life.withheld += 1
        self._hidden.add(record_id)

    def _clean(self, value: Any) -> Any:
        """Return what a record says as a page may hold it, its times in the entity's zone."""
        match value:
            case str():
                return shown(value)
            case datetime():
                return value.astimezone(self.life.zone)
            case tuple():
                return tuple(map(self._clean, value))
            case Struct() if not isinstance(value, Document | base.Provenance):
                told = {name: getattr(value, name) for name in value.__struct_fields__}
                return replace(value, **{name: self._clean(part) for name, part in told.items()})
        return value

    def _add(self, record_id: str, entry: LifeEntry) -> None:
        if entry.anchor in self._anchors:  # a copy that somebody made of its file
            entry = replace(entry, anchor="")
        self._anchors.add(entry.anchor)
        entry = replace(entry, people=tuple(map(_mark, entry.people)))
        self.life.entries.setdefault(entry.apart or entry.kind, []).append(entry)
        text = shorten(quotes.plain(entry.title or entry.text), TITLE_CHARS, at_word=True)
        self.places.setdefault(record_id, Basis(entry.kind, entry.anchor, entry.at, text))

    def _take_person(self, view: RecordView, person: relationships.Relationship) -> None:
        names, dynamic = tuple(map(one_line, person.names)), one_line(person.dynamic)
        person = replace(person, names=names, dynamic=dynamic)
        notes = (shown(note.text) for note in view.notes if self.reader.may_read(note.origin))
        mark = _mark(view.id)
        self.life.names[mark] = person.name
        told = (mark, anchor("person", mark), person, tuple(notes), view.origin.sources)
        self.life.people.append(Portrait(*told))

    def _take_heard(self, view: RecordView, person: relationships.Relationship) -> None:
        """Take in what the reader heard of somebody whose page is for others."""
        if apart := [n for n in person.apart if self.reader.may_read(n.provenance)]:
            blank = replace(person, text="", dynamic="", topics=(), unresolved=())
            sources = unite(*(note.provenance.sources for note in apart))
            self._take_person(replace(view, origin=replace(view.origin, sources=sources)), blank)

    def _take_memory(self, kind: Kind, view: RecordView, record: Any) -> None:
        """Take in what happened, was believed, dreamt or written down."""
        if kind is episodes.EPISODE:
            self.sources[view.id], self.company[view.id] = view.sources, view.people
        if view.at is None or dreams.is_link(view.text):  # the dream is told itself
            return
        title, text, marks = TELLING[kind.name](record) if record else ("", shown(view.text), ())
        of_diary = f"{view.at:%Y%m%d-%H%M%S}"  # an entry of it has no id
        entry = LifeEntry(
            kind.name,
            anchor(kind.name, view.id if record else of_diary),
            view.at.astimezone(self.life.zone),
            text,
            view.people,
            title,
            (*marks, *self._origin(view)),
            view.sources,
            record=record,
        )
        self._add(view.id, entry)

    def _origin(self, view: RecordView) -> tuple[str, ...]:
        """Tell where a memory comes from, and to its owner for whom it is."""
        origin = view.origin
        by = f"by {origin.by}" if origin.by else ""
        model = f"with {origin.model}" if origin.model else ""
        who = relationships.circle(self._people, origin.audience) if self.reader.is_owner else ""
        trust = f"trust: {origin.trust}" if origin.trust else ""
        parts = (by, model, trust, f"only for {who}" if who else "")
        return tuple(_mark(part) for part in parts if part)

    def _take_talk(self, path: Path, wanted: set[str]) -> None:
        try:
            session = session_files.load(path)
        except (RecordInvalidError, UnsafePathError, OSError):
            self.life.unread.append(self.entity.relative(path))
            return
        if not self.reader.may_read(session_files.view(session).origin):
            self._withhold(session.id)
            ids = {message.id for message in session.messages}
            self._hidden |= wanted & (ids | {summary.id for summary in session.compactions})
            return
        quoted = dict(self._quotes(session, wanted))
        self.quotes |= quoted
        self.talks |= dict.fromkeys(quoted, session.id)
        self.company |= dict.fromkeys((*quoted, session.id), session.people)
        for message in session.messages:
            if message.role == "user" and message.extra.get("name"):
                self.life.names.setdefault(_mark(message.speaker), _mark(message.called()))
        spoken = [message for message in session.messages if message.role != "tool"]
        said = sorted(spoken, key=lambda message: message.role != "user")  # what people said first
        first = next((message.text for message in said if message.text.strip()), "")
        imported = session.imported or {}
        origin = f"from {imported['from']}" if imported.get("from") else ""
        count = counted(len(spoken), "message")
        self._add(
            session.id,
            LifeEntry(
                "session",
                anchor("session", session.id),
                session.at.astimezone(self.life.zone),
                shorten(one_line(shown(first)), FIRST_CHARS, at_word=True),
                session.people,
                title=shown(one_line(str(imported.get("title") or ""))),
                marks=tuple(filter(None, (count, shown(origin)))),
                quotes=tuple(quoted.values()),
                apart=IMPORTED
                if imported
                else ""
                if any(m.role == "user" for m in said)
                else UNANSWERED,
            ),
        )

    def _quotes(self, session: Session, wanted: set[str]) -> Iterator[tuple[str, Basis]]:
        for message in session.messages:
            if message.id in wanted and message.text.strip() and message.id not in self.quotes:
                speaker = _mark(message.called(self.name, self.life.names))
                yield message.id, self._quote(message, message.text, speaker)
        for summary in session.compactions:
            if summary.id in wanted and summary.summary.strip() and summary.id not in self.quotes:
                yield summary.id, self._quote(summary, summary.summary, "a summary of the talk")

    def _quote(self, said: Message | Compaction, text: str, speaker: str) -> Basis:
        told, mark = _cut(shown(text.strip()), QUOTE_CHARS), anchor("message", said.id)
        return Basis("message", mark, said.at.astimezone(self.life.zone), told, speaker)

    def _join(self) -> None:
        """Say of each memory what it rests on, and put the newest first."""
        life = self.life
        life.people = [replace(who, ground=self._ground(who.sources)) for who in life.people]
        life.people.sort(
            key=lambda who: (-who.record.interaction_count, who.record.name.casefold())
        )
        for kind, group in life.entries.items():
            joined = [self._joined(entry) for entry in group if kind != "session"]
            life.entries[kind] = sorted(joined or group, key=lambda entry: entry.at, reverse=True)

    def _joined(self, entry: LifeEntry) -> LifeEntry:
        others = getattr(entry.record, "contradicts", ())
        against = tuple(self.places[other] for other in others if other in self.places)
        company = [who for source in entry.sources for who in self.company.get(source, ())]
        people = entry.people or tuple(map(_mark, dict.fromkeys(company)))
        return replace(entry, ground=self._ground(entry.sources), against=against, people=people)

    def _ground(self, ids: Sequence[str]) -> Ground:
        talks = {anchor("session", self.talks[one]) for one in ids if one in self.talks}
        bases = [basis for basis in map(self._basis, ids) if basis and basis.anchor not in talks]
        known = self.quotes.keys() | self.places.keys() | self._hidden
        lost = sum(one not in known for one in ids) if self.reader.is_owner else 0
        return Ground(tuple(bases[:MOST_BASES]), max(0, len(bases) - MOST_BASES), lost)

    def _basis(self, source: str) -> Basis | None:
        if source in self.quotes:
            return self._quoted(source)
        basis = self.places.get(source)
        messages = [each for each in self.sources.get(source, ()) if each in self.quotes]
        return basis and replace(basis, below=tuple(map(self._quoted, messages[:MOST_BELOW])))

    def _quoted(self, source: str) -> Basis:
        quote = self.quotes[source]
        return replace(quote, text=_cut(quote.text, BASIS_CHARS))


def _cut(text: str, most: int) -> str:
    """Cut what somebody said where it is too long for a quotation."""
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


# Title, text and marks of a memory that has a file of its own.
TELLING: Mapping[str, Callable[[Any], tuple[str, str, tuple[str, ...]]]] = {
    episodes.EPISODE.name: lambda one: (
        "",
        one.telling.narrative,
        ("dormant",) if one.dormant else (),
    ),
    beliefs.BELIEF.name: lambda one: (
        "",
        one.text,
        (one.category.replace("_", " "), one.origin.split(":")[0], *["given up"] * one.archived),
    ),
    dreams.DREAM.name: lambda one: (one.title, one.thread or "; ".join(one.fragments), ()),
}
# In this order, and conversations after it.
READ = (
    relationships.PERSON,
    narrative.NARRATIVE,
    episodes.EPISODE,
    beliefs.BELIEF,
    dreams.DREAM,
    journal.JOURNAL,
)
# Kinds of memories that have no place in the page.
LEFT_OUT = tuple(
    kind for kind in kinds.KINDS if kind.page and kind not in (*READ, session_files.SESSION)
)
