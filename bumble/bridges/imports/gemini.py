"""Gemini's activity from Google Takeout: `MyActivity.json`, a record a turn, a session a day.

The records name no conversations, so what was asked on one day makes one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from html.parser import HTMLParser
from typing import Any

from msgspec.structs import replace

from bumble.bridges.imports import chat_export, ledger, lenient
from bumble.bridges.imports.ledger import (
    OTHER,
    PERSON,
    ImportContext,
    ImportedBlock,
    ImportedMessage,
    ImportedTalk,
    ImportedTurn,
    Item,
    LeftOut,
)
from bumble.bridges.imports.source import ImportSource

ASSISTANT = "Gemini"
FILES = ("MyActivity.json", "My Activity.json")
ANY_LANGUAGE = ("*Gemini*/*.json",)  # Takeout names files in the language of the account
PAGES = ("MyActivity.html", "My Activity.html")
PROMPTED = "Prompted "
ATTACHED = {"attachedFiles": "file", "imageFile": "picture", "audioFiles": "file"}
_BLOCKS = ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table")
_UNSEEN = ("script", "style")


def fits(source: ImportSource) -> bool:
    """Whether the files are such an export."""
    return bool(_names(source)) or any("gemini" in name.casefold() for name in _pages(source))


def _names(source: ImportSource) -> list[str]:
    looks = chat_export.shapes(source, *FILES)
    looks |= {name: chat_export.shape(source, name) for name in source.below(*ANY_LANGUAGE)}
    return [name for name, shape in looks.items() if {"header", "title", "time"} <= shape.item()]


def _pages(source: ImportSource) -> list[str]:
    return source.matching(*PAGES)


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the turns, day by day; they stand newest first."""
    for name in _pages(source):
        why = "the activity as a web page: ask Takeout for JSON"
        yield LeftOut(name, why, broken=True)
    day: date | None = None
    turns: list[ImportedTurn] = []
    names = _names(source) or source.matching(*FILES)
    for item in chat_export.read(source, names, _record):
        if not isinstance(item, ImportedTalk):
            yield item
            continue
        at = item.at
        if at is None or not item.turns:
            continue
        if day is not None and at.astimezone(context.zone).date() != day:
            yield _talk(day, turns)
            turns = []
        day = at.astimezone(context.zone).date()
        turns += item.turns
    if day is not None:
        yield _talk(day, turns)
    yield from chat_export.others(source, [*names, *_pages(source)])


def _talk(day: date, turns: list[ImportedTurn]) -> ImportedTalk:
    ordered = sorted(turns, key=_time)
    return ImportedTalk(f"day {day}", f"{ASSISTANT}, {day}", ordered[0].at, tuple(ordered))


def _time(turn: ImportedTurn) -> float:
    return turn.at.timestamp() if isinstance(turn.at, datetime) else 0.0


def _record(data: Mapping[str, Any]) -> Iterator[Item]:
    at = lenient.moment(data.get("time"))
    if at is None:
        raise ValueError("a record without a time")
    title = lenient.text(data.get("title"))
    answers = [_answer(one) for one in lenient.listed(data.get("safeHtmlItem"))]
    asked, told = _details(data)
    if not (title.startswith(PROMPTED) or any(block.text for block in answers) or asked or told):
        yield LeftOut(title[:60], "records that are no prompt", is_block=True)
        return
    text = title.removeprefix(PROMPTED)
    key = hashlib.sha256(f"{at.isoformat()} {text}".encode("utf-8", "replace")).hexdigest()[:24]
    words = [ImportedBlock(text)] if text.strip() and not asked else []
    own = ImportedMessage(ImportedTurn(key, at, PERSON, ""), [*words, *asked, *_attached(data)])
    answer = ImportedMessage(
        ImportedTurn(f"{key} answer", at, OTHER, "", ASSISTANT), [*answers, *told]
    )
    for item in ledger.talk("", "", at, (own, answer)):
        yield replace(item, what=title[:60]) if isinstance(item, LeftOut) else item


def _answer(item: object) -> ImportedBlock:
    text = plain(lenient.text(lenient.mapping(item).get("html")))
    return ImportedBlock(text) if text else ImportedBlock(why="answers without words")


def _details(data: Mapping[str, Any]) -> tuple[list[ImportedBlock], list[ImportedBlock]]:
    """Read the other two forms of a record: what was asked, and what was answered."""
    asked, told = list[ImportedBlock](), list[ImportedBlock]()
    for one in lenient.mappings(data.get("details")):
        if (text := lenient.text(one.get("value"))).strip():
            (asked if one.get("name") == "Request" else told).append(ImportedBlock(text))
    told += [ledger.unknown("userInteraction")] * len(lenient.listed(data.get("userInteractions")))
    return asked, told


def _attached(data: Mapping[str, Any]) -> Iterator[ImportedBlock]:
    """Name the pictures and files that went with a prompt."""
    for key, what in ATTACHED.items():
        value = data.get(key)
        for one in value if isinstance(value, list) else [value] if value else []:
            name = lenient.text(one) or lenient.text(lenient.mapping(one).get("name"))
            yield ledger.mark(what, name)


def plain(html: str) -> str:
    """Return the text of a piece of HTML."""
    reader = _Plain()
    reader.feed(html)
    reader.close()
    lines = [line.rstrip() for line in "".join(reader.parts).split("\n")]
    text = "\n".join(line for n, line in enumerate(lines) if line or (n and lines[n - 1]))
    return lenient.cleaned(text).strip()


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
