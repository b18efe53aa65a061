"""A character card of an entity: who it is, and as a lorebook what everybody may know of it.

What a card that was imported said stays as it was, wherever the entity has not changed since.
Source: the character card specifications V2 and V3.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from bumble.bridges.exports.memories import Pages, safe
from bumble.bridges.imports import card, lenient
from bumble.bridges.imports.card import PNG
from bumble.bridges.imports.ledger import Fact, ImportedPersona, Recipe
from bumble.entity.config import Identity
from bumble.records import kinds

WIDTH, HEIGHT = 400, 600  # what programs that show cards draw them in
TOP, BOTTOM = (250, 204, 77), (92, 64, 20)  # a bee's
# What a picture tells beside its pixels may be where it was taken, or another card.
TELLING = (b"tEXt", b"iTXt", b"zTXt", b"eXIf", b"tIME")


def with_texts(picture: bytes, texts: Mapping[str, bytes]) -> bytes:
    """Return a picture that carries texts, by keyword, in the place of those it had.

    Raises:
        ValueError: If it is no PNG.
    """
    parts = [PNG]
    for kind, data in _chunks(picture):
        if kind == b"IEND":
            parts += [_chunk(b"tEXt", f"{key}\0".encode() + text) for key, text in texts.items()]
        if kind not in TELLING:
            parts.append(_chunk(kind, data))
    return b"".join(parts)


def plain() -> bytes:
    """Draw a picture for a character that has none."""
    rows = bytearray()
    for y in range(HEIGHT):
        color = (top + (end - top) * y // HEIGHT for top, end in zip(TOP, BOTTOM, strict=True))
        rows += b"\0" + bytes(color) * WIDTH
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(rows), 9)
    return PNG + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not picture.startswith(PNG):
        raise ValueError("it is no PNG")
    at = len(PNG)
    while at + 12 <= len(picture):
        length, kind = struct.unpack(">I4s", picture[at : at + 8])
        data = picture[at + 8 : at + 8 + length]
        if len(data) < length:
            break
        yield kind, data
        if kind == b"IEND":
            return
        at += 12 + length
    raise ValueError("it is cut off")


ONLY_V3 = (
    *("nickname", "assets", "creator_notes_multilingual", "source"),
    *("group_only_greetings", "creation_date", "modification_date"),
)
ENTRY_ONLY_V3 = ("use_regex",)


def data(
    identity: Identity, origin: Mapping[str, Any], pages: Pages, owner: str, now: datetime
) -> dict[str, Any]:
    """Return the card's fields, of version 3.

    Args:
        identity: Who the entity is.
        origin: The card that it was made of, as it stood; empty if of none.
        pages: What the card may tell.
        owner: What the person is called whom an imported card was filled in for.
        now: The present.
    """
    fields: dict[str, Any] = {
        "creator_notes": "",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": [],
        "group_only_greetings": [],
        "tags": [],
        "creator": "",
        "character_version": "",
        "extensions": {},
        "first_mes": "",
        **origin,
    }
    before = _persona(origin, owner)
    if origin.get("name") != identity.name:
        fields["name"] = safe(identity.name)
    persona = identity.identity
    if before is None or before.monologue != persona.monologue.strip():
        fields |= {"description": safe(persona.monologue.strip()), "system_prompt": ""}
        fields |= {"personality": "", "scenario": ""}
    if before is None or before.voice != persona.voice.strip():
        fields["mes_example"] = safe(persona.voice.strip())
    fields["character_book"] = _book(identity.name, origin, pages, owner)
    fields["modification_date"] = int(now.timestamp())
    return fields


def _persona(origin: Mapping[str, Any], owner: str) -> ImportedPersona | None:
    """Return what an import makes of a card."""
    try:
        return card.persona(card.parse(origin), owner)
    except ValueError:
        return None


def _book(name: str, origin: Mapping[str, Any], pages: Pages, owner: str) -> dict[str, Any]:
    """Return the lorebook: the card's own entries, then what the entity knows beside."""
    own = lenient.mapping(origin.get("character_book"))
    entries = lenient.mappings(own.get("entries"))
    items = card.lore_items(card.lorebook(own)) if own else ()
    there = {item.title for item in items if isinstance(item, Fact)}
    there |= {item.name for item in card.lore_items(card.lorebook(own)) if isinstance(item, Recipe)}
    order = len(entries)
    added: list[Mapping[str, Any]] = []
    for page in pages.pages:
        if page.kind not in (kinds.KNOWLEDGE, kinds.SKILL) or page.title in there:
            continue
        is_skill = page.kind is kinds.SKILL
        keys = [part.strip() for part in page.description.split(",")] if is_skill else []
        entry = {
            "keys": [key for key in keys if key] or [page.title],
            "content": page.text,
            "extensions": {},
            "enabled": True,
            "insertion_order": order + len(added) + 1,
            "use_regex": False,
            "constant": not is_skill,
            "name": page.title,
        }
        added.append(entry)
    return {"name": name, "extensions": {}, **own, "entries": [*entries, *added]}


def as_json(fields: Mapping[str, Any]) -> bytes:
    """Return a card as a file of JSON, of version 3."""
    return json.dumps(_whole(fields, 3), ensure_ascii=False, indent=2).encode("utf-8") + b"\n"


def as_png(fields: Mapping[str, Any], picture: bytes) -> bytes:
    """Return a picture that carries a card, in version 3 and 2.

    Raises:
        ValueError: If the picture is no PNG.
    """
    older = _version_2(fields)
    texts = {"chara": _encoded(_whole(older, 2)), "ccv3": _encoded(_whole(fields, 3))}
    return with_texts(picture, texts)


def _whole(fields: Mapping[str, Any], version: int) -> dict[str, Any]:
    return {"spec": card.SPECS[version - 2], "spec_version": f"{version}.0", "data": dict(fields)}


def _encoded(whole: Mapping[str, Any]) -> bytes:
    return base64.b64encode(json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace"))


def _version_2(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without what version 2 has not: decorators too, which it would show."""
    older = {key: value for key, value in fields.items() if key not in ONLY_V3}
    book = lenient.mapping(fields.get("character_book"))
    entries = [
        {
            **{key: value for key, value in entry.items() if key not in ENTRY_ONLY_V3},
            "content": card.without_decorators(lenient.text(entry.get("content"))),
        }
        for entry in lenient.mappings(book.get("entries"))
    ]
    return {**older, "character_book": {**book, "entries": entries}}
