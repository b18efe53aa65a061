"""Claude's export: conversations, what it remembers of the person, and projects, in a zip.

A file that was attached is a text of its own, which the person did not say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from bumble.bridges.imports import chat_export, ledger, lenient
from bumble.bridges.imports.ledger import (
    OTHER,
    PERSON,
    Fact,
    ImportContext,
    ImportedBlock,
    ImportedMessage,
    ImportedTurn,
    Item,
    LeftOut,
)
from bumble.bridges.imports.source import ImportSource

ASSISTANT = "Claude"
FILES = ("conversations*.json",)
MEMORIES = ("memories.json",)
PROJECTS = ("projects.json", "projects/*.json", "*/projects/*.json", "*/projects.json")
ROOT = "00000000-0000-4000-8000-000000000000"  # the parent of a first message
FILE_LISTS = ("attachments", "files", "files_v2", "sync_sources")  # of a message
REMEMBERED = ("conversations_memory", "project_memories", "account_uuid")
MAKERS = ("artifacts", "create_file")  # tools that make a document for the person
CHANGERS = ("str_replace",)
CODE = ("repl", "analysis_tool", "bash_tool", "code_execution")  # tools that run code
UNSHOWN = "sentences that stand for a block which the export does not hold"
_UNSHOWN = re.compile(
    r"```\s*\n[^`\n]{0,90}(?:is not supported on|isn.t yet supported on)[^`\n]{0,80}\n```"
)


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
    title, at = lenient.text(data.get("name")), lenient.moment(data.get("created_at"))
    yield from ledger.talk(talk_id, title, at, _said(data))


def _said(data: Mapping[str, Any]) -> Iterator[ImportedMessage]:
    """Yield the messages of the branch that was shown last; of all others what is left out."""
    listed = lenient.listed(data.get("chat_messages"))
    messages = [one if isinstance(one, dict) else {"content": [one]} for one in listed]
    shown = _branch(messages, data)
    code = {  # the calls that ran code, whose answers are its output
        lenient.text(one.get("id"))
        for message in messages
        for one in lenient.mappings(message.get("content"))
        if _runs_code(one)
    }
    for number in shown:
        yield ImportedMessage(_head(messages[number]), _blocks(messages[number], code))
    for number in (one for one in range(len(messages)) if one not in set(shown)):
        yield ledger.aside(_head(messages[number]), _blocks(messages[number], code))


def _branch(messages: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the messages that lead to the one that was shown last.

    Where none is named, that is the last one. One that names no parent follows the one above it.
    """
    numbers = {lenient.text(message.get("uuid")): n for n, message in enumerate(messages)}
    leaf = numbers.get(lenient.text(data.get("current_leaf_message_uuid")), len(messages) - 1)
    way: dict[int, None] = {}
    at = leaf
    while at >= 0 and at not in way:  # a circle ends where it closes
        way[at] = None
        parent = lenient.text(messages[at].get("parent_message_uuid"))
        at = -1 if parent == ROOT else numbers.get(parent, at - 1)
    return list(way)[::-1]


def _head(message: Mapping[str, Any]) -> ImportedTurn:
    own = message.get("sender") == "human"
    return ImportedTurn(
        id=lenient.text(message.get("uuid")),
        at=lenient.moment(message.get("created_at")),
        by=PERSON if own else OTHER,
        text="",
        name="" if own else ASSISTANT,
    )


