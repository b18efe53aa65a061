"""Letta: an agent file (`.af`, JSON), and the folder of Markdown in which newer agents remember."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from bumble.bridges.imports import chat_export, ledger, lenient, notes
from bumble.bridges.imports.ledger import (
    OTHER,
    PERSON,
    Fact,
    ImportContext,
    ImportedBlock,
    ImportedMessage,
    ImportedPersona,
    ImportedTurn,
    Item,
    LeftOut,
    Recipe,
)
from bumble.bridges.imports.notes import NoteFile
from bumble.bridges.imports.source import ImportSource
from bumble.text.words import one_line

OPENCLAW, HERMES = "OpenClaw", "Hermes"
SOUL = ("SOUL.md", "IDENTITY.md")
MEMORY = ("MEMORY.md", "USER.md")
INSTRUCTIONS = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", "BOOT.md")
SEPARATOR = "§"  # between the entries of Hermes's memory


def fits_openclaw(source: ImportSource) -> bool:
    """Whether the files are an OpenClaw workspace."""
    own = source.matching(*INSTRUCTIONS, "IDENTITY.md")
    return bool(source.matching(*SOUL)) and bool(own) and not fits_hermes(source)


def fits_hermes(source: ImportSource) -> bool:
    """Whether the files are Hermes's folder."""
    memories = source.below("memories/MEMORY.md", "memories/USER.md", "*/memories/MEMORY.md")
    return bool(memories)


def _read_workspace(source: ImportSource, context: ImportContext, *, origin: str) -> Iterator[Item]:
    """Read the workspaces in a folder; each has a SOUL.md or a MEMORY.md at its top."""
    tops = _tops(source, SOUL)
    souls = [notes.load(source, name) for name in tops]
    yield from (note for note in souls if isinstance(note, LeftOut))
    bodies = [note for note in souls if isinstance(note, notes.NoteFile) and note.body.strip()]
    if bodies:
        text = "\n\n".join(note.body.strip() for note in bodies)
        yield ImportedPersona(_agent_name(bodies), text)
    for name in source.matching("*.md"):
        if name not in tops:
            yield from _workspace_note(source, name, origin)
    rest = [name for name in source.names if not name.casefold().endswith(".md")]
    if rest:
        yield LeftOut(rest[0], "files that are no Markdown", count=len(rest))


read_openclaw = partial(_read_workspace, origin=OPENCLAW)
read_hermes = partial(_read_workspace, origin=HERMES)


def _tops(source: ImportSource, names: tuple[str, ...]) -> list[str]:
    """Return the files of some names that lie nearest to the top, in the order of the names."""
    found = source.matching(*names)
    depth = min((name.count("/") for name in found), default=0)
    nearest = {PurePosixPath(name).name: name for name in found if name.count("/") == depth}
    return [nearest[name] for name in names if name in nearest]


def _agent_name(souls: list[notes.NoteFile]) -> str:
    """Find what the agent is called: OpenClaw keeps it as `- **Name:** Molty`."""
    for note in souls:
        for line in note.body.splitlines()[:40]:
            label, _, value = line.replace("*", "").strip(" -").partition(":")
            if label.strip().casefold() == "name" and value.strip():
                return lenient.text(value).strip()[:80]
    return ""


def _workspace_note(source: ImportSource, name: str, origin: str) -> Iterator[Item]:
    place = PurePosixPath(name)
    if place.name in INSTRUCTIONS:
        yield LeftOut(name, "instructions for another program")
        return
    note = notes.load(source, name)
    if isinstance(note, LeftOut):
        yield note
    elif place.name == "SKILL.md":
        yield notes.recipe(note)
    elif "skills" in place.parts[:-1]:
        yield LeftOut(name, "files beside a skill")
    elif place.name in MEMORY:
        yield from _remembered(note, origin)
    else:
        yield from notes.dated(note, OTHER, origin)


def _remembered(note: notes.NoteFile, origin: str) -> Iterator[Item]:
    if f"\n{SEPARATOR}\n" not in note.body:
        yield from notes.facts(note, origin, OTHER)
        return
    parts = [part.strip() for part in note.body.split(f"\n{SEPARATOR}\n") if part.strip()]
    title = "About the person" if note.title == "USER" else "Memory"
    yield Fact(f"{title} ({origin})", "\n".join(f"- {part}" for part in parts))


