"""Histories of further assistants: Grok's, DeepSeek's, Le Chat's, and SillyTavern's characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from bumble.bridges.imports import dates, foreign, ledger
from bumble.bridges.imports.foreign import (
    Files,
    first,
    listed,
    mapping,
    moment,
    several,
    text,
)
from bumble.bridges.imports.ledger import (
    ImportContext,
    ImportedBlock,
    ImportedMessage,
    Item,
    LeftOut,
)
from bumble.bridges.imports.source import ImportSource
from bumble.text.words import one_line, shorten

GROK_NAME = "Grok"
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
    what = first(data, "name", "title", "id")[:60]
    yield LeftOut(what, f"{key.replace('_', ' ')} of Grok")


def _conversation(data: Mapping[str, Any]) -> Iterator[Item]:
    head = mapping(data, "conversation")
    talk_id = first(head, "id", "conversation_id")
    if not talk_id:
        raise ValueError("a conversation without an id")
    said = (_said(one, number) for number, one in enumerate(listed(data, "responses")))
    yield from ledger.talk(talk_id, text(head, "title"), moment(head, "create_time"), said)


def _said(item: object, number: int) -> ImportedMessage:
    response = mapping(item, "response") or mapping(item)
    head = ledger.head(
        first(response, "_id", "id") or str(number),
        moment(response, "create_time"),
        GROK_NAME,
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


GROK = Files(
    ("prod-grok*.json", "*grok*.json"),
    frozenset(["conversation", "responses"]),
    {"conversations": _conversation, **{key: partial(_beside, key) for key in BESIDE}},
)


DEEPSEEK_NAME = "DeepSeek"
ASKED, ANSWERED = "REQUEST", ("RESPONSE", "TEMPLATE_RESPONSE", "ANSWER")  # kinds of fragments
SEARCHED = ("SEARCH", "READ_LINK", "TOOL")  # kinds that begin so hold what tools found


def _deepseek(data: Mapping[str, Any]) -> Iterator[Item]:
    nodes, title = mapping(data, "mapping"), text(data, "title")
    at = moment(data, "inserted_at") or moment(data, "create_time")
    if not nodes:
        raise ValueError("a conversation without messages")
    talk_id = first(data, "id") or f"{at} {title}"
    yield from ledger.talk(talk_id, title, at, _of_branches(nodes))


def _of_branches(nodes: Mapping[str, Any]) -> Iterator[ImportedMessage]:
    parents = {node_id: text(node, "parent") for node_id, node in nodes.items()}
    times = {one: moment(node, "message", "inserted_at") for one, node in nodes.items()}

    def message(node_id: str) -> ImportedMessage:
        data = mapping(nodes[node_id], "message")
        fragments, files = listed(data, "fragments"), listed(data, "files")
        if not fragments and text(data, "content").strip():  # of exports before the autumn of 2025
            is_asked = text(data, "role").casefold() == "user"
            fragments = [{"type": ASKED if is_asked else ANSWERED[0], **data}]
        own = any(foreign.at(one, "type") == ASKED for one in fragments)
        named = (ledger.mark("file", first(one, "file_name", "name")) for one in files)
        model = text(data, "model")
        head = ledger.head(node_id, times[node_id], DEEPSEEK_NAME, model, own=own)
        odd = foreign.at(nodes[node_id], "message") if not data else None
        blocks = [*map(_fragment, fragments), *named, *[ledger.unknown("")] * bool(odd)]
        return ImportedMessage(head, blocks)

    return ledger.of_branches(parents, ledger.newest_leaf(parents, times), message)


def _fragment(data: object) -> ImportedBlock:
    kind, words = text(data, "type"), text(data, "content")
    if kind == "THINK":
        return ledger.left(ledger.THOUGHTS)
    if kind.startswith(SEARCHED):
        return ledger.left(ledger.RESULTS)
    is_said = kind in (ASKED, *ANSWERED) and words.strip()
    return ImportedBlock(words) if is_said else ledger.unknown(kind)


DEEPSEEK = Files(
    ("conversations*.json", "*deepseek*.json"),
    frozenset(["mapping", "fragments"]),
    {"": _deepseek},
)

MISTRAL_NAME = "Le Chat"
MAX_TITLE_CHARS = 60


def _le_chat(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
    said = [_of_le_chat(one) for one in rows]
    words = (one.blocks[0].text for one in said if one.head.by == ledger.PERSON and one.blocks)
    title = shorten(one_line(next(words, "")), MAX_TITLE_CHARS)
    talk_id = next(filter(None, (text(one, "chatId") for one in rows)), name)
    yield from ledger.talk(talk_id, title, None, said)


def _of_le_chat(data: Mapping[str, Any]) -> ImportedMessage:
    chunks = listed(data, "contentChunks")
    pieces = [one for one in chunks if foreign.at(one, "type") == "text"]
    words = "".join(text(one, "text") for one in pieces) or text(data, "content")
    blocks = [
        *([ImportedBlock(words)] if words.strip() else []),
        *(_chunk(one) for one in chunks if one not in pieces),
        *(_canvas(one) for one in listed(data, "canvas")),
        *(ledger.unknown("quotes") for _ in listed(data, "quotes")),
        *(
            ledger.mark("picture" if text(one, "type") == "image" else "file", text(one, "name"))
            for one in listed(data, "files")
        ),
    ]
    own, turn_id = text(data, "role") == "user", text(data, "id")
    head = ledger.head(turn_id, moment(data, "createdAt"), MISTRAL_NAME, own=own)
    return ImportedMessage(head, blocks)


def _chunk(data: object) -> ImportedBlock:
    kind = text(data, "type")
    if kind == "image_url":
        return ledger.mark("picture", text(data, "imageUrl").rpartition("/")[2][:80])
    known = {"reference": ledger.CITED, "tool_call": ledger.CALLS}
    return ledger.left(known[kind]) if kind in known else ledger.unknown(kind)


def _canvas(data: object) -> ImportedBlock:
    words = text(data, "content")
    return (
        ledger.titled("document", text(data, "title"), words) if words else ledger.unknown("canvas")
    )


LE_CHAT = Files(("chat-*.json",), frozenset(["chatId", "contentChunks"]), {})


def read_le_chat(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the talks, a file each."""
    yield from foreign.read_files(source, LE_CHAT, _le_chat)