def _pieces(message: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return all that stands in a message, each with the list it stands in."""
    content = [one for one in lenient.listed(message.get("content")) if not _is_empty(one)]
    words = lenient.text(message.get("text"))  # older exports have no blocks of text
    if words.strip() and not any(lenient.mapping(one).get("type") == "text" for one in content):
        content.append({"type": "text", "text": words})
    listed = [("content", one) for one in content]
    seen: set[str] = set()
    for key in FILE_LISTS:
        for one in lenient.listed(message.get(key)):
            file = lenient.mapping(one)
            file_id = lenient.text(file.get("file_uuid")) or lenient.text(file.get("uuid"))
            if one and not (file_id and file_id in seen):  # `files_v2` says `files` again
                listed.append((key, one))
            seen.add(file_id)
    return listed


def _is_empty(block: object) -> bool:
    data = lenient.mapping(block)
    text = data.get("text")
    return not block or (data.get("type") == "text" and not lenient.text(text).strip())


def _blocks(message: Mapping[str, Any], code: Collection[str]) -> list[ImportedBlock]:
    return [
        _block(lenient.mapping(piece), code) if key == "content" else _file(lenient.mapping(piece))
        for key, piece in _pieces(message)
    ]


def _file(data: Mapping[str, Any]) -> ImportedBlock:
    """Read what was attached: its name, and its text where that is there."""
    if not data:
        return ledger.unknown("")
    inside = lenient.text(data.get("extracted_content"))
    named = next(
        (name for key in ("file_name", "name", "title") if (name := lenient.text(data.get(key)))),
        "",
    )
    name = named.strip() or ("pasted text" if inside.strip() else "unnamed")
    return ImportedBlock(ledger.marked("file", name), file=name, inside=inside, is_mark=True)


def _block(data: Mapping[str, Any], code: Collection[str]) -> ImportedBlock:
    """Read a block of a message."""
    kind = data.get("type")
    if kind in ("text", "voice_note") and (said := lenient.text(data.get("text"))).strip():
        shown = _UNSHOWN.sub("", said)
        return ImportedBlock(shown.strip("\n")) if shown.strip() else ImportedBlock(why=UNSHOWN)
    if kind in ("thinking", "redacted_thinking", "token_budget", "flag"):
        return ImportedBlock(why=ledger.THOUGHTS if "thinking" in kind else ledger.SYSTEM)
    if kind == "image":
        return ledger.mark("picture", lenient.text(data.get("file_name")))
    if kind in ("document", "local_resource", "knowledge"):
        return ledger.mark("file", lenient.text(data.get("name") or data.get("title")))
    if isinstance(kind, str) and kind.endswith("tool_use"):
        return _made(lenient.text(data.get("name")), lenient.mapping(data.get("input")))
    if isinstance(kind, str) and kind.endswith("tool_result"):
        return _output(data, code)
    return ledger.unknown(kind)


def _runs_code(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "tool_use" and lenient.text(block.get("name")) in CODE


def _made(tool: str, given: Mapping[str, Any]) -> ImportedBlock:
    """Read what the assistant made by a tool: a document, a file, code."""
    name = lenient.text(given.get("title")) or lenient.text(given.get("path"))
    name = name or lenient.text(given.get("id"))
    whole = lenient.text(given.get("content")) or lenient.text(given.get("file_text"))
    if tool in MAKERS and whole.strip():
        return ledger.titled("document", name, whole)
    if tool in (*MAKERS, *CHANGERS) and (new := lenient.text(given.get("new_str"))).strip():
        return ledger.titled("document changed", name, new)
    if tool in CODE and (ran := lenient.text(given.get("code") or given.get("command"))).strip():
        return ImportedBlock(ledger.fenced(ran))
    return ImportedBlock(why=ledger.CALLS)


def _output(data: Mapping[str, Any], code: Collection[str]) -> ImportedBlock:
    """Read what a tool answered: of code, what it printed."""
    inside = data.get("content")
    texts = [lenient.text(one.get("text")) for one in lenient.mappings(inside)]
    text = "\n".join(filter(str.strip, texts)) or lenient.text(inside)
    if lenient.text(data.get("tool_use_id")) in code and text.strip():
        return ImportedBlock(f"{ledger.marked('output')}\n{ledger.fenced(text)}")
    return ImportedBlock(why=ledger.ERRORS if data.get("is_error") is True else ledger.RESULTS)


def _remembered(data: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Item]:
    text = lenient.text(data.get("conversations_memory"))
    if text.strip():
        yield Fact("What Claude remembered", text)
    for project_id, memory in lenient.mapping(data.get("project_memories")).items():
        if lenient.text(memory).strip():
            name = names.get(project_id) or project_id
            yield Fact(f"What Claude remembered of {name}", lenient.text(memory))
    for key, value in data.items():
        if key not in REMEMBERED and value:
            yield LeftOut(lenient.text(key)[:60], "memories of a kind that is not known")


def _project(data: Mapping[str, Any]) -> Iterator[Item]:
    project_id, name = lenient.text(data.get("uuid")), lenient.text(data.get("name"))
    if not project_id:
        raise ValueError("a project without an id")
    at = lenient.moment(data.get("created_at"))
    if said := list(_of_project(data, at)):
        yield from ledger.talk(f"project {project_id}", f"Project {name}", at, said)


def _of_project(data: Mapping[str, Any], at: datetime | None) -> Iterator[ImportedMessage]:
    """Yield what the person wrote of a project, and its files, which are nobody's words."""
    for number, key in enumerate(("description", "prompt_template")):
        if (text := lenient.text(data.get(key))).strip():
            yield ImportedMessage(
                ImportedTurn(f"own {number}", at, PERSON, ""), (ImportedBlock(text),)
            )
    for number, one in enumerate(lenient.listed(data.get("docs"))):
        doc = lenient.mapping(one)
        title = lenient.text(doc.get("filename")) or lenient.text(doc.get("name")) or "a file"
        doc_id = lenient.text(doc.get("uuid")) or f"file {number}"
        text = lenient.text(doc.get("content"))
        block = (
            ImportedBlock(text)
            if text.strip()
            else ImportedBlock(why="files of projects without a text")
        )
        head = ImportedTurn(doc_id, lenient.moment(doc.get("created_at")) or at, OTHER, "", title)
        yield ImportedMessage(head, (block,))
