"""ChatGPT's export: `conversations.json`, since 2026 in numbered parts, in a zip or unpacked.

A conversation is a tree of messages; what is read is the branch that was shown last.

Source: the kinds of content that public readers of such exports name, as of November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bumble import patterns
from bumble.bridges.imports import foreign, items

REMEMBERED = "bio"  # whom the assistant tells what it wants to remember
CANVAS = "canmore."  # tools that write a document beside the talk
CODE = ("python", "container", "code_interpreter")  # tools that run code, or what begins so
_LEFT = {  # kinds of content that nobody said to the person
    **dict.fromkeys(("thoughts", "reasoning_recap"), items.THOUGHTS),
    **dict.fromkeys(
        ("user_editable_context", "model_editable_context", "app_pairing_content"), items.SYSTEM
    ),
    **dict.fromkeys(("tether_browsing_display", "tether_quote", "sonic_webpage"), items.RESULTS),
    "system_error": items.ERRORS,
}
_EMPTY: tuple[object, ...] = ("", None, {}, [])
_TEXTS = ("text", "multimodal_text", "code", "execution_output", "")
# What the page shows as a link or a card: a kind and fields between private characters; and the
# older brackets.
_MARKED = patterns.compile(
    "([ \t]?)\ue200([^\ue201]{0,4000})\ue201|[\ue200-\ue206]|[ \t]?【[^【】]{0,80}†[^【】]{0,200}】"
)
_WORDED = ("entity", "url", "link_title")  # kinds that stand for words; the others cite


def _conversation(data: Mapping[str, Any]) -> Iterator[items.Item]:
    title, talk_id = foreign.text(data, "title"), foreign.first(data, "conversation_id", "id")
    if data.get("is_do_not_remember") is True:
        yield items.LeftOut(title or talk_id, "conversations that were not to be remembered")
        return
    if not (nodes := foreign.mapping(data, "mapping")):
        raise ValueError("a conversation without messages")
    talk_id = talk_id or f"{next(iter(nodes))} {data.get('create_time')}"  # before May 2023
    at = foreign.moment(data, "create_time") or foreign.moment(data, "update_time")
    said = _said(nodes, data.get("current_node"), foreign.text(data, "default_model_slug"))
    yield from items.talk(talk_id, title, at, said)


FILES = foreign.Files(
    ("conversations*.json", "*/conversations*.json"),
    frozenset(["mapping"]),
    {"": _conversation, "conversations": _conversation},
    never=frozenset(["chat_messages", "fragments", "block_ids", "inserted_at"]),
)


def _said(nodes: Mapping[str, Any], current: object, model: str) -> Iterator[items.ImportedMessage]:
    """Yield the messages of the branch that was shown last; of all others what is left out."""
    parents = {node_id: foreign.text(node, "parent") for node_id, node in nodes.items()}
    times = {one: foreign.moment(node, "message", "create_time") for one, node in nodes.items()}
    is_known = isinstance(current, str) and current in nodes
    leaf = str(current) if is_known else items.newest_leaf(parents, times)

    def message(node_id: str) -> items.ImportedMessage:
        data = foreign.at(nodes[node_id], "message")
        if not isinstance(data, dict):  # one piece of nobody's
            data = {"content": {"odd": data}}
        turn_id, slug = (
            foreign.text(data, "id") or node_id,
            foreign.text(data, "metadata", "model_slug"),
        )
        own = foreign.text(data, "author", "role") == "user"
        head = items.head(turn_id, times[node_id], "ChatGPT", slug or model, own=own)
        way = (foreign.at(nodes[one], "message") for one in items.branch(parents, node_id))
        is_canvas = foreign.text(data, "recipient").startswith(CANVAS)
        return items.ImportedMessage(head, _blocks(data, _document(way) if is_canvas else ""))

    return items.of_branches(parents, leaf, message)


def _blocks(message: Mapping[str, Any], document: str) -> list[items.ImportedBlock]:
    """Read all that stands in a message: its parts, and what was attached."""
    content = foreign.mapping(message, "content")
    parts = [*foreign.listed(content, "parts"), *foreign.listed(content, "thoughts")]
    if not parts and any(value for key, value in content.items() if key != "content_type"):
        parts = [content]
    parts = [one for one in parts if (one.strip() if isinstance(one, str) else one) not in _EMPTY]
    attached = foreign.listed(message, "metadata", "attachments")
    names = {
        foreign.text(one, "id"): foreign.text(one, "name") for one in foreign.mappings(attached)
    }
    shown = {_asset(part) for part in parts} - {""}
    why = _unsaid(message)
    blocks = []
    for part in parts:
        is_picture = "image" in foreign.text(part, "content_type")
        if is_picture and why in ("", items.RESULTS):
            drawn = foreign.first(
                foreign.at(part, "metadata", "dalle"), "serialization_title", "prompt"
            )
            name = names.get(_asset(part), "") or drawn[:200] or _asset(part)
            blocks.append(items.mark("picture", name))
        else:
            blocks.append(items.ImportedBlock(why=why) if why else _block(message, part, document))
    beside = (one for one in attached if foreign.at(one, "id") not in shown)
    marks = (items.mark("file", foreign.first(one, "name", "id")) for one in beside)
    return [*blocks, *(items.ImportedBlock(why=why) if why else mark for mark in marks)]


def _asset(part: object) -> str:
    """Return the id of the file that a part points to."""
    return foreign.text(part, "asset_pointer").rpartition("//")[2]


def _unsaid(message: Mapping[str, Any]) -> str:
    """Say why nothing of a message was said to the person; empty where it was."""
    role, kind = (
        foreign.text(message, "author", "role"),
        foreign.text(message, "content", "content_type"),
    )
    recipient = foreign.text(message, "recipient") or "all"
    if kind in _LEFT:
        return _LEFT[kind]
    if foreign.at(message, "metadata", "is_visually_hidden_from_conversation") is True:
        return items.HIDDEN
    made = recipient == REMEMBERED or recipient.startswith((CANVAS, *CODE))
    if role == "assistant" and recipient != "all" and not made:
        return items.CALLS
    if role == "tool" and not (_is_report(message) or kind == "execution_output"):
        return items.RESULTS
    return "" if role in ("user", "assistant", "tool") else items.SYSTEM


def _is_report(message: Mapping[str, Any]) -> bool:
    meta = foreign.mapping(message, "metadata")
    is_result = meta.get("is_async_task_result_message") is True
    return is_result or meta.get("async_task_type") == "research"


def _block(message: Mapping[str, Any], part: object, document: str) -> items.ImportedBlock:
    """Read a part of a message that was said, and what the assistant made in it."""
    kind, content = (
        foreign.text(part, "content_type"),
        foreign.text(message, "content", "content_type"),
    )
    if ("audio" in kind and kind != "audio_transcription") or "video" in kind:
        return items.ImportedBlock(why=items.MEDIA)
    words = foreign.text(part) or foreign.text(part, "text")
    if not words.strip() or kind not in ("audio_transcription", *_TEXTS) or content not in _TEXTS:
        return items.unknown(kind or content)
    recipient = foreign.text(message, "recipient")
    if recipient == REMEMBERED:
        return items.to_memory(words)
    if recipient.startswith(CANVAS):
        return _written(words, document)
    if _is_report(message):
        return items.titled("report", foreign.text(message, "metadata", "async_task_title"), words)
    if content == "execution_output":
        return items.ImportedBlock(f"[output]\n{items.fenced(words)}")
    if content == "code" or recipient.startswith(CODE):
        return items.ImportedBlock(
            items.fenced(words, foreign.text(message, "content", "language"))
        )
    shown = _MARKED.sub(_worded, words)
    return items.ImportedBlock(shown if shown.strip() else words)


def _worded(mark: re.Match[str]) -> str:
    """Return the words that a mark in a text stands for: a name, or a link."""
    kind, *fields = (mark[2] or "").split("\ue202")
    if kind not in _WORDED or not fields:
        return ""
    named = foreign.json_of(fields[0]) if kind == "entity" else None
    label = named[1] if isinstance(named, list) and len(named) > 1 else fields[0]
    is_link = len(fields) > 1 and fields[1].startswith("http")
    return f"{mark[1]}[{label}]({fields[1]})" if is_link else f"{mark[1]}{label}"


def _document(way: Iterable[object]) -> str:
    """Return the name of the document that was begun last on the way to a message."""
    begun = (one for one in way if foreign.text(one, "recipient").startswith(f"{CANVAS}create"))
    names = [
        foreign.text(foreign.json_of(foreign.text(one, "content", "text")), "name") for one in begun
    ]
    return next(filter(None, reversed(names)), "")


def _written(words: str, document: str) -> items.ImportedBlock:
    """Read a document, what of it was changed, or what was remarked on it."""
    data = foreign.mapping(foreign.json_of(words))
    name = document or foreign.text(data, "name")
    changed = [foreign.text(one, "replacement") for one in foreign.mappings(data, "updates")]
    remarks = [foreign.text(one, "comment") for one in foreign.mappings(data, "comments")]
    if whole := foreign.text(data, "content").strip() and foreign.text(data, "content"):
        return items.titled("document", name, whole)
    if any(map(str.strip, changed)):
        return items.titled("document changed", name, "\n\n".join(filter(str.strip, changed)))
    if any(map(str.strip, remarks)):
        told = "\n".join(f"- {remark}" for remark in remarks if remark.strip())
        return items.titled("remarks on", name, told)
    return items.titled("document", name, items.fenced(words))
