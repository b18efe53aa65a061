"""The system prompt: its parts and order, what is always in it, and the preamble's budget.

The stable part is a function of files alone, so two processes over unchanged files make the same
bytes; its SHA-256 tells when it changed. What changes from turn to turn heads the last user message
and is never stored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.config import Identity, Persona, PromptConfig
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.llm import prompts
from bumble.llm.protocol import Block, PromptMessage, Tool
from bumble.prompt import prompt_files
from bumble.prompt.prompt_files import BootstrapFile
from bumble.records import base, provenance
from bumble.records import knowledge as knowledge_store
from bumble.records import narrative as narrative_store
from bumble.records import skills as skills_store
from bumble.records.base import Provenance
from bumble.records.knowledge import Knowledge
from bumble.records.narrative import Narrative
from bumble.records.skills import Skill
from bumble.runtime import rules
from bumble.text import tokens

_OPENING = re.compile(r"<[^/<>][^<>]*>")  # a tag on a line of its own


class Stable(Struct, frozen=True):
    """The system prompt."""

    text: str
    parts: tuple[Block, ...]  # what it was made from, in order; together as long as the text
    files: tuple[BootstrapFile, ...] = ()  # of the owner's, in it or missing
    skills: tuple[Block, ...] = ()  # their lines
    examples: tuple[PromptMessage, ...] = ()  # of how it answers, as turns before any conversation

    @property
    def messages(self) -> tuple[PromptMessage, ...]:
        """What every request begins with."""
        return (PromptMessage("system", self.text), *self.examples)

    @property
    def tokens(self) -> int:
        """Its estimated length."""
        return sum(tokens.estimate_message(message.content) for message in self.messages)

    @property
    def sha256(self) -> str:
        """Fingerprint of everything it renders."""
        whole = "\0".join(message.content for message in self.messages)
        return hashlib.sha256(whole.encode()).hexdigest()


def of_entity(
    entity: Entity,
    identity: Identity,
    tools: Sequence[Tool],
    config: PromptConfig,
    readers: Sequence[str],
    mood: str = "",
    topics: str = "",
    *,
    native: bool = False,
) -> Stable:
    """Make the system prompt from an entity's files as they are, and its mood if it goes there.

    Args:
        entity: Whose files.
        identity: Who it is.
        tools: What it may do.
        config: Which files of the owner's go in, and how long.
        readers: Ids of the people of the conversation: a skill or a story that is not for all of
            them stays out; a fact only stays in if it is for everyone.
        mood: The mood, if it goes there.
        topics: The overview of what memory is about.
        native: Whether the model has tools of its own, so that none is told of here.

    A file that a hand has broken is left out; the index names it. So is a rule that came from
    elsewhere, until its owner approves it.
    """
    story = None
    with suppress(RecordInvalidError):
        story = narrative_store.read(entity.narrative)
    skills = rules.obeyed(entity, skills_store.read(entity.skills), rules.of_skill)
    return stable(
        rules.own_identity(entity, identity),
        tools,
        [skill for skill in skills if base.may_read(skill.provenance.audience, readers)],
        rules.own_book(entity, knowledge_store.readable(entity.knowledge)),
        narrative_store.told_to(story, readers) if story and _is_told(story) else "",
        prompt_files.read(entity, config, readers),
        mood,
        topics,
        home=entity.root.name,
        native=native,
    )


def stable(
    identity: Identity,
    tools: Sequence[Tool],
    skills: Sequence[Skill],
    knowledge: Knowledge,
    narrative: str,
    own_files: Sequence[BootstrapFile] = (),
    mood: str = "",
    topics: str = "",
    *,
    home: str = "",
    native: bool = False,
) -> Stable:
    """Make the system prompt from what the entity's files say."""
    who = identity.identity
    listed = _listed(skills)
    parts = {
        "monologue": who.monologue.strip(),
        "voice": who.voice.strip(),
        "character": _character(who),
        "people": f"\n{identity.owner.name} looks after you.\n" if identity.owner.name else "",
        "mood": f"\nYour mood: {mood}.\n" if mood else "",
        "how": prompts.load("act_native" if native else "act_json").fill(name=identity.name),
        "tools": "" if native else "\n".join(tool_line(tool) for tool in tools),
        "skills": _section("# Skills you can read", "\n".join(skill.text for skill in listed)),
        "knowledge": _section("# Always true", locked(knowledge)),
        "files": _section("# Files you keep in mind", files(own_files)),
        "narrative": _section("# Your story so far", narrative.strip()),
        "runtime": _runtime(identity, tools, home),
        "topics": _section("# What your memories are about, as of this morning", topics),
    }
    page = prompts.load("system")
    fixed = Block("frame", page.fill(name=identity.name, **dict.fromkeys(parts, "")))
    return Stable(
        page.fill(name=identity.name, **parts),
        (fixed, *(Block(name, part) for name, part in parts.items())),
        tuple(own_files),
        listed,
    )


