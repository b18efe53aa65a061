"""Character cards, versions 1 to 3: in a PNG, as JSON, as `.charx`.

`parse` reads the JSON of any version, `from_png` and `from_charx` find it; nothing of a card is
lost in `Card.data`, so that an export can give it back.

Source: the character card specifications V2 and V3.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from bumble.bridges.imports import chat_export, lenient
from bumble.bridges.imports.json_stream import HEAD_BYTES
from bumble.bridges.imports.ledger import (
    Fact,
    ImportContext,
    ImportedPersona,
    Item,
    LeftOut,
    Recipe,
)
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


def lorebook(data: Mapping[str, Any]) -> Lorebook:
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


def lore_items(book: Lorebook, filled: Callable[[str], str] = str) -> Iterator[Item]:
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


def fits_lorebook(source: ImportSource) -> bool:
    """Whether the only file is a lorebook."""
    if len(source.members) != 1:
        return False
    [name] = source.names
    keys = chat_export.shape(source, name).keys
    if {"spec", "data"} <= keys:
        return SPEC.encode() in source.head(name, HEAD_BYTES)
    return "entries" in keys


def read_lorebook(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the entries."""
    for name in source.names:
        data = chat_export.load(source, name)
        if isinstance(data, LeftOut):
            yield data
            continue
        book = lorebook(lenient.mapping(data))
        if not book.entries:
            yield LeftOut(name, "a lorebook without entries", broken=True)
        yield from lore_items(book)


