"""The system prompt: its parts and order, the owner's files in it, and the preamble's budget.

The stable part is a function of files alone, so two processes over unchanged files make the same
bytes; its SHA-256 tells when it changed. What changes from turn to turn heads the last user message
and is never stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.entity.config import Identity, Persona, PromptConfig
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.files import disk
from bumble.llm import prompts
from bumble.llm.protocol import Block, PromptMessage, Tool
from bumble.records import base, provenance, working
from bumble.records import knowledge as knowledge_store
from bumble.records import narrative as narrative_store
from bumble.records import skills as skills_store
from bumble.runtime import rules
from bumble.runtime.runtime import Runtime
from bumble.text import tokens

LIVING_MEMORY_LINES = 200  # of working/MEMORY.md
LIVING_MEMORY = working.PATH  # capped by lines too, and beside the cached part: it is rewritten
LEAST_LINE_TOKENS = 40  # of a block whose first line is cut
Status = Literal["OK", "TRUNCATED", "MISSING", "UNREADABLE", "UNAPPROVED"]


class BootstrapFile(Struct, frozen=True):
    """One file, as it goes into the prompt."""

    name: str  # relative to the entity folder
    status: Status
    raw_chars: int
    text: str  # what is injected; empty if there is nothing
    problem: str = ""  # of one that can't be read

    @property
    def injected_chars(self) -> int:
        """How much of it goes into the prompt."""
        return len(self.text)


def read_own_files(
    entity: Entity, config: PromptConfig, readers: Sequence[str] = ()
) -> tuple[BootstrapFile, ...]:
    """Read the files in the configured order; what is not there never fails anything.

    Of the living memory only what all readers may meet is there.
    """
    left = config.bootstrap_total_max_chars
    own_files = []
    for name in config.bootstrap_files:
        own_file = _read(entity, name, left, config, readers)
        left -= own_file.injected_chars
        own_files.append(own_file)
    return tuple(own_files)


def _read(
    entity: Entity, name: str, left: int, config: PromptConfig, readers: Sequence[str]
) -> BootstrapFile:
    try:
        raw = _raw(entity, name)
    except RecordInvalidError as error:
        return BootstrapFile(name, "UNREADABLE", 0, "", str(error))
    if raw is None:
        return BootstrapFile(name, "MISSING", 0, "")
    if name != LIVING_MEMORY and rules.pending(entity, [rules.of_prompt_file(name, raw)]):
        return BootstrapFile(name, "UNAPPROVED", len(raw), "")  # it came from elsewhere
    shown = working.shown(raw, readers) if name == LIVING_MEMORY else raw
    lines = shown.splitlines()[:LIVING_MEMORY_LINES]
    text = "\n".join(lines) if name == LIVING_MEMORY else shown
    limit = min(config.bootstrap_max_chars, left)
    if len(text) > limit or text != shown:
        marker = f"\n[cut: {name} has {len(shown):,} characters]"
        text = (text[: max(0, limit - len(marker))] + marker)[: max(0, limit)]
        return BootstrapFile(name, "TRUNCATED", len(shown), text)
    return BootstrapFile(name, "OK", len(shown), text)


def say_unreadable(runtime: Runtime, own_files: Sequence[BootstrapFile]) -> None:
    """Say once of each file that can't be read that it is left out."""
    for own_file in own_files:
        if own_file.problem:
            runtime.say_left_out(own_file.problem)


def _raw(entity: Entity, name: str) -> str | None:
    try:
        path = disk.inside(entity.root, name)
    except UnsafePathError:
        return None  # a link out of the folder brings nothing into a prompt
    if not path.is_file() or disk.is_elsewhere(path):  # nor does another name of one out there
        return None
    return base.read_text(path).strip()


_OPENING = patterns.compile(r"<[^/<>][^<>]*>")  # a tag on a line of its own