ORIGIN = "Claude Code"
INDEX = "MEMORY.md"
TYPES = ("user", "feedback", "project", "reference")


def fits_claude_code(source: ImportSource) -> bool:
    """Whether the files are such a memory."""
    folders = {str(PurePosixPath(name).parent) for name in source.matching(INDEX)}
    if any(PurePosixPath(folder).name == "memory" for folder in folders):
        return not source.matching("SOUL.md")
    return bool(folders) and any(
        _type(note)
        for name in _memory_notes(source)
        if isinstance(note := notes.load(source, name), NoteFile)
    )


def _memory_notes(source: ImportSource) -> list[str]:
    folders = {str(PurePosixPath(name).parent) for name in source.matching(INDEX)}
    return [
        name
        for name in source.matching("*.md")
        if str(PurePosixPath(name).parent) in folders and PurePosixPath(name).name != INDEX
    ]


def _type(note: NoteFile) -> str:
    kind = lenient.mapping(note.meta.get("metadata")).get("type", note.meta.get("type"))
    return kind if kind in TYPES else ""


def read_claude_code(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the memories; an index that has notes beside it says nothing of its own."""
    names = _memory_notes(source)
    folders = {str(PurePosixPath(name).parent) for name in names}
    for name in source.matching(INDEX):
        if str(PurePosixPath(name).parent) in folders:
            yield LeftOut(name, "an index of the notes beside it")
        else:
            note = notes.load(source, name)
            yield from [note] if isinstance(note, LeftOut) else notes.facts(note, ORIGIN, OTHER)
    for name in names:
        note = notes.load(source, name)
        yield from [note] if isinstance(note, LeftOut) else _memory(note)
    known = {*names, *source.matching(INDEX)}
    rest = [name for name in source.names if name not in known]
    if rest:
        yield LeftOut(rest[0], "files that are no memory", count=len(rest))


def _memory(note: NoteFile) -> Iterator[Item]:
    if not note.body.strip():
        return
    if len(note.body) > notes.MAX_FACT_CHARS:
        yield from notes.dated(note, OTHER, ORIGIN)
        return
    description = one_line(lenient.text(note.meta.get("description")))
    text = f"{description}\n\n{note.body.strip()}" if description else note.body.strip()
    yield Fact(f"{note.title} ({ORIGIN})", text)


ASSISTANT = "Letta"
PERSONA = "persona"  # the label of the block that says who the agent is
SAYS = "send_message"  # the tool by which older agents speak


def fits_letta(source: ImportSource) -> bool:
    """Whether the files are an agent, or an agent's memory folder."""
    return bool(_agent_files(source)) or bool(_folder(source))


def _agent_files(source: ImportSource) -> list[str]:
    looks = chat_export.shapes(source, "*.af")
    return [
        name
        for name, shape in looks.items()
        if {"agents", "blocks"} <= shape.keys
        or "core_memory" in shape.keys
        or {"block_ids", "system"} <= shape.item("agents")
    ]


def _folder(source: ImportSource) -> list[str]:
    """Return the notes of a memory folder: one that has notes in `system/`, which always count."""
    tops = source.matching("*.md")
    inside = [name for name in tops if "system" in PurePosixPath(name).parts[:-1][:2]]
    return tops if inside and len(source.matching("SOUL.md", "entity.yaml")) == 0 else []


def read_letta(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read agents with their blocks, messages and skills; or the notes of a memory folder."""
    names = _agent_files(source)
    for name in names:
        if "core_memory" in chat_export.shape(source, name).keys:
            why = "the retired form of an agent file: export the agent anew"
            yield LeftOut(name, why, broken=True)
            continue
        yield from chat_export.read(source, [name], _agent, "agents")
        yield from chat_export.read(source, [name], _block, "blocks")
        yield from chat_export.read(source, [name], _skill, "skills")
    for name in _folder(source) if not names else []:
        yield from _letta_note(source, name)


def _agent(data: Mapping[str, Any]) -> Iterator[Item]:
    name = lenient.text(data.get("name")) or ASSISTANT
    agent_id = lenient.text(data.get("id")) or name
    messages = lenient.listed(data.get("messages"))
    at = lenient.moment(data.get("created_at"))
    said = [_said(lenient.mapping(one), number, name) for number, one in enumerate(messages)]
    if messages:
        yield from ledger.talk(f"{agent_id} {name}", name, at, said)


def _said(message: Mapping[str, Any], number: int, name: str) -> ImportedMessage:
    own = message.get("role") == "user"
    head = ImportedTurn(
        id=lenient.text(message.get("id")) or str(number),
        at=lenient.moment(message.get("created_at")),
        by=PERSON if own else OTHER,
        text="",
        name="" if own else name,
        model="" if own else lenient.text(message.get("model")),
    )
    return ImportedMessage(
        head, [*_content(message), *map(_call, lenient.listed(message.get("tool_calls")))]
    )


def _content(message: Mapping[str, Any]) -> Iterator[ImportedBlock]:
    role, content = message.get("role"), message.get("content")
    why = ledger.RESULTS if role == "tool" else ledger.SYSTEM
    for piece in content if isinstance(content, list) else [content] if content else []:
        yield _piece(piece, role) if role in ("user", "assistant") else ImportedBlock(why=why)


def _piece(piece: object, role: object) -> ImportedBlock:
    data = {"type": "text", "text": piece} if isinstance(piece, str) else lenient.mapping(piece)
    text, kind = lenient.text(data.get("text")), lenient.text(data.get("type"))
    if "reasoning" in kind:
        return ImportedBlock(why=ledger.THOUGHTS)
    if kind == "image":
        return ledger.mark("picture")
    if kind != "text":
        return ledger.unknown(kind)
    shown = _spoken(text) if role == "user" else text
    return ImportedBlock(shown) if shown.strip() else ImportedBlock(why=ledger.SYSTEM)


def _spoken(text: str) -> str:
    """Return what a person said; some versions wrap it, and wrap what nobody said likewise."""
    if not text.startswith("{"):
        return text
    try:
        data = lenient.mapping(json.loads(text))
    except (ValueError, RecursionError):
        return text
    if "type" not in data or "time" not in data:
        return text
    return lenient.text(data.get("message")) if data["type"] == "user_message" else ""


def _call(call: object) -> ImportedBlock:
    """Read what an older agent said by a tool; no other call says anything."""
    function = lenient.mapping(lenient.mapping(call).get("function")) or lenient.mapping(call)
    if function.get("name") == SAYS:
        try:
            arguments = lenient.mapping(json.loads(lenient.text(function.get("arguments"))))
        except (ValueError, RecursionError):
            arguments = {}
        if (text := lenient.text(arguments.get("message"))).strip():
            return ImportedBlock(text)
    return ImportedBlock(why=ledger.CALLS)


def _block(data: Mapping[str, Any]) -> Iterator[Item]:
    label, value = lenient.text(data.get("label")), lenient.text(data.get("value"))
    if not value.strip():
        return
    if label == PERSONA:
        yield ImportedPersona("", value)
        return
    yield Fact(f"{label or 'Memory'} (Letta)", value)


def _skill(data: Mapping[str, Any]) -> Iterator[Item]:
    name, text = lenient.text(data.get("name")), lenient.text(data.get("content"))
    files = lenient.mapping(data.get("files"))
    text = text or lenient.text(files.get("SKILL.md"))
    if not name or not text.strip():
        raise ValueError("a skill without a name or a text")
    description, body = notes.described(text)
    yield Recipe(name, lenient.text(data.get("description")) or description, body)


def _letta_note(source: ImportSource, name: str) -> Iterator[Item]:
    note = notes.load(source, name)
    if isinstance(note, LeftOut):
        yield note
    elif PurePosixPath(name).name == "SKILL.md":
        yield notes.recipe(note)
    elif "system" in PurePosixPath(name).parts[:-1]:
        if PurePosixPath(name).stem == PERSONA:
            yield ImportedPersona("", note.body)
        elif note.body.strip():
            yield Fact(f"{note.title} (Letta)", note.body)
    else:
        yield from notes.dated(note, OTHER, ASSISTANT)
