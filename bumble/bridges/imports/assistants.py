"""Exports of other assistants: Gemini's activity from Google Takeout, Grok's conversations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import date
from functools import partial
from html.parser import HTMLParser
from typing import Any

from msgspec.structs import replace

from bumble.bridges.imports import foreign, ledger
from bumble.bridges.imports.foreign import Files, listed, mapping, mappings, moment, several, text
from bumble.bridges.imports.ledger import (
    ImportContext,
    ImportedBlock,
    ImportedMessage,
    ImportedTalk,
    ImportedTurn,
    Item,
    LeftOut,
)
from bumble.bridges.imports.source import ImportSource

GEMINI_NAME = "Gemini"
PAGES = ("MyActivity.html", "My Activity.html")
# What a record's title begins with, where the rest is what somebody said.
PROMPTED = (
    *("Prompted with: ", "Asked Gemini: ", "Asked Bard: "),
    *("Prompted ", "Asked ", "Said ", "Branched ", "Answered "),
)
NAMES = ("gemini", "bard")  # one of which is in the labels of a record, in any language
ATTACHED = {"attachedFiles": "file", "imageFile": "picture", "audioFiles": "file"}
_BLOCKS = ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table")
_UNSEEN = ("script", "style")


def fits_gemini(source: ImportSource) -> bool:
    """Whether the files are such an export."""
    pages = source.matching(*PAGES)
    is_shown = any(part.shown(source) for part in (CONVERSATIONS, GEMINI))
    return is_shown or any("gemini" in name.casefold() for name in pages)


def read_gemini(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the turns, day by day; they stand newest first."""
    pages = source.matching(*PAGES)
    for name in pages:
        yield LeftOut(name, "the activity as a web page: ask Takeout for JSON", broken=True)
    day: date | None = None
    turns: list[ImportedTurn] = []
    for item in foreign.read(source, CONVERSATIONS, GEMINI, besides=pages):
        if not isinstance(item, ImportedTalk) or item.id:
            yield item
        elif item.at is not None and item.turns:
            here = item.at.astimezone(context.zone).date()
            if day is not None and here != day:
                yield _talk(day, turns)
                turns = []
            day = here
            turns += item.turns
    if day is not None:
        yield _talk(day, turns)


def _talk(day: date, turns: list[ImportedTurn]) -> ImportedTalk:
    ordered = sorted(turns, key=lambda turn: turn.at.timestamp() if turn.at else 0.0)
    return ImportedTalk(f"day {day}", f"{GEMINI_NAME}, {day}", ordered[0].at, tuple(ordered))


def _record(data: Mapping[str, Any]) -> Iterator[Item]:
    at, title = moment(data, "time"), text(data, "title")
    if at is None:
        raise ValueError("a record without a time")
    answers = [_answer(one) for one in listed(data, "safeHtmlItem")]
    asked, told = _details(data)
    labels = " ".join([text(data, "header"), *foreign.texts(data, "products")]).casefold()
    if labels.strip() and not any(name in labels for name in NAMES):
        yield LeftOut(title[:60], "records of other services", is_block=True)
        return
    verb = next(filter(title.startswith, PROMPTED), "")
    if not (verb or any(block.text for block in answers) or asked or told):
        yield LeftOut(title[:60], "records that are no prompt", is_block=True)
        return
    words = title.removeprefix(verb)
    key = hashlib.sha256(f"{at.isoformat()} {words}".encode("utf-8", "replace")).hexdigest()[:24]
    prompt = [ImportedBlock(words)] if words.strip() and not asked else []
    own = ledger.head(key, at, "", own=True)
    answer = ledger.head(f"{key} answer", at, GEMINI_NAME, own=False)
    said = (
        ImportedMessage(own, [*prompt, *asked, *_attached(data)]),
        ImportedMessage(answer, [*answers, *told]),
    )
    for item in ledger.talk("", "", at, said):
        yield replace(item, what=title[:60]) if isinstance(item, LeftOut) else item


