"""Data of other programs, read leniently: fields of any type, and JSON files of any size.

Formats drift, and files may be made to hurt. What is of another type than it should be counts as
missing; a file is read an item at a time, up to where it breaks off. Knows no format; each says
which files, which lists in them, and what an item is.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, BinaryIO

from msgspec import Struct

from bumble import patterns
from bumble.bridges.imports.ledger import Item, LeftOut
from bumble.bridges.imports.source import UNREADABLE, ImportSource, reason
from bumble.errors import UnsafePathError
from bumble.text import moments
from bumble.text.printable import HALF, whole

MAX_DEPTH = 100
MAX_WHOLE_BYTES = 24_000_000  # of an item, which is held whole
HEAD_BYTES = 512_000  # of a file, to see what it is
CHUNK_BYTES = 65_536
_MILLISECONDS_FROM = 100_000_000_000  # as seconds this is the year 5138
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONTROL = patterns.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_BLANK = b"\xef\xbb\xbf \t\r\n"
_KEY = patterns.compile(rb'"([^"\\]{1,80})"\s*:')
_MARK = patterns.compile(r"[^ \t\r\n,:]")
_DECODER = json.JSONDecoder(strict=False)

ReadItem = Callable[[Mapping[str, Any]], Iterable[Item]]  # raises ValueError if it is none
ReadFile = Callable[[str, Sequence[Mapping[str, Any]]], Iterable[Item]]  # likewise, of a name


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
    if HALF.search(value):
        value = str(whole(value))
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


def parsed(words: str) -> Mapping[str, Any]:
    """Return the mapping that a text holds as JSON; nothing of any other text."""
    return mapping(json_of(words))


def mappings(value: object, *path: str) -> list[Mapping[str, Any]]:
    """Return the mappings of a list."""
    return [item for item in listed(value, *path) if isinstance(item, dict)]


def texts(value: object, *path: str) -> list[str]:
    """Return the texts of a list; of a single text, that."""
    found = at(value, *path)
    return [text(item) for item in ([found] if isinstance(found, str) else listed(found))]


def several(value: object, *path: str) -> list[Any]:
    """Return the items of a list; of anything else that is there, that alone."""
    found = at(value, *path)
    return found if isinstance(found, list) else [found] if found else []


def moment(value: object, *path: str) -> datetime | None:
    """Read a time in any of the forms that exports use; None if it is none.

    Seconds or milliseconds since 1970, ISO 8601 (without an offset: UTC), MongoDB's `$date`. Zero
    stands for unknown. Behind all years that records may name it is the last: a clock was wrong.
    """
    found = at(value, *path)
    if isinstance(found, dict):
        return moment(found.get("$date", found.get("$numberLong")))
    try:
        read = None if isinstance(found, bool) else _moment(found)
    except (OverflowError, ValueError):
        return None
    if read is not None and read >= moments.END:
        return moments.END - timedelta(seconds=1)
    return read if read is not None and moments.is_sane(read) else None


def _moment(value: object) -> datetime | None:
    if isinstance(value, str) and not re.fullmatch(r"\d{9,14}(?:\.\d{1,9})?", value.strip()):
        value = datetime.fromisoformat(value.strip()[:64])
    if isinstance(value, str | int | float):
        number = float(value)
        seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
        return _EPOCH + timedelta(seconds=seconds) if seconds else None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if not isinstance(value, date):  # which YAML takes some for
        return None
    return datetime(value.year, value.month, value.day, tzinfo=UTC)


class Files(Struct, frozen=True):
    """Some JSON files of an export, and what reads the items in them."""

    patterns: tuple[str, ...]  # of their names; a single file may have any
    keys: frozenset[str]  # by which they show, at whatever depth
    # by the key of a list; empty: the list that a file is
    readers: Mapping[str, ReadItem] = {}
    never: frozenset[str] = frozenset()  # keys of other programs, which have some of these too
    whole: ReadFile | None = None  # of files that hold one talk each: reads all items at once

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
        rows = list[Mapping[str, Any]]()
        for number, (key, data) in enumerate(_rows(source, name, *(part.readers or ("",))), 1):
            if isinstance(data, dict) and part.whole:
                rows.append(data)
            else:
                yield from _read(f"{name}, number {number}", data, part.readers.get(key))
        yield from tried(name, part.whole(name, rows)) if part.whole else ()
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
        yield LeftOut(where, "not a mapping", broken=True)
    elif item is not None:
        title = first(data, "title", "name")
        yield from tried(f"{where}: {title[:60]}" if title else where, item(data))


def tried(where: str, found: Iterable[Item]) -> Iterator[Item]:
    """Yield what is read of something; say where it can't be."""
    try:
        yield from found
    except (ValueError, RecursionError) as error:
        yield LeftOut(where, str(error), broken=True)


