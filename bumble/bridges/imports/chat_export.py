"""What the exports of chat services share: files of conversations, read one at a time.

Knows no format; each says which files, which items, and how a talk is read of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bumble.bridges.imports import json_stream, lenient
from bumble.bridges.imports.json_stream import HEAD_BYTES, JsonShape, Unread
from bumble.bridges.imports.ledger import Item, LeftOut
from bumble.bridges.imports.source import UNREADABLE, ImportSource, reason
from bumble.errors import UnsafePathError

MAX_WHOLE_BYTES = 24_000_000
ReadItem = Callable[[Mapping[str, Any]], Iterable[Item]]  # raises ValueError if it is none


def shape(source: ImportSource, name: str) -> JsonShape:
    """Look at what a JSON file of an import is."""
    seen = source.remembered(
        f"shape {name}", lambda: json_stream.shape(source.head(name, HEAD_BYTES))
    )
    return seen if isinstance(seen, JsonShape) else JsonShape()


def shapes(source: ImportSource, *patterns: str) -> dict[str, JsonShape]:
    """Look at the JSON files whose name fits a pattern; at any single file, whatever its name."""
    alone = len(source.members) == 1
    return {name: shape(source, name) for name in source.matching(*(("*",) if alone else patterns))}


def read(source: ImportSource, names: Iterable[str], item: ReadItem, *keys: str) -> Iterator[Item]:
    """Read every item of some JSON files; what can't be read is said, and the rest is read."""
    names = list(names)
    source.wanted = sum(source.members[name].size for name in names)
    for name in names:
        try:
            with source.reading(name) as stream:
                for number, data in enumerate(json_stream.items(stream, *keys), 1):
                    yield from _read(name, number, data, item)
        except (*UNREADABLE, UnsafePathError) as error:
            yield LeftOut(name, f"can't be read: {reason(error)}", broken=True)


def _read(name: str, number: int, data: object, item: ReadItem) -> Iterator[Item]:
    where = f"{name}, number {number}"
    if isinstance(data, Unread):
        yield LeftOut(name if data.ends else where, data.why, broken=True)
        return
    if not isinstance(data, dict):
        yield LeftOut(where, "not a mapping", broken=True)
        return
    try:
        yield from item(data)
    except ValueError as error:
        title = lenient.text(data.get("title") or data.get("name"))
        yield LeftOut(f"{where}: {title[:60]}" if title else where, str(error), broken=True)


def load(source: ImportSource, name: str, most: int = MAX_WHOLE_BYTES) -> object:
    """Read a JSON file whole; a `LeftOut` for one that can't be."""
    try:
        data = json.loads(source.read(name, most).decode("utf-8-sig"))
        return data if _depth_is_fine(data) else LeftOut(name, "nested too deep", broken=True)
    except RecursionError:
        return LeftOut(name, "nested too deep", broken=True)
    except ValueError as error:
        return LeftOut(name, f"no JSON: {str(error)[:120]}", broken=True)


def _depth_is_fine(data: object) -> bool:
    """Whether what is read can be walked by functions that call themselves."""
    level = [data]
    for _ in range(json_stream.MAX_DEPTH):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return not level


def others(source: ImportSource, used: Iterable[str]) -> Iterator[LeftOut]:
    """Name the files that were not read."""
    known = set(used)
    rest = [name for name in source.names if name not in known]
    if rest:
        shown = ", ".join(rest[:5]) + (" …" if len(rest) > 5 else "")
        yield LeftOut(shown, "files that hold no conversations", count=len(rest))