GEMINI = Files(
    ("MyActivity.json", "My Activity.json", "*Gemini*/*.json"),  # or in the account's language
    frozenset(["header", "title", "time"]),
    {"": _record},
)


def _conversation_of_gemini(data: Mapping[str, Any]) -> Iterator[Item]:
    begun, title = text(data, "creation_time"), text(data, "title")
    said = (_turn(one, number) for number, one in enumerate(listed(data, "conversation_turns")))
    yield from ledger.talk(f"{begun} {title}", title, moment(data, "creation_time"), said)


def _turn(item: object, number: int) -> ImportedMessage:
    own, answer = mapping(item, "user_turn"), mapping(item, "system_turn")
    turn = own or answer
    at, is_deleted = moment(turn, "turn_last_modified"), bool(turn.get("turn_deleted_time"))
    blocks = [
        *([ImportedBlock(text(own, "prompt"))] if text(own, "prompt").strip() else []),
        *[ledger.left(ledger.THOUGHTS)] * len(listed(answer, "model_thoughts")),
        *(_piece(one) for part in listed(answer, "text") for one in (part, *listed(part, "cards"))),
        *(ledger.mark("picture", text(one)) for one in listed(answer, "images")),
    ] or [ledger.unknown("")]
    shown = [ledger.left(ledger.HIDDEN)] * len(blocks) if is_deleted else blocks
    return ImportedMessage(ledger.head(f"turn {number}", at, GEMINI_NAME, own=bool(own)), shown)


def _piece(part: object) -> ImportedBlock:
    """Read a piece of an answer, or a card in it."""
    words = foreign.first(part, "data", "content")
    return ImportedBlock(words) if words else ledger.left("answers without words")


CONVERSATIONS = Files(
    ("conversation_*.txt", "conversation_*.json"),  # each holds one, by Takeout for Workspace
    frozenset(["conversation_turns"]),
    {"": _conversation_of_gemini},
)


def _answer(item: object) -> ImportedBlock:
    shown = plain(text(item, "html"))
    return ImportedBlock(shown) if shown else ledger.left("answers without words")


def _details(data: Mapping[str, Any]) -> tuple[list[ImportedBlock], list[ImportedBlock]]:
    """Read the other two forms of a record: what was asked, and what was answered."""
    asked, told = list[ImportedBlock](), list[ImportedBlock]()
    for one in mappings(data, "details"):
        if words := foreign.first(one, "value"):
            (asked if one.get("name") == "Request" else told).append(ImportedBlock(words))
    told += [ledger.unknown("userInteraction")] * len(listed(data, "userInteractions"))
    return asked, told


def _attached(data: Mapping[str, Any]) -> Iterator[ImportedBlock]:
    """Name the pictures and files that went with a prompt."""
    for key, kind in ATTACHED.items():
        for one in several(data, key):
            yield ledger.mark(kind, text(one) or text(one, "name"))


def plain(html: str) -> str:
    """Return the text of a piece of HTML."""
    reader = _Plain()
    reader.feed(html)
    reader.close()
    lines = [line.rstrip() for line in "".join(reader.parts).split("\n")]
    text = "\n".join(line for n, line in enumerate(lines) if line or (n and lines[n - 1]))
    return foreign.cleaned(text).strip()


class _Plain(HTMLParser):
    """Collects text; blocks begin a line."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.unseen += tag in _UNSEEN
        self.parts += ["\n"] * (tag in _BLOCKS) + ["- "] * (tag == "li")
        if tag == "img":
            shown = dict(attrs)
            self.parts.append(ledger.marked("picture", shown.get("alt") or shown.get("src") or ""))

    def handle_endtag(self, tag: str) -> None:
        self.unseen = max(0, self.unseen - (tag in _UNSEEN))
        self.parts += ["\n"] * (tag in _BLOCKS and tag != "br")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.parts.append(data)


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
