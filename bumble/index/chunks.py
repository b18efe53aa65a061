"""Files cut into the chunks that are searched: what each shows, embeds and is found by.

A turn of a conversation is indexed as what was said, by whom and when; around it stand the two
turns before it, so that "Yes, last May!" is found by what it answers. Knows nothing of databases.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.index import form, terms
from bumble.records import (
    base,
    dreams,
    journal,
    kinds,
    knowledge,
    provenance,
    session_files,
    sessions,
    topics,
)
from bumble.records.beliefs import Belief
from bumble.records.episodes import Episode
from bumble.records.kind import RecordKind
from bumble.records.projects import Project
from bumble.records.relationships import Relationship
from bumble.records.skills import Skill
from bumble.text import languages, words

VERSION = (
    f"10.{terms.VERSION}.{form.VERSION}"  # raise it when the same file would give other chunks
)
TELLING_CHARS = 2000  # of a text, which tell its language
AROUND_TERMS = 60  # of each turn before: a long answer is not to drown the one that follows it
# How much of a chunk's vector comes from the turns before it, the nearest first (docs/log.md).
AROUND_WEIGHTS = (0.4, 0.2)
_MESSAGE = "message"
_MESSAGE_ID = patterns.compile(r'"id"\s*:\s*"([^"]+)"')


class RecordPart(Struct, frozen=True):
    """What a text of a record and a passage of it have in common."""

    record: str  # the record's id: `ep_…`, `msg_…`, a section's title, a person's id
    text: str  # as it is shown
    line: int  # of the file, from 1, on which the text begins
    at: str = ""  # ISO 8601 with offset; empty if it has no time
    people: tuple[str, ...] = ()  # ids of those it is about, or who took part
    tags: tuple[str, ...] = ()  # of its record, of a passage those in its text, too, as compared
    active: bool = True  # False: dormant or archived; found by search, not by recall


class RecordText(RecordPart, frozen=True, kw_only=True):
    """A text of a record, of which chunks are made."""

    origin: base.Provenance
    head: str = ""  # leads each chunk, unseen: a date, a title, names; what a bare record shows

    @property
    def passages(self) -> list[form.Passage]:
        """The pieces of it, an empty one of a record that says nothing but its head."""
        return form.split(self.text) or ([form.Passage("", 0)] if self.head else [])

    def shown(self, piece: form.Passage) -> str:
        """Return what is shown of a piece."""
        return piece.text or self.head.strip()


class Chunk(RecordPart, frozen=True, kw_only=True):
    """A passage of a record, ready to be indexed."""

    kind: str  # one of kinds.INDEXED
    ordinal: int = 0  # among the chunks of this record in this file
    embedded: str  # as it is embedded
    terms: tuple[str, ...]  # as it is found by words
    around: tuple[str, ...] = ()  # terms of the turns before it
    recipe: tuple[tuple[str, float], ...] = ()  # the vector: hashes of embedded texts with weights
    audience: tuple[str, ...] = ()  # ids of those who may meet it in a prompt; empty: everyone
    trust: str = ""  # one of records.TRUSTS, or empty
    session: str = ""  # the session a message belongs to
    turn: int = 0  # of the messages of its session, from 0
    speaker: str = ""  # who said it, as shown
    form: form.Form = form.PLAIN  # how it is put
    language: str = words.DEFAULT_LANGUAGE  # that its terms are made in

    @property
    def hash(self) -> str:
        """Identify the embedded text."""
        return text_hash(self.embedded)


def text_hash(text: str) -> str:
    """Identify a text that is embedded."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _folded(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(words.folded_tag, words.distinct_tags(tags)))


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
    if kind == _MESSAGE:
        return _numbered(_messages(path, name))
    return _numbered(
        chunk
        for part in texts(kind, path, zone=zone)
        for chunk in _chunks(
            kind, part, words.language(part.text[:TELLING_CHARS], default=terms.FIRST)
        )
    )


def texts(kind: str, path: Path, *, zone: tzinfo, part: str | None = None) -> Iterator[RecordText]:
    """Read the texts of which a file's chunks are made; takes a fraction of the time.

    Args:
        kind: One of kinds.INDEXED.
        path: The file.
        zone: The entity's time zone, for the journal.
        part: What of a file of many records is to be read; None: all of it.

    Raises:
        RecordInvalidError: If the file does not hold what it should, naming file and line.
    """
    if kind in _OF_MANY:
        return _OF_MANY[kind](source(kind, path) if part is None else part, path, zone)
    return _topic(path) if kind == topics.TOPIC.passages else _record(kind, path)


