"""JSON files of any size, read an item at a time; one item that is too much ends nothing.

Memory is bounded: a text, an item and the depth of what is nested have a limit each. Knows nothing
of what the items mean.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from decimal import InvalidOperation
from typing import Any, BinaryIO, cast

import ijson
from ijson.common import JSONError, ObjectBuilder
from msgspec import Struct, field

MAX_TEXT_BYTES = 16_000_000  # of one text: the parser holds it whole
MAX_ITEM_COST = 40_000_000  # bytes that an item takes in memory, about
VALUE_COST = 80  # of them for each value, its characters aside
MAX_DEPTH = 100
MAX_DIGITS = 4_000  # of a whole number: where Python refuses one, the parser's C reads on, and dies
HEAD_BYTES = 512_000  # of a file, to see what it is
_BROKEN = (JSONError, ValueError, InvalidOperation)  # the last: an exponent beyond all measure
_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_STARTS, _ENDS = ("start_map", "start_array"), ("end_map", "end_array")


class Unread(Struct, frozen=True):
    """An item that was passed over, or where the file broke off."""

    number: int  # of the item, from 1
    why: str
    ends: bool = False  # nothing behind it could be read


class JsonShape(Struct, frozen=True):
    """What a JSON file is, as far as its head shows."""

    kind: str = ""  # "array", "object", or empty: no JSON
    keys: frozenset[str] = frozenset()  # of the object
    # Keys of the first object of a list: of the array (under the empty name), or under each key.
    first: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def item(self, key: str = "") -> frozenset[str]:
        """Return the keys of the first object in the array, or in the list under a key."""
        return self.first.get(key, frozenset())


class _Guarded:
    """A stream of which the parser may read only so much without giving anything back."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.silent, self.begun = stream, 0, False
        self.quoted = False  # whether what is read next stands within a text
        self.tail = b""  # of what was read: what can't be judged without what follows
        self.broken = False  # whether a number comes next that is too long

    def read(self, size: int = -1) -> bytes:
        if self.silent > MAX_TEXT_BYTES:
            raise ValueError(f"a text of more than {MAX_TEXT_BYTES:,} bytes")
        if self.broken:
            raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
        data = self.stream.read(size)
        self.silent += len(data)
        if not self.begun and size != 0:
            self.begun, data = True, data.removeprefix(b"\xef\xbb\xbf")
        held = len(self.tail)
        whole = self._before_long_number(self.tail + data)
        self.broken = whole < held + len(data)
        return data[: max(0, whole - held)] if self.broken else data

    def _before_long_number(self, data: bytes) -> int:
        """Return how much stands before a number of too many digits; all, where there is none.

        Within a text they are letters as any.
        """
        many, at = b"0" * (MAX_DIGITS + 1), -1
        digits = data.translate(_DIGITS_AS_ZEROS)
        while (at := digits.find(many, at + 1)) >= 0:
            if self.quoted == (_quotes(data[:at]) % 2 == 1):
                return at
            if (at := data.find(b'"', at)) < 0:
                break
        kept = data.rstrip(b"\\")
        self.quoted ^= _quotes(kept) % 2 == 1
        if not self.quoted:
            kept = kept[: len(digits[: len(kept)].rstrip(b"0"))]
        self.tail = data[len(kept) :]
        return len(data)


def _quotes(data: bytes) -> int:
    """Count the quotation marks that begin or end a text."""
    return data.count(b'"') - data.replace(b"\\\\", b"").count(b'\\"')


def shape(head: bytes) -> JsonShape:
    """Look at the first bytes of a file."""
    kind, depth, key = "", 0, ""
    keys: set[str] = set()
    first: dict[str, set[str]] = {}
    inside = ""  # "item" while in the first object of a list
    guarded = _Guarded(io.BytesIO(head))
    try:
        for event, value in ijson.basic_parse(cast("BinaryIO", guarded)):
            if depth == 0:
                kind = {"start_map": "object", "start_array": "array"}.get(event, "")
            if event == "map_key" and depth == 1:
                key = str(value)
                keys.add(key)
            level = 1 if kind == "array" else 2
            if event == "start_map" and depth == level and key not in first:
                first[key], inside = set(), key or "item"
            if event == "map_key" and depth == level + 1 and inside:
                first[key].add(str(value))
            if event == "end_map" and depth == level + 1:
                inside = ""
            depth += (event in _STARTS) - (event in _ENDS)
            if depth > MAX_DEPTH:
                break
    except _BROKEN:  # the head ends somewhere
        pass
    lists = {name: frozenset(inner) for name, inner in first.items()}
    return JsonShape(kind, frozenset(keys), lists)


def items(stream: BinaryIO, *keys: str) -> Iterator[Any]:
    """Yield the items of the array that a file is, or of the lists under some of its keys.

    Yields:
        Each item, an `Unread` in the place of one that is too much, and one where the file breaks.
    """
    guarded = _Guarded(stream)
    depth, listed, key, number = 0, -1, "", 0
    gathered: _Gathered | None = None
    try:
        for event, value in ijson.basic_parse(cast("BinaryIO", guarded), buf_size=65_536):
            guarded.silent = 0
            if gathered is not None:
                gathered.take(event, value)
            elif listed == depth and event not in _ENDS:
                number += 1
                gathered = _Gathered(number)
                gathered.take(event, value)
            elif event == "map_key" and depth == 1:
                key = str(value)
            elif event == "start_array" and (depth == 0 or (depth == 1 and key in keys)):
                listed = depth + 1
            depth += (event in _STARTS) - (event in _ENDS)
            if depth < listed:
                listed = -1
            if gathered is not None and depth == listed:
                yield gathered.result()
                gathered = None
    except _BROKEN as error:
        why = (str(error).splitlines() or [""])[0][:120]
        if isinstance(error, InvalidOperation):
            why = "a number beyond all measure"
        yield Unread(number, f"the file breaks off: {why}", ends=True)


class _Gathered:
    """An item while it is read; one that is too much is let go, and read to its end."""

    def __init__(self, number: int) -> None:
        self.number, self.cost, self.depth, self.why = number, 0, 0, ""
        self.builder: ObjectBuilder | None = ObjectBuilder()

    def take(self, event: str, value: object) -> None:
        """Take the next event."""
        self.depth += (event in _STARTS) - (event in _ENDS)
        if self.builder is None:
            return
        self.cost += VALUE_COST + (_size(value) if isinstance(value, str) else 0)
        if self.cost > MAX_ITEM_COST:
            self.why, self.builder = f"it is larger than {MAX_ITEM_COST:,} bytes", None
        elif self.depth > MAX_DEPTH:
            self.why, self.builder = f"it is nested more than {MAX_DEPTH} deep", None
        else:
            self.builder.event(event, value)

    def result(self) -> Any:
        """Return the item, or what stands for it."""
        return Unread(self.number, self.why) if self.builder is None else self.builder.value


def _size(text: str) -> int:
    return len(text) if text.isascii() else 2 * len(text)
