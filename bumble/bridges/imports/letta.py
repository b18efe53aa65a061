"""Letta: an agent file (`.af`, JSON), and the folder of Markdown in which newer agents remember."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
from bumble.bridges.imports.source import ImportSource

ASSISTANT = "Letta"
PERSONA = "persona"  # the label of the block that says who the agent is
SAYS = "send_message"  # the tool by which older agents speak


def fits(source: ImportSource) -> bool:
    """Whether the files are an agent, or an agent's memory folder."""
    return bool(_names(source)) or bool(_folder(source))


def _names(source: ImportSource) -> list[str]:
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


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read agents with their blocks, messages and skills; or the notes of a memory folder."""
    names = _names(source)
    for name in names:
        if "core_memory" in chat_export.shape(source, name).keys:
            why = "the retired form of an agent file: export the agent anew"
            yield LeftOut(name, why, broken=True)
            continue
        yield from chat_export.read(source, [name], _agent, "agents")
        yield from chat_export.read(source, [name], _block, "blocks")
        yield from chat_export.read(source, [name], _skill, "skills")
    for name in _folder(source) if not names else []:
        yield from _note(source, name)


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


def _note(source: ImportSource, name: str) -> Iterator[Item]:
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
