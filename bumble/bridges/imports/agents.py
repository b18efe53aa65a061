"""Agents' memories: the folders of OpenClaw, Hermes and Claude Code, Letta's files and folders.

What tells an agent how to work in its program is left out: here it would be an instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from bumble.bridges.imports import foreign, items, notes
from bumble.bridges.imports.source import ImportSource
from bumble.text.words import one_line

OPENCLAW, HERMES, CLAUDE_CODE, LETTA = "OpenClaw", "Hermes", "Claude Code", "Letta"
SOUL = ("SOUL.md", "IDENTITY.md")
INDEX, ABOUT = "MEMORY.md", "USER.md"
INSTRUCTIONS = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", "BOOT.md")
SEPARATOR = "\n§\n"  # between the entries of Hermes's memory
TYPES = ("user", "feedback", "project", "reference")  # of Claude Code's memories
PERSONA = "persona"  # the label of Letta's block that says who the agent is
ALWAYS = "system"  # Letta's folder of notes that always count
SAYS = "send_message"  # the tool by which Letta's older agents speak


def fits_openclaw(source: ImportSource) -> bool:
    """Whether the files are an OpenClaw workspace."""
    own = source.matching(*INSTRUCTIONS, "IDENTITY.md")
    return bool(source.matching(*SOUL)) and bool(own) and not fits_hermes(source)


def fits_hermes(source: ImportSource) -> bool:
    """Whether the files are Hermes's folder."""
    return bool(source.matching("memories/MEMORY.md", "memories/USER.md", "*/memories/MEMORY.md"))


def _workspace(
    source: ImportSource, context: items.ImportContext, *, origin: str
) -> Iterator[items.Item]:
    """Read the workspaces in a folder; each has a SOUL.md or a MEMORY.md at its top."""
    found = source.matching(*SOUL)
    depth = min((name.count("/") for name in found), default=0)
    tops = sorted((n for n in found if n.count("/") == depth), key=lambda n: n[-7:] != SOUL[0])
    souls = [notes.load(source, name) for name in tops if name not in source.ours]
    bodies = [note.body for note in souls if isinstance(note, notes.NoteFile) and note.body.strip()]
    yield from (note for note in souls if isinstance(note, items.LeftOut))
    if bodies:
        whole = "\n\n".join(body.strip() for body in bodies)
        yield items.ImportedPersona(_agent_name(bodies), whole)
    markdown = [name for name in source.matching("*.md") if name not in source.ours]
    rest = (name for name in markdown if name not in tops)
    yield from notes.each(source, rest, context.zone, partial(_note, origin))
    yield from foreign.others(source, markdown, "files that are no Markdown")


read_openclaw = partial(_workspace, origin=OPENCLAW)
read_hermes = partial(_workspace, origin=HERMES)


def _agent_name(bodies: list[str]) -> str:
    """Find what the agent is called: OpenClaw keeps it as `- **Name:** Molty`."""
    for line in (line for body in bodies for line in body.splitlines()[:40]):
        label, _, value = line.replace("*", "").strip(" -").partition(":")
        if label.strip().casefold() == "name" and value.strip():
            return value.strip()[:80]
    return ""


def _note(origin: str, note: notes.NoteFile) -> Iterator[items.Item]:
    place = PurePosixPath(note.name)
    if place.name in INSTRUCTIONS:
        yield items.LeftOut(note.name, "instructions for another program")
    elif place.name == "SKILL.md":
        name = one_line(foreign.text(note.meta, "name") or place.parent.name)
        yield items.Recipe(name, one_line(foreign.text(note.meta, "description")), note.body)
    elif "skills" in place.parts[:-1]:
        yield items.LeftOut(note.name, "files beside a skill")
    elif origin == LETTA and ALWAYS in place.parts[:-1]:
        yield from _block({"label": place.stem, "value": note.body})
    elif place.name in (INDEX, ABOUT) and SEPARATOR in note.body:
        parts = [part.strip() for part in note.body.split(SEPARATOR) if part.strip()]
        title = "About the person" if place.name == ABOUT else "Memory"
        yield items.Fact(f"{title} ({origin})", "\n".join(f"- {part}" for part in parts))
    elif place.name in (INDEX, ABOUT):
        yield from notes.facts(note, origin, items.OTHER)
    else:
        yield from notes.dated(note, items.OTHER, origin)


def fits_claude_code(source: ImportSource) -> bool:
    """Whether the files are Claude Code's memory: a folder with an index and notes beside it."""
    folders = {PurePosixPath(name).parent for name in source.matching(INDEX)}
    if any(folder.name == "memory" for folder in folders):
        return not source.matching(SOUL[0])
    loaded = (notes.load(source, name) for name in _beside_index(source)) if folders else ()
    return any(
        (foreign.text(note.meta, "metadata", "type") or foreign.text(note.meta, "type")) in TYPES
        for note in loaded
        if isinstance(note, notes.NoteFile)
    )


def _beside_index(source: ImportSource) -> list[str]:
    indices = source.matching(INDEX)
    folders = {PurePosixPath(name).parent for name in indices}
    return [
        name
        for name in source.matching("*.md")
        if PurePosixPath(name).parent in folders and name not in indices
    ]


