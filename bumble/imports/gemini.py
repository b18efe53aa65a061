"""Gemini's activity from Google Takeout: `MyActivity.json`, a record a turn, a session a day.

The records name no conversations, so what was asked on one day makes one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from html.parser import HTMLParser
from typing import Any

from bumble.imports import chat_export, lenient
from bumble.imports.items import (
    OTHER,
    PERSON,
    ImportContext,
    ImportedTalk,
    ImportedTurn,
    Item,
    LeftOut,
)
from bumble.imports.source import ImportSource

ASSISTANT = "Gemini"
FILES = ("MyActivity.json", "My Activity.json")
PAGES = ("MyActivity.html", "My Activity.html")
PROMPTED = "Prompted "
_BLOCKS = ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table")
_UNSEEN = ("script", "style")


def fits(source: ImportSource) -> bool:
    """Whether the files are such an export."""
    return bool(_names(source)) or any("gemini" in name.casefold() for name in _pages(source))


def _names(source: ImportSource) -> list[str]:
    looks = chat_export.shapes(source, *FILES)
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
    answers = [
        plain(lenient.text(item.get("html"))) for item in lenient.mappings(data.get("safeHtmlItem"))
    ]
    answer = "\n\n".join(part for part in answers if part)
    if not title.startswith(PROMPTED) and not answer:
        yield LeftOut(title[:60], "records that are no prompt")
        return
    text = title.removeprefix(PROMPTED)
    key = hashlib.sha256(f"{at.isoformat()} {text}".encode("utf-8", "replace")).hexdigest()[:24]
    turns = [ImportedTurn(key, at, PERSON, text)] if text.strip() else []
    if answer:
        turns.append(ImportedTurn(f"{key} answer", at, OTHER, answer, ASSISTANT))
    yield ImportedTalk("", "", at, tuple(turns))


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

    def handle_endtag(self, tag: str) -> None:
        self.unseen = max(0, self.unseen - (tag in _UNSEEN))
        self.parts += ["\n"] * (tag in _BLOCKS and tag != "br")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.parts.append(data)
