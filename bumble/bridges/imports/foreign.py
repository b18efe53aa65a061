"""Data of other programs, read leniently: fields of any type, and JSON files of any size.

Formats drift, and files may be made to hurt. What is of another type than it should be counts as
missing; a file is read an item at a time, and one item that is too much ends nothing. Knows no
format; each says which files, which lists in them, and what an item is.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from itertools import accumulate
from typing import Any, BinaryIO

from msgspec import Struct

from bumble import patterns
from bumble.bridges.imports.items import Item, LeftOut
from bumble.bridges.imports.source import UNREADABLE, ImportSource, reason
from bumble.errors import UnsafePathError
from bumble.text import moments, printable

MAX_TEXT_BYTES = 16_000_000  # of one text: it is held whole
MAX_ITEM_COST = 40_000_000  # bytes that an item takes in memory, about
VALUE_COST = 80  # of them for each value, its characters aside
MAX_DEPTH = 100
MAX_WHOLE_BYTES = 24_000_000  # of a file that is one item
HEAD_BYTES = 512_000  # of a file, to see what it is
CHUNK_BYTES = 65_536
_MILLISECONDS_FROM = 100_000_000_000  # as seconds this is the year 5138
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONTROL = patterns.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_BLANK = b"\xef\xbb\xbf \t\r\n"
_KEY = patterns.compile(rb'"([^"\\]{1,80})"\s*:')
# All up to the next bracket or comma; those within a text are letters as any.
_NEXT = patterns.compile(
    rb'((?:[^"\[\]{},]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+)([\[\]{},])', re.DOTALL
)

ReadItem = Callable[[Mapping[str, Any]], Iterable[Item]]  # raises ValueError if it is none


def at(value: object, *path: str) -> Any:
    """Return what lies in mappings within each other; None where nothing does."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text(value: object, *path: str) -> str:
    """Return a text, without what no page shows; empty for all else."""
    found = at(value, *path)
    return cleaned(found) if isinstance(found, str) else ""


def first(value: object, *keys: str) -> str:
    """Return the first text under some keys that is not empty."""
    return next(filter(str.strip, (text(value, key) for key in keys)), "")


def cleaned(value: str) -> str:
    """Return a text without control characters, halves of characters, and carriage returns."""
    if printable.HALF.search(value):
        value = str(printable.whole(value))
    return _CONTROL.sub(
        lambda match: "\n" if match[0] in "\r\x85\u2028\u2029" else "", value.replace("\r\n", "\n")
    )


def mapping(value: object, *path: str) -> Mapping[str, Any]:
    """Return a mapping; an empty one for all else."""
    found = at(value, *path)
    return found if isinstance(found, dict) else {}


