"""A life as its page shows it: what happened, who is known, what is held true; for one reader.

Every text is without secrets and without what would deceive its reader. Reads files alone, writes
nothing, and knows no HTML.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.body import ebb
from bumble.bridges.exports.memories import safe
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.fallback import quotes
from bumble.recall.belief_strength import strength
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    kinds,
    narrative,
    relationships,
    session_files,
)
from bumble.records.kind import Kind, RecordView
from bumble.records.provenance import Reader
from bumble.records.sessions import Compaction, Message, Session
from bumble.text.printable import clean, whole
from bumble.text.words import one_line, shorten

ON_TIMELINE = (kinds.EPISODE, kinds.SESSION, kinds.DREAM, kinds.BELIEF, kinds.JOURNAL)
TITLE_CHARS = 120
QUOTE_CHARS = 1_200  # of a message, in its talk
BASIS_CHARS = 400  # of a message, where something rests on it
FIRST_CHARS = 200  # of the first words of a talk
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
    reflection: str = ""  # why it mattered, to the entity
    marks: tuple[str, ...] = ()  # a few words each
    sources: tuple[str, ...] = ()  # ids of what it rests on
    ground: Ground = Ground()
    quotes: tuple[Basis, ...] = ()  # of a talk
    imprints: tuple[episodes.Imprint, ...] = ()  # of an episode
    weight: float = 0.0  # of an episode: how much it mattered, in [0, 1]
    body: ebb.BodyTag | None = None  # of an episode
    fragments: tuple[str, ...] = ()  # of a dream
    sure: float | None = None  # of a belief: how sure the entity is of it today, in [0, 1]
    put_away: bool = False  # of a belief: out of recall
    confirmed: datetime | None = None  # of a belief
    against: tuple[Basis, ...] = ()  # of a belief: those that contradict it
    contradicts: tuple[str, ...] = ()  # ids of these


class Portrait(Struct, frozen=True):
    """Somebody the entity knows, and how the two stand."""

    id: str
    anchor: str
    name: str
    names: tuple[str, ...]  # others
    text: str
    dynamic: str
    scores: relationships.Scores
    interaction_count: int
    first_met: datetime | None
    last_interaction: datetime | None
    last_reflection: datetime | None
    topics: tuple[str, ...]
    unresolved: tuple[str, ...]
    notes: tuple[str, ...]  # that wait for the next reflection
    sources: tuple[str, ...] = ()
    ground: Ground = Ground()


class Life(Struct):
    """What a reader may know of an entity."""

    zone: tzinfo
    people: list[Portrait] = field(default_factory=list)
    entries: dict[str, list[LifeEntry]] = field(default_factory=dict)  # by kind, the newest first
    story: str = ""
    unread: list[str] = field(default_factory=list)  # paths of files that can't be read
    withheld: int = 0  # memories that are not for the reader

    def of(self, kind: Kind) -> list[LifeEntry]:
        """Return the entries of a kind, the newest first."""
        return self.entries.get(kind.name, [])

    @property
    def count(self) -> int:
        """How many memories there are."""
        return len(self.people) + sum(map(len, self.entries.values())) + bool(self.story)


def shown(text: str) -> str:
    """Return a text as a page may hold it: nothing secret in it, and nothing that deceives."""
    return safe(clean(str(whole(text))))


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

    def __init__(
        self,
        entity: Entity,
        zone: tzinfo,
        name: str,
        reader: Reader,
        now: datetime,
    ) -> None:
        self.entity, self.name, self.reader = entity, shown(name), reader
        self.now = now
        self.life = Life(zone)
        self.quotes: dict[str, Basis] = {}
        self.places: dict[str, Basis] = {}  # what a source is shown as, by its id
        self.sources: dict[str, tuple[str, ...]] = {}  # of each episode
        self.talks: dict[str, str] = {}  # the conversation of each quote
        self.company: dict[str, tuple[str, ...]] = {}  # ids of who took part, by id of a source
        self.names: dict[str, str] = {}
        self._people: dict[str, relationships.Relationship] = {}
        self._anchors: set[str] = set()
        self._hidden: set[str] = set()  # ids of what is not for the reader

    def collect(self, progress: Progress) -> Life:
        """Read everything."""
        paths = [(kind, path) for kind in READ for path in self._paths(kind)]
        talks = self._paths(kinds.SESSION)
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
            views = kind.read(path, self.life.zone)
        except (RecordInvalidError, UnsafePathError, OSError):
            self.life.unread.append(self.entity.relative(path))
            return
        if kind is kinds.PERSON:
            known = (relationships.of(view.document, view.id) for view in views if view.document)
            self._people |= {person.id: person for person in known}
        for view in views:
            if self.reader.may_read(view.origin):
                TAKERS[kind.name](self, view)
            else:
                self._withhold(view.id)

    def _withhold(self, record_id: str) -> None:
        self.life.withheld += 1
        self._hidden.add(record_id)

    def _add(self, record_id: str, entry: LifeEntry) -> None:
        if entry.anchor in self._anchors:  # a copy that somebody made of its file
            entry = replace(entry, anchor="")
        self._anchors.add(entry.anchor)
        entry = replace(entry, people=tuple(map(_mark, entry.people)))
        self.life.entries.setdefault(entry.kind, []).append(entry)
        text = shorten(quotes.plain(entry.title or entry.text), TITLE_CHARS, at_word=True)
        self.places.setdefault(record_id, Basis(entry.kind, entry.anchor, entry.at, text))

    def _local(self, at: datetime) -> datetime:
        return at.astimezone(self.life.zone)

    def _local_or_none(self, at: datetime | None) -> datetime | None:
        return at and self._local(at)

    def take_person(self, view: RecordView) -> None:
        """Take in somebody the entity knows."""
        assert view.document is not None  # noqa: S101  (their file holds one record)
        person = relationships.of(view.document, view.id)
        self.names[person.id] = shown(one_line(person.name))
        notes = (note for note in view.notes if self.reader.may_read(note.origin))
        self.life.people.append(
            Portrait(
                _mark(person.id),
                anchor("person", _mark(person.id)),
                self.names[person.id],
                tuple(shown(one_line(name)) for name in person.names[1:]),
                shown(person.text),
                shown(one_line(person.dynamic)),
                person.scores,
                person.interaction_count,
                self._local_or_none(person.first_met),
                self._local_or_none(person.last_interaction),
                self._local_or_none(person.last_reflection),
                tuple(map(shown, person.topics)),
                tuple(map(shown, person.unresolved)),
                tuple(shown(note.text) for note in notes),
                view.origin.sources,
            )
        )

    def take_story(self, view: RecordView) -> None:
        """Take in the story that the entity tells of itself."""
        self.life.story = shown(narrative.uncited(view.text))

    def take_episode(self, view: RecordView) -> None:
        """Take in an episode."""
        assert view.document is not None  # noqa: S101
        episode = episodes.of(view.document, view.id)
        felt = tuple(
            episodes.Imprint(shown(each.emotion), each.intensity, shown(each.trigger))
            for each in episode.imprints
        )
        self.sources[view.id], self.company[view.id] = view.sources, view.people
        self._add(
            view.id,
            LifeEntry(
                "episode",
                anchor("episode", view.id),
                self._local(episode.at),
                shown(episode.telling.narrative),
                view.people,
                reflection=shown(episode.telling.reflection),
                marks=(
                    *(("dormant",) if episode.dormant else ()),
                    *self._origin(view),
                ),
                sources=view.sources,
                imprints=felt,
                weight=episode.significance,
                body=_body(episode.soma),
            ),
        )

    def take_belief(self, view: RecordView) -> None:
        """Take in a belief."""
        assert view.document is not None  # noqa: S101
        belief = beliefs.of(view.document, view.id)
        confirmed = belief.reinforced if belief.reinforced != belief.formed else None
        self._add(
            view.id,
            LifeEntry(
                "belief",
                anchor("belief", view.id),
                self._local(belief.formed),
                shown(belief.text),
                marks=(
                    belief.category.replace("_", " "),
                    belief.origin.partition(":")[0],
                    *self._origin(view),
                ),
                sources=view.sources,
                sure=strength(belief, self.now),
                put_away=belief.archived,
                confirmed=self._local_or_none(confirmed),
                contradicts=belief.contradicts,
            ),
        )

    def take_dream(self, view: RecordView) -> None:
        """Take in a dream."""
        assert view.document is not None  # noqa: S101
        dream = dreams.of(view.document, view.id)
        self._add(
            view.id,
            LifeEntry(
                "dream",
                anchor("dream", view.id),
                self._local(dream.at),
                shown(dream.thread),
                title=shown(dream.title),
                marks=self._origin(view),
                sources=view.sources,
                fragments=tuple(map(shown, dream.fragments)),
            ),
        )

    def take_journal(self, view: RecordView) -> None:
        """Take in an entry of the diary."""
        if view.at is not None and not dreams.is_link(view.text):  # the dream is told itself
            at, mark = self._local(view.at), anchor("journal", f"{view.at:%Y%m%d-%H%M%S}")
            text, marks = shown(view.text), self._origin(view)
            self._add(
                view.id, LifeEntry("journal", mark, at, text, marks=marks, sources=view.sources)
            )

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
        quotes = dict(self._quotes(session, wanted))
        self.quotes |= quotes
        self.talks |= dict.fromkeys(quotes, session.id)
        self.company |= dict.fromkeys((*quotes, session.id), session.people)
        spoken = [message for message in session.messages if message.role != "tool"]
        first = next((m.text for m in spoken if m.role == "user" and m.text.strip()), "")
        imported = session.imported or {}
        origin = f"from {imported['from']}" if imported.get("from") else ""
        count = f"{len(spoken)} message{'' if len(spoken) == 1 else 's'}"
        self._add(
            session.id,
            LifeEntry(
                "session",
                anchor("session", session.id),
                self._local(session.at),
                shorten(one_line(shown(first)), FIRST_CHARS, at_word=True),
                session.people,
                title=shown(one_line(str(imported.get("title") or ""))),
                marks=tuple(filter(None, (count, shown(origin)))),
                quotes=tuple(quotes.values()),
            ),
        )

    def _quotes(self, session: Session, wanted: set[str]) -> Iterator[tuple[str, Basis]]:
        for message in session.messages:
            if message.id in wanted and message.text.strip() and message.id not in self.quotes:
                called = shown(one_line(str(message.extra.get("name") or "")))
                speaker = called or self.names.get(message.speaker) or shown(message.speaker)
                if message.role != "user":
                    speaker = self.name if message.role == "assistant" else "a tool"
                yield message.id, self._quote(message, message.text, speaker)
        for summary in session.compactions:
            if summary.id in wanted and summary.summary.strip() and summary.id not in self.quotes:
                told = self._quote(summary, summary.summary, "a summary of the talk")
                yield summary.id, told

    def _quote(self, said: Message | Compaction, text: str, speaker: str) -> Basis:
        told, mark = _cut(shown(text.strip()), QUOTE_CHARS), anchor("message", said.id)
        return Basis("message", mark, self._local(said.at), told, speaker)

    def _join(self) -> None:
        """Say of each memory what it rests on, and put the newest first."""
        life = self.life
        life.people = [replace(who, ground=self._ground(who.sources)) for who in life.people]
        life.people.sort(key=lambda who: (-who.interaction_count, who.name.casefold()))
        for kind, group in life.entries.items():
            joined = [self._joined(entry) for entry in group if kind != "session"]
            life.entries[kind] = sorted(joined or group, key=lambda entry: entry.at, reverse=True)

    def _joined(self, entry: LifeEntry) -> LifeEntry:
        against = tuple(self.places[other] for other in entry.contradicts if other in self.places)
        company = [who for source in entry.sources for who in self.company.get(source, ())]
        people = entry.people or tuple(map(_mark, dict.fromkeys(company)))
        ground = self._ground(entry.sources)
        return replace(entry, ground=ground, against=against, people=people)

    def _ground(self, ids: Sequence[str]) -> Ground:
        talks = {self.talks[source] for source in ids if source in self.talks}
        bases = [
            basis for basis in map(self._basis, ids) if basis and basis.anchor not in _marks(talks)
        ]
        lost = (
            []
            if not self.reader.is_owner
            else [
                source
                for source in ids
                if not (source in self.quotes or source in self.places or source in self._hidden)
            ]
        )
        more = max(0, len(bases) - MOST_BASES)
        return Ground(tuple(bases[:MOST_BASES]), more, len(lost))

    def _basis(self, source: str) -> Basis | None:
        if source in self.quotes:
            return self._quoted(source)
        basis = self.places.get(source)
        messages = [each for each in self.sources.get(source, ()) if each in self.quotes]
        return basis and replace(basis, below=tuple(map(self._quoted, messages[:MOST_BELOW])))

    def _quoted(self, source: str) -> Basis:
        quote = self.quotes[source]
        return replace(quote, text=_cut(quote.text, BASIS_CHARS))


def _marks(talks: Iterable[str]) -> set[str]:
    return {anchor("session", talk) for talk in talks}


def _body(tag: str) -> ebb.BodyTag | None:
    try:
        return ebb.parse_tag(tag) if tag else None
    except ValueError:
        return None


def _cut(text: str, most: int) -> str:
    """Cut what somebody said where it is too long for a quotation."""
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


TAKERS: Mapping[str, Callable[[Collector, RecordView], None]] = {
    kinds.PERSON.name: Collector.take_person,
    kinds.NARRATIVE.name: Collector.take_story,
    kinds.EPISODE.name: Collector.take_episode,
    kinds.BELIEF.name: Collector.take_belief,
    kinds.DREAM.name: Collector.take_dream,
    kinds.JOURNAL.name: Collector.take_journal,
}
READ = tuple(kinds.BY_NAME[name] for name in TAKERS)  # in this order, and conversations after it
