"""Claude's export: conversations, what it remembers of the person, and projects, in a zip.

A file that was attached is a text of its own, which the person did not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bumble.imports import chat_export, lenient
from bumble.imports.items import (
    OTHER,
    PERSON,
    Fact,
    ImportContext,
    ImportedTalk,
    ImportedTurn,
    Item,
    LeftOut,
)
from bumble.imports.source import ImportSource

ASSISTANT = "Claude"
FILES = ("conversations*.json",)
MEMORIES = ("memories.json",)
PROJECTS = ("projects.json", "projects/*.json", "*/projects/*.json", "*/projects.json")
ROOT = "00000000-0000-4000-8000-000000000000"  # the parent of a first message


def fits(source: ImportSource) -> bool:
    """Whether the files are such an export."""
    return bool(_talks(source) or _memories(source))


def _talks(source: ImportSource) -> list[str]:
    looks = chat_export.shapes(source, *FILES)
    return [
        name
        for name, shape in looks.items()
        if "chat_messages" in shape.item() | shape.item("conversations")
    ]


def _memories(source: ImportSource) -> list[str]:
    looks = chat_export.shapes(source, *MEMORIES)
    return [
        name
        for name, shape in looks.items()
        if {"conversations_memory", "project_memories"} & (shape.item() | shape.keys)
    ]


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read conversations, memories and projects."""
    talks, memories = _talks(source) or source.matching(*FILES), _memories(source)
    projects = source.below(*PROJECTS)
    names: dict[str, str] = {}  # of projects, by id

    def project(data: Mapping[str, Any]) -> Iterator[Item]:
        names[lenient.text(data.get("uuid"))] = lenient.text(data.get("name"))
        return _project(data)

    for name in projects:
        if chat_export.shape(source, name).kind == "object":
            yield from _whole(source, name, project)
        else:
            yield from chat_export.read(source, [name], project)
    for name in memories:
        yield from chat_export.read(source, [name], lambda data: _remembered(data, names))
    yield from chat_export.read(source, talks, _conversation, "conversations")
    yield from chat_export.others(source, [*talks, *memories, *projects])


def _whole(source: ImportSource, name: str, item: chat_export.ReadItem) -> Iterator[Item]:
    """Read a file that is one item."""
    data = chat_export.load(source, name)
    if isinstance(data, LeftOut):
        yield data
        return
    try:
        yield from item(lenient.mapping(data))
    except ValueError as error:
        yield LeftOut(name, str(error), broken=True)


def _conversation(data: Mapping[str, Any]) -> Iterator[Item]:
    talk_id = lenient.text(data.get("uuid"))
    if not talk_id:
        raise ValueError("a conversation without an id")
    written = lenient.mappings(data.get("chat_messages"))
    messages = _branch(written, data)
    said = [list(_turns(message)) for message in messages]
    turns = [turn for message in said for turn in message]
    title = lenient.text(data.get("name"))
    aside = len(written) - len(messages)
    yield from chat_export.unseen(title or talk_id, said.count([]), aside)
    yield ImportedTalk(
        talk_id,
        title,
        lenient.moment(data.get("created_at")),
        tuple(turns),
    )


def _branch(
    messages: Sequence[Mapping[str, Any]], data: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """Return the messages of the branch that was shown last; all of them where there is none."""
    by_id = {lenient.text(message.get("uuid")): message for message in messages}
    at = data.get("current_leaf_message_uuid")
    if not isinstance(at, str) or at not in by_id:
        return messages
    way: dict[str, None] = {}
    while isinstance(at, str) and at in by_id and at not in way and at != ROOT:
        way[at] = None
        at = by_id[at].get("parent_message_uuid")
    return [by_id[message_id] for message_id in reversed(way)]


def _turns(message: Mapping[str, Any]) -> Iterator[ImportedTurn]:
    message_id = lenient.text(message.get("uuid"))
    at = lenient.moment(message.get("created_at"))
    own = message.get("sender") == "human"
    attached = lenient.mappings(message.get("attachments"))
    names = [*attached, *lenient.mappings(message.get("files"))]
    marks = [f"[file: {lenient.text(one.get('file_name')) or 'unnamed'}]" for one in names]
    text = "\n\n".join(part for part in (_text(message), "\n".join(marks)) if part.strip())
    if text.strip():
        yield ImportedTurn(message_id, at, PERSON if own else OTHER, text, "" if own else ASSISTANT)
    for number, one in enumerate(attached):
        content = lenient.text(one.get("extracted_content"))
        if content.strip():
            name = lenient.text(one.get("file_name")) or "a file"
            yield ImportedTurn(f"{message_id} file {number}", at, OTHER, content, name)


def _text(message: Mapping[str, Any]) -> str:
    blocks = lenient.mappings(message.get("content"))
    shown = [lenient.text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(part for part in shown if part.strip()) or lenient.text(message.get("text"))


def _remembered(data: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Item]:
    text = lenient.text(data.get("conversations_memory"))
    if text.strip():
        yield Fact("What Claude remembered", text)
    for project_id, memory in lenient.mapping(data.get("project_memories")).items():
        if lenient.text(memory).strip():
            name = names.get(project_id) or project_id
            yield Fact(f"What Claude remembered of {name}", lenient.text(memory))


def _project(data: Mapping[str, Any]) -> Iterator[Item]:
    project_id, name = lenient.text(data.get("uuid")), lenient.text(data.get("name"))
    if not project_id:
        raise ValueError("a project without an id")
    at = lenient.moment(data.get("created_at"))
    own = [lenient.text(data.get(key)) for key in ("description", "prompt_template")]
    turns = [
        ImportedTurn(f"own {number}", at, PERSON, text)
        for number, text in enumerate(own)
        if text.strip()
    ]
    for number, one in enumerate(lenient.mappings(data.get("docs"))):
        title = lenient.text(one.get("filename")) or lenient.text(one.get("name")) or "a file"
        turn_id = lenient.text(one.get("uuid")) or f"file {number}"
        said = lenient.moment(one.get("created_at")) or at
        turns.append(ImportedTurn(turn_id, said, OTHER, lenient.text(one.get("content")), title))
    turns = [turn for turn in turns if turn.text.strip()]
    if turns:
        yield ImportedTalk(f"project {project_id}", f"Project {name}", at, tuple(turns))