class Stable(Struct, frozen=True):
    """The system prompt."""

    text: str
    parts: tuple[Block, ...]  # what it was made from, in order; together as long as the text
    files: tuple[BootstrapFile, ...] = ()  # of the owner's, in it or missing
    skills: tuple[Block, ...] = ()  # their lines
    examples: tuple[PromptMessage, ...] = ()  # of how it answers, as turns before any conversation
    plain: bool = False  # whether the conversation behind it is shown as plain speech
    toolless: str = ""  # it for a model that turns out to have no tools of its own

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
        topics: The questions that memory keeps raising.
        native: Whether the model has tools of its own, so that none is told of here.

    A file that a hand has broken is left out; the index names it. So is a rule that came from
    elsewhere, until its owner approves it.
    """
    story = None
    with suppress(RecordInvalidError):
        story = narrative_store.read(entity.narrative)
    is_own = story is not None and not provenance.is_untrusted(story.provenance.trust)
    skills = rules.obeyed(entity, skills_store.SKILL.readable(entity.skills), rules.of_skill)
    return stable(
        rules.own_identity(entity, identity),
        tools,
        [skill for skill in skills if base.may_read(skill.provenance.audience, readers)],
        rules.own_book(entity, knowledge_store.readable(entity.knowledge)),
        narrative_store.told_to(story, readers) if is_own else "",  # else it is a quotation
        read_own_files(entity, config, readers),
        mood,
        topics,
        home=entity.root.name,
        native=native,
    )


def stable(
    identity: Identity,
    tools: Sequence[Tool],
    skills: Sequence[skills_store.Skill],
    knowledge: knowledge_store.Knowledge,
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
    listed = tuple(  # a line each; one that is only quoted is not among them
        Block(skill.name, skill_line(skill))
        for skill in sorted(skills, key=lambda skill: skill.path)
        if not provenance.is_untrusted(skill.provenance.trust)
    )
    parts = {
        "monologue": who.monologue.strip(),
        "voice": who.voice.strip(),
        "character": _character(who),
        "people": f"\n{identity.owner.name} looks after you.\n" if identity.owner.name else "",
        "mood": f"\nYour mood: {mood}.\n" if mood else "",
        **_as_json(identity.name, tools),
        "skills": _section("# Skills you can read", "\n".join(skill.text for skill in listed)),
        "knowledge": _section("# Always true", locked(knowledge)),
        "files": _section("# Files you keep in mind", files(own_files)),
        "narrative": _section("# Your story so far", narrative.strip()),
        "runtime": _runtime(identity, tools, home),
        "topics": _section("# What your memories are about", topics),
    }
    toolless = dict(parts)
    if native:
        parts |= {"how": prompts.load("act_native").fill(name=identity.name), "tools": ""}
    page = prompts.load("system")
    fixed = Block("frame", page.fill(name=identity.name, **dict.fromkeys(parts, "")))
    return Stable(
        page.fill(name=identity.name, **parts),
        (fixed, *(Block(name, part) for name, part in parts.items())),
        tuple(own_files),
        listed,
        toolless=page.fill(name=identity.name, **toolless) if native else "",
    )


def _as_json(name: str, tools: Sequence[Tool]) -> dict[str, str]:
    listed = "".join(f"\n{tool_line(tool)}" for tool in tools)
    return {"how": prompts.load("act_json").fill(name=name), "tools": listed}


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


def tool_line(tool: Tool) -> str:
    """Declare a tool in one line."""
    names = ", ".join(tool.parameters.get("properties", {}))
    return f"- {tool.name}({names}): {tool.description}"


def skill_line(skill: skills_store.Skill) -> str:
    """Say in one line what a skill is called, where it lies and what it is for."""
    line = f"- {skill.name} ({skill.path})"
    return f"{line}: {skill.description}" if skill.description else line


def locked(knowledge: knowledge_store.Knowledge) -> str:
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
        if own_file.text and own_file.name != LIVING_MEMORY
    )


def _section(heading: str, text: str) -> str:
    return f"\n{heading}\n{text}\n" if text else ""


def fitting(
    blocks: Sequence[Block], budget_tokens: int, *, keeps_first: bool = False
) -> tuple[Block, ...]:
    """Choose blocks by importance, as far as a budget goes; one that only partly fits is cut.

    Args:
        blocks: The most important first.
        budget_tokens: What they may take.
        keeps_first: Whether the first is there in any case, and whole.
    """
    chosen: list[Block] = []
    for block in filter(lambda block: block.text, blocks):
        whole = block.tokens <= budget_tokens or (keeps_first and not chosen)
        fit = block if whole else cut_block(block, budget_tokens)
        if fit is not None:
            chosen.append(fit)
            budget_tokens -= fit.tokens
    return tuple(chosen)


def cut_block(block: Block, left: int) -> Block | None:
    """Keep the first lines of a block that fit, and its closing tag; None if no line does.

    A first line that has not its whole room, but some, is cut itself: a portrait is one line.
    A heading of which no line is left goes too: it would say that there is nothing under it.
    """
    head, *rest = block.text.split("\n")
    tail = [rest.pop()] if rest and rest[-1].startswith("</") else []
    lines = [head]
    for line in rest:
        if tokens.estimate("\n".join([*lines, line, *tail])) > left:
            room = left - tokens.estimate("\n".join([*lines, *tail])) - 1
            if room >= LEAST_LINE_TOKENS and all(map(_heads, lines)):
                lines.append(tokens.cut(line, room))
            break
        lines.append(line)
    while len(lines) > 1 and _heads(lines[-1]):
        lines.pop()
    return replace(block, text="\n".join([*lines, *tail])) if len(lines) > 1 else None


def _heads(line: str) -> bool:
    """Whether a line only says what comes below it."""
    text = line.strip()
    return not text or text.startswith("#") or text.endswith(":") or bool(_OPENING.fullmatch(text))
