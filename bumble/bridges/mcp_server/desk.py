"""What one reader gets of an entity: memories, records, people, who it is; as plain data.

Whoever asks is one person, and gets what that person may hear in a talk. What may not be read is
missing, in the same words as what is not there. Knows nothing of protocols; writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec import Struct

from bumble.app import body_view, opening
from bumble.app.opening import Opened
from bumble.chat.participants import Person
from bumble.errors import RecordInvalidError, RecordMissingError, UsageError, UserError
from bumble.history import why
from bumble.history.lookup import Library, LibraryRecord
from bumble.history.why import SourceNode
from bumble.index.memory import Memory
from bumble.index.search import Hit
from bumble.prompt import system
from bumble.recall import prompt_memories
from bumble.recall.prompt_memories import QUOTED_FROM, Search
from bumble.records import base, journal, knowledge, provenance, relationships
from bumble.records.base import Provenance
from bumble.records.relationships import Relationship
from bumble.runtime import people, rules

MAX_QUERY_CHARS = 10_000
MOST_HITS = 50
# of the system prompt: who the entity is, without how it answers in bumble
BEING = frozenset(
    ["monologue", "voice", "character", "people", "mood", "knowledge", "files", "narrative"]
)


class Desk(Struct, frozen=True):
    """An entity, and who asks."""

    opened: Opened
    reader: Person
    memory: Callable[[], Memory]  # with its index brought up to date

    @property
    def readers(self) -> tuple[str, ...]:
        """Ids of all who meet what is given out."""
        return (self.reader.id,)

    def now(self) -> datetime:
        """Return the present in the entity's time zone."""
        return self.opened.shell.now().astimezone(opening.zone(self.opened))


def recall(desk: Desk, query: str, limit: int) -> dict[str, Any]:
    """Search what the entity remembers."""
    if not query.strip():
        raise UsageError("There is nothing to look for: the query is empty.")
    if len(query) > MAX_QUERY_CHARS:
        raise UsageError(f"That query is longer than {MAX_QUERY_CHARS:,} characters.")
    opened = desk.opened
    mood = body_view.look(opened).mood.name
    hits = prompt_memories.find(
        desk.memory(),
        opened.config,
        Search(readers=desk.readers, mood=mood, at=desk.now()),
        query.strip(),
        limit=max(1, min(limit, MOST_HITS)),
        unasked=False,
        touching=True,
    )
    return {"query": query.strip(), "hits": [_hit(hit, rank) for rank, hit in enumerate(hits, 1)]}


def _hit(hit: Hit, rank: int) -> dict[str, Any]:
    return {
        "rank": rank,
        "score": round(hit.score, 4),
        "kind": hit.kind,
        "id": hit.id,
        "at": hit.at.isoformat() if hit.at else None,
        "text": hit.text,
        "newer": hit.newer or None,
        "speaker": hit.speaker or None,
        "people": list(hit.people),
        "trust": hit.trust or None,
        "quoted_from": QUOTED_FROM.get(hit.trust),
        "session": hit.session or None,
        "path": hit.path,
        "line": hit.line,
    }


def read(desk: Desk, record_id: str) -> dict[str, Any]:
    """Return one record whole."""
    _, item = _find(desk, record_id)
    return _record(item)


def explain(desk: Desk, record_id: str) -> dict[str, Any]:
    """Return a record and all it rests on, down to what was said."""
    library, item = _find(desk, record_id)
    return _node(desk, why.explain(library, item, why.GitHistory(desk.opened.entity.root)))


def _find(desk: Desk, record_id: str) -> tuple[Library, LibraryRecord]:
    """Look a record up.

    Raises:
        RecordMissingError: If there is none, more than one, or none that may be read: nobody
            learns from an error what others have told.
        RecordInvalidError: If a file can't be read, and the owner asks.
    """
    opened = desk.opened
    library = Library(opened.entity, name=opened.identity.name, zone=opening.zone(opened))
    missing = RecordMissingError("record to be read with the id", record_id)
    if not record_id.strip():
        raise missing
    try:
        item = library.look_up(record_id)
    except UserError as error:
        if isinstance(error, RecordInvalidError) and desk.reader.trust == "owner":
            raise
        raise missing from None
    if not base.may_read(item.origin.audience, desk.readers):
        raise missing
    return library, item


def _record(item: LibraryRecord) -> dict[str, Any]:
    return {
        "kind": item.kind or None,
        "id": item.id,
        "text": item.text,
        "at": item.at.isoformat() if item.at else None,
        "path": item.path or None,
        "line": item.line,
        "speaker": item.speaker or None,
        "by": item.origin.by or None,
        "model": item.origin.model or None,
        "trust": item.origin.trust or None,
        "quoted_from": QUOTED_FROM.get(item.origin.trust),
    }