def _character(who: Persona) -> str:
    """Say what became of the entity beside its first words: traits, behaviours, curiosity."""
    levels = ", ".join(f"{name} {level:g}" for name, level in who.traits.items())
    lines = [
        f"Your traits, from 0 to 1: {levels}." if levels else "",
        *(f"- {text}" for text in who.behaviours),
        f"You would like to know more about: {'; '.join(who.curiosity)}." if who.curiosity else "",
    ]
    return "".join(f"{line}\n" for line in lines if line)


def _runtime(identity: Identity, tools: Sequence[Tool], home: str) -> str:
    """Say where and in what the entity lives, and which of its files it may touch."""
    lines = [f"Your days are counted in the time zone {identity.timezone}."]
    if home:
        named = prompts.harmless(home)
        lines.append(f"You run in bumble, and your memory is the files of a folder, {named}/.")
        if any(tool.name == "read_file" for tool in tools):
            lines.append("The files you can read and write lie in its workspace/.")
    return " ".join(lines)


def _is_told(story: Narrative) -> bool:
    """Whether a story is the entity's own, and not a quotation."""
    return not provenance.is_untrusted(story.provenance.trust)


def _for_all(origin: Provenance) -> bool:
    """Whether a text may stand where everybody's prompt begins, and not as a quotation."""
    return not origin.audience and not provenance.is_untrusted(origin.trust)


def tool_line(tool: Tool) -> str:
    """Declare a tool in one line."""
    names = ", ".join(tool.parameters.get("properties", {}))
    return f"- {tool.name}({names}): {tool.description}"


def skill_line(skill: Skill) -> str:
    """Say in one line what a skill is called, where it lies and what it is for."""
    line = f"- {skill.name} ({skill.path})"
    return f"{line}: {skill.description}" if skill.description else line


def _listed(skills: Sequence[Skill]) -> tuple[Block, ...]:
    """Say in a line each which skills there are; one that is only quoted is not among them."""
    return tuple(
        Block(skill.name, skill_line(skill))
        for skill in sorted(skills, key=lambda skill: skill.path)
        if not provenance.is_untrusted(skill.provenance.trust)
    )


def locked(knowledge: Knowledge) -> str:
    """Return the sections that are in every prompt."""
    return "\n\n".join(
        f"## {section.title}\n{section.text}"
        for section in knowledge.sections
        if knowledge_store.always(section)
    )


def files(own_files: Sequence[BootstrapFile]) -> str:
    """Return the owner's files that are in every prompt, as data."""
    return "\n".join(
        prompts.tagged("file", own_file.text, f' name="{own_file.name}"')
        for own_file in own_files
        if own_file.text and own_file.name != prompt_files.LIVING_MEMORY
    )


def _section(heading: str, text: str) -> str:
    return f"\n{heading}\n{text}\n" if text else ""


def preamble(blocks: Sequence[Block], budget_tokens: int) -> tuple[Block, ...]:
    """Choose what goes before the message: blocks by importance, as far as the budget goes.

    A block that only partly fits is cut at a line; the first is always there.
    """
    chosen: list[Block] = []
    left = budget_tokens
    for block in blocks:
        if not block.text:
            continue
        fitting = block if not chosen or block.tokens <= left else cut_block(block, left)
        if fitting is None:
            continue
        chosen.append(fitting)
        left -= fitting.tokens
    return tuple(chosen)


def cut_block(block: Block, left: int) -> Block | None:
    """Keep the first lines of a block that fit, and its closing tag; None if no line does.

    A heading of which no line is left goes too: it would say that there is nothing under it.
    """
    head, *rest = block.text.split("\n")
    tail = [rest.pop()] if rest and rest[-1].startswith("</") else []
    lines = [head]
    for line in rest:
        if tokens.estimate("\n".join([*lines, line, *tail])) > left:
            break
        lines.append(line)
    while len(lines) > 1 and _heads(lines[-1]):
        lines.pop()
    return replace(block, text="\n".join([*lines, *tail])) if len(lines) > 1 else None


def _heads(line: str) -> bool:
    """Whether a line only says what comes below it."""
    text = line.strip()
    return not text or text.startswith("#") or text.endswith(":") or bool(_OPENING.fullmatch(text))


def with_preamble(blocks: Sequence[Block], message: str) -> str:
    """Put the preamble before what was said."""
    if not blocks:
        return message
    text = "\n".join(block.text for block in blocks)
    return prompts.load("preamble").fill(blocks=text, message=message)
