"""Character cards, versions 1 to 3, and their lorebooks: in a PNG, as JSON, as `.charx`.

`parse` reads the JSON of any version, `from_png` finds it; nothing of a card is lost in
`ImportedPersona.card`, so that an export can give it back.

Source: the character card specifications V2 and V3; the PNG specification, third edition.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from string import Template
from typing import Any

from bumble import patterns
from bumble.bridges.imports import foreign
from bumble.bridges.imports.foreign import first, mapping, mappings, text, texts
from bumble.bridges.imports.items import (
    Fact,
    ImportContext,
    ImportedPersona,
    ImportReport,
    Item,
    LeftOut,
    Recipe,
)
from bumble.bridges.imports.source import ImportSource
from bumble.entity import changes, create
from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.files import disk
from bumble.llm import prompts
from bumble.records import base, sessions
from bumble.text import yaml_edit
from bumble.text.words import one_line, shorten

PNG = b"\x89PNG\r\n\x1a\n"
CHUNKS = ("ccv3", "chara")  # keywords of the texts that hold a card, the better one first
SPECS = ("chara_card_v2", "chara_card_v3")
LOREBOOK = "lorebook_v3"
CARD_FILE = "card.json"  # in a .charx
FIRST_FIELDS = ("description", "personality", "scenario", "first_mes", "mes_example")
MAX_PNG_BYTES = 100_000_000
MAX_CARD_BYTES = 24_000_000  # of its JSON
_KEYS_CHARS = 200  # of the words that bring an entry to mind, as a description
_CHAR = patterns.compile(r"\{\{char\}\}|<char>|<bot>", re.IGNORECASE)
_USER = patterns.compile(r"\{\{user\}\}|<user>", re.IGNORECASE)
_START = patterns.compile(r"^[^\S\n]*<START>[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
# Comments, and where the prompt of the program that showed the card would stand.
_DROPPED = patterns.compile(r"\{\{//.*?\}\}|\{\{original\}\}", re.DOTALL | re.IGNORECASE)
# Lines that steer other programs.
_DECORATORS = patterns.compile(r"(?:\s*@@@?[A-Za-z_]+(?:[ \t].*)?(?:\n|$))+")


def without_comments(words: str) -> str:
    """Return words of a card without comments, the macros for names in one spelling each."""
    words = _CHAR.sub("{{char}}", _DROPPED.sub("", words))
    return _USER.sub("{{user}}", words).strip()


def forms(words: str, card: Mapping[str, Any], owner: str) -> tuple[str, str]:
    """Return words of a card as they are kept, and as they once were: with names filled in.

    Args:
        words: With their macros, in one spelling each.
        card: Of which they are.
        owner: What the owner is called; may be empty.
    """
    called = one_line(text(card, "nickname")) or one_line(text(card, "name"))
    filled = words.replace("{{char}}", called).replace("{{user}}", owner or "you")
    return words, filled.strip()


def parse(data: Mapping[str, Any], named: Callable[[str], str] = str) -> ImportedPersona:
    """Read a card of any version: who its character is.

    Its macros for names stay: they are filled in when a prompt is made, with the entity's name
    as it is then. In its greeting `named` puts them.

    Raises:
        ValueError: If it is none.
    """
    is_named = data.get("spec") in SPECS  # it is one, however little it says
    card = mapping(data, "data") if is_named else data
    name = one_line(text(card, "name"))
    if not name or not (is_named or any(text(card, key) for key in FIRST_FIELDS)):
        raise ValueError("it names no character")
    told = [text(card, key).strip() for key in ("system_prompt", *FIRST_FIELDS[:3])]
    said = [part.strip() for part in _START.split(text(card, "mes_example"))]
    return ImportedPersona(
        name=name,
        monologue=without_comments("\n\n".join(filter(None, told))),
        voice=without_comments("\n\n".join(filter(None, said))),
        greeting=named(without_comments(text(card, "first_mes"))),
        card=card,
    )


def lore(data: object, named: Callable[[str], str] = str) -> Iterator[Item]:
    """Make facts of what a lorebook always tells, and recipes, found by their keys, of the rest.

    Args:
        data: The lorebook, of a card or alone; entries may be a list, or a mapping by number.
        named: Puts names in the place of macros.
    """
    inner = mapping(data, "data") if foreign.at(data, "spec") == LOREBOOK else mapping(data)
    entries = inner.get("entries")
    book = one_line(text(inner, "name"))
    suffix = f" ({book})" if book else ""
    listed = mappings(list(entries.values()) if isinstance(entries, dict) else entries)
    for number, entry in enumerate(listed, 1):
        keys = [one_line(key) for key in texts(entry.get("keys", entry.get("key"))) if key.strip()]
        title = one_line(first(entry, "name", "comment"))
        title = title or (keys[0] if keys else f"entry {number}")
        told = named(without_comments(without_decorators(text(entry, "content"))))
        if entry.get("enabled") is False or entry.get("disable") is True:
            yield LeftOut(title, "entries that are switched off")
        elif not told:
            yield LeftOut(title, "entries without a text")
        elif entry.get("constant") is True or not keys:
            yield Fact(f"{title}{suffix}", told, public=True)
        else:
            yield Recipe(f"{title}{suffix}", shorten(", ".join(keys), _KEYS_CHARS), told)


def without_decorators(content: str) -> str:
    """Return the content of an entry without the lines at its head that steer other programs."""
    match = _DECORATORS.match(content)
    return content[match.end() if match else 0 :].strip()


def from_png(image: bytes) -> tuple[Mapping[str, Any], list[str]]:
    """Return the card that an image carries, and the keywords of copies that can't be read.

    Of several that can be read it is the newest version.

    Raises:
        ValueError: If it carries none.
    """
    written = [(name.casefold(), words) for name, words in _png_texts(image)]
    broken: dict[str, str] = {}  # why, by keyword
    for keyword in CHUNKS:
        for words in (words for name, words in written if name == keyword):
            try:
                data = _opened(words)
                parse(data)
            except (ValueError, RecursionError) as error:
                broken[keyword] = str(error)
            else:
                return data, list(broken)
    for keyword, why in broken.items():
        raise ValueError(f"its card can't be decoded ({keyword}): {why}")
    raise ValueError("the image carries no card")


def _opened(data: bytes) -> Mapping[str, Any]:
    """Read the JSON of a card as programs put it into an image: in base64 of any kind, or plain.

    Raises:
        ValueError: If it is none.
    """
    plain = data.decode("utf-8-sig").strip()
    if not plain.startswith("{"):
        code = "".join(plain.rpartition("base64,")[2].split()).rstrip("=")
        code = code.translate(str.maketrans("-_", "+/"))
        plain = base64.b64decode(code + "=" * (-len(code) % 4)).decode("utf-8-sig").strip()
    return mapping(json.loads(plain))


def png_chunks(image: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the chunks of a PNG, as far as it goes; the last of a whole one is IEND."""
    place, kind = len(PNG), b""
    while image.startswith(PNG) and place + 8 <= len(image) and kind != b"IEND":
        length, kind = struct.unpack(">I4s", image[place : place + 8])
        yield kind, image[place + 8 : place + 8 + length]
        place += 12 + length


