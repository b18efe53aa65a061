"""Character cards, versions 1 to 3: in a PNG, as JSON, as `.charx`.

`parse` reads the JSON of any version, `from_png` and `from_charx` find it; nothing of a card is
lost in `Card.data`, so that an export can give it back.

Source: the character card specifications V2 and V3.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from bumble.imports import chat_export, lenient, lorebook
from bumble.imports.items import ImportContext, ImportedPersona, Item, LeftOut
from bumble.imports.lorebook import Lorebook
from bumble.imports.source import ImportSource

PNG = b"\x89PNG\r\n\x1a\n"
CHUNKS = ("ccv3", "chara")  # keywords of the texts that hold a card, the better one first
SPECS = ("chara_card_v2", "chara_card_v3")
CARD_FILE = "card.json"  # in a .charx
FIRST_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
MAX_PNG_BYTES = 100_000_000
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
        book=lorebook.parse(book) if isinstance(book, dict) else None,
        data=inner,
    )


def from_png(image: bytes) -> Mapping[str, Any]:
    """Return the card that an image carries, the newest version of several.

    Raises:
        ValueError: If it carries none.
    """
    texts = dict(_png_texts(image))
    for keyword in CHUNKS:
        if keyword in texts:
            try:
                raw = base64.b64decode(texts[keyword], validate=False)
            except binascii.Error as error:
                raise ValueError(f"its card can't be decoded: {error}") from error
            data = json.loads(raw.decode("utf-8"))
            return lenient.mapping(data)
    raise ValueError("the image carries no card")


def _png_texts(image: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield keyword and text of each `tEXt` chunk, the first of a keyword."""
    at, seen = len(PNG), set[str]()
    while at + 8 <= len(image):
        length, kind = struct.unpack(">I4s", image[at : at + 8])
        if kind == b"tEXt":
            keyword, _, text = image[at + 8 : at + 8 + length].partition(b"\0")
            name = keyword.decode("latin-1")
            if name not in seen:
                seen.add(name)
                yield name, text
        if kind == b"IEND":
            return
        at += 12 + length


def _find(source: ImportSource) -> Mapping[str, Any] | None:
    """Return the JSON of the card that an import is; None if it is none.

    Raises:
        ValueError: If it should be one and can't be read.
    """
    name = CARD_FILE if CARD_FILE in source.members else ""
    name = name or (source.names[0] if len(source.members) == 1 else "")
    if not name:
        return None
    head = source.head(name, len(PNG))
    if head == PNG:
        return from_png(source.read(name, MAX_PNG_BYTES))
    if not _is_card(source, name):
        return None
    data = chat_export.load(source, name)
    if isinstance(data, LeftOut):
        raise ValueError(data.why)
    return lenient.mapping(data)


def _is_card(source: ImportSource, name: str) -> bool:
    shape = chat_export.shape(source, name)
    first = {"name", "description", "personality", "first_mes"} <= shape.keys
    return shape.kind == "object" and (first or {"spec", "data"} <= shape.keys)


def fits(source: ImportSource) -> bool:
    """Whether the file is a card."""
    try:
        data = _find(source)
    except (ValueError, RecursionError):
        return source.head(source.names[0], len(PNG)) == PNG
    if data is None:
        return False
    return data.get("spec") in SPECS or {"name", "first_mes"} <= set(data)


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read who the character is, and its world."""
    try:
        data = _find(source)
        if data is None:
            raise ValueError("it is no card")
        card = parse(data)
    except (ValueError, RecursionError) as error:
        yield LeftOut(source.path.name, str(error)[:200], broken=True)
        return
    yield persona(card, context.person)
    if card.book is not None:
        yield from lorebook.items(card.book, lambda text: card.filled(text, context.person))
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