SILLY = Files(("*.jsonl",), frozenset(["is_user", "mes"]), {})


def read_sillytavern(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the chats with characters, a file each; in a group each message names who speaks."""
    yield from foreign.read_files(source, SILLY, partial(_silly, context))


def _silly(context: ImportContext, name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
    begin = next((one for one in rows if "mes" not in one), {})
    said = [one for one in rows if "mes" in one]
    shown = (one for one in said if True not in (one.get("is_user"), one.get("is_system")))
    names = dict.fromkeys(text(one, "name") for one in shown)
    title = ", ".join(filter(None, names)) or text(begin, "character_name")
    stem = PurePosixPath(name).stem
    begun = _time(begin, "create_date", context) or dates.shown(stem, context.zone)
    messages = (_of_character(one, number, context) for number, one in enumerate(said))
    yield from ledger.talk(stem, title, begun, messages)


def _time(data: Mapping[str, Any], key: str, context: ImportContext) -> datetime | None:
    return moment(data, key) or dates.shown(text(data, key), context.zone)


def _of_character(data: Mapping[str, Any], number: int, context: ImportContext) -> ImportedMessage:
    extra, words = mapping(data, "extra"), text(data, "mes")
    is_hidden = data.get("is_system") is True
    others = [one for one in foreign.texts(data, "swipes") if one.strip() and one != words]
    blocks = [
        *(
            [ledger.left(ledger.HIDDEN) if is_hidden else ImportedBlock(words)]
            * bool(words.strip())
        ),
        *(ledger.mark("picture", one.rpartition("/")[2]) for one in foreign.texts(extra, "image")),
        *(ledger.mark("file", first(one, "name", "url")) for one in several(extra, "file")),
        *[ledger.left(ledger.THOUGHTS)] * bool(text(extra, "reasoning").strip()),
        *[ledger.left(ledger.ASIDE)] * len(others),
    ]
    own, at = data.get("is_user") is True, _time(data, "send_date", context)
    head = ledger.head(str(number), at, text(data, "name"), text(extra, "model"), own=own)
    return ImportedMessage(head, blocks)