def _png_texts(image: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield keyword and text of each text chunk; of those that are no such chunk, nothing."""
    for kind, data in png_chunks(image):
        keyword, _, rest = data.partition(b"\0")
        name = keyword.decode("latin-1")
        match kind:
            case b"tEXt":
                yield name, rest
            case b"zTXt":
                yield name, _inflated(rest[1:])
            case b"iTXt":
                words = rest[2:].partition(b"\0")[2].partition(b"\0")[2]
                yield name, _inflated(words) if rest[:1] == b"\1" else words


def _inflated(data: bytes) -> bytes:
    """Return compressed text, as far as it goes and no longer than a card may be."""
    try:
        return zlib.decompressobj().decompress(data, MAX_CARD_BYTES)
    except zlib.error:
        return b""


def _main(source: ImportSource) -> str:
    """Return the file that is the card, or the only one; empty where there are several."""
    is_one = len(source.members) == 1
    return CARD_FILE if CARD_FILE in source.members else source.names[0] if is_one else ""


def _found(source: ImportSource) -> tuple[Mapping[str, Any], list[str]]:
    """Return the JSON that an import is, or its image carries, and copies of it that are broken.

    Raises:
        ValueError: If it can't be read.
    """
    if not (name := _main(source)):
        raise ValueError("it is no card")
    if source.head(name, len(PNG)) == PNG:
        return from_png(source.read(name, MAX_PNG_BYTES))
    data = foreign.load(source, name)
    if isinstance(data, LeftOut):
        raise ValueError(data.why)
    return mapping(data), []


def _shown(source: ImportSource, *signs: str) -> Mapping[str, Any]:
    """Return what the file says that may be a card; nothing of one without its signs."""
    name = _main(source)
    is_shown = name and foreign.keys(source, name) & set(signs)
    return mapping(foreign.load(source, name)) if is_shown else {}


def fits(source: ImportSource) -> bool:
    """Whether the file is a card."""
    if len(source.members) == 1 and source.head(source.names[0], len(PNG)) == PNG:
        return True
    data = _shown(source, "spec", "first_mes")
    return data.get("spec") in SPECS or {"name", "first_mes"} <= set(data)


def read(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read who the character is, and its world."""
    try:
        data, broken = _found(source)
        found = parse(data, context.named)
    except (ValueError, RecursionError) as error:
        yield LeftOut(source.path.name, str(error)[:200], broken=True)
        return
    yield found
    for keyword in broken:
        yield LeftOut(keyword, "copies of the card that can't be read", broken=True)
    yield from lore(mapping(found.card, "character_book"), context.named)
    if assets := [name for name in source.names if name != CARD_FILE and len(source.members) > 1]:
        yield LeftOut(assets[0], "pictures and other assets of the card", count=len(assets))
    if greetings := list(filter(None, texts(found.card, "alternate_greetings"))):
        why = "other first messages (they stay in x.card)"
        yield LeftOut(found.name, why, count=len(greetings))


def fits_lorebook(source: ImportSource) -> bool:
    """Whether the only file is a lorebook."""
    data = _shown(source, "entries", "spec")
    return data.get("spec") == LOREBOOK or "entries" in data


def read_lorebook(source: ImportSource, context: ImportContext) -> Iterator[Item]:
    """Read the entries."""
    for name in source.names:
        data = foreign.load(source, name)
        found = [data] if isinstance(data, LeftOut) else list(lore(data, context.named))
        yield from found or [LeftOut(name, "a lorebook without entries", broken=True)]


MAX_CHARS = {"monologue": 20_000, "voice": 8_000}
MAX_CARD_CHARS = 100_000  # of x.card: a settings file must stay quick to read


def plan_persona(
    entity: Entity, persona: ImportedPersona, now: datetime, person: str, report: ImportReport
) -> list[changes.Change]:
    """Plan to take over who somebody is.

    Args:
        entity: Who takes it over.
        persona: Who that is.
        now: The present.
        person: Id of whom its greeting is for.
        report: Hears what is set, and what is left out.
    """
    before = disk.read(entity.file).decode("utf-8")
    values = yaml_edit.parse_mapping(before)
    after = before
    for key, own in (("monologue", persona.monologue), ("voice", persona.voice)):
        told = forms(own, persona.card, foreign.text(foreign.mapping(values, "owner"), "name"))
        after = _with_text(after, values, key, told, report)
    is_new = not foreign.mapping(foreign.mapping(values.get("x")).get("card"))
    if persona.card:
        after = _with_card(after, values, persona, report)
    if after == before:
        return []
    if persona.name and values.get("name") not in (persona.name, persona.card.get("nickname")):
        why = "a name: the entity keeps its own; `bumble config set name NAME` gives it another"
        report.leave(LeftOut(persona.name, why))
    planned = [changes.write(ENTITY_FILE, after, before, "who it is, by a card")]
    if persona.greeting and persona.card and is_new:
        planned.append(_greeting(persona, now, person))
        report.persona.append("its first message, in a new conversation")
    return planned


def _with_text(
    source: str, values: Mapping[str, Any], key: str, told: Sequence[str], report: ImportReport
) -> str:
    """Set a text of the entity's identity, the first of its forms, unless it has its own."""
    wanted, *older = [
        prompts.harmless(foreign.cleaned(text)).strip()[: MAX_CHARS[key]] for text in told
    ]
    present = foreign.text(foreign.mapping(values.get("identity")).get(key)).strip()
    if not wanted or present in (wanted, *(text.strip() for text in older)):
        return source
    name = f"identity.{key}"
    if present and present not in _given(foreign.text(values.get("name")), key):
        report.leave(LeftOut(name, "the entity has words of its own there"))
        return source
    return _with_value(source, name, ("identity", key), f"{wanted}\n", report)


def _with_value(
    source: str, name: str, keys: tuple[str, ...], value: object, report: ImportReport
) -> str:
    try:
        changed = yaml_edit.set_value(source, keys, value)
    except yaml_edit.SourceError as error:
        report.leave(LeftOut(name, error.problem, broken=True))
        return source
    report.persona += [name] * (changed != source)
    return changed


def _given(name: str, key: str) -> set[str]:
    """Return what archetypes give a newborn."""
    texts = (archetype.get(key, "") for archetype in create.archetypes().values())
    return {Template(text).safe_substitute(name=name).strip() for text in texts}


def _with_card(
    source: str, values: Mapping[str, Any], persona: ImportedPersona, report: ImportReport
) -> str:
    """Keep a card under `x.card`; without its book where it is long."""
    kept = foreign.mapping(values.get("x"))
    card = dict(persona.card)
    if foreign.mapping(kept.get("card")).get("name", card.get("name")) != card.get("name"):
        report.leave(LeftOut("x.card", "the card of another character is kept there"))
        return source
    without_book = {key: value for key, value in card.items() if key != "character_book"}
    for wanted in (card, without_book):
        if len(yaml_edit.inline(wanted)) <= MAX_CARD_CHARS:
            return _with_value(source, "x.card", ("x",), {**kept, "card": wanted}, report)
    report.leave(LeftOut("x.card", f"cards longer than {MAX_CARD_CHARS:,} characters"))
    return source


def _greeting(persona: ImportedPersona, now: datetime, person: str) -> changes.Change:
    """Begin a conversation with what the character says first."""
    key = f"greeting of {persona.name}"
    session = sessions.new(base.stable_id(sessions.PREFIX, now, key), now, person)
    message = sessions.Message(
        base.stable_id(sessions.MESSAGE_PREFIX, now, key),
        now,
        "assistant",
        persona.greeting,
        trust="imported",
        extra={"unprompted": True},
    )
    return sessions.plan_start(session, f"a first message of {persona.name}", [message])
