"""Grok's export: `prod-grok-backend.json`, one file of conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bumble.imports import chat_export, lenient
from bumble.imports.items import OTHER, PERSON, ImportContext, ImportedTalk, ImportedTurn, Item
from bumble.imports.source import ImportSource

ASSISTANT = "Grok"
FILES = ("prod-grok*.json", "*grok*.json")


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
    yield from chat_export.others(source, names)


def _conversation(data: Mapping[str, Any]) -> Iterator[Item]:
    head = lenient.mapping(data.get("conversation"))
    talk_id = lenient.text(head.get("id")) or lenient.text(head.get("conversation_id"))
    if not talk_id:
        raise ValueError("a conversation without an id")
    turns = []
    for number, item in enumerate(lenient.mappings(data.get("responses"))):
        response = lenient.mapping(item.get("response")) or item
        text = lenient.text(response.get("message"))
        if text.strip():
            turns.append(_turn(response, number, text))
    at = lenient.moment(head.get("create_time"))
    yield ImportedTalk(talk_id, lenient.text(head.get("title")), at, tuple(turns))


def _turn(response: Mapping[str, Any], number: int, text: str) -> ImportedTurn:
    own = lenient.text(response.get("sender")).casefold() in ("human", "user")
    return ImportedTurn(
        id=lenient.text(response.get("_id")) or lenient.text(response.get("id")) or str(number),
        at=lenient.moment(response.get("create_time")),
        by=PERSON if own else OTHER,
        text=text,
        name="" if own else ASSISTANT,
        model="" if own else lenient.text(response.get("model")),
    )
