"""Gemini's history, by Google Takeout: the activity as JSON or as web pages.

Takeout's activity knows no conversations: a day makes one. Its pages name a time in the words of
the account's language.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from html.parser import HTMLParser
from typing import Any

from msgspec.structs import replace

from bumble.bridges.imports import foreign, items
from bumble.bridges.imports.source import UNREADABLE, ImportSource, reason
from bumble.errors import UnsafePathError

GEMINI_NAME = "Gemini"
CELLS = {  # what stands in a part of a record on a page, by its class
    "header-cell": "labels",
    "text-right": "beside",
    "--caption": "labels",
    "content-cell": "said",
}
MAX_TIME_CHARS = 60  # of a line that says when
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
    return bool(GEMINI.shown(source) or _pages(source))


def _pages(source: ImportSource) -> list[str]:
    """Return the web pages that hold an activity, whatever they are called."""
    heads = {name: source.head(name, foreign.HEAD_BYTES) for name in source.matching("*.htm*")}
    return [name for name, head in heads.items() if b"outer-cell" in head and b"--title" in head]


def read_gemini(source: ImportSource, context: items.ImportContext) -> Iterator[items.Item]:
    """Read the turns, day by day; they stand newest first."""
    pages = _pages(source)
    for name in pages:
        yield from _by_day(_page(source, name, context.zone), context.zone)
    yield from _by_day(foreign.read(source, GEMINI, besides=pages, alone=not pages), context.zone)


def _by_day(found: Iterable[items.Item], zone: tzinfo) -> Iterator[items.Item]:
    """Make a talk of the turns of a day."""
    day: date | None = None
    turns: list[items.ImportedTurn] = []
    for item in found:
        if not isinstance(item, items.ImportedTalk):
            yield item
        elif item.at is not None and item.turns:
            here = item.at.astimezone(zone).date()
            if day is not None and here != day:
                yield _talk(day, turns)
                turns = []
            day = here
            turns += item.turns
    if day is not None:
        yield _talk(day, turns)


def _talk(day: date, turns: list[items.ImportedTurn]) -> items.ImportedTalk:
    ordered = sorted(turns, key=lambda turn: turn.at.timestamp() if turn.at else 0.0)
    return items.ImportedTalk(f"day {day}", f"{GEMINI_NAME}, {day}", ordered[0].at, tuple(ordered))


def _record(data: Mapping[str, Any]) -> Iterator[items.Item]:
    asked, told = _details(data)
    shown = (plain(foreign.text(one, "html")) for one in foreign.listed(data, "safeHtmlItem"))
    answers = [items.ImportedBlock(one, "" if one else "answers without words") for one in shown]
    attached = [
        items.mark(kind, foreign.text(one) or foreign.text(one, "name"))
        for key, kind in ATTACHED.items()
        for one in foreign.several(data, key)
    ]
    yield from _entry(
        foreign.moment(data, "time"),
        ("" if asked else foreign.text(data, "title")),
        " ".join([foreign.text(data, "header"), *foreign.texts(data, "products")]),
        [*asked, *attached],
        [*answers, *told],
        is_prompt=bool(asked or told),
    )


def _entry(
    at: datetime | None,
    title: str,
    labels: str,
    asked: Sequence[items.ImportedBlock],
    answers: Sequence[items.ImportedBlock],
    *,
    is_prompt: bool = False,
) -> Iterator[items.Item]:
    """Read a record of an activity: what somebody asked, and what was answered."""
    if at is None:
        raise ValueError("a record without a time")
    if labels.strip() and not any(name in labels.casefold() for name in NAMES):
        yield items.LeftOut(title[:60], "records of other services", is_block=True)
        return
    verb, words = _parted(title)
    if not (verb or is_prompt or any(block.text for block in answers)):
        yield items.LeftOut(title[:60], "records that are no prompt", is_block=True)
        return
    key = hashlib.sha256(f"{at.isoformat()} {words}".encode("utf-8", "replace")).hexdigest()[:24]
    prompt = [items.ImportedBlock(words)] if words.strip() else []
    said = (
        items.ImportedMessage(items.head(key, at, "", own=True), [*prompt, *asked]),
        items.ImportedMessage(items.head(f"{key} answer", at, GEMINI_NAME, own=False), answers),
    )
    for item in items.talk(key, "", at, said):
        yield replace(item, what=title[:60]) if isinstance(item, items.LeftOut) else item


def _parted(title: str) -> tuple[str, str]:
    """Part what was done, as Google words it, from what was said: a space that never breaks."""
    plain_title = title.replace("\xa0", " ")
    done = title.partition("\xa0")[0] if "\xa0" in title[:40] else ""
    shown = next(filter(plain_title.startswith, PROMPTED), f"{done} " if done else "")
    verb = shown if len(shown.split()) <= 3 else ""
    return verb, plain_title.removeprefix(verb)


def _page(source: ImportSource, name: str, zone: tzinfo) -> Iterator[items.Item]:
    """Read the records of a web page."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    page, number = _Page(), 0
    try:
        with source.reading(name) as stream:
            while data := stream.read(foreign.CHUNK_BYTES):
                page.feed(decode(data))
                for cells in page.taken():
                    number += 1
                    yield from foreign.tried(f"{name}, number {number}", _card(cells, zone))
    except (*UNREADABLE, UnsafePathError) as error:
        yield items.LeftOut(name, f"can't be read: {reason(error)}", broken=True)
    page.close()
    for cells in page.taken(least=0):
        yield from foreign.tried(f"{name}, the last", _card(cells, zone))


