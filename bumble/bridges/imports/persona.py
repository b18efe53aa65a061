"""Who an imported character is, in `entity.yaml`: only where the entity has no self of its own yet.

What an archetype gave counts as none. All of a card is kept under `x.card` for an export.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from string import Template
from typing import Any

from msgspec import Struct, field

from bumble.bridges.imports import foreign
from bumble.bridges.imports.ledger import ImportedPersona, LeftOut
from bumble.entity import changes, create
from bumble.entity.changes import Change
from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.files import disk
from bumble.llm import prompts
from bumble.records import base, sessions
from bumble.records.sessions import Message
from bumble.text import yaml_edit

MAX_CHARS = {"monologue": 20_000, "voice": 8_000}
MAX_CARD_CHARS = 100_000  # of x.card: a settings file must stay quick to read
BOOK = "character_book"
WHY = "who it is, by a card"
KEEPS_NAME = "a name: the entity keeps its own; `bumble config set name NAME` gives it another"


class PersonaImport(Struct):
    """What an import makes of somebody's self."""

    changes: list[Change] = field(default_factory=list)
    written: list[str] = field(default_factory=list)  # settings
    left_out: list[LeftOut] = field(default_factory=list)


def plan(entity: Entity, persona: ImportedPersona, now: datetime, person: str) -> PersonaImport:
    """Plan to take over who somebody is.

    Args:
        entity: Who takes it over.
        persona: Who that is.
        now: The present.
        person: Id of whom its greeting is for.
    """
    outcome = PersonaImport()
    before = disk.read(entity.file).decode("utf-8")
    values = yaml_edit.parse_mapping(before)
    after = before
    for key, text in (("monologue", persona.monologue), ("voice", persona.voice)):
        after = _with_text(after, values, key, text, outcome)
    is_new = not foreign.mapping(foreign.mapping(values.get("x")).get("card"))
    if persona.card:
        after = _with_card(after, values, persona, outcome)
    if after == before:
        return outcome
    if persona.name and values.get("name") not in (persona.name, persona.card.get("nickname")):
        outcome.left_out.append(LeftOut(persona.name, KEEPS_NAME))
    outcome.changes.append(changes.write(ENTITY_FILE, after, before, WHY))
    if persona.greeting and persona.card and is_new:
        outcome.changes.append(_greeting(persona, now, person))
        outcome.written.append("its first message, in a new conversation")
    return outcome


def _with_text(
    source: str, values: Mapping[str, Any], key: str, text: str, outcome: PersonaImport
) -> str:
    """Set a text of the entity's identity, unless it has one of its own."""
    wanted = prompts.harmless(foreign.cleaned(text)).strip()[: MAX_CHARS[key]]
    present = foreign.text(foreign.mapping(values.get("identity")).get(key)).strip()
    if not wanted or wanted == present:
        return source
    name = f"identity.{key}"
    if present and present not in _given(foreign.text(values.get("name")), key):
        outcome.left_out.append(LeftOut(name, "the entity has words of its own there"))
        return source
    try:
        changed = yaml_edit.set_value(source, ("identity", key), f"{wanted}\n")
    except yaml_edit.SourceError as error:
        outcome.left_out.append(LeftOut(name, error.problem, broken=True))
        return source
    outcome.written.append(name)
    return changed


def _given(name: str, key: str) -> set[str]:
    """Return what archetypes give a newborn."""
    texts = (archetype.get(key, "") for archetype in create.archetypes().values())
    return {Template(text).safe_substitute(name=name).strip() for text in texts}


def _with_card(
    source: str, values: Mapping[str, Any], persona: ImportedPersona, outcome: PersonaImport
) -> str:
    """Keep a card under `x.card`; without its book where it is long."""
    kept = foreign.mapping(values.get("x"))
    card = dict(persona.card)
    if foreign.mapping(kept.get("card")).get("name", card.get("name")) != card.get("name"):
        outcome.left_out.append(LeftOut("x.card", "the card of another character is kept there"))
        return source
    for wanted in (card, {key: value for key, value in card.items() if key != BOOK}):
        if len(yaml_edit.inline(wanted)) > MAX_CARD_CHARS:
            continue
        try:
            changed = yaml_edit.set_value(source, ("x",), {**kept, "card": wanted})
        except yaml_edit.SourceError as error:
            outcome.left_out.append(LeftOut("x.card", error.problem, broken=True))
            return source
        if changed != source:
            outcome.written.append("x.card")
        return changed
    outcome.left_out.append(LeftOut("x.card", f"cards longer than {MAX_CARD_CHARS:,} characters"))
    return source


def _greeting(persona: ImportedPersona, now: datetime, person: str) -> Change:
    """Begin a conversation with what the character says first."""
    key = f"greeting of {persona.name}"
    session = sessions.new(base.stable_id(sessions.PREFIX, now, key), now, person)
    message = Message(
        base.stable_id(sessions.MESSAGE_PREFIX, now, key),
        now,
        "assistant",
        persona.greeting,
        trust="imported",
        extra={"unprompted": True},
    )
    return sessions.plan_whole(session, [message], f"a first message of {persona.name}")