def items(stream: BinaryIO, *wanted: str, alone: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the items of the array that a file is, or of the lists under some of its keys.

    Args:
        stream: The file.
        wanted: The keys; the empty one is that of the array.
        alone: Whether what the file holds, one after another, are items themselves.

    Yields:
        The key and each item.

    Raises:
        ValueError: Where the file breaks off.
    """
    held = _JsonText(stream)
    opening = held.mark()
    if not opening or opening not in "[{":
        raise ValueError("no JSON")
    if alone:
        yield from (("", item) for item in held.values(""))
    elif opening == "[":
        yield from (("", item) for item in held.values("]") if "" in wanted)
    else:
        for key in held.values("}"):
            found = held.values("]") if held.mark() == "[" else [held.value()]
            yield from ((key, item) for item in found if key in wanted)


class _JsonText:
    """The text of a JSON file, of which the part is held that is being read."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.held, self.place = "", 0

    def more(self) -> bool:
        """Hold more of the file; say whether there is more."""
        data = self.stream.read(max(CHUNK_BYTES, len(self.held) - self.place))
        if data:
            self.held, self.place = self.held[self.place :] + self.decoder.decode(data), 0
        return bool(data)

    def mark(self) -> str:
        """Return the next character that is no blank, comma or colon; nothing at the end."""
        while (found := _MARK.search(self.held, self.place)) is None:
            if not self.more():
                return ""
        self.place = found.start()
        return found[0]

    def value(self) -> Any:
        """Take the next value.

        Raises:
            ValueError: If it is none, or too much.
        """
        self.mark()
        while True:
            try:
                found, end = _DECODER.raw_decode(self.held, self.place)
            except (ValueError, RecursionError) as error:
                if len(self.held) - self.place > MAX_WHOLE_BYTES or not self.more():
                    raise ValueError(f"the file breaks off: {str(error)[:120]}") from error
            else:
                if end < len(self.held) or not self.more():  # a number may go on
                    self.place = end
                    return found

    def values(self, closing: str) -> Iterator[Any]:
        """Take the values up to a bracket, and the brackets; of a mapping, each key."""
        self.place += len(closing)
        while self.mark() != closing:
            yield self.value()
        self.place += len(closing)


def load(source: ImportSource, name: str, most: int = MAX_WHOLE_BYTES) -> object:
    """Read a JSON file whole; a `LeftOut` for one that can't be."""
    try:
        data = json.loads(source.read(name, most))
    except json.JSONDecodeError as error:
        return LeftOut(name, f"no JSON: {str(error)[:120]}", broken=True)
    except (ValueError, RecursionError) as error:
        return LeftOut(name, str(error)[:120], broken=True)
    return data if _depth(data) <= MAX_DEPTH else LeftOut(name, "nested too deep", broken=True)


def _depth(data: object) -> int:
    inner = data.values() if isinstance(data, dict) else listed(data)
    return 1 + max(map(_depth, inner), default=0)


def others(
    source: ImportSource, used: Iterable[str], why: str = "files that hold no conversations"
) -> Iterator[LeftOut]:
    """Name the files that were not read."""
    known = set(used)
    yield from (LeftOut(name, why) for name in source.names if name not in known)
