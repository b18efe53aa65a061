"""The rules of an entity: every text that it obeys, or by which it acts by itself.

Who it is, what it may do unasked, locked sections, the files of every prompt, skills, automations
that are on. What it remembers (the living memory too) is no rule: that is shown with its origin.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TypeVar

from msgspec.structs import replace

from bumble.entity import approvals, companions, config, settings
from bumble.entity.changes import Version
from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.errors import UserError
from bumble.records import automations, knowledge, skills, working
from bumble.text import yaml_edit
from bumble.text.words import one_line, shorten

T = TypeVar("T")

MOST_NAMED = 5  # in a warning
MOST_CHARS = 600  # of a rule, where it is shown


def of_section(section: knowledge.KnowledgeSection) -> approvals.Rule:
    """Return the rule of a locked section."""
    name = f"{knowledge.PATH}: {section.title}"
    origin = section.provenance
    return approvals.rule(
        name, knowledge.PATH, section.text, section.text, origin.trust, origin.audience
    )


def of_prompt_file(name: str, text: str) -> approvals.Rule:
    """Return the rule that a file of every prompt is."""
    return approvals.rule(name, name, text, text.strip())


def of_skill(skill: skills.Skill) -> approvals.Rule:
    """Return the rule that a skill is."""
    told = (skill.name, skill.description, skill.text, skill.provenance.trust)
    return approvals.rule(skill.path, skill.path, skill.description or skill.text, *told)


def of_automation(automation: automations.Automation) -> approvals.Rule:
    """Return the rule that an automation is while it is on."""
    path, told = (
        automations.AUTOMATION.path(automation.id),
        (automation.schedule, automation.prompt),
    )
    return approvals.rule(path, path, f"{automation.schedule} {automation.prompt}", *told)


def read(entity: Entity, known: settings.Settings) -> list[approvals.Rule]:
    """Return the rules of an entity; what can't be read is none."""
    found = list(known.rules)
    names = known.config.prompt.bootstrap_files
    paths = [knowledge.PATH, *(name for name in names if name != working.PATH)]
    for kind in (skills.SKILL, automations.AUTOMATION):
        paths += map(entity.relative, kind.paths(entity))
    for path in paths:
        with suppress(UserError, OSError):
            data = companions.read(entity.root, path)
            found += in_file(path, data or b"", names) if data else ()
    return found


def in_file(path: str, data: bytes, prompt_files: Sequence[str]) -> list[approvals.Rule]:
    """Return the rules in a version of a file.

    Args:
        path: Relative to the folder.
        data: The version.
        prompt_files: Which files are in every prompt.
    """
    text = data.decode(errors="replace")
    found: Sequence[approvals.Rule] = ()
    with suppress(ValueError):
        found = _of_kind(path, text)
    return [*found, *([of_prompt_file(path, text)] if path in prompt_files else [])]


def _of_kind(path: str, text: str) -> Sequence[approvals.Rule]:
    """Return the rules in a file that holds records, or settings.

    Raises:
        ValueError: If it can't be read.
    """
    place = PurePosixPath(path)
    if path == ENTITY_FILE:
        return settings.rules(yaml_edit.parse_mapping(text))
    if path == knowledge.PATH:
        return [of_section(one) for one in knowledge.parse(text).sections if one.locked]
    if place.parts[0] == skills.SKILL.folder:
        return [of_skill(skills.SKILL.parse(text, skills.SKILL.named(place)))]
    if place.parts[0] == automations.AUTOMATION.folder:
        automation = automations.AUTOMATION.parse(text, place.stem)
        return [of_automation(automation)] if automation.enabled else []
    return ()


def pending(
    entity: Entity, some: Sequence[approvals.Rule], *, whole: bool = False
) -> list[approvals.Rule]:
    """Return the rules that came from elsewhere, and that the owner has not approved.

    Args:
        entity: Whose.
        some: Of its rules.
        whole: Whether these are all.
    """
    names = [one.file for one in some]

    def held(path: str, data: bytes) -> list[str]:
        return [one.digest for one in in_file(path, data, names)]

    return approvals.pending(entity.approval, some, held, whole=whole)


def obeyed(entity: Entity, things: Iterable[T], rule_of: Callable[[T], approvals.Rule]) -> list[T]:
    """Return those of some things, each a rule, that count."""
    rules = [(thing, rule_of(thing)) for thing in things]
    left = {one.digest for one in pending(entity, [one for _, one in rules])}
    return [thing for thing, one in rules if one.digest not in left]


def own_identity(entity: Entity, identity: config.Identity) -> config.Identity:
    """Return who an entity is, as far as its prompts may say so: else the bare name."""
    if pending(entity, [settings.identity_rule(identity)]):
        return replace(identity, owner=config.Owner(), identity=config.Persona())
    who = identity.identity
    monologue, voice = identity.named(who.monologue), identity.named(who.voice)
    return replace(identity, identity=replace(who, monologue=monologue, voice=voice))


def own_book(entity: Entity, book: knowledge.Knowledge) -> knowledge.Knowledge:
    """Return what an entity knows without the locked sections that don't count."""
    own = obeyed(entity, [one for one in book.sections if one.locked], of_section)
    kept = (section for section in book.sections if not section.locked or section in own)
    return replace(book, sections=tuple(kept))


def brought(versions: Sequence[Version], prompt_files: Sequence[str]) -> list[approvals.Rule]:
    """Return the rules that are in the later versions of some files and not in the earlier."""
    sides = (
        [in_file(one.path, data or b"", prompt_files) for data in (one.before, one.after)]
        for one in versions
    )
    return [one for before, after in sides for one in after if one not in before]


def warning(root: Path, waiting: Sequence[approvals.Rule]) -> str:
    """Say which rules don't count, and what makes them count."""
    names = ", ".join(one.name for one in waiting[:MOST_NAMED]) + (
        ", …" if waiting[MOST_NAMED:] else ""
    )
    return (
        f"came from elsewhere, and is not obeyed: {names}.\n"
        f"If you want it so: bumble config trust {shlex.quote(str(root))}"
    )


def line(one: approvals.Rule) -> str:
    """Word a rule for its owner."""
    text = one_line(one.summary)
    more = f" ({len(text):,} characters in all)" if len(text) > MOST_CHARS else ""
    return f"{one.name}: {shorten(text, MOST_CHARS)}{more}"
