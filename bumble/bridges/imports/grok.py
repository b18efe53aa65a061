"""Grok's history, as its export has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from bumble.bridges.imports import foreign, items

LEFT = {  # what else stands in an answer
    **dict.fromkeys(("thinking_trace", "agent_thinking_traces", "steps"), items.THOUGHTS),
    **dict.fromkeys(
        ("web_search_results", "xpost_ids", "webpage_urls", "card_attachments_json"),
        items.RESULTS,
    ),
    "error": items.ERRORS,
}
BESIDE = ("projects", "tasks", "media_posts")  # lists of the file, beside the conversations


def _beside(key: str, data: Mapping[str, Any]) -> Iterator[items.Item]:
    what = foreign.first(data, "name", "title", "id")[:60]
    yield items.LeftOut(what, f"{key.replace('_', ' ')} of Grok")


def _conversation(data: Mapping[str, Any]) -> Iterator[items.Item]:
    head = foreign.mapping(data, "conversation")
    talk_id = foreign.first(head, "id", "conversation_id")
    said = (_said(one, number) for number, one in enumerate(foreign.listed(data, "responses")))
    yield from items.talk(
        talk_id, foreign.text(head, "title"), foreign.moment(head, "create_time"), said
    )


def _said(item: object, number: int) -> items.ImportedMessage:
    response = foreign.mapping(item, "response") or foreign.mapping(item)
    head = items.head(
        foreign.first(response, "_id", "id") or str(number),
        foreign.moment(response, "create_time"),
        "Grok",
        foreign.text(response, "model"),
        own=foreign.text(response, "sender").casefold() in ("human", "user"),
    )
    return items.ImportedMessage(head, list(_blocks(response)) if response else [items.unknown("")])


def _blocks(response: Mapping[str, Any]) -> Iterator[items.ImportedBlock]:
    """Yield what stands in an answer: words, files by name, and what nobody said."""
    message = response.get("message")
    if foreign.text(message).strip():
        yield items.ImportedBlock(foreign.text(message))
    elif message and not isinstance(message, str):
        yield items.unknown("message")
    for what, key in (("picture", "generated_image_urls"), ("file", "file_attachments")):
        for one in foreign.listed(response, key):
            yield items.mark(
                what, (foreign.text(one) or foreign.text(one, "file_name")).rpartition("/")[2]
            )
    for key, why in LEFT.items():
        for _ in foreign.several(response, key):
            yield items.ImportedBlock(why=why)


FILES = foreign.Files(
    ("prod-grok*.json", "*grok*.json"),
    frozenset(["conversation", "responses"]),
    {"conversations": _conversation, **{key: partial(_beside, key) for key in BESIDE}},
)
