"""Another entity of bumble's: its talks, and what it knew, believed, lived, dreamt and could do.

To the entity that imports it all of this is hearsay; only what the person said keeps its tier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from glob import escape
from pathlib import PurePosixPath
from typing import Any

from bumble.bridges.imports import foreign, notes
from bumble.bridges.imports.foreign import text
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
OF_FORGOTTEN = LeftOut("memories", "memories of somebody who was forgotten")
TEXTS = ("episodes/*.md", "dreams/*.md", "relationships/*.md", "narrative.md")


def fits(source: ImportSource) -> bool:
    """Whether the files are an entity."""
    return _top(source) is not None


def _top(source: ImportSource) -> str | None:
    """Return the folder of the entity within the import; empty for its top.

    One that lies in a vault is a part of that, and not what somebody meant.
    """
    found = sorted(source.matching(ENTITY_FILE), key=lambda name: name.count("/"))
    if not found or b"schema_version" not in source.head(found[0], 100_000):
        return None
    top = found[0].removesuffix(ENTITY_FILE)
    vaults = (name.partition(".obsidian/")[0] for name in source.below(*notes.VAULT))
    return None if any(top != vault and top.startswith(vault) for vault in vaults) else top


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the entity."""
    top = _top(source) or ""
    try:
        identity: Mapping[str, Any] = yaml_edit.parse_mapping(source.text(top + ENTITY_FILE))
    except ValueError as error:
        yield LeftOut(top + ENTITY_FILE, str(error)[:200], broken=True)
        identity = {}
    name = text(identity, "name") or "another entity"
    owner_id = relationships.person_id(text(identity, "owner", "name") or "you")
    if monologue := text(identity, "identity", "monologue"):
        yield ImportedPersona(name, monologue, text(identity, "identity", "voice"))
    below = escape(top)
    talks = source.below(f"{below}sessions/*/{sessions.FILE}")
    source.wanted = sum(source.members[talk].size for talk in talks)
    for path in talks:
        try:
            yield from _talk(source, path, name, owner_id)
        except ValueError as error:
            yield LeftOut(path, str(error)[:200], broken=True)
    skills, texts = source.below(f"{below}skills/*.md"), source.below(*(below + t for t in TEXTS))
    claims = source.below(f"{below}beliefs/*.md")
    whole = {knowledge.PATH: _sections, journal.PATH: _days}
    for path, reads in ((top + path, reads) for path, reads in whole.items()):
        try:
            yield from reads(source.text(path), name, context) if path in source.members else ()
        except ValueError as error:
            yield LeftOut(path, str(error)[:200], broken=True)
    yield from notes.each(source, skills, lambda note: iter([notes.recipe(note)]))
    yield from notes.each(
        source,
        texts,
        lambda note: (
            iter([OF_FORGOTTEN])
            if _is_of_forgotten(note, context)
            else notes.dated(note, OTHER, name)
        ),
    )
    yield from _beliefs(source, claims, name, context)
    used = [*skills, *texts, *claims, *(top + path for path in (*whole, ENTITY_FILE))]
    used += source.below(f"{below}sessions/*")
    yield from foreign.others(source, used, "files that are no memory")


def _is_of_forgotten(note: NoteFile, context: ImportContext) -> bool:
    """Whether a memory is of somebody who was forgotten, alone or with others."""
    listed = [foreign.texts(note.meta, key) for key in ("names", "people", "audience")]
    names = [PurePosixPath(note.name).stem, *(name for part in listed for name in part)]
    return any(map(context.is_forgotten, names))


def _talk(source: ImportSource, path: str, name: str, owner_id: str) -> Iterator[Item]:
    session_id = PurePosixPath(path).parent.name
    data = source.read(path, MAX_TRANSCRIPT_BYTES).decode("utf-8", "surrogateescape")
    session = sessions.parse(data, session_id)
    if turns := tuple(_turns(session, name, owner_id)):
        yield ImportedTalk(session_id, "", session.at, turns)


def _turns(session: Session, name: str, owner_id: str) -> Iterator[ImportedTurn]:
    for message in session.messages:
        if message.role == "tool" or not message.text.strip() or message.extra.get("redacted"):
            continue
        by = _speaker(message, session, owner_id)
        called = text(message.extra, "name")
        shown = {PERSON: "", GUEST: called or message.speaker or session.by, OTHER: called or name}
        yield ImportedTurn(message.id, message.at, by, text(message.text), shown[by])


def _speaker(message: Message, session: Session, owner_id: str) -> str:
    """Say whose words they are; what was only quoted there is quoted here."""
    if message.role == "assistant" or message.trust in ("tool", "imported"):
        return OTHER
    return PERSON if (message.speaker or session.by) == owner_id else GUEST


def _sections(whole: str, name: str, context: ImportContext) -> Iterator[Item]:
    for section in knowledge.parse(whole).sections:
        if section.text.strip():
            yield Fact(f"{section.title} ({name})", text(section.text))


def _days(whole: str, name: str, context: ImportContext) -> Iterator[Item]:
    """Make a dated text of each day of the diary."""
    days: dict[str, list[ImportedTurn]] = {}
    for entry in journal.parse(whole, zone=context.zone).entries:
        if told := text(entry.text).strip() and text(entry.text):
            turn_id = f"entry {entry.at} {notes.hash_of(told)}"
            turn = ImportedTurn(turn_id, entry.at, OTHER, told, name)
            days.setdefault(f"{entry.at.date()}", []).append(turn)
    for day, turns in days.items():
        title = f"The diary of {name}, {day}"
        yield ImportedTalk(f"journal {name} {day}", title, None, tuple(turns))


def _beliefs(
    source: ImportSource, paths: list[str], name: str, context: ImportContext
) -> Iterator[Item]:
    """Make facts of what it held true, a list of them for each kind of claim."""
    claims: dict[str, list[str]] = {}

    def take(note: NoteFile) -> Iterator[Item]:
        if note.meta.get("archived"):
            yield LeftOut(note.name, "what it no longer believed")
        elif _is_of_forgotten(note, context):
            yield OF_FORGOTTEN
        elif note.body.strip():
            kind = text(note.meta, "category").replace("_", " ") or "belief"
            claims.setdefault(kind, []).append(" ".join(note.body.split()))

    yield from notes.each(source, paths, take)
    for kind, lines in claims.items():
        body = "\n".join(f"- {line}" for line in lines)
        key = f"{name} beliefs/{kind}"
        note = NoteFile(f"beliefs/{kind}", key, kind, {}, body, notes.UNDATED)
        yield from notes.facts(note, f"held by {name}", OTHER)