def source(kind: str, path: Path) -> str:
    """Read the text of a file.

    Raises:
        RecordInvalidError: If it is no text, or can't be read.
    """
    return session_files.read_text(path) if kind == _MESSAGE else base.read_text(path)


def _numbered(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Count the chunks of each record; two sections of one title count as one record."""
    counts = Counter[str]()
    numbered = []
    for chunk in chunks:
        recipe = chunk.recipe or ((chunk.hash, 1.0),)
        numbered.append(replace(chunk, ordinal=counts[chunk.record], recipe=recipe))
        counts[chunk.record] += 1
    return numbered


def spoken_date(day: date) -> str:
    """Write a day as people say it: 8 May 2023."""
    return f"{day.day} {day:%B} {day.year}"


def spoken_name(person: str) -> str:
    """Turn a person's id into what a transcript calls them."""
    return person.replace("-", " ").title()


def _chunks(kind: str, of: RecordText, code: str) -> Iterator[Chunk]:
    """Make the chunks of a text in a language."""
    language = form.language(of.text)
    for piece in of.passages:
        embedded = f"{of.head}{piece.text}"
        yield Chunk(
            of.record,
            of.shown(piece),
            of.line + piece.line,
            kind=kind,
            embedded=embedded,
            terms=tuple(terms.terms(embedded, code)),
            at=of.at,
            people=of.people,
            tags=_folded((*of.tags, *words.tags_in(piece.text))),
            audience=of.origin.audience,
            trust=of.origin.trust,
            form=form.form(piece.text, language),
            language=code,
            active=of.active,
        )


def _record(kind: str, path: Path) -> Iterator[RecordText]:
    """Read the text of a record that has a file of its own."""
    record: Any = _KINDS[kind].load(path)
    text, at = record.told, record.when
    if isinstance(record, dreams.Dream):  # its images and their thread, without headings
        text = "\n".join((*record.fragments, record.thread)).strip()
    if isinstance(record, Belief) and at:  # when it was told, not when it was thought about
        times = filter(None, map(base.time_of, record.evidence))
        at = max((told for told in times if told <= at), default=at).astimezone(at.tzinfo)
    if isinstance(record, Relationship):
        at = record.last_interaction
        for note in record.pending:  # what others told of them, for those who heard it
            if set(note.provenance.audience) <= {record.id}:
                continue
            told = note.at.isoformat() if note.at else ""
            yield RecordText(
                *(record.id, note.text, 1),
                origin=note.provenance,
                head=f"{record.name}\n",
                at=told,
                people=(record.id,),
            )
    source = record.source.source
    yield RecordText(
        record.id,
        text,
        source.count("\n", 0, max(0, source.rfind(text))) + 1 - record.source.beside,
        origin=record.provenance,
        head=_head(record),
        at=at.isoformat() if at else "",
        people=(record.id,) if isinstance(record, Relationship) else record.concerned,
        tags=getattr(record, "tags", ()),
        active=not (getattr(record, "dormant", False) or getattr(record, "archived", False)),
    )


def _head(record: Any) -> str:
    """Return what leads the chunks of a record: when and with whom, or what it is called."""
    match record:
        case Episode():
            people = ", ".join(spoken_name(person) for person in record.people)
            return f"({spoken_date(record.at.date())}) " + (f"With {people}: " if people else "")
        case dreams.Dream():
            return f"({spoken_date(record.at.date())}) "
        case Skill():
            return f"{record.name}: {record.description}\n"
        case Project(tags=tags):
            return f"{', '.join(tags)}\n" if tags else ""
        case Relationship():
            name = ", ".join(record.names) or spoken_name(record.id)
            about = (name, record.dynamic, ", ".join(record.topics))
            return ". ".join(filter(None, about)) + "\n"
    return ""


def _knowledge(text: str, path: Path, _: tzinfo) -> Iterator[RecordText]:
    for section in base.of_text(text, path, knowledge.parse).sections:
        gap = section.source.count("\n", 0, max(0, section.source.find(section.text)))
        gap -= provenance.lines_in(section.source)
        yield RecordText(
            section.title,
            section.text,
            section.line + gap,
            origin=section.provenance,
            head=f"{section.title}\n",
        )


def _journal(text: str, path: Path, zone: tzinfo) -> Iterator[RecordText]:
    for entry in base.of_text(text, path, partial(journal.parse, zone=zone)).entries:
        if dreams.is_link(entry.text):  # the dream tells it
            continue
        tags = " ".join(entry.tags)
        gap = entry.source.count("\n", 0, max(0, entry.source.find(entry.text)))
        gap -= provenance.lines_in(entry.source)
        yield RecordText(
            f"{entry.at:%Y-%m-%d %H:%M:%S}",
            entry.text,
            entry.line + gap,
            origin=entry.provenance,
            head=f"({spoken_date(entry.at.date())}) {tags}".strip() + " ",
            at=entry.at.isoformat(),
            tags=entry.tags,
        )


def _topic(path: Path) -> Iterator[RecordText]:
    topic = base.load(path, topics.TOPIC.parse)
    for catalyst in topic.catalysts:
        yield RecordText(
            topic.id,
            catalyst.text,
            catalyst.line,
            origin=topic.provenance,
            head=f"{topic.name}: ",
            at=topic.at.isoformat() if topic.at else "",
        )


def turns(session: sessions.Session) -> list[sessions.Message]:
    """Return the messages of a conversation that are indexed, in their order.

    A reply that code made repeats what it was asked, and would be found before what it quotes. Of a
    note that was edited the last wording counts.
    """
    replaced = session.replaced
    return [
        message
        for message in session.messages
        if message.role != "tool"
        and message.text.strip()
        and message.is_example
        and message.id not in replaced
    ]


def _talk(text: str, path: Path, _: tzinfo) -> Iterator[RecordText]:
    session = base.of_text(text, path, sessions.parse)
    origin = base.Provenance(audience=session.people)
    for message in turns(session):
        yield RecordText(message.id, message.text, 1, origin=origin)


_KINDS = {kind.passages: kind for kind in kinds.KINDS if isinstance(kind, RecordKind)}
_OF_MANY = {"knowledge": _knowledge, "journal": _journal, _MESSAGE: _talk}


def _messages(path: Path, name: str) -> Iterator[Chunk]:
    session = session_files.load(path)
    lines, people = _message_lines(session.source), session.people
    messages = turns(session)
    whole = " ".join(message.text for message in messages)
    language, code = form.language(whole), words.language(whole[:TELLING_CHARS])
    before = list[Sequence[Chunk]]()  # of the turns before, the nearest first
    for number, message in enumerate(messages):
        speaker = spoken_name(message.speaker or session.by)  # as a search asks for people
        if message.role == "assistant":
            speaker = message.called(name)
        said = RecordText(
            message.id,
            message.text,
            lines.get(message.id, 1),
            origin=base.Provenance(trust=message.trust, audience=people),
            head=f"({spoken_date(message.at.date())}) {speaker} said: ",
            at=message.at.isoformat(),
            people=people,
            tags=tuple(words.tags_in(message.text)),
        )
        chunks = [
            replace(
                chunk,
                around=tuple(term for turn in before for term in _lent(turn)),
                recipe=_recipe(chunk.embedded, before),
                session=session.id,
                turn=number,
                speaker=speaker,
                form=form.form(chunk.text, form.language(chunk.text, language)),
            )
            for chunk in _chunks(_MESSAGE, said, _language(message.text[:TELLING_CHARS], code))
        ]
        yield from chunks
        before = [chunks, *before][: len(AROUND_WEIGHTS)]


def _language(text: str, spoken: str) -> str:
    """Return the language of a turn; that of its conversation unless its words say otherwise.

    The commonest words of a language are looked up in no time; only where they point elsewhere is
    the text looked at more closely.
    """
    return spoken if form.language(text, spoken) == spoken else languages.spoken([text], spoken)


def _lent(turn: Sequence[Chunk]) -> list[str]:
    """Return the terms that the turns after one take from it."""
    return [term for chunk in turn for term in chunk.terms][:AROUND_TERMS]


def _recipe(embedded: str, before: Sequence[Sequence[Chunk]]) -> tuple[tuple[str, float], ...]:
    """Say which texts make the vector: this one and, ever less, the turns before it."""
    parts = [(text_hash(embedded), 1.0)]
    for turn, weight in zip(before, AROUND_WEIGHTS, strict=False):
        parts += [(chunk.hash, weight / len(turn)) for chunk in turn]
    return tuple(parts)


def _message_lines(source: str) -> dict[str, int]:
    lines: dict[str, int] = {}
    for number, line in enumerate(source.split("\n"), 1):
        if match := _MESSAGE_ID.search(line):
            lines.setdefault(match[1], number)
    return lines
