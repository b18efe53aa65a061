"""Histories of further assistants: Grok's, DeepSeek's, Le Chat's, and SillyTavern's characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from bumble.bridges.imports import foreign, items
from bumble.bridges.imports.source import ImportSource
from bumble.text.words import one_line, shorten

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


GROK = foreign.Files(
    ("prod-grok*.json", "*grok*.json"),
    frozenset(["conversation", "responses"]),
    {"conversations": _conversation, **{key: partial(_beside, key) for key in BESIDE}},
)


ASKED, ANSWERED = "REQUEST", ("RESPONSE", "TEMPLATE_RESPONSE", "ANSWER")  # kinds of fragments
SEARCHED = ("SEARCH", "READ_LINK", "TOOL")  # kinds that begin so hold what tools found


def _deepseek(data: Mapping[str, Any]) -> Iterator[items.Item]:
    nodes, title = foreign.mapping(data, "mapping"), foreign.text(data, "title")
    at = foreign.moment(data, "inserted_at") or foreign.moment(data, "create_time")
    if not nodes:
        raise ValueError("a conversation without messages")
    talk_id = foreign.first(data, "id") or f"{at} {title}"
    yield from items.talk(talk_id, title, at, _of_branches(nodes))


def _of_branches(nodes: Mapping[str, Any]) -> Iterator[items.ImportedMessage]:
    parents = {node_id: foreign.text(node, "parent") for node_id, node in nodes.items()}
    times = {one: foreign.moment(node, "message", "inserted_at") for one, node in nodes.items()}

    def message(node_id: str) -> items.ImportedMessage:
        data = foreign.mapping(nodes[node_id], "message")
        fragments, files = foreign.listed(data, "fragments"), foreign.listed(data, "files")
        if (
            not fragments and foreign.text(data, "content").strip()
        ):  # of exports before the autumn of 2025
            is_asked = foreign.text(data, "role").casefold() == "user"
            fragments = [{"type": ASKED if is_asked else ANSWERED[0], **data}]
        own = any(foreign.at(one, "type") == ASKED for one in fragments)
        named = (items.mark("file", foreign.first(one, "file_name", "name")) for one in files)
        model = foreign.text(data, "model")
        head = items.head(node_id, times[node_id], "DeepSeek", model, own=own)
        odd = foreign.at(nodes[node_id], "message") if not data else None
        blocks = [*map(_fragment, fragments), *named, *[items.unknown("")] * bool(odd)]
        return items.ImportedMessage(head, blocks)

    return items.of_branches(parents, items.newest_leaf(parents, times), message)


def _fragment(data: object) -> items.ImportedBlock:
    kind, words = foreign.text(data, "type"), foreign.text(data, "content")
    if kind == "THINK":
        return items.ImportedBlock(why=items.THOUGHTS)
    if kind.startswith(SEARCHED):
        return items.ImportedBlock(why=items.RESULTS)
    is_said = kind in (ASKED, *ANSWERED) and words.strip()
    return items.ImportedBlock(words) if is_said else items.unknown(kind)


DEEPSEEK = foreign.Files(
    ("conversations*.json", "*deepseek*.json"),
    frozenset(["mapping", "fragments"]),
    {"": _deepseek},
)

MAX_TITLE_CHARS = 60


def _le_chat(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[items.Item]:
    said = [_of_le_chat(one) for one in rows]
    words = (one.blocks[0].text for one in said if one.head.by == items.PERSON and one.blocks)
    title = shorten(one_line(next(words, "")), MAX_TITLE_CHARS)
    talk_id = next(filter(None, (foreign.text(one, "chatId") for one in rows)), name)
    yield from items.talk(talk_id, title, None, said)


def _of_le_chat(data: Mapping[str, Any]) -> items.ImportedMessage:
    chunks = foreign.listed(data, "contentChunks")
    pieces = [one for one in chunks if foreign.at(one, "type") == "text"]
    words = "".join(foreign.text(one, "text") for one in pieces) or foreign.text(data, "content")
    blocks = [
        *([items.ImportedBlock(words)] if words.strip() else []),
        *(_chunk(one) for one in chunks if one not in pieces),
        *(_canvas(one) for one in foreign.listed(data, "canvas")),
        *(items.unknown("quotes") for _ in foreign.listed(data, "quotes")),
        *(
            items.mark(
                "picture" if foreign.text(one, "type") == "image" else "file",
                foreign.text(one, "name"),
            )
            for one in foreign.listed(data, "files")
        ),
    ]
    own, turn_id = foreign.text(data, "role") == "user", foreign.text(data, "id")
    head = items.head(turn_id, foreign.moment(data, "createdAt"), "Le Chat", own=own)
    return items.ImportedMessage(head, blocks)


def _chunk(data: object) -> items.ImportedBlock:
    kind = foreign.text(data, "type")
    if kind == "image_url":
        return items.mark("picture", foreign.text(data, "imageUrl").rpartition("/")[2][:80])
    known = {"reference": items.CITED, "tool_call": items.CALLS}
    return items.ImportedBlock(why=known[kind]) if kind in known else items.unknown(kind)


def _canvas(data: object) -> items.ImportedBlock:
    words = foreign.text(data, "content")
    return (
        items.titled("document", foreign.text(data, "title"), words)
        if words
        else items.unknown("canvas")
    )


LE_CHAT = foreign.Files(("chat-*.json",), frozenset(["chatId", "contentChunks"]), whole=_le_chat)
SILLY = foreign.Files(("*.jsonl",), frozenset(["is_user", "mes"]))


def read_sillytavern(source: ImportSource, context: items.ImportContext) -> Iterator[items.Item]:
    """Read the chats with characters, a file each; in a group each message names who speaks."""
    yield from foreign.read(source, replace(SILLY, whole=partial(_silly, context)))


def _silly(
    context: items.ImportContext, name: str, rows: Sequence[Mapping[str, Any]]
) -> Iterator[items.Item]:
    begin = next((one for one in rows if "mes" not in one), {})
    said = [one for one in rows if "mes" in one]
    shown = (one for one in said if True not in (one.get("is_user"), one.get("is_system")))
    names = dict.fromkeys(foreign.text(one, "name") for one in shown)
    title = ", ".join(filter(None, names)) or foreign.text(begin, "character_name")
    stem = PurePosixPath(name).stem
    begun = _time(begin, "create_date", context) or foreign.time_shown(stem, context.zone)
    messages = (_of_character(one, number, context) for number, one in enumerate(said))
    yield from items.talk(stem, title, begun, messages)


def _time(data: Mapping[str, Any], key: str, context: items.ImportContext) -> datetime | None:
    return foreign.moment(data, key) or foreign.time_shown(foreign.text(data, key), context.zone)


def _of_character(
    data: Mapping[str, Any], number: int, context: items.ImportContext
) -> items.ImportedMessage:
    extra, words = foreign.mapping(data, "extra"), foreign.text(data, "mes")
    is_hidden = data.get("is_system") is True
    others = [one for one in foreign.texts(data, "swipes") if one.strip() and one != words]
    blocks = [
        *(
            [items.ImportedBlock(why=items.HIDDEN) if is_hidden else items.ImportedBlock(words)]
            * bool(words.strip())
        ),
        *(items.mark("picture", one.rpartition("/")[2]) for one in foreign.texts(extra, "image")),
        *(
            items.mark("file", foreign.first(one, "name", "url"))
            for one in foreign.several(extra, "file")
        ),
        *[items.ImportedBlock(why=items.THOUGHTS)] * bool(foreign.text(extra, "reasoning").strip()),
        *[items.ImportedBlock(why=items.ASIDE)] * len(others),
    ]
    own, at = data.get("is_user") is True, _time(data, "send_date", context)
    head = items.head(
        str(number), at, foreign.text(data, "name"), foreign.text(extra, "model"), own=own
    )
    return items.ImportedMessage(head, blocks)