def read_claude_code(source: ImportSource, context: items.ImportContext) -> Iterator[items.Item]:
    """Read the memories; an index that has notes beside it says nothing of its own."""
    names, indices = _beside_index(source), source.matching(INDEX)
    folders = {PurePosixPath(name).parent for name in names}

    def memory(note: notes.NoteFile) -> Iterator[items.Item]:
        if note.name in indices and PurePosixPath(note.name).parent in folders:
            yield items.LeftOut(note.name, "an index of the notes beside it")
        elif note.name in indices:
            yield from notes.facts(note, CLAUDE_CODE, items.OTHER)
        elif len(note.body) > notes.MAX_FACT_CHARS:
            yield from notes.dated(note, items.OTHER, CLAUDE_CODE)
        elif note.body.strip():
            about, body = one_line(foreign.text(note.meta, "description")), note.body.strip()
            is_told = about.rstrip("… ") in one_line(body.replace("\n>", "\n"))
            yield items.Fact(
                f"{note.title} ({CLAUDE_CODE})", body if is_told else f"{about}\n\n{body}"
            )

    news = [name for name in (*indices, *names) if name not in source.ours]
    yield from notes.each(source, news, context.zone, memory)
    yield from foreign.others(source, news, "files that are no memory")


def fits_letta(source: ImportSource) -> bool:
    """Whether the files are an agent, or an agent's memory folder: with notes in `system/`."""
    has_system = any(
        ALWAYS in PurePosixPath(name).parts[:-1][:2] for name in source.matching("*.md")
    )
    is_memory = has_system and not source.matching(SOUL[0], "entity.yaml")
    return is_memory or any(part.shown(source) for part in AGENT_FILES)


def read_letta(source: ImportSource, context: items.ImportContext) -> Iterator[items.Item]:
    """Read agents with their blocks, messages and skills; or the notes of a memory folder."""
    if any(part.shown(source) for part in AGENT_FILES):
        yield from foreign.read(source, *AGENT_FILES)
        return
    yield from _workspace(source, context, origin=LETTA)


def _retired(data: Mapping[str, Any]) -> Iterator[items.Item]:
    yield items.LeftOut(
        foreign.first(data, "name"),
        "the retired form of an agent file: export the agent anew",
        broken=True,
    )


def _agent(data: Mapping[str, Any]) -> Iterator[items.Item]:
    name = foreign.first(data, "name") or LETTA
    messages = foreign.listed(data, "messages")
    said = (_said(foreign.mapping(one), number, name) for number, one in enumerate(messages))
    if messages:
        talk_id = f"{foreign.first(data, 'id') or name} {name}"
        yield from items.talk(talk_id, name, foreign.moment(data, "created_at"), said)


def _said(message: Mapping[str, Any], number: int, name: str) -> items.ImportedMessage:
    role, turn_id = foreign.text(message, "role"), foreign.first(message, "id") or str(number)
    at, own = foreign.moment(message, "created_at"), role == "user"
    head = items.head(turn_id, at, name, foreign.text(message, "model"), own=own)
    pieces = foreign.several(message, "content")
    if role in ("user", "assistant"):
        blocks = [_piece(piece, own=own) for piece in pieces]
    else:
        blocks = [items.ImportedBlock(why=items.RESULTS if role == "tool" else items.SYSTEM)] * len(
            pieces
        )
    return items.ImportedMessage(
        head, [*blocks, *map(_call, foreign.listed(message, "tool_calls"))]
    )


def _piece(piece: object, *, own: bool) -> items.ImportedBlock:
    kind = "text" if isinstance(piece, str) else foreign.text(piece, "type")
    if "reasoning" in kind:
        return items.ImportedBlock(why=items.THOUGHTS)
    if kind != "text":
        return items.mark("picture") if kind == "image" else items.unknown(kind)
    words = foreign.text(piece) or foreign.text(piece, "text")
    wrapped = foreign.mapping(foreign.json_of(words)) if own and words.startswith("{") else {}
    if {"type", "time"} <= set(wrapped):  # by some versions, what nobody said likewise
        words = foreign.text(wrapped, "message") if wrapped["type"] == "user_message" else ""
    return items.ImportedBlock(words, "" if words.strip() else items.SYSTEM)


def _call(call: object) -> items.ImportedBlock:
    """Read what an older agent said by a tool; no other call says anything."""
    function = foreign.mapping(call, "function") or foreign.mapping(call)
    said = foreign.first(
        foreign.mapping(foreign.json_of(foreign.text(function, "arguments"))), "message"
    )
    is_said = function.get("name") == SAYS and said
    return items.ImportedBlock(said) if is_said else items.ImportedBlock(why=items.CALLS)


def _block(data: Mapping[str, Any]) -> Iterator[items.Item]:
    label, value = foreign.text(data, "label"), foreign.text(data, "value")
    if value.strip() and label == PERSONA:
        yield items.ImportedPersona("", value)
    elif value.strip():
        yield items.Fact(f"{label or 'Memory'} (Letta)", value)


def _skill(data: Mapping[str, Any]) -> Iterator[items.Item]:
    name, whole = (
        foreign.text(data, "name"),
        foreign.first(data, "content") or foreign.text(data, "files", "SKILL.md"),
    )
    if not name:
        raise ValueError("a skill without a name")
    if not whole.strip():
        yield items.LeftOut(name, "skills of which only the name is there")
        return
    meta, body = notes.split(whole)
    yield items.Recipe(
        name,
        foreign.first(data, "description") or one_line(foreign.text(meta, "description")),
        body,
    )


_READERS = {"agents": _agent, "blocks": _block, "skills": _skill}
AGENT_FILES = (
    foreign.Files(("*.af",), frozenset(["core_memory"]), {"": _retired}),
    foreign.Files(("*.af",), frozenset(["agents", "blocks"]), _READERS),
    foreign.Files(("*.af",), frozenset(["agents", "block_ids"]), _READERS),
)