PNG = b"\x89PNG\r\n\x1a\n"
CHUNKS = ("ccv3", "chara")  # keywords of the texts that hold a card, the better one first
SPECS = ("chara_card_v2", "chara_card_v3")
CARD_FILE = "card.json"  # in a .charx
FIRST_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
MAX_PNG_BYTES = 100_000_000
MAX_CARD_BYTES = 24_000_000  # of its JSON
_CHAR = re.compile(r"\{\{char\}\}|<char>|<bot>", re.IGNORECASE)
_USER = re.compile(r"\{\{user\}\}|<user>", re.IGNORECASE)
_START = re.compile(r"^[^\S\n]*<START>[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
# Comments, and where the prompt of the program that showed the card would stand.
_DROPPED = re.compile(r"\{\{//.*?\}\}|\{\{original\}\}", re.DOTALL | re.IGNORECASE)


class Card(Struct, frozen=True):
    """A character."""

    version: int  # 1, 2 or 3
    name: str
    nickname: str
    description: str
    personality: str
    scenario: str
    greeting: str
    examples: tuple[str, ...]  # of how it speaks
    system_prompt: str
    book: Lorebook | None
    data: Mapping[str, Any]  # all fields, as they stood

    def filled(self, text: str, person: str) -> str:
        """Put names in the place of the macros that stand for them."""
        text = _DROPPED.sub("", text)
        text = _CHAR.sub(lambda _: self.nickname or self.name, text)
        return _USER.sub(lambda _: person, text).strip()


def parse(data: Mapping[str, Any]) -> Card:
    """Read a card of any version.

    Raises:
        ValueError: If it is none.
    """
    spec = data.get("spec")
    inner = lenient.mapping(data.get("data")) if spec in SPECS else data
    name = lenient.text(inner.get("name"))
    if not name.strip() or not any(lenient.text(inner.get(key)) for key in FIRST_FIELDS[1:]):
        raise ValueError("it names no character")
    book = inner.get("character_book")
    examples = _START.split(lenient.text(inner.get("mes_example")))
    return Card(
        version=SPECS.index(spec) + 2 if spec in SPECS else 1,
        name=" ".join(name.split()),
        nickname=" ".join(lenient.text(inner.get("nickname")).split()),
        description=lenient.text(inner.get("description")),
        personality=lenient.text(inner.get("personality")),
        scenario=lenient.text(inner.get("scenario")),
        greeting=lenient.text(inner.get("first_mes")),
        examples=tuple(part.strip() for part in examples if part.strip()),
        system_prompt=lenient.text(inner.get("system_prompt")),
        book=lorebook(book) if isinstance(book, dict) else None,
        data=inner,
    )


def from_png(image: bytes) -> Mapping[str, Any]:
    """Return the card that an image carries, the newest version of several that can be read.

    Raises:
        ValueError: If it carries none.
    """
    return _of_png(image)[0]


def _of_png(image: bytes) -> tuple[Mapping[str, Any], list[str]]:
    """Return the card that an image carries, and the keywords of those that can't be read.

    Raises:
        ValueError: If it carries none.
    """
    texts = [(name.casefold(), text) for name, text in _png_texts(image)]
    broken: dict[str, str] = {}  # why, by keyword
    for keyword in CHUNKS:
        for text in (text for name, text in texts if name == keyword):
            try:
                data = _opened(text)
                parse(data)
            except (ValueError, RecursionError) as error:
                broken[keyword] = str(error)
            else:
                return data, list(broken)
    for keyword, why in broken.items():
        raise ValueError(f"its card can't be decoded ({keyword}): {why}")
    raise ValueError("the image carries no card")


def _opened(text: bytes) -> Mapping[str, Any]:
    """Read the JSON of a card as programs put it into an image: in base64 of any kind, or plain.

    Raises:
        ValueError: If it is none.
    """
    plain = _decoded(text).strip()
    if not plain.startswith("{"):
        code = "".join(plain.rpartition("base64,")[2].split()).rstrip("=")
        code = code.translate(str.maketrans("-_", "+/"))
        plain = _decoded(base64.b64decode(code + "=" * (-len(code) % 4))).strip()
    return lenient.mapping(json.loads(plain))


def _decoded(data: bytes) -> str:
    """Return the text of bytes: UTF-8, UTF-16, or what old programs wrote for it."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if data[1:4:2] == b"\0\0":
        return data.decode("utf-16-le", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _png_texts(image: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield keyword and text of each text chunk; of those that are no such chunk, nothing.

    Source: the PNG specification, third edition: tEXt, zTXt and iTXt.
    """
    at = len(PNG)
    while at + 8 <= len(image):
        length, kind = struct.unpack(">I4s", image[at : at + 8])
        keyword, _, rest = image[at + 8 : at + 8 + length].partition(b"\0")
        name = keyword.decode("latin-1")
        if kind == b"tEXt":
            yield name, rest
        elif kind == b"zTXt":
            yield name, _inflated(rest[1:])
        elif kind == b"iTXt":
            text = rest[2:].partition(b"\0")[2].partition(b"\0")[2]
            yield name, _inflated(text) if rest[:1] == b"\1" else text
        elif kind == b"IEND":
            return
        at += 12 + length


def _inflated(data: bytes) -> bytes:
    """Return compressed text, as far as it goes and no longer than a card may be."""
    try:
        return zlib.decompressobj().decompress(data, MAX_CARD_BYTES)
    except zlib.error:
        return b""


def _find(source: ImportSource) -> tuple[Mapping[str, Any], list[str]] | None:
    """Return the JSON of the card that an import is, and copies of it that are broken.

    None if it is none.

    Raises:
        ValueError: If it should be one and can't be read.
    """
    name = CARD_FILE if CARD_FILE in source.members else ""
    name = name or (source.names[0] if len(source.members) == 1 else "")
    if not name:
        return None
    head = source.head(name, len(PNG))
    if head == PNG:
        return _of_png(source.read(name, MAX_PNG_BYTES))
    if not _is_card(source, name):
        return None
    data = chat_export.load(source, name)
    if isinstance(data, LeftOut):
        raise ValueError(data.why)
    return lenient.mapping(data), []


def _is_card(source: ImportSource, name: str) -> bool:
    shape = chat_export.shape(source, name)
    first = {"name", "description", "personality", "first_mes"} <= shape.keys
    return shape.kind == "object" and (first or {"spec", "data"} <= shape.keys)


def fits(source: ImportSource) -> bool:
    """Whether the file is a card."""
    try:
        found = _find(source)
    except (ValueError, RecursionError):
        return source.head(source.names[0], len(PNG)) == PNG
    if found is None:
        return False
    data, _ = found
    return data.get("spec") in SPECS or {"name", "first_mes"} <= set(data)


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read who the character is, and its world."""
    try:
        found = _find(source)
        if found is None:
            raise ValueError("it is no card")
        data, broken = found
        card = parse(data)
    except (ValueError, RecursionError) as error:
        yield LeftOut(source.path.name, str(error)[:200], broken=True)
        return
    yield persona(card, context.person)
    for keyword in broken:
        yield LeftOut(keyword, "copies of the card that can't be read", broken=True)
    if card.book is not None:
        yield from lore_items(card.book, lambda text: card.filled(text, context.person))
    assets = [name for name in source.names if name != CARD_FILE and len(source.members) > 1]
    if assets:
        yield LeftOut(assets[0], "pictures and other assets of the card", count=len(assets))
    greetings = [text for text in lenient.texts(card.data.get("alternate_greetings")) if text]
    if greetings:
        yield LeftOut(card.name, "other first messages (they stay in x.card)", count=len(greetings))


def persona(card: Card, person: str) -> ImportedPersona:
    """Say who the character is."""
    told = (card.system_prompt, card.description, card.personality, card.scenario)
    return ImportedPersona(
        name=card.name,
        monologue=card.filled("\n\n".join(part.strip() for part in told if part.strip()), person),
        voice=card.filled("\n\n".join(card.examples), person),
        greeting=card.filled(card.greeting, person),
        card=card.data,
    )
