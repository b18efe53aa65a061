"""ChatGPT's export: `conversations.json`, since 2026 in numbered parts, in a zip or unpacked.

A conversation is a tree of messages; what is read is the branch that was shown last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bumble.imports import chat_export, lenient
from bumble.imports.items import (
    OTHER,
    PERSON,
    ImportContext,
    ImportedTalk,
    ImportedTurn,
    Item,
    LeftOut,
)
from bumble.imports.source import ImportSource

ASSISTANT = "ChatGPT"
FILES = ("conversations*.json",)
REMEMBERED = "bio"  # whom the assistant tells what it wants to remember
_INTERNAL = (
    "thoughts",
    "reasoning_recap",
    "tether_browsing_display",
    "user_editable_context",
    "model_editable_context",
)


def fits(source: ImportSource) -> bool:
    """Whether the files are such an export."""
    return bool(_names(source))


def _names(source: ImportSource) -> list[str]:
    looks = chat_export.shapes(source, *FILES)
    return [
        name
        for name, shape in looks.items()
        if "mapping" in shape.item() | shape.item("conversations")
    ]


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the conversations."""
    names = _names(source) or source.matching(*FILES)
    yield from chat_export.read(source, names, _conversation, "conversations")
    yield from chat_export.others(source, names)


def _conversation(data: Mapping[str, Any]) -> Iterator[Item]:
    title = lenient.text(data.get("title"))
    talk_id = lenient.text(data.get("conversation_id")) or lenient.text(data.get("id"))
    if data.get("is_do_not_remember") is True:
        yield LeftOut(title or talk_id, "conversations that were not to be remembered")
        return
    if not talk_id:
        raise ValueError("a conversation without an id")
    nodes = lenient.mapping(data.get("mapping"))
    if not nodes:
        raise ValueError("a conversation without messages")
    model = lenient.text(data.get("default_model_slug"))
    turns, hidden = [], 0
    branch = _branch(nodes, data.get("current_node"))
    for node_id in branch:
        message = lenient.mapping(nodes[node_id]).get("message")
        turn = _turn(node_id, message, model)
        turns += [turn] if turn else []
        hidden += turn is None and bool(message)
    aside = sum(1 for node in nodes.values() if lenient.mapping(node).get("message")) - (
        len(turns) + hidden
    )
    yield from chat_export.unseen(title or talk_id, hidden, aside)
    at = lenient.moment(data.get("create_time")) or lenient.moment(data.get("update_time"))
    yield ImportedTalk(talk_id, title, at, tuple(turns))


def _branch(nodes: Mapping[str, Any], current: object) -> list[str]:
    """Return the ids of the branch that was shown last, from its root."""
    at = current if isinstance(current, str) and current in nodes else _newest_leaf(nodes)
    way: dict[str, None] = {}
    while at is not None and at in nodes and at not in way:  # a circle ends where it closes
        way[at] = None
        parent = lenient.mapping(nodes[at]).get("parent")
        at = parent if isinstance(parent, str) else None
    return list(way)[::-1]


def _newest_leaf(nodes: Mapping[str, Any]) -> str | None:
    parents = {lenient.mapping(node).get("parent") for node in nodes.values() if _hashable(node)}
    leaves = [node_id for node_id in nodes if node_id not in parents] or list(nodes)

    def time(node_id: str) -> float:
        message = lenient.mapping(lenient.mapping(nodes[node_id]).get("message"))
        at = lenient.moment(message.get("create_time"))
        return at.timestamp() if at else 0.0

    return max(leaves, key=time, default=None)


def _hashable(node: object) -> bool:
    return isinstance(lenient.mapping(node).get("parent"), str)


def _turn(node_id: str, message: object, model: str) -> ImportedTurn | None:
    """Read a message that was said; None for what was not, or was not shown."""
    data = lenient.mapping(message)
    meta, author = lenient.mapping(data.get("metadata")), lenient.mapping(data.get("author"))
    content = lenient.mapping(data.get("content"))
    role, recipient = author.get("role"), data.get("recipient") or "all"
    if role not in ("user", "assistant") or content.get("content_type") in _INTERNAL:
        return None
    if meta.get("is_visually_hidden_from_conversation") is True:
        return None
    remembered = role == "assistant" and recipient == REMEMBERED
    if role == "assistant" and recipient != "all" and not remembered:
        return None
    text = _text(content)
    if not text.strip():
        return None
    return ImportedTurn(
        id=lenient.text(data.get("id")) or node_id,
        at=lenient.moment(data.get("create_time")),
        by=PERSON if role == "user" else OTHER,
        text=f"(to its memory) {text}" if remembered else text,
        name="" if role == "user" else ASSISTANT,
        model="" if role == "user" else lenient.text(meta.get("model_slug")) or model,
    )


def _text(content: Mapping[str, Any]) -> str:
    if content.get("content_type") == "code":
        language = lenient.text(content.get("language"))
        language = language if language.isalnum() and language != "unknown" else ""
        return f"```{language}\n{lenient.text(content.get('text'))}\n```"
    parts = lenient.listed(content.get("parts"))
    shown = [_part(part) for part in parts] or [lenient.text(content.get("text"))]
    return "\n\n".join(part for part in shown if part.strip())


def _part(part: object) -> str:
    if isinstance(part, str):
        return lenient.text(part)
    data = lenient.mapping(part)
    kind = lenient.text(data.get("content_type"))
    if "image" in kind:
        return "[image]"
    text = lenient.text(data.get("text"))
    return text or (f"[{kind.split('_')[0]}]" if kind else "")