def _card(cells: Mapping[str, str], zone: tzinfo) -> Iterator[items.Item]:
    """Read a record of a page: what was asked, a line that says when, what was answered."""
    lines = cells["said"].split("\n")
    times = (
        (n, foreign.time_shown(line, zone))
        for n, line in enumerate(lines)
        if len(line) <= MAX_TIME_CHARS and sum(char.isdigit() for char in line) > 6
    )
    place, at = next(((n, at) for n, at in times if at), (0, None))
    told = "\n".join(lines[place + 1 :]).strip()
    asked = "\n".join(lines[:place]).strip()
    answers = [items.ImportedBlock(told)] if told else []
    yield from _entry(at, asked or lines[0], cells["labels"], (), answers)


GEMINI = foreign.Files(
    ("MyActivity.json", "My Activity.json", "*Gemini*/*.json"),  # or in the account's language
    frozenset(["header", "title", "time"]),
    {"": _record},
)


def _details(
    data: Mapping[str, Any],
) -> tuple[list[items.ImportedBlock], list[items.ImportedBlock]]:
    """Read the other two forms of a record: what was asked, and what was answered."""
    asked, told = list[items.ImportedBlock](), list[items.ImportedBlock]()
    for one in foreign.mappings(data, "details"):
        if words := foreign.first(one, "value"):
            (asked if one.get("name") == "Request" else told).append(items.ImportedBlock(words))
    told += [items.unknown("userInteraction")] * len(foreign.listed(data, "userInteractions"))
    return asked, told


def plain(html: str) -> str:
    """Return the text of a piece of HTML."""
    reader = _Plain()
    reader.feed(html)
    reader.close()
    return _tidy(reader.parts)


def _tidy(parts: Sequence[str]) -> str:
    lines = [line.rstrip() for line in "".join(parts).split("\n")]
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
            self.parts.append(items.marked("picture", shown.get("alt") or shown.get("src") or ""))

    def handle_endtag(self, tag: str) -> None:
        self.unseen = max(0, self.unseen - (tag in _UNSEEN))
        self.parts += ["\n"] * (tag in _BLOCKS and tag != "br")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.parts.append(data)


class _Page(_Plain):
    """Collects the texts of the records of a page, by what stands in them."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[dict[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "") if tag == "div" else ""
        if "outer-cell" in classes:
            self.records.append({part: [] for part in CELLS.values()})
        for mark, part in CELLS.items() if self.records else ():
            if mark in classes:
                self.parts = self.records[-1][part]
                break
        super().handle_starttag(tag, attrs)

    def taken(self, least: int = 1) -> Iterator[Mapping[str, str]]:
        """Yield the records that are whole; the last may not be."""
        while len(self.records) > least:
            yield {part: _tidy(found) for part, found in self.records.pop(0).items()}
