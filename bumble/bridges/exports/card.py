"""A character card of an entity: who it is, and as a lorebook what everybody may know of it.

What a card that was imported said stays as it was, wherever the entity has not changed since.
Source: the character card specifications V2 and V3.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bumble.bridges.exports.memories import Pages
from bumble.bridges.imports import card, foreign, items
from bumble.entity.config import Identity
from bumble.entity.secrets import redacted
from bumble.records import knowledge, skills

PLAIN = Path(__file__).with_name("plain.png")  # the picture of a character that has none
# What a picture tells beside its pixels may be where it was taken, or another card.
TELLING = (b"tEXt", b"iTXt", b"zTXt", b"eXIf", b"tIME")
ONLY_V3 = (
    *("nickname", "assets", "creator_notes_multilingual", "source"),
    *("group_only_greetings", "creation_date", "modification_date"),
)


def data(
    identity: Identity, origin: Mapping[str, Any], pages: Pages, now: datetime
) -> dict[str, Any]:
    """Return the card's fields, of version 3.

    Args:
        identity: Who the entity is.
        origin: The card that it was made of, as it stood; empty if of none.
        pages: What the card may tell.
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
    try:  # what an import made of it
        before = card.parse(origin)
    except ValueError:
        before = None
    if origin.get("name") != identity.name:
        fields["name"] = redacted(identity.name)
    persona = identity.identity

    def is_told(words: str, present: str) -> bool:
        return present.strip() in card.forms(words, origin, identity.owner.name)

    if before is None or not is_told(before.monologue, persona.monologue):
        fields |= {"description": redacted(persona.monologue.strip()), "system_prompt": ""}
        fields |= {"personality": "", "scenario": ""}
    if before is None or not is_told(before.voice, persona.voice):
        fields["mes_example"] = redacted(persona.voice.strip())
    fields["character_book"] = _book(identity.name, origin, pages)
    fields["modification_date"] = int(now.timestamp())
    return fields


def _book(name: str, origin: Mapping[str, Any], pages: Pages) -> dict[str, Any]:
    """Return the lorebook: the card's own entries, then what the entity knows beside."""
    own = foreign.mapping(origin, "character_book")
    entries = foreign.mappings(own, "entries")
    lore = list(card.lore(own))
    there = {item.title for item in lore if isinstance(item, items.Fact)}
    there |= {item.name for item in lore if isinstance(item, items.Recipe)}
    added: list[Mapping[str, Any]] = []
    for page in pages.pages:
        if page.kind not in (knowledge.KNOWLEDGE, skills.SKILL) or page.title in there:
            continue
        is_skill = page.kind is skills.SKILL
        keys = [part.strip() for part in page.description.split(",")] if is_skill else []
        entry = {
            "keys": [key for key in keys if key] or [page.title],
            "content": page.text,
            "extensions": {},
            "enabled": True,
            "insertion_order": len(entries) + len(added) + 1,
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
    texts = {"chara": _whole(_version_2(fields), 2), "ccv3": _whole(fields, 3)}
    parts, kind = [card.PNG], b""
    for kind, chunk in card.png_chunks(picture):
        if kind == b"IEND":
            for key, whole in texts.items():
                written = json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace")
                parts.append(_chunk(b"tEXt", f"{key}\0".encode() + base64.b64encode(written)))
        if kind not in TELLING:
            parts.append(_chunk(kind, chunk))
    if kind != b"IEND":
        raise ValueError("it is no PNG, or is cut off")
    return b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _whole(fields: Mapping[str, Any], version: int) -> dict[str, Any]:
    return {"spec": card.SPECS[version - 2], "spec_version": f"{version}.0", "data": dict(fields)}


def _version_2(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without what version 2 has not: decorators too, which it would show."""
    older = {key: value for key, value in fields.items() if key not in ONLY_V3}
    book = foreign.mapping(fields, "character_book")
    entries = [
        {
            **{key: value for key, value in entry.items() if key != "use_regex"},
            "content": card.without_decorators(foreign.text(entry, "content")),
        }
        for entry in foreign.mappings(book, "entries")
    ]
    return {**older, "character_book": {**book, "entries": entries}}
