"""Claude's export: conversations, what it remembers of the person, and projects, in a zip.

A file that was attached is a text of its own, which the person did not say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from bumble.bridges.imports import foreign, items
from bumble.bridges.imports.source import ImportSource

ROOT = "00000000-0000-4000-8000-000000000000"  # the parent of a first message
FILE_LISTS = ("attachments", "files", "files_v2", "sync_sources")  # of a message
REMEMBERED = ("conversations_memory", "project_memories", "account_uuid")
MAKERS = ("artifacts", "create_file")  # tools that make a document for the person
CHANGERS = (*MAKERS, "str_replace")
CODE = ("repl", "analysis_tool", "bash_tool", "code_execution")  # tools that run code
TO_MEMORY = "memory_user_edits"


def fits(source: ImportSource) -> bool:
    """Whether the files are such an export."""
    return any(
        part.shown(source) for part in (TALKS, _projects({}, "docs", "is_private"), *_memories({}))
    )


def read(source: ImportSource, context: items.ImportContext) -> Iterator[items.Item]:
    """Read projects, memories and conversations."""
    names: dict[str, str] = {}  # of projects, by id
    yield from foreign.read(source, _projects(names), *_memories(names), TALKS)


def _projects(names: dict[str, str], *keys: str) -> foreign.Files:
    return foreign.Files(PROJECTS, frozenset(keys), {"": partial(_project, names)})


def _memories(names: Mapping[str, str]) -> tuple[foreign.Files, ...]:
    readers = {"": partial(_remembered, names)}
    return tuple(
        foreign.Files(("memories.json",), frozenset([key]), readers) for key in REMEMBERED[:2]
    )


def _conversation(data: Mapping[str, Any]) -> Iterator[items.Item]:
    talk_id = foreign.text(data, "uuid")
    name = foreign.text(data, "name")
    yield from items.talk(talk_id, name, foreign.moment(data, "created_at"), _said(data))
    if foreign.text(data, "summary").strip():  # of a talk that was not refused
        yield items.LeftOut(name or talk_id, "summaries that Claude made of conversations")


TALKS = foreign.Files(
    ("conversations*.json",),
    frozenset(["chat_messages"]),
    {"": _conversation, "conversations": _conversation},
    never=frozenset(["fragments"]),
)
PROJECTS = ("projects.json", "projects/*.json", "*/projects/*.json")


def _said(data: Mapping[str, Any]) -> Iterator[items.ImportedMessage]:
    """Yield the messages of the branch that was shown last; of all others what is left out.

    Where no leaf is named, that is the last one. A message that names no parent follows the one
    above it.
    """
    messages = [
        one if isinstance(one, dict) else {"content": [one]}
        for one in foreign.listed(data, "chat_messages")
    ]
    numbers = {foreign.text(message, "uuid"): f"{n}" for n, message in enumerate(messages)}
    parents = {
        f"{n}": "" if (parent := foreign.text(message, "parent_message_uuid")) == ROOT
        else numbers.get(parent, f"{n - 1}")
        for n, message in enumerate(messages)
    }  # fmt: skip
    code = {  # the calls that ran code, whose answers are its output
        foreign.text(one, "id")
        for message in messages
        for one in foreign.mappings(message, "content")
        if one.get("type") == "tool_use" and foreign.text(one, "name") in CODE
    }

    def message(number: str) -> items.ImportedMessage:
        one = messages[int(number)]
        at, own = foreign.moment(one, "created_at"), one.get("sender") == "human"
        head = items.head(foreign.text(one, "uuid"), at, "Claude", own=own)
        return items.ImportedMessage(head, [*_content(one, code), *_files(one)])

    leaf = numbers.get(foreign.text(data, "current_leaf_message_uuid"), f"{len(messages) - 1}")
    return items.of_branches(parents, leaf, message)


def _content(message: Mapping[str, Any], code: Collection[str]) -> Iterator[items.ImportedBlock]:
    content = [one for one in foreign.listed(message, "content") if one]
    texts = [one for one in content if foreign.at(one, "type") == "text"]
    for one in content:
        if one not in texts or foreign.text(one, "text").strip():
            yield _block(foreign.mapping(one), code)
    words = foreign.text(message, "text")  # older exports have no blocks of text
    if words.strip() and not any(foreign.text(one, "text").strip() for one in texts):
        yield _block({"type": "text", "text": words}, code)


def _files(message: Mapping[str, Any]) -> Iterator[items.ImportedBlock]:
    """Read what was attached: its name, and its text where that is there."""
    seen = {""}
    for one in (one for key in FILE_LISTS for one in foreign.listed(message, key) if one):
        file_id = foreign.first(one, "file_uuid", "uuid")
        if file_id and file_id in seen:  # `files_v2` says `files` again
            continue
        seen.add(file_id)
        if not isinstance(one, dict):
            yield items.unknown("")
            continue
        inside = foreign.text(one, "extracted_content")
        name = foreign.first(one, "file_name", "name", "title").strip()
        name = name or ("pasted text" if inside.strip() else "unnamed")
        yield replace(items.mark("file", name), file=name, inside=inside)


def _block(data: Mapping[str, Any], code: Collection[str]) -> items.ImportedBlock:
    """Read a block of a message."""
    kind = foreign.text(data, "type")
    if kind in ("text", "voice_note") and (said := foreign.first(data, "text", "transcript")):
        return items.ImportedBlock(said)
    if kind.endswith("tool_use"):
        return _made(foreign.text(data, "name"), foreign.mapping(data, "input"))
    match kind:
        case "thinking" | "redacted_thinking":
            return items.ImportedBlock(why=items.THOUGHTS)
        case "token_budget" | "flag":
            return items.ImportedBlock(why=items.SYSTEM)
        case "image":
            return items.mark("picture", foreign.text(data, "file_name"))
        case "document" | "local_resource" | "knowledge":
            return items.mark("file", foreign.first(data, "name", "title"))
    return _output(data, code) if kind.endswith("tool_result") else items.unknown(kind)


def _made(tool: str, given: Mapping[str, Any]) -> items.ImportedBlock:
    """Read what the assistant made by a tool: a document, a file, code."""
    name = foreign.first(given, "title", "path", "id")
    if tool in MAKERS and (whole := foreign.first(given, "content", "file_text")):
        return items.titled("document", name, whole)
    if tool in CHANGERS and (new := foreign.first(given, "new_str")):
        return items.titled("document changed", name, new)
    if tool in CODE and (ran := foreign.first(given, "code", "command")):
        return items.ImportedBlock(items.fenced(ran))
    if tool == TO_MEMORY and (noted := foreign.first(given, "control", "replacement")):
        return items.to_memory(noted)
    return items.ImportedBlock(why=items.CALLS)


def _output(data: Mapping[str, Any], code: Collection[str]) -> items.ImportedBlock:
    """Read what a tool answered: of code, what it printed."""
    texts = [foreign.text(one, "text") for one in foreign.mappings(data, "content")]
    printed = "\n".join(filter(str.strip, texts)) or foreign.text(data, "content")
    if foreign.text(data, "tool_use_id") in code and printed.strip():
        return items.ImportedBlock(f"[output]\n{items.fenced(printed)}")
    is_error = data.get("is_error") is True
    return items.ImportedBlock(why=items.ERRORS if is_error else items.RESULTS)


def _remembered(names: Mapping[str, str], data: Mapping[str, Any]) -> Iterator[items.Item]:
    if whole := foreign.first(data, "conversations_memory"):
        yield items.Fact("What Claude remembered", whole)
    for project_id, memory in foreign.mapping(data, "project_memories").items():
        if foreign.text(memory).strip():
            name = names.get(project_id) or project_id
            yield items.Fact(f"What Claude remembered of {name}", foreign.text(memory))
    for key, value in data.items():
        if key not in REMEMBERED and value:
            yield items.LeftOut(foreign.text(key)[:60], "memories of a kind that is not known")


def _project(names: dict[str, str], data: Mapping[str, Any]) -> Iterator[items.Item]:
    project_id, name, at = (
        foreign.text(data, "uuid"),
        foreign.text(data, "name"),
        foreign.moment(data, "created_at"),
    )
    if not project_id:
        raise ValueError("a project without an id")
    names[project_id] = name
    if said := list(_of_project(data, at)):
        yield from items.talk(f"project {project_id}", f"Project {name}", at, said)


def _of_project(data: Mapping[str, Any], at: datetime | None) -> Iterator[items.ImportedMessage]:
    """Yield what the person wrote of a project, and its files, which are nobody's words."""
    for number, key in enumerate(("description", "prompt_template")):
        if own := foreign.first(data, key):
            head = items.ImportedTurn(f"own {number}", at, items.PERSON, "")
            yield items.ImportedMessage(head, [items.ImportedBlock(own)])
    for number, doc in enumerate(foreign.listed(data, "docs")):
        title, inside = foreign.first(doc, "filename", "name"), foreign.first(doc, "content")
        why = "" if inside else "files of projects without a text"
        doc_id = foreign.text(doc, "uuid") or f"file {number}"
        written = foreign.moment(doc, "created_at") or at
        head = items.ImportedTurn(doc_id, written, items.OTHER, "", title or "a file")
        yield items.ImportedMessage(head, [items.ImportedBlock(inside, why)])
