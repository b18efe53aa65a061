"""Another entity of bumble's: its talks, and what it knew, believed, lived, dreamt and could do.

To the entity that imports it all of this is hearsay; only what the person said keeps its tier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from glob import escape
from pathlib import PurePosixPath
from typing import Any

from bumble.bridges.imports import foreign, notes
from bumble.bridges.imports.ledger import (
    GUEST,
    OTHER,
    PERSON,
    Fact,
    ImportContext,
    ImportedPersona,
    ImportedTalk,
    ImportedTurn,
    Item,
    LeftOut,
)
from bumble.bridges.imports.notes import NoteFile
from bumble.bridges.imports.source import ImportSource
from bumble.entity.folder import ENTITY_FILE
from bumble.records import journal, knowledge, relationships, sessions
from bumble.records.sessions import Message, Session
from bumble.text import yaml_edit

MAX_TRANSCRIPT_BYTES = 16_000_000
OF_FORGOTTEN = "memories of somebody who was forgotten"
TEXTS = ("episodes/*.md", "dreams/*.md", "relationships/*.md", "narrative.md")


def fits(source: ImportSource) -> bool:
    """Whether the files are an entity."""
    return _top(source) is not None


def _top(source: ImportSource) -> str | None:
    """Return the folder of the entity within the import; empty for its top."""
    found = sorted(source.matching(ENTITY_FILE), key=lambda name: name.count("/"))
    if not found or b"schema_version" not in source.head(found[0], 100_000):
        return None
    return found[0].removesuffix(ENTITY_FILE)


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the entity."""
    top = _top(source) or ""
    try:
        identity: Mapping[str, Any] = yaml_edit.parse_mapping(source.text(top + ENTITY_FILE))
    except ValueError as error:
        yield LeftOut(top + ENTITY_FILE, str(error)[:200], broken=True)
        identity = {}
    name = foreign.text(identity.get("name")) or "another entity"
    owner = foreign.text(foreign.mapping(identity.get("owner")).get("name")) or "you"
    persona = foreign.mapping(identity.get("identity"))
    if foreign.text(persona.get("monologue")):
        voice = foreign.text(persona.get("voice"))
        yield ImportedPersona(name, foreign.text(persona["monologue"]), voice)
    talks = source.below(f"{escape(top)}sessions/*/{sessions.FILE}")
    source.wanted = sum(source.members[talk].size for talk in talks)
    for talk in talks:
        yield from _talk(source, talk, name, relationships.person_id(owner))
    yield from _memories(source, top, name, context)


def _memories(source: ImportSource, top: str, name: str, context: ImportContext) -> Iterator[Item]:
    below = escape(top)
    used = source.below(f"{below}sessions/*")
    for path in source.below(f"{below}{knowledge.PATH}"):
        used.append(path)
        yield from _sections(source, path, name)
    for path in source.below(f"{below}skills/*.md"):
        used.append(path)
        note = notes.load(source, path)
        yield note if isinstance(note, LeftOut) else notes.recipe(note)
    for path in source.below(*(below + pattern for pattern in TEXTS)):
        used.append(path)
        note = notes.load(source, path)
        if isinstance(note, LeftOut):
            yield note
        elif _is_of_forgotten(note, context):
            yield LeftOut("memories", OF_FORGOTTEN)
        else:
            yield from notes.dated(note, OTHER, name)
    for path in source.below(f"{below}{journal.PATH}"):
        used.append(path)
        yield from _days(source, path, name, context)
    claims = source.below(f"{below}beliefs/*.md")
    yield from _beliefs(source, claims, name, context)
    known = {*used, *claims, top + ENTITY_FILE}
    rest = [path for path in source.names if path not in known]
    if rest:
        yield LeftOut(rest[0], "files that are no memory", count=len(rest))


def _is_of_forgotten(note: NoteFile, context: ImportContext) -> bool:
    """Whether a memory is of somebody who was forgotten, alone or with others."""
    listed = [foreign.texts(note.meta.get(key)) for key in ("names", "people", "audience")]
    names = [PurePosixPath(note.name).stem, *(name for part in listed for name in part)]
    return any(map(context.is_forgotten, names))


def _talk(source: ImportSource, path: str, name: str, owner_id: str) -> Iterator[Item]:
    session_id = PurePosixPath(path).parent.name
    try:
        text = source.read(path, MAX_TRANSCRIPT_BYTES).decode("utf-8", "surrogateescape")
        session = sessions.parse(text, session_id)
    except ValueError as error:
        yield LeftOut(path, str(error)[:200], broken=True)
        return
    turns = tuple(_turns(session, name, owner_id))
    if turns:
        yield ImportedTalk(session_id, "", session.at, turns)


def _turns(session: Session, name: str, owner_id: str) -> Iterator[ImportedTurn]:
    for message in session.messages:
        if message.role == "tool" or not message.text.strip() or message.extra.get("redacted"):
            continue
        by = _speaker(message, session, owner_id)
        called = foreign.text(message.extra.get("name"))
        shown = {PERSON: "", GUEST: called or message.speaker or session.by, OTHER: called or name}
        yield ImportedTurn(message.id, message.at, by, foreign.text(message.text), shown[by])


def _speaker(message: Message, session: Session, owner_id: str) -> str:
    """Say whose words they are; what was only quoted there is quoted here."""
    if message.role == "assistant" or message.trust in ("tool", "imported"):
        return OTHER
    return PERSON if (message.speaker or session.by) == owner_id else GUEST


def _sections(source: ImportSource, path: str, name: str) -> Iterator[Item]:
    try:
        book = knowledge.parse(source.text(path))
    except ValueError as error:
        yield LeftOut(path, str(error)[:200], broken=True)
        return
    for section in book.sections:
        if section.text.strip():
            yield Fact(f"{section.title} ({name})", foreign.text(section.text))


def _days(source: ImportSource, path: str, name: str, context: ImportContext) -> Iterator[Item]:
    """Make a dated text of each day of the diary."""
    try:
        entries = journal.parse(source.text(path), zone=context.zone).entries
    except ValueError as error:
        yield LeftOut(path, str(error)[:200], broken=True)
        return
    days: dict[str, list[ImportedTurn]] = {}
    for entry in entries:
        if entry.text.strip():
            text = foreign.text(entry.text)
            turn = ImportedTurn(
                f"entry {entry.at} {notes.hash_of(text)}", entry.at, OTHER, text, name
            )
            days.setdefault(f"{entry.at.date()}", []).append(turn)
    for day, turns in days.items():
        yield ImportedTalk(
            f"journal {name} {day}", f"The diary of {name}, {day}", None, tuple(turns)
        )


def _beliefs(
    source: ImportSource, paths: Iterable[str], name: str, context: ImportContext
) -> Iterator[Item]:
    """Make facts of what it held true, a list of them for each kind of claim."""
    claims: dict[str, list[str]] = {}
    for path in paths:
        note = notes.load(source, path)
        if isinstance(note, LeftOut):
            yield note
        elif note.meta.get("archived"):
            yield LeftOut(path, "what it no longer believed")
        elif _is_of_forgotten(note, context):
            yield LeftOut("memories", OF_FORGOTTEN)
        elif note.body.strip():
            kind = foreign.text(note.meta.get("category")).replace("_", " ") or "belief"
            claims.setdefault(kind, []).append(" ".join(note.body.split()))
    for kind, lines in claims.items():
        text = "\n".join(f"- {line}" for line in lines)
        note = NoteFile(
            f"beliefs/{kind}", f"{name} beliefs/{kind}", f"{kind}", {}, text, notes.UNDATED
        )
        yield from notes.facts(note, f"held by {name}", OTHER)
