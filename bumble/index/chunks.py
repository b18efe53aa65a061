"""Files as the chunks that are searched: what each shows, what is embedded, what it is found by.

A turn of a conversation is indexed as what was said, by whom and when; around it stand the two
turns before it, so that "Yes, last May!" is found by what it answers. Knows nothing of databases.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from functools import partial
from pathlib import Path

from bumble.index import splitting, terms
from bumble.index.splitting import Passage
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    relationships,
    session_files,
    skills,
)
from bumble.records.base import Provenance
from bumble.records.sessions import Message, Session

VERSION = f"2.{terms.VERSION}"  # raise it when the same file would give other chunks
AROUND_TERMS = 60  # of each turn before: a long answer is not to drown the one that follows it
# How much of a chunk's vector comes from the turns before it, the nearest first (docs/log.md).
AROUND_WEIGHTS = (0.4, 0.2)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_MESSAGE_ID = re.compile(r'"id"\s*:\s*"([^"]+)"')


@dataclass(frozen=True)
class Chunk:
    """A passage of a record, ready to be indexed."""

    kind: str  # one of kinds.INDEXED
    record: str  # the record's id: `ep_…`, `msg_…`, a section's title, a person's id
    ordinal: int  # among the chunks of this record in this file, from 0
    line: int  # of the file, from 1
    text: str  # as it is shown
    embedded: str  # as it is embedded
    terms: tuple[str, ...]  # as it is found by words
    around: tuple[str, ...] = ()  # terms of the turns before it
    recipe: tuple[tuple[str, float], ...] = ()  # the vector: hashes of embedded texts with weights
    at: str = ""  # ISO 8601 with offset; empty if it has no time
    people: tuple[str, ...] = ()  # ids of those it is about, or who took part
    audience: tuple[str, ...] = ()  # ids of those who may meet it in a prompt; empty: everyone
    trust: str = ""  # one of records.TRUSTS, or empty
    session: str = ""  # the session a message belongs to
    speaker: str = ""  # who said it, as shown
    active: bool = True  # False: dormant or archived; found by search, not by recall

    @property
    def hash(self) -> str:
        """Identify the embedded text."""
        return text_hash(self.embedded)


def text_hash(text: str) -> str:
    """Identify a text that is embedded."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def read(kind: str, path: Path, *, name: str, zone: tzinfo) -> list[Chunk]:
    """Read a file as chunks.

    Args:
        kind: One of kinds.INDEXED.
        path: The file.
        name: What the entity is called: the speaker of its own messages.
        zone: The entity's time zone, for the journal.

    Raises:
        RecordInvalidError: If the file does not hold what it should, naming file and line.
    """
    readers: dict[str, Callable[[Path], Iterable[Chunk]]] = {
        "episode": _episode,
        "knowledge": _knowledge,
        "belief": _belief,
        "journal": partial(_journal, zone=zone),
        "skill": _skill,
        "person": _person,
        "message": partial(_messages, name=name),
        "narrative": _narrative,
        "dream": _dream,
    }
    return _numbered(readers[kind](path))


def _numbered(found: Iterable[Chunk]) -> list[Chunk]:
    """Count the chunks of each record; two sections of one title count as one record."""
    seen: dict[str, int] = {}
    numbered = []
    for chunk in found:
        ordinal = seen.get(chunk.record, 0)
        seen[chunk.record] = ordinal + 1
        recipe = chunk.recipe or ((chunk.hash, 1.0),)
        numbered.append(replace(chunk, ordinal=ordinal, recipe=recipe))
    return numbered


def spoken_date(day: date) -> str:
    """Write a day as people say it: 8 May 2023."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def spoken_name(person: str) -> str:
    """Turn a person's id into what a transcript calls them."""
    return person.replace("-", " ").title()


def _chunks(
    kind: str,
    record: str,
    text: str,
    line: int,
    origin: Provenance,
    *,
    head: str = "",
    at: str = "",
    people: tuple[str, ...] = (),
    active: bool = True,
) -> Iterator[Chunk]:
    """Make the chunks of a text; `head` leads each, unseen: a date, a title, names."""
    pieces = splitting.split(text) or ([Passage("", 0)] if head else [])
    for piece in pieces:
        embedded = f"{head}{piece.text}"
        yield Chunk(
            kind,
            record,
            0,
            line + piece.line,
            piece.text or head.strip(),
            embedded,
            tuple(terms.terms(embedded)),
            at=at,
            people=people,
            audience=origin.audience,
            trust=origin.trust,
            active=active,
        )


def _episode(path: Path) -> Iterator[Chunk]:
    one = base.load(path, episodes.parse)
    people = ", ".join(spoken_name(person) for person in one.people)
    head = f"({spoken_date(one.at.date())}) " + (f"With {people}: " if people else "")
    origin = base.provenance(one.source.meta)
    yield from _chunks(
        "episode",
        one.id,
        one.text,
        _body_line(one.source.source, one.text),
        origin,
        head=head,
        at=one.at.isoformat(),
        people=one.people,
        active=not one.dormant,
    )


def _body_line(source: str, text: str) -> int:
    """Return the line of the file on which its body starts."""
    return source.count("\n", 0, max(0, source.rfind(text))) + 1


