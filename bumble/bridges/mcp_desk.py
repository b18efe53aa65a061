"""What one reader gets of an entity: memories, records, people, who it is; as plain data.

Whoever asks is one person, and gets what that person may hear in a talk. What may not be read is
missing, in the same words as what is not there. Knows nothing of protocols; writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Struct
from pydantic import Field

from bumble.bridges.exports.memories import quotation
from bumble.entity import changes, secrets
from bumble.errors import (
    RecordInvalidError,
    RecordMissingError,
    RefusedError,
    UsageError,
)
from bumble.history import lookup, why
from bumble.history.why import SourceNode
from bumble.index.memory import Memory
from bumble.prompt import system
from bumble.recall import memory_search, prompt_memories
from bumble.records import base, journal, knowledge, relationships, reminders
from bumble.runtime import body_state, people, rules
from bumble.runtime.runtime import Runtime
from bumble.text.printable import whole
from bumble.text.words import one_line, shorten

MAX_QUERY_CHARS = 10_000
MOST_HITS = 50
# of the system prompt: who the entity is, without how it answers in bumble
BEING = frozenset(
    ["monologue", "voice", "character", "people", "mood", "knowledge", "files", "narrative"]
)


# What a tool takes, as its client is told.
Query = Annotated[str, Field(description="What to look for: a question, or words.")]
Limit = Annotated[int, Field(ge=0, description="How many to return; 0: those that answer.")]
Name = Annotated[str, Field(description="As `recall` gives it; or a title, or a person's name.")]
PersonName = Annotated[str, Field(description="What they are called, or their id.")]
NoteText = Annotated[str, Field(description="What is to be remembered.")]
NoteTitle = Annotated[str, Field(description="The note's name; empty: its first words.")]
ReminderText = Annotated[str, Field(description="What is to be said.")]
ReminderTime = Annotated[
    str, Field(description="When, like 2026-05-24T18:00; of a day alone its morning.")
]


class Desk(Struct, frozen=True):
    """An entity, and who asks."""

    runtime: Runtime
    reader: people.Person
    memory: Callable[[], Memory]  # with its index brought up to date

    @property
    def readers(self) -> tuple[str, ...]:
        """Ids of all who meet what is given out."""
        return (self.reader.id,)

    def _mood(self) -> str:
        return body_state.read(self.runtime, self.runtime.now()).mood.name

    def recall(self, query: Query, limit: Limit = 0) -> dict[str, Any]:
        """Search what the entity remembers: what answers, best first, or the best `limit`."""
        if not query.strip():
            raise UsageError("There is nothing to look for: the query is empty.")
        if len(query) > MAX_QUERY_CHARS:
            raise UsageError(f"That query is longer than {MAX_QUERY_CHARS:,} characters.")
        search = memory_search.search_of(self.runtime, self.readers)
        most = min(limit, MOST_HITS) or None
        found = memory_search.answers(
            self.memory(), self.runtime.config, search, query.strip(), limit=most
        )
        return {
            "query": query.strip(),
            "hits": [_told(hit.data(rank)) for rank, hit in enumerate(found.answers, 1)],
            "more": found.near,
        }

    def read(self, id: Name) -> dict[str, Any]:  # noqa: A002  (as clients know it)
        """Read one record whole."""
        _, item = self._find(id)
        return _told(item.data())

    def why(self, id: Name) -> dict[str, Any]:  # noqa: A002
        """Show where a record comes from: all it rests on, down to what was said."""
        library, item = self._find(id)
        return self._node(why.explain(library, item))

    def _find(self, record_id: str) -> tuple[lookup.Library, lookup.LibraryRecord]:
        """Look a record up.

        Raises:
            RecordMissingError: If there is none, or none that may be read: nobody learns from an
                error what others have told.
            UserError: If it could be more than one that may be read.
            RecordInvalidError: If a file can't be read, and the owner asks.
        """
        runtime = self.runtime
        library = lookup.Library(runtime.entity, name=runtime.identity.name, zone=runtime.zone)
        missing = RecordMissingError("record to be read with the id", record_id)
        if not record_id.strip():
            raise missing

        def may_see(origin: base.Provenance) -> bool:
            return base.may_read(origin.audience, self.readers)

        try:
            item = library.look_up(record_id, may_see=may_see)
        except RecordMissingError:
            raise missing from None
        except RecordInvalidError as error:
            raise (error if self.reader.trust == "owner" else missing) from None
        if not base.may_read(item.origin.audience, self.readers):
            raise missing
        return library, item

    def _node(self, node: SourceNode) -> dict[str, Any]:
        """Return a record of the walk; of one that is not for who asks, only that there is one."""
        if not base.may_read(node.item.origin.audience, self.readers):
            return {"kind": node.item.kind or None, "hidden": True}
        below = [self._node(source) for source in node.rests_on]
        return {**_told(node.item.data()), "resolved": node.resolved, "rests_on": below}

    def person(self, name: PersonName) -> dict[str, Any]:
        """Show how the entity sees somebody, and how the two stand."""
        match = self._somebody(name)
        return _told(
            {
                "id": match.id,
                "names": list(match.names),
                "bond": people.standing(match, self.runtime.now()).line,
                "interaction_count": match.interaction_count,
                "dynamic": match.dynamic,
                "topics": list(match.topics),
                "unresolved": list(match.unresolved),
                "text": match.text,
                "trust": match.provenance.trust or None,
            }
        )

    def _somebody(self, name: str) -> relationships.Relationship:
        """Look a person up by any name.

        Raises:
            RecordMissingError: If there is nobody of that name, or nobody that may be read of.
        """
        match = relationships.match(
            relationships.PERSON.readable(self.runtime.entity.relationships), name
        )
        if match is None or not base.may_read(match.audience, self.readers):
            raise RecordMissingError("person to be read called", name)
        return match

    def whoami(self) -> dict[str, Any]:
        """Show who the entity is, how it feels, and as whom you read."""
        identity = rules.own_identity(self.runtime.entity, self.runtime.identity)
        return {
            "name": identity.name,
            "timezone": identity.timezone,
            "now": self.runtime.now().isoformat(timespec="seconds"),
            "mood": self._mood(),
            "monologue": identity.identity.monologue.strip(),
            "voice": identity.identity.voice.strip(),
            "reader": {"id": self.reader.id, "name": self.reader.name, "trust": self.reader.trust},
        }

    def being(self) -> str:
        """Speak as the entity: who it is, in its own words."""
        runtime = self.runtime
        whole = system.of_entity(
            runtime.entity, runtime.identity, (), runtime.config.prompt, self.readers, self._mood()
        )
        parts = [part.text.strip() for part in whole.parts if part.name in BEING]
        return "\n\n".join((f"You are {runtime.identity.name}.", *filter(None, parts)))

    def knowledge_page(self) -> str:
        """Return what the entity knows."""
        return "\n\n".join(
            f"## {section.title}\n\n{quotation(section.provenance, section.text)}"
            for section in knowledge.read(self.runtime.entity.knowledge).sections
            if base.may_read(section.provenance.audience, self.readers)
        )

    def journal_page(self, date: str) -> str:
        """Return the diary of a day, `2026-05-24`."""
        shown = [
            f"## {entry.at:%Y-%m-%d %H:%M}\n\n{quotation(entry.provenance, entry.text)}"
            for entry in journal.read(self.runtime.entity.journal, self.runtime.zone).entries
            if f"{entry.at:%Y-%m-%d}" == date and base.may_read(entry.audience, self.readers)
        ]
        if not shown:
            raise RecordMissingError("entry to be read of the day", date)
        return "\n\n".join(shown)

    def person_page(self, id: str) -> str:  # noqa: A002
        """Return the portrait of a person."""
        match = self._somebody(id)
        portrait = quotation(match.provenance, match.text) if match.text else "No portrait yet."
        return f"# {' / '.join(match.names) or match.id}\n\n{portrait}"

    def episode_page(self, id: str) -> str:  # noqa: A002
        """Return what happened."""
        _, item = self._find(id)
        if item.kind != "episode":
            raise RecordMissingError("episode to be read with the id", id)
        return quotation(item.origin, item.text)

    def remember(self, text: NoteText, title: NoteTitle = "") -> dict[str, Any]:
        """Leave a note with the entity. It stays a quotation until its owner says it is so."""
        text, title = _checked(text), _checked(title, needed=False)
        head = shorten(one_line(title) or one_line(text), MAX_TITLE_CHARS)
        if self.reader.trust != "owner":
            # a number would tell of a section of that title that isn't theirs
            head = f"{head} ({self.reader.name})"
        why = f"for another program: {shorten(one_line(text), 50)}"
        name = head

        def plan() -> changes.Change | None:
            nonlocal name
            book = knowledge.read(self.runtime.entity.knowledge)
            own = (part for part in book.sections if part.provenance == self._origin())
            same = next((part for part in own if knowledge.says(part, text)), None)
            if same is not None:
                name = same.title
                return None
            notes = [part.source for part in book.sections if part.provenance.by == BY]
            if sum(len(note.encode()) for note in (*notes, text)) > MAX_NOTES_BYTES:
                raise RefusedError(
                    f"{knowledge.PATH}: the notes of other programs would fill "
                    f"{MAX_NOTES_BYTES:,} bytes\n"
                    "Its owner makes room with `bumble knowledge remove`, or makes them their own."
                )
            titles = (head, *(f"{head} ({number})" for number in range(2, MOST_ALIKE)))
            name = next((one for one in titles if knowledge.find(book, one) is None), "")
            if not name:
                raise UsageError(
                    f'There are {MOST_ALIKE} notes called "{head}" already: give it a title.'
                )
            return knowledge.plan_set(
                book, name, text, why, by_entity=True, provenance=self._origin()
            )

        changed = self.runtime.apply_one("mcp remember", plan)
        return {"changed": changed, "id": name, "trust": TRUST}

    def remind(self, text: ReminderText, at: ReminderTime) -> dict[str, Any]:
        """Have something said in the next talk after a time."""
        text = _checked(text)
        try:
            due = reminders.moment(at, self.runtime.zone).astimezone(self.runtime.zone)
        except ValueError as error:
            raise UsageError(str(error)) from None
        reminder = reminders.new(
            base.new_id(reminders.REMINDER.prefix, self.runtime.now(), self.runtime.rng),
            due,
            text.strip(),
            person=self.reader.id,
            deliver=reminders.SESSION,
            provenance=self._origin(),
        )
        why = shorten(one_line(text), 50)
        self.runtime.apply_one("mcp remind", lambda: reminders.REMINDER.plan_new(reminder, why))
        return {"changed": True, "id": reminder.id, "at": base.stamp(due), "trust": TRUST}

    def _origin(self) -> base.Provenance:
        return base.Provenance(by=BY, trust=TRUST, audience=self.readers)


def _told(data: dict[str, Any]) -> dict[str, Any]:
    """Say of a record's data whose words they are, where they are not its own."""
    return {**data, "quoted_from": prompt_memories.QUOTED_FROM.get(data["trust"] or "")}


BY = "mcp"
TRUST = "tool"
MAX_TEXT_CHARS = 20_000
MAX_TITLE_CHARS = 80
MOST_ALIKE = 1000  # notes of one title
MAX_NOTES_BYTES = 1_000_000  # of all notes: the file has a limit, and is the owner's


def _checked(given: str, *, needed: bool = True) -> str:
    text = str(whole(given))
    if needed and not text.strip():
        raise UsageError("There is nothing to keep: the text is empty.")
    if len(text) > MAX_TEXT_CHARS:
        raise UsageError(f"That text is longer than {MAX_TEXT_CHARS:,} characters.")
    secrets.refuse(text)
    return text
