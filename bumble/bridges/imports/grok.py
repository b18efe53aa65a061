"""Grok's export: `prod-grok-backend.json`, one file of conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from bumble.bridges.imports import foreign, ledger
from bumble.bridges.imports.foreign import Files, listed, mapping, moment, several, text
from bumble.bridges.imports.ledger import (
    ImportedBlock,
    ImportedMessage,
    Item,
    LeftOut,
)

ASSISTANT = "Grok"
LEFT = {  # what else stands in an answer
    **dict.fromkeys(("thinking_trace", "agent_thinking_traces", "steps"), ledger.THOUGHTS),
    **dict.fromkeys(
        ("web_search_results", "xpost_ids", "webpage_urls", "card_attachments_json"),
        ledger.RESULTS,
    ),
    "error": ledger.ERRORS,
}
BESIDE = ("projects", "tasks", "media_posts")  # lists of the file, beside the conversations


def _beside(key: str, data: Mapping[str, Any]) -> Iterator[Item]:
    what = foreign.first(data, "name", "title", "id")[:60]
    yield LeftOut(what, f"{key.replace('_', ' ')} of Grok")


def _conversation(data: Mapping[str, Any]) -> Iterator[Item]:
    head = mapping(data, "conversation")
    talk_id = foreign.first(head, "id", "conversation_id")
    if not talk_id:
        raise ValueError("a conversation without an id")
    said = (_said(one, number) for number, one in enumerate(listed(data, "responses")))
    yield from ledger.talk(talk_id, text(head, "title"), moment(head, "create_time"), said)


def _said(item: object, number: int) -> ImportedMessage:
    response = mapping(item, "response") or mapping(item)
    head = ledger.head(
        foreign.first(response, "_id", "id") or str(number),
        moment(response, "create_time"),
        ASSISTANT,
        text(response, "model"),
        own=text(response, "sender").casefold() in ("human", "user"),
    )
    return ImportedMessage(head, list(_blocks(response)) if response else [ledger.unknown("")])


def _blocks(response: Mapping[str, Any]) -> Iterator[ImportedBlock]:
    """Yield what stands in an answer: words, files by name, and what nobody said."""
    message = response.get("message")
    if text(message).strip():
        yield ImportedBlock(text(message))
    elif message and not isinstance(message, str):
        yield ledger.unknown("message")
    for what, key in (("picture", "generated_image_urls"), ("file", "file_attachments")):
        for one in listed(response, key):
            yield ledger.mark(what, (text(one) or text(one, "file_name")).rpartition("/")[2])
    for key, why in LEFT.items():
        for _ in several(response, key):
            yield ledger.left(why)


FILES = Files(
    ("prod-grok*.json", "*grok*.json"),
    frozenset(["conversation", "responses"]),
    {"conversations": _conversation, **{key: partial(_beside, key) for key in BESIDE}},
)
