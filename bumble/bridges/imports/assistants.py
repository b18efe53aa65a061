"""Histories of further assistants: Grok's, DeepSeek's, Le Chat's, and SillyTavern's characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from bumble.bridges.imports import foreign, ledger
from bumble.bridges.imports.source import ImportSource
from bumble.text.words import one_line, shorten

LEFT = {  # what else stands in an answer
    **dict.fromkeys(("thinking_trace", "agent_thinking_traces", "steps"), ledger.THOUGHTS),
    **dict.fromkeys(
        ("web_search_results", "xpost_ids", "webpage_urls", "card_attachments_json"),
        ledger.RESULTS,
    ),
    "error": ledger.ERRORS,
}
BESIDE = ("projects", "tasks", "media_posts")  # lists of the file, beside the conversations


def _beside(key: str, data: Mapping[str, Any]) -> Iterator[ledger.Item]:
    what = foreign.first(data, "name", "title", "id")[:60]
    yield ledger.LeftOut(what, f"{key.replace('_', ' ')} of Grok")


def _conversation(data: Mapping[str, Any]) -> Iterator[ledger.Item]:
    head = foreign.mapping(data, "conversation")
    talk_id = foreign.first(head, "id", "conversation_id")
    said = (_said(one, number) for number, one in enumerate(foreign.listed(data, "responses")))
    yield from ledger.talk(
        talk_id, foreign.text(head, "title"), foreign.moment(head, "create_time"), said
    )


def _said(item: object, number: int) -> ledger.ImportedMessage:
    response = foreign.mapping(item, "response") or foreign.mapping(item)
    head = ledger.head(
        foreign.first(response, "_id", "id") or str(number),
        foreign.moment(response, "create_time"),
        "Grok",
        foreign.text(response, "model"),
        own=foreign.text(response, "sender").casefold() in ("human", "user"),
    )
    return ledger.ImportedMessage(
        head, list(_blocks(response)) if response else [ledger.unknown("")]
    )


def _blocks(response: Mapping[str, Any]) -> Iterator[ledger.ImportedBlock]:
    """Yield what stands in an answer: words, files by name, and what nobody said."""
    message = response.get("message")
    if foreign.text(message).strip():
        yield ledger.ImportedBlock(foreign.text(message))
    elif message and not isinstance(message, str):
        yield ledger.unknown("message")
    for what, key in (("picture", "generated_image_urls"), ("file", "file_attachments")):
        for one in foreign.listed(response, key):
            yield ledger.mark(
                what, (foreign.text(one) or foreign.text(one, "file_name")).rpartition("/")[2]
            )
    for key, why in LEFT.items():
        for _ in foreign.several(response, key):
            yield ledger.ImportedBlock(why=why)


GROK = foreign.Files(
    ("prod-grok*.json", "*grok*.json"),
    frozenset(["conversation", "responses"]),
    {"conversations": _conversation, **{key: partial(_beside, key) for key in BESIDE}},
)


ASKED, ANSWERED = "REQUEST", ("RESPONSE", "TEMPLATE_RESPONSE", "ANSWER")  # kinds of fragments
SEARCHED = ("SEARCH", "READ_LINK", "TOOL")  # kinds that begin so hold what tools found


def _deepseek(data: Mapping[str, Any]) -> Iterator[ledger.Item]:
    nodes, title = foreign.mapping(data, "mapping"), foreign.text(data, "title")
    at = foreign.moment(data, "inserted_at") or foreign.moment(data, "create_time")
    if not nodes:
        raise ValueError("a conversation without messages")
    talk_id = foreign.first(data, "id") or f"{at} {title}"
    yield from ledger.talk(talk_id, title, at, _of_branches(nodes))


def _of_branches(nodes: Mapping[str, Any]) -> Iterator[ledger.ImportedMessage]:
    parents = {node_id: foreign.text(node, "parent") for node_id, node in nodes.items()}
    times = {one: foreign.moment(node, "message", "inserted_at") for one, node in nodes.items()}

    def message(node_id: str) -> ledger.ImportedMessage:
        data = foreign.mapping(nodes[node_id], "message")
        fragments, files = foreign.listed(data, "fragments"), foreign.listed(data, "files")
        if (
            not fragments and foreign.text(data, "content").strip()
        ):  # of exports before the autumn of 2025
            is_asked = foreign.text(data, "role").casefold() == "user"
            fragments = [{"type": ASKED if is_asked else ANSWERED[0], **data}]
        own = any(foreign.at(one, "type") == ASKED for one in fragments)
        named = (ledger.mark("file", foreign.first(one, "file_name", "name")) for one in files)
        model = foreign.text(data, "model")
        head = ledger.head(node_id, times[node_id], "DeepSeek", model, own=own)
        odd = foreign.at(nodes[node_id], "message") if not data else None
        blocks = [*map(_fragment, fragments), *named, *[ledger.unknown("")] * bool(odd)]
        return ledger.ImportedMessage(head, blocks)

    return ledger.of_branches(parents, ledger.newest_leaf(parents, times), message)


def _fragment(data: object) -> ledger.ImportedBlock:
    kind, words = foreign.text(data, "type"), foreign.text(data, "content")
    if kind == "THINK":
        return ledger.ImportedBlock(why=ledger.THOUGHTS)
    if kind.startswith(SEARCHED):
        return ledger.ImportedBlock(why=ledger.RESULTS)
    is_said = kind in (ASKED, *ANSWERED) and words.strip()
    return ledger.ImportedBlock(words) if is_said else ledger.unknown(kind)


DEEPSEEK = foreign.Files(
    ("conversations*.json", "*deepseek*.json"),
    frozenset(["mapping", "fragments"]),
    {"": _deepseek},
)

MAX_TITLE_CHARS = 60


def _le_chat(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[ledger.Item]:
    said = [_of_le_chat(one) for one in rows]
    words = (one.blocks[0].text for one in said if one.head.by == ledger.PERSON and one.blocks)
    title = shorten(one_line(next(words, "")), MAX_TITLE_CHARS)
    talk_id = next(filter(None, (foreign.text(one, "chatId") for one in rows)), name)
    yield from ledger.talk(talk_id, title, None, said)


def _of_le_chat(data: Mapping[str, Any]) -> ledger.ImportedMessage:
    chunks = foreign.listed(data, "contentChunks")
    pieces = [one for one in chunks if foreign.at(one, "type") == "text"]
    words = "".join(foreign.text(one, "text") for one in pieces) or foreign.text(data, "content")
    blocks = [
        *([ledger.ImportedBlock(words)] if words.strip() else []),
        *(_chunk(one) for one in chunks if one not in pieces),
        *(_canvas(one) for one in foreign.listed(data, "canvas")),
        *(ledger.unknown("quotes") for _ in foreign.listed(data, "quotes")),
        *(
            ledger.mark(
                "picture" if foreign.text(one, "type") == "image" else "file",
                foreign.text(one, "name"),
            )
            for one in foreign.listed(data, "files")
        ),
    ]
    own, turn_id = foreign.text(data, "role") == "user", foreign.text(data, "id")
    head = ledger.head(turn_id, foreign.moment(data, "createdAt"), "Le Chat", own=own)
    return ledger.ImportedMessage(head, blocks)


def _chunk(data: object) -> ledger.ImportedBlock:
    kind = foreign.text(data, "type")
    if kind == "image_url":
        return ledger.mark("picture", foreign.text(data, "imageUrl").rpartition("/")[2][:80])
    known = {"reference": ledger.CITED, "tool_call": ledger.CALLS}
    return ledger.ImportedBlock(why=known[kind]) if kind in known else ledger.unknown(kind)


def _canvas(data: object) -> ledger.ImportedBlock:
    words = foreign.text(data, "content")
    return (
        ledger.titled("document", foreign.text(data, "title"), words)
        if words
        else ledger.unknown("canvas")
    )


LE_CHAT = foreign.Files(("chat-*.json",), frozenset(["chatId", "contentChunks"]), whole=_le_chat)
SILLY = foreign.Files(("*.jsonl",), frozenset(["is_user", "mes"]))


def read_sillytavern(source: ImportSource, context: ledger.ImportContext) -> Iterator[ledger.Item]:
    """Read the chats with characters, a file each; in a group each message names who speaks."""
    yield from foreign.read(source, replace(SILLY, whole=partial(_silly, context)))


def _silly(
    context: ledger.ImportContext, name: str, rows: Sequence[Mapping[str, Any]]
) -> Iterator[ledger.Item]:
    begin = next((one for one in rows if "mes" not in one), {})
    said = [one for one in rows if "mes" in one]
    shown = (one for one in said if True not in (one.get("is_user"), one.get("is_system")))
    names = dict.fromkeys(foreign.text(one, "name") for one in shown)
    title = ", ".join(filter(None, names)) or foreign.text(begin, "character_name")
    stem = PurePosixPath(name).stem
    begun = _time(begin, "create_date", context) or foreign.time_shown(stem, context.zone)
    messages = (_of_character(one, number, context) for number, one in enumerate(said))
    yield from ledger.talk(stem, title, begun, messages)


def _time(data: Mapping[str, Any], key: str, context: ledger.ImportContext) -> datetime | None:
    return foreign.moment(data, key) or foreign.time_shown(foreign.text(data, key), context.zone)


def _of_character(
    data: Mapping[str, Any], number: int, context: ledger.ImportContext
) -> ledger.ImportedMessage:
    extra, words = foreign.mapping(data, "extra"), foreign.text(data, "mes")
    is_hidden = data.get("is_system") is True
    others = [one for one in foreign.texts(data, "swipes") if one.strip() and one != words]
    blocks = [
        *(
            [ledger.ImportedBlock(why=ledger.HIDDEN) if is_hidden else ledger.ImportedBlock(words)]
            * bool(words.strip())
        ),
        *(ledger.mark("picture", one.rpartition("/")[2]) for one in foreign.texts(extra, "image")),
        *(
            ledger.mark("file", foreign.first(one, "name", "url"))
            for one in foreign.several(extra, "file")
        ),
        *[ledger.ImportedBlock(why=ledger.THOUGHTS)]
        * bool(foreign.text(extra, "reasoning").strip()),
        *[ledger.ImportedBlock(why=ledger.ASIDE)] * len(others),
    ]
    own, at = data.get("is_user") is True, _time(data, "send_date", context)
    head = ledger.head(
        str(number), at, foreign.text(data, "name"), foreign.text(extra, "model"), own=own
    )
    return ledger.ImportedMessage(head, blocks)
