"""ChatGPT's export: `conversations.json`, since 2026 in numbered parts, in a zip or unpacked.

A conversation is a tree of messages; what is read is the branch that was shown last.

Source: the kinds of content that public readers of such exports name, as of November 2026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bumble.bridges.imports import chat_export, ledger, lenient
from bumble.bridges.imports.ledger import (
    OTHER,
    PERSON,
    ImportContext,
    ImportedBlock,
    ImportedMessage,
    ImportedTurn,
    Item,
    LeftOut,
)
from bumble.bridges.imports.source import ImportSource

ASSISTANT = "ChatGPT"
FILES = ("conversations*.json",)
REMEMBERED = "bio"  # whom the assistant tells what it wants to remember
CANVAS = "canmore."  # tools that write a document beside the talk
CODE = ("python", "container", "code_interpreter")  # tools that run code, or what begins so
RESEARCH = "research"  # a task of `metadata.async_task_type`
_LEFT = {  # kinds of content that nobody said to the person
    **dict.fromkeys(("thoughts", "reasoning_recap"), ledger.THOUGHTS),
    **dict.fromkeys(
        ("user_editable_context", "model_editable_context", "app_pairing_content"), ledger.SYSTEM
    ),
    **dict.fromkeys(("tether_browsing_display", "tether_quote", "sonic_webpage"), ledger.RESULTS),
    "system_error": ledger.ERRORS,
}
_TEXTS = ("text", "multimodal_text", "code", "execution_output", "")
_INSIDE = ("parts", "thoughts")  # lists of pieces; else the whole content is one
# What the page shows as a small link: `cite` between private characters, and the older brackets.
_CITED = re.compile(
    "[ \t]?\ue200[^\ue201]{0,400}\ue201|[\ue200-\ue206]|[ \t]?【[^【】]{0,80}†[^【】]{0,200}】"
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
    at = lenient.moment(data.get("create_time")) or lenient.moment(data.get("update_time"))
    model = lenient.text(data.get("default_model_slug"))
    yield from ledger.talk(talk_id, title, at, _said(nodes, data.get("current_node"), model))


def _said(nodes: Mapping[str, Any], current: object, model: str) -> Iterator[ImportedMessage]:
    """Yield the messages of the branch that was shown last; of all others what is left out."""
    branch = _branch(nodes, current)
    document = ""  # the name of the one that was written last
    for node_id in branch:
        message = _message(nodes[node_id])
        document = _document(message) or document
        yield ImportedMessage(_head(node_id, message, model), _blocks(message, document))
    for node_id in (one for one in nodes if one not in set(branch)):
        message = _message(nodes[node_id])
        yield ledger.aside(_head(node_id, message, model), _blocks(message, _document(message)))


def _message(node: object) -> Mapping[str, Any]:
    """Return the message of a node; what is none is one piece of nobody's."""
    message = lenient.mapping(node).get("message")
    return message if isinstance(message, dict) else {"content": {"odd": message}}


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


def _head(node_id: str, message: Mapping[str, Any], model: str) -> ImportedTurn:
    own = lenient.mapping(message.get("author")).get("role") == "user"
    meta = lenient.mapping(message.get("metadata"))
    return ImportedTurn(
        id=lenient.text(message.get("id")) or node_id,
        at=lenient.moment(message.get("create_time")),
        by=PERSON if own else OTHER,
        text="",
        name="" if own else ASSISTANT,
        model="" if own else lenient.text(meta.get("model_slug")) or model,
    )


def _pieces(message: Mapping[str, Any]) -> list[Any]:
    """Return all that stands in a message: its parts, and what was attached."""
    content = lenient.mapping(message.get("content"))
    inside = [one for key in _INSIDE for one in lenient.listed(content.get(key))]
    if not inside and any(value for key, value in content.items() if key != "content_type"):
        inside = [content]
    own = [piece for piece in inside if not _is_empty(piece)]
    shown = {_asset(piece) for piece in own} - {""}
    attached = lenient.listed(lenient.mapping(message.get("metadata")).get("attachments"))
    return own + [
        {"attachment": one} for one in attached if lenient.mapping(one).get("id") not in shown
    ]


def _is_empty(piece: object) -> bool:
    return not lenient.text(piece).strip() if isinstance(piece, str) else piece in (None, {}, [])


def _asset(piece: object) -> str:
    """Return the id of the file that a part points to."""
    return lenient.text(lenient.mapping(piece).get("asset_pointer")).rpartition("//")[2]


def _blocks(message: Mapping[str, Any], document: str) -> list[ImportedBlock]:
    why = _unsaid(message)
    attached = lenient.listed(lenient.mapping(message.get("metadata")).get("attachments"))
    names = {
        lenient.text(one.get("id")): lenient.text(one.get("name"))
        for one in lenient.mappings(attached)
    }
    return [
        _picture(piece, names)
        if why == ledger.RESULTS and _is_picture(piece)
        else ImportedBlock(why=why)
        if why
        else _block(message, piece, document, names)
        for piece in _pieces(message)
    ]