def listed(value: object, *path: str) -> list[Any]:
    """Return a list; an empty one for all else."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def json_of(words: str) -> Any:
    """Return what a text holds as JSON; None of any other text."""
    try:
        return json.loads(words)
    except (ValueError, RecursionError):
        return None


def mappings(value: object, *path: str) -> list[Mapping[str, Any]]:
    """Return the mappings of a list."""
    return [item for item in listed(value, *path) if isinstance(item, dict)]


def texts(value: object, *path: str) -> list[str]:
    """Return the texts of a list; of a single text, that; of anything else nothing."""
    found = at(value, *path)
    return [text(item) for item in ([found] if isinstance(found, str) else listed(found))]


def several(value: object, *path: str) -> list[Any]:
    """Return the items of a list; of anything else that is there, that alone."""
    found = at(value, *path)
    return found if isinstance(found, list) else [found] if found else []


def moment(value: object, *path: str, zone: tzinfo = UTC) -> datetime | None:
    """Read a time in any of the forms that exports use; None if it is none.

    Seconds or milliseconds since 1970, ISO 8601 (in the zone, where it has no offset), MongoDB's
    `$date`. Zero stands for unknown. Behind all years that records may name it is the last: a clock
    was wrong.
    """
    found = at(value, *path)
    if isinstance(found, dict):
        return moment(found.get("$date", found.get("$numberLong")))
    try:
        read = None if isinstance(found, bool) else _moment(found, zone)
    except (OverflowError, ValueError):
        return None
    if read is not None and read >= moments.END:
        return moments.END - timedelta(seconds=1)
    return read if read is not None and moments.is_sane(read) else None


def _moment(value: object, zone: tzinfo) -> datetime | None:
    if isinstance(value, str) and not re.fullmatch(r"\d{9,14}(?:\.\d{1,9})?", value.strip()):
        value = datetime.fromisoformat(value.strip()[:64])
    if isinstance(value, str | int | float):
        number = float(value)
        seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
        return _EPOCH + timedelta(seconds=seconds) if seconds else None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=zone)
    return None


class Files(Struct, frozen=True):
    """Some JSON files of an export, and what reads the items in them."""

    patterns: tuple[str, ...]  # of their names; a single file may have any
    keys: frozenset[str]  # by which they show, at whatever depth
    # by the key of a list; empty: the list that a file is
    readers: Mapping[str, ReadItem] = {}
    never: frozenset[str] = frozenset()  # keys of other programs, which have some of these too

    def shown(self, source: ImportSource) -> list[str]:
        """Return the files that show by their keys."""
        is_alone = self.keys and len(source.members) == 1
        names = source.names if is_alone else source.matching(*self.patterns)
        heads = {name: keys(source, name) for name in names}
        return [name for name, head in heads.items() if self.keys <= head and not self.never & head]


def keys(source: ImportSource, name: str) -> frozenset[str]:
    """Return the keys that stand in the head of a JSON file, at any depth."""
    if name not in source.keys:
        found = _KEY.findall(source.head(name, HEAD_BYTES))
        source.keys[name] = frozenset(key.decode("utf-8", "replace") for key in found)
    return source.keys[name]


def read(
    source: ImportSource, *parts: Files, besides: Sequence[str] = (), alone: bool = True
) -> Iterator[Item]:
    """Read every item of some JSON files; what can't be read is said, and the rest is read.

    Mappings without a list that is wanted are items themselves, one or several after each other.

    Args:
        source: The import.
        parts: Which files, and what reads them; of two that name a file, the first.
        besides: Names of files that are dealt with elsewhere.
        alone: Whether there must be such files: where none shows, those of the names.
    """
    found: dict[str, Files] = {}
    for part in parts:
        found |= {name: part for name in part.shown(source) if name not in found}
    if not found and alone:  # somebody says that it is of this format
        found = dict.fromkeys(source.matching(*parts[-1].patterns), parts[-1])
    source.wanted = sum(source.members[name].size for name in found)
    for name, part in found.items():
        for number, (key, data) in enumerate(_rows(source, name, *(part.readers or ("",))), 1):
            yield from _read(f"{name}, number {number}", data, part.readers.get(key))
    yield from others(source, [*found, *besides])


def _rows(source: ImportSource, name: str, *wanted: str) -> Iterator[tuple[str, Any]]:
    """Yield the items of a file, and what of it can't be read."""
    is_object = source.head(name, 100).lstrip(_BLANK)[:1] == b"{"
    alone = is_object and not keys(source, name) & (set(wanted) - {""})
    try:
        with source.reading(name) as stream:
            yield from items(stream, *wanted, alone=alone)
    except ValueError as error:
        yield "", LeftOut(name, str(error), broken=True)
    except (*UNREADABLE, UnsafePathError) as error:
        yield "", LeftOut(name, f"can't be read: {reason(error)}", broken=True)


def _read(where: str, data: object, item: ReadItem | None) -> Iterator[Item]:
    if isinstance(data, LeftOut):
        yield data
    elif not isinstance(data, dict):
        why = str(data) if isinstance(data, ValueError) else "not a mapping"
        yield LeftOut(where, why, broken=True)
    elif item is not None:
        title = first(data, "title", "name")
        yield from tried(f"{where}: {title[:60]}" if title else where, item(data))


def tried(where: str, found: Iterable[Item]) -> Iterator[Item]:
    """Yield what is read of something; say where it can't be."""
    try:
        yield from found
    except ValueError as error:
        yield LeftOut(where, str(error), broken=True)