def _node(desk: Desk, node: SourceNode) -> dict[str, Any]:
    """Return a record of the walk; of one that is not for who asks, only that there is one."""
    if not base.may_read(node.item.origin.audience, desk.readers):
        return {"kind": node.item.kind or None, "hidden": True}
    below = [_node(desk, source) for source in node.rests_on]
    return {**_record(node.item), "resolved": node.resolved, "rests_on": below}


def person(desk: Desk, name: str) -> dict[str, Any]:
    """Return how the entity sees somebody, and how the two stand."""
    match = _somebody(desk, name)
    return {
        "id": match.id,
        "names": list(match.names),
        "bond": people.standing(match, desk.now()).line,
        "interaction_count": match.interaction_count,
        "dynamic": match.dynamic,
        "topics": list(match.topics),
        "unresolved": list(match.unresolved),
        "text": match.text,
        "trust": match.provenance.trust or None,
        "quoted_from": QUOTED_FROM.get(match.provenance.trust),
    }


def _somebody(desk: Desk, name: str) -> Relationship:
    """Look a person up by any name.

    Raises:
        RecordMissingError: If there is nobody of that name, or nobody that may be read of.
    """
    paths = relationships.paths(desk.opened.entity.relationships)
    readable, _ = base.load_all(paths, lambda path: base.load(path, relationships.parse))
    match = relationships.match(readable, name)
    if match is None or not base.may_read(match.audience, desk.readers):
        raise RecordMissingError("person to be read called", name)
    return match


def whoami(desk: Desk) -> dict[str, Any]:
    """Return who the entity is, and for whom it takes who asks."""
    identity = rules.own_identity(desk.opened.entity, desk.opened.identity)
    return {
        "name": identity.name,
        "timezone": identity.timezone,
        "now": desk.now().isoformat(timespec="seconds"),
        "mood": body_view.look(desk.opened).mood.name,
        "monologue": identity.identity.monologue.strip(),
        "voice": identity.identity.voice.strip(),
        "reader": {"id": desk.reader.id, "name": desk.reader.name, "trust": desk.reader.trust},
    }


def being(desk: Desk) -> str:
    """Return who the entity is in its own words: what every prompt of it begins with."""
    opened = desk.opened
    mood = body_view.look(opened).mood.name
    whole = system.of_entity(
        opened.entity, opened.identity, (), opened.config.prompt, desk.readers, mood
    )
    parts = [part.text.strip() for part in whole.parts if part.name in BEING]
    return "\n\n".join((f"You are {opened.identity.name}.", *filter(None, parts)))


def knowledge_page(desk: Desk) -> str:
    """Return what the entity knows, a section each."""
    sections = knowledge.read(desk.opened.entity.knowledge).sections
    return "\n\n".join(
        f"## {section.title}\n\n{_quoted(section.provenance, section.text)}"
        for section in sections
        if base.may_read(section.provenance.audience, desk.readers)
    )


def journal_page(desk: Desk, day: str) -> str:
    """Return what stands in the diary for a day, `2026-05-24`."""
    entries = journal.read(desk.opened.entity.journal, opening.zone(desk.opened)).entries
    shown = [
        f"## {entry.at:%Y-%m-%d %H:%M}\n\n{_quoted(entry.provenance, entry.text)}"
        for entry in entries
        if f"{entry.at:%Y-%m-%d}" == day and base.may_read(entry.audience, desk.readers)
    ]
    if not shown:
        raise RecordMissingError("entry to be read of the day", day)
    return "\n\n".join(shown)


def person_page(desk: Desk, person_id: str) -> str:
    """Return the portrait of somebody."""
    match = _somebody(desk, person_id)
    portrait = _quoted(match.provenance, match.text) if match.text else "No portrait yet."
    return f"# {' / '.join(match.names) or match.id}\n\n{portrait}"


def episode_page(desk: Desk, episode_id: str) -> str:
    """Return one remembered event."""
    _, item = _find(desk, episode_id)
    if item.kind != "episode":
        raise RecordMissingError("episode to be read with the id", episode_id)
    return _quoted(item.origin, item.text)


def _quoted(origin: Provenance, text: str) -> str:
    """Mark what is no memory of the entity's own."""
    if not provenance.is_untrusted(origin.trust):
        return text
    lines = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return f"Not its own memory, but quoted from {QUOTED_FROM[origin.trust]}:\n\n{lines}"
