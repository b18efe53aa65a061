"""Grok's export: `prod-grok-backend.json`, one file of conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
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

ASSISTANT = "Grok"
FILES = ("prod-grok*.json", "*grok*.json")
PICTURES, ATTACHED = ("generated_image_urls",), ("file_attachments",)
LEFT = {  # what else stands in an answer
    **dict.fromkeys(("thinking_trace", "agent_thinking_traces", "steps"), ledger.THOUGHTS),
    **dict.fromkeys(
        ("web_search_results", "xpost_ids", "webpage_urls", "card_attachments_json"),
        ledger.RESULTS,
    ),
    "error": ledger.ERRORS,
}
BESIDE = ("projects", "tasks", "media_posts")  # lists of the file, beside the conversations


def fits(source: ImportSource) -> bool:
    """Whether the files are such an export."""
    return bool(_names(source))


def _names(source: ImportSource) -> list[str]:
    looks = chat_export.shapes(source, *FILES)
    return [name for name, shape in looks.items() if _is_grok(shape.item("conversations"))]


def _is_grok(keys: frozenset[str]) -> bool:
    return {"conversation", "responses"} <= keys


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the conversations."""
    names = _names(source) or source.matching(*FILES)
    yield from chat_export.read(source, names, _conversation, "conversations")
    for key in BESIDE:
        there = [name for name in names if key in chat_export.shape(source, name).keys]
        yield from chat_export.read(source, there, partial(_beside, key), key)
    yield from chat_export.others(source, names)


def _beside(key: str, data: Mapping[str, Any]) -> Iterator[Item]:
    named = lenient.text(data.get("name")) or lenient.text(data.get("title"))
    what = named[:60] or lenient.text(data.get("id"))
    yield LeftOut(what, f"{key.replace('_', ' ')} of Grok")


def _conversation(data: Mapping[str, Any]) -> Iterator[Item]:
    head = lenient.mapping(data.get("conversation"))
    talk_id = lenient.text(head.get("id")) or lenient.text(head.get("conversation_id"))
    if not talk_id:
        raise ValueError("a conversation without an id")
    at, title = lenient.moment(head.get("create_time")), lenient.text(head.get("title"))
    listed = lenient.listed(data.get("responses"))
    yield from ledger.talk(talk_id, title, at, (_said(one, n) for n, one in enumerate(listed)))


def _said(item: object, number: int) -> ImportedMessage:
    response = lenient.mapping(lenient.mapping(item).get("response")) or lenient.mapping(item)
    own = lenient.text(response.get("sender")).casefold() in ("human", "user")
    head = ImportedTurn(
        id=lenient.text(response.get("_id")) or lenient.text(response.get("id")) or str(number),
        at=lenient.moment(response.get("create_time")),
        by=PERSON if own else OTHER,
        text="",
        name="" if own else ASSISTANT,
        model="" if own else lenient.text(response.get("model")),
    )
    return ImportedMessage(head, list(_blocks(response)) if response else [ledger.unknown("")])


def _blocks(response: Mapping[str, Any]) -> Iterator[ImportedBlock]:
    """Yield what stands in an answer: words, files by name, and what nobody said."""
    message = response.get("message")
    if lenient.text(message).strip():
        yield ImportedBlock(lenient.text(message))
    elif message and not isinstance(message, str):
        yield ledger.unknown("message")
    for what, keys in (("picture", PICTURES), ("file", ATTACHED)):
        for one in (one for key in keys for one in lenient.listed(response.get(key))):
            name = lenient.text(one) or lenient.text(lenient.mapping(one).get("file_name"))
            yield ledger.mark(what, name.rpartition("/")[2])
    for key, why in LEFT.items():
        value = response.get(key)
        for _ in value if isinstance(value, list) else [value] if value else []:
            yield ImportedBlock(why=why)