def items(stream: BinaryIO, *wanted: str, alone: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the items of the array that a file is, or of the lists under some of its keys.

    Args:
        stream: The file.
        wanted: The keys; the empty one is that of the array.
        alone: Whether what the file holds, one after another, are items themselves.

    Yields:
        The key and each item; a `ValueError` in the place of one that is too much or no JSON.

    Raises:
        ValueError: Where the file breaks off.
    """
    depth = listed_at = 0  # how deep it is, and how deep within the list whose items are wanted
    key, item, is_json = "", _Gathered(), False
    try:
        for before, mark in _marks(stream):
            is_json = True
            if listed_at and depth == listed_at and mark in b",]":
                if item.take(before):
                    yield key, item.result()
                item = _Gathered()
            elif listed_at or alone:
                item.take(before + mark, depth - listed_at)
            elif mark == b"[" and depth < 2:
                key = before.partition(b'"')[2].partition(b'"')[0].decode("utf-8", "replace")
                listed_at = depth + 1 if key in wanted else 0
            depth += (mark in b"[{") - (mark in b"]}")
            listed_at = listed_at if depth >= listed_at else 0
            if alone and depth == 0:
                yield "", item.result()
                item = _Gathered()
    except ValueError as error:
        raise ValueError(f"the file breaks off: {error}") from error
    if depth or not is_json:
        raise ValueError("the file breaks off; fetch it again" if is_json else "no JSON")


def _marks(stream: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Yield each bracket and comma that stands in no text, and what stands before it."""
    held, place = stream.read(CHUNK_BYTES).removeprefix(b"\xef\xbb\xbf"), 0
    while True:
        while match := _NEXT.match(held, place):
            yield match[1], match[2]
            place = match.end()
        held, place = held[place:], 0
        if len(held) > MAX_TEXT_BYTES:
            raise ValueError(f"a text of more than {MAX_TEXT_BYTES:,} bytes")
        if not (more := stream.read(max(CHUNK_BYTES, len(held)))):
            return
        held += more


class _Gathered:
    """An item while it is read; one that is too much is let go, and read to its end."""

    def __init__(self) -> None:
        self.pieces, self.cost, self.why = list[bytes](), 0, ""

    def take(self, data: bytes, depth: int = 0) -> bool:
        """Take what comes next; say whether anything has come."""
        self.cost += VALUE_COST + len(data)
        if self.cost > MAX_ITEM_COST:
            self.why = f"it is larger than {MAX_ITEM_COST:,} bytes"
        elif depth > MAX_DEPTH:
            self.why = f"it is nested more than {MAX_DEPTH} deep"
        if self.why:
            self.pieces.clear()
        elif data.strip():
            self.pieces.append(data)
        return bool(self.pieces or self.why)

    def result(self) -> Any:
        """Return the item, or what stands for it."""
        return ValueError(self.why) if self.why else _parsed(b"".join(self.pieces), ValueError)


def load(source: ImportSource, name: str, most: int = MAX_WHOLE_BYTES) -> object:
    """Read a JSON file whole; a `LeftOut` for one that can't be."""
    try:
        data = source.read(name, most)
        steps = ((mark in b"[{") - (mark in b"]}") for _, mark in _marks(io.BytesIO(data)))
        if max(accumulate(steps), default=0) > MAX_DEPTH:
            raise ValueError("nested too deep")
    except ValueError as error:
        return LeftOut(name, str(error), broken=True)
    return _parsed(data, lambda why: LeftOut(name, why, broken=True))


def _parsed(data: bytes, refused: Callable[[str], object]) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        return refused(f"no JSON: {str(error)[:120]}")


def others(
    source: ImportSource, used: Iterable[str], why: str = "files that hold no conversations"
) -> Iterator[LeftOut]:
    """Name the files that were not read."""
    known, ours = set(used), "files that bumble wrote itself"
    rest = (name for name in source.names if name not in known)
    yield from (LeftOut(name, ours if name in source.ours else why) for name in rest)


# times as a page shows them: in words, in any language, with or without a zone

_SETTINGS = {
    "DATE_ORDER": "DMY",  # of `1/2/2026` the first number is the day, if it can be
    "PREFER_LOCALE_DATE_ORDER": False,
    "PARSERS": ["absolute-time"],
    "REQUIRE_PARTS": ["day", "month", "year"],
    "RETURN_TIME_AS_PERIOD": True,
}


@cache
def _parser() -> Any:
    """Return what reads dates; it tries the language of the one before first."""
    from dateparser.date import DateDataParser

    return DateDataParser(settings=_SETTINGS)


def time_shown(told: str, zone: tzinfo) -> datetime | None:
    """Read a day with a time of day; None of anything else.

    Args:
        told: One line.
        zone: What it is in where it names none.
    """
    from dateparser.timezone_parser import pop_tz_offset_from_string

    told, named = pop_tz_offset_from_string(" ".join(told.split()).replace("\u2212", "-"))
    read = _parser().get_date_data(told)
    if read.date_obj is None or read.period != "time":
        return None
    at: datetime = read.date_obj.replace(tzinfo=zone)
    if named is None or at.tzname() == named.tzname(None):
        return at
    return at.replace(tzinfo=timezone(named.utcoffset(None)))