def _knowledge(path: Path) -> Iterator[Chunk]:
    for one in base.load(path, knowledge.parse).sections:
        gap = one.source.count("\n", 0, max(0, one.source.find(one.text)))
        yield from _chunks(
            "knowledge",
            one.title,
            one.text,
            one.line + gap,
            one.provenance,
            head=f"{one.title}\n",
        )


def _belief(path: Path) -> Iterator[Chunk]:
    one = base.load(path, beliefs.parse)
    yield from _chunks(
        "belief",
        one.id,
        one.text,
        _body_line(one.source.source, one.text),
        one.provenance,
        at=one.formed.isoformat(),
        active=not one.archived,
    )


def _journal(path: Path, *, zone: tzinfo) -> Iterator[Chunk]:
    parsed = base.load(path, partial(journal.parse, zone=zone))
    for one in parsed.entries:
        tags = " ".join(one.tags)
        gap = one.source.count("\n", 0, max(0, one.source.find(one.text)))
        yield from _chunks(
            "journal",
            f"{one.at:%Y-%m-%d %H:%M:%S}",
            one.text,
            one.line + gap,
            one.provenance,
            head=f"({spoken_date(one.at.date())}) {tags}".strip() + " ",
            at=one.at.isoformat(),
        )


def _skill(path: Path) -> Iterator[Chunk]:
    one = skills.load(path)
    yield from _chunks(
        "skill",
        one.slug,
        one.text,
        _body_line(one.source.source, one.text),
        one.provenance,
        head=f"{one.name}: {one.description}\n",
    )


def _person(path: Path) -> Iterator[Chunk]:
    one = base.load(path, relationships.parse)
    about = [", ".join(one.names) or spoken_name(one.id), one.dynamic, ", ".join(one.topics)]
    yield from _chunks(
        "person",
        one.id,
        one.text,
        _body_line(one.source.source, one.text),
        one.provenance,
        head=". ".join(part for part in about if part) + "\n",
        at=one.last_interaction.isoformat() if one.last_interaction else "",
        people=(one.id,),
    )


def _narrative(path: Path) -> Iterator[Chunk]:
    one = base.load(path, narrative.parse)
    at = one.at.isoformat() if one.at else ""
    line = _body_line(one.source.source, one.text)
    yield from _chunks("narrative", "narrative", one.text, line, one.provenance, at=at)


def _dream(path: Path) -> Iterator[Chunk]:
    one = base.load(path, dreams.parse)
    text = "\n".join((*one.fragments, one.thread)).strip()
    yield from _chunks(
        "dream",
        one.id,
        text,
        one.source.body_line,
        one.provenance,
        head=f"({spoken_date(one.at.date())}) ",
        at=one.at.isoformat(),
    )


@dataclass(frozen=True)
class _Turn:
    """A message in pieces, with what the turns after it take from it."""

    pieces: tuple[str, ...]  # as embedded
    terms: tuple[str, ...]  # the first AROUND_TERMS


def _messages(path: Path, *, name: str) -> Iterator[Chunk]:
    session = session_files.load(path)
    lines = _message_lines(session.source)
    before: list[_Turn] = []  # the nearest first
    for message in session.messages:
        if message.role == "tool" or not message.text.strip():
            continue
        speaker = name if message.role == "assistant" else message.speaker or session.by
        if message.role != "assistant":
            speaker = spoken_name(speaker)
        found = list(_turn(message, session, speaker, lines.get(message.id, 1), before))
        yield from found
        said = tuple(term for chunk in found for term in chunk.terms)[:AROUND_TERMS]
        turn = _Turn(tuple(chunk.embedded for chunk in found), said)
        before = [turn, *before][: len(AROUND_WEIGHTS)]


def _turn(
    message: Message, session: Session, speaker: str, line: int, before: Sequence[_Turn]
) -> Iterator[Chunk]:
    head = f"({spoken_date(message.at.date())}) {speaker} said: "
    around = tuple(term for turn in before for term in turn.terms)
    for piece in splitting.split(message.text):
        embedded = head + piece.text
        yield Chunk(
            "message",
            message.id,
            0,
            line,
            piece.text,
            embedded,
            tuple(terms.terms(embedded)),
            around,
            _recipe(embedded, before),
            at=message.at.isoformat(),
            people=session.people,
            audience=session.people,
            trust=message.trust,
            session=session.id,
            speaker=speaker,
        )


def _recipe(embedded: str, before: Sequence[_Turn]) -> tuple[tuple[str, float], ...]:
    """Say which texts make the vector: this one and, ever less, the turns before it."""
    parts = [(text_hash(embedded), 1.0)]
    for turn, weight in zip(before, AROUND_WEIGHTS, strict=False):
        parts += [(text_hash(text), weight / len(turn.pieces)) for text in turn.pieces]
    return tuple(parts)


def _message_lines(source: str) -> dict[str, int]:
    lines: dict[str, int] = {}
    for number, line in enumerate(source.split("\n"), 1):
        match = _MESSAGE_ID.search(line)
        if match:
            lines.setdefault(match[1], number)
    return lines
