"""Lorebooks of character cards: entries that are told when one of their words is spoken of.

Source: the character card specification V3, its lorebooks and decorators.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from bumble.bridges.imports import chat_export, lenient
from bumble.bridges.imports.json_stream import HEAD_BYTES
from bumble.bridges.imports.ledger import Fact, ImportContext, Item, LeftOut, Recipe
from bumble.bridges.imports.source import ImportSource
from bumble.text.words import one_line, shorten

SPEC = "lorebook_v3"
_DECORATOR = re.compile(r"@@@?[A-Za-z_]+(?:[ \t].*)?\n?")
_KEYS_CHARS = 200  # of the words that bring an entry to mind, as a description


class LorebookEntry(Struct, frozen=True):
    """A piece of a world."""

    title: str
    keys: tuple[str, ...]  # the words that bring it to mind
    text: str  # without decorators
    enabled: bool = True
    constant: bool = False  # always told


class Lorebook(Struct, frozen=True):
    """The entries of a world."""

    name: str
    entries: tuple[LorebookEntry, ...]


def parse(data: Mapping[str, Any]) -> Lorebook:
    """Read a lorebook, of a card or alone; entries may be a list, or a mapping by number."""
    inner = lenient.mapping(data.get("data")) if data.get("spec") == SPEC else data
    entries = inner.get("entries")
    listed = list(entries.values()) if isinstance(entries, dict) else entries
    return Lorebook(
        one_line(lenient.text(inner.get("name"))),
        tuple(_entry(item, number) for number, item in enumerate(lenient.mappings(listed), 1)),
    )


def _entry(data: Mapping[str, Any], number: int) -> LorebookEntry:
    keys = lenient.texts(data.get("keys", data.get("key")))
    keys = [one_line(key) for key in keys if key.strip()]
    named = lenient.text(data.get("name")) or lenient.text(data.get("comment"))
    title = one_line(named) or (keys[0] if keys else f"entry {number}")
    disabled = data.get("enabled") is False or data.get("disable") is True
    text = without_decorators(lenient.text(data.get("content")))
    return LorebookEntry(title, tuple(keys), text, not disabled, data.get("constant") is True)


def without_decorators(content: str) -> str:
    """Return the content of an entry without the lines at its head that steer other programs."""
    while match := _DECORATOR.match(content.lstrip()):
        content = content.lstrip()[match.end() :]
    return content.strip()


def items(book: Lorebook, filled: Callable[[str], str] = str) -> Iterator[Item]:
    """Make facts of what is always told, and recipes, found by their keys, of the rest.

    Args:
        book: The lorebook.
        filled: Puts names in the place of macros.
    """
    names = f" ({book.name})" if book.name else ""
    for entry in book.entries:
        if not entry.enabled:
            yield LeftOut(entry.title, "entries that are switched off")
        elif not entry.text:
            yield LeftOut(entry.title, "entries without a text")
        elif entry.constant or not entry.keys:
            yield Fact(f"{entry.title}{names}", filled(entry.text), public=True)
        else:
            keys = shorten(", ".join(entry.keys), _KEYS_CHARS)
            yield Recipe(f"{entry.title}{names}", keys, filled(entry.text))


def fits(source: ImportSource) -> bool:
    """Whether the only file is a lorebook."""
    if len(source.members) != 1:
        return False
    [name] = source.names
    keys = chat_export.shape(source, name).keys
    if {"spec", "data"} <= keys:
        return SPEC.encode() in source.head(name, HEAD_BYTES)
    return "entries" in keys


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the entries."""
    for name in source.names:
        data = chat_export.load(source, name)
        if isinstance(data, LeftOut):
            yield data
            continue
        book = parse(lenient.mapping(data))
        if not book.entries:
            yield LeftOut(name, "a lorebook without entries", broken=True)
        yield from items(book)