def _unsaid(message: Mapping[str, Any]) -> str:
    """Say why nothing of a message was said to the person; empty where it was."""
    content, meta = (
        lenient.mapping(message.get("content")),
        lenient.mapping(message.get("metadata")),
    )
    role, recipient = _role(message), _recipient(message)
    kind = lenient.text(content.get("content_type"))
    if kind in _LEFT:
        return _LEFT[kind]
    if meta.get("is_visually_hidden_from_conversation") is True:
        return ledger.HIDDEN
    if role == "assistant" and recipient != "all" and not _is_made(recipient):
        return ledger.CALLS
    if role == "tool" and not (_is_report(meta) or kind == "execution_output"):
        return ledger.RESULTS
    return "" if role in ("user", "assistant", "tool") else ledger.SYSTEM


def _role(message: Mapping[str, Any]) -> str:
    return lenient.text(lenient.mapping(message.get("author")).get("role"))


def _recipient(message: Mapping[str, Any]) -> str:
    return lenient.text(message.get("recipient")) or "all"


def _is_made(recipient: str) -> bool:
    """Whether the assistant made something for the person by a tool."""
    return recipient == REMEMBERED or recipient.startswith((CANVAS, *CODE))


def _is_report(meta: Mapping[str, Any]) -> bool:
    result = meta.get("is_async_task_result_message") is True
    return result or meta.get("async_task_type") == RESEARCH


def _block(
    message: Mapping[str, Any], piece: object, document: str, names: Mapping[str, str]
) -> ImportedBlock:
    """Read a piece of a message that was said."""
    data = lenient.mapping(piece)
    kind = lenient.text(data.get("content_type"))
    if "attachment" in data:
        one = lenient.mapping(data["attachment"])
        return ledger.mark("file", lenient.text(one.get("name")) or lenient.text(one.get("id")))
    if _is_picture(piece):
        return _picture(piece, names)
    if ("audio" in kind and kind != "audio_transcription") or "video" in kind:
        return ImportedBlock(why=ledger.MEDIA)
    text = lenient.text(piece) if isinstance(piece, str) else lenient.text(data.get("text"))
    content = lenient.text(lenient.mapping(message.get("content")).get("content_type"))
    if not text.strip() or (kind not in ("audio_transcription", *_TEXTS) or content not in _TEXTS):
        return ledger.unknown(kind or content)
    shown = _CITED.sub("", text)
    return _made(message, text, document) or ImportedBlock(shown if shown.strip() else text)


def _is_picture(piece: object) -> bool:
    return "image" in lenient.text(lenient.mapping(piece).get("content_type"))


def _picture(piece: object, names: Mapping[str, str]) -> ImportedBlock:
    meta = lenient.mapping(lenient.mapping(piece).get("metadata"))
    dalle = lenient.mapping(meta.get("dalle"))
    drawn = lenient.text(dalle.get("serialization_title")) or lenient.text(dalle.get("prompt"))
    return ledger.mark("picture", names.get(_asset(piece), "") or drawn[:200] or _asset(piece))


def _made(message: Mapping[str, Any], text: str, document: str) -> ImportedBlock | None:
    """Read what the assistant made: a document, a report, code and what it printed."""
    content, meta = (
        lenient.mapping(message.get("content")),
        lenient.mapping(message.get("metadata")),
    )
    recipient, kind = _recipient(message), content.get("content_type")
    if recipient == REMEMBERED:
        return ImportedBlock(f"(to its memory) {text}")
    if recipient.startswith(CANVAS):
        return _written(recipient, text, document)
    if _is_report(meta):
        return ledger.titled("report", lenient.text(meta.get("async_task_title")), text)
    if kind == "execution_output":
        return ImportedBlock(f"{ledger.marked('output')}\n{ledger.fenced(text)}")
    if kind == "code" or recipient.startswith(CODE):
        return ImportedBlock(ledger.fenced(text, lenient.text(content.get("language"))))
    return None


def _json(text: str) -> Mapping[str, Any]:
    try:
        return lenient.mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _document(message: Mapping[str, Any]) -> str:
    """Return the name of a document that a message begins; empty if it begins none."""
    if not _recipient(message).startswith(f"{CANVAS}create"):
        return ""
    text = lenient.text(lenient.mapping(message.get("content")).get("text"))
    return lenient.text(_json(text).get("name"))


def _written(recipient: str, text: str, document: str) -> ImportedBlock:
    """Read a document, what of it was changed, or what was remarked on it."""
    data = _json(text)
    name = document or lenient.text(data.get("name"))
    whole = lenient.text(data.get("content"))
    if whole.strip():
        return ledger.titled("document", name, whole)
    changed = [
        lenient.text(one.get("replacement")) for one in lenient.mappings(data.get("updates"))
    ]
    if any(map(str.strip, changed)):
        return ledger.titled("document changed", name, "\n\n".join(filter(str.strip, changed)))
    remarks = [lenient.text(one.get("comment")) for one in lenient.mappings(data.get("comments"))]
    if any(map(str.strip, remarks)):
        listed = "\n".join(f"- {remark}" for remark in remarks if remark.strip())
        return ledger.titled("remarks on", name, listed)
    return ledger.titled("document", name, ledger.fenced(text))


def _told(entries: object, key: str) -> list[str]:
    texts = [lenient.text(one.get(key)) for one in lenient.mappings(entries)]
    return [text for text in texts if text.strip()]
