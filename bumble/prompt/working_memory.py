"""What an entity has in mind in each turn, beside the cached part: living memory, notes, a dream.

It changes from day to day, so it stands in the preamble, with a budget of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.index import chunks
from bumble.llm import prompts
from bumble.llm.protocol import Block
from bumble.prompt import prompt_files, system
from bumble.prompt.system import Stable
from bumble.records import base, dreams, provenance, scratch, session_files, sessions, working
from bumble.records.sessions import Session
from bumble.records.working import MemoryLine
from bumble.runtime.runtime import Runtime
from bumble.text import words

MOST_TOKENS = 500  # of living memory, notes and a fresh dream before each message
LIVING, NOTES, DREAM = "working memory", "notes", "dream"  # names of the blocks
CURRENT = "Active Context"  # the section of working memory that says what goes on
SHOWN_NOTES = 8  # the newest
DREAM_TURNS = 3  # of the first talk after a dream that see it
LAST_NIGHT = timedelta(hours=24)  # ago, at most


def blocks(
    runtime: Runtime, stable: Stable, session: Session, share: float
) -> tuple[tuple[Block, ...], int]:
    """Return what is in mind, most important first, and the most tokens that it may take.

    Args:
        runtime: Whose mind.
        stable: With the living memory as the people of the conversation may meet it.
        session: The conversation, with the message that is to be answered.
        share: Of the whole budget, in [0, 1]: a reflex gets less.
    """
    noted = runtime.read_or(lambda: notes_text(runtime.entity, session.people), "")
    parts = (
        Block(DREAM, dream_text(runtime.entity, session)),
        Block(LIVING, living_text(stable)),
        Block(NOTES, noted),
    )
    budget = int(MOST_TOKENS * share)
    return tuple(block for block in parts if block.text), budget


def fitting(parts: Sequence[Block], budget_tokens: int) -> tuple[Block, ...]:
    """Return as much of some blocks as a budget has room for, cut at a line."""
    chosen: list[Block] = []
    for block in parts:
        fit = block if block.tokens <= budget_tokens else system.cut_block(block, budget_tokens)
        if fit is not None:
            chosen.append(fit)
            budget_tokens -= fit.tokens
    return tuple(chosen)


def living_text(stable: Stable) -> str:
    """Word the living memory."""
    text = next((file.text for file in stable.files if file.name == prompt_files.LIVING_MEMORY), "")
    return prompts.tagged("working-memory", text) if text else ""


def current(runtime: Runtime, readers: Sequence[str], language: str) -> list[MemoryLine]:
    """Return what goes on these days, by the living memory, for people and in a language."""
    source = runtime.read_or(lambda: working.read(runtime.entity.working_memory), "")
    return [
        line
        for line in working.parse(source)
        if line.section == CURRENT
        and base.may_read(line.origin.audience, readers)
        and not provenance.is_untrusted(line.origin.trust)
        and words.language(line.text, default=language) == language
    ]


def notes_text(entity: Entity, readers: Sequence[str]) -> str:
    """Word the newest scratch notes that everybody here may meet."""
    notes = [
        scratch.shown(line)
        for line in scratch.lines(entity.root / scratch.PATH)
        if base.may_read((origin := scratch.origin(line)).audience, readers)
        and not provenance.is_untrusted(origin.trust)
    ]
    heading = "Notes you jotted down:"
    return "\n".join((heading, *notes[-SHOWN_NOTES:])) if notes else ""


def dream_text(entity: Entity, session: Session) -> str:
    """Word the last dream, in the first turns of the first talk after it."""
    newest = dreams.paths(entity.dreams)[-1:]
    try:
        dream = base.load(newest[0], dreams.parse) if newest else None
    except RecordInvalidError:  # a dream that can't be read is nobody's
        return ""
    if dream is None or not base.may_read(dream.provenance.audience, session.people):
        return ""
    since = [message for message in session.messages if message.at >= dream.at]
    turns = sum(message.role == "user" for message in since)
    if not 0 < turns <= DREAM_TURNS or _talked_between(entity, session, dream.at, since[0].at):
        return ""
    lines = [f"- {fragment}" for fragment in dream.fragments]
    lines += [f"- {dream.thread}"] if dream.thread else []
    is_new = since[0].at - dream.at < LAST_NIGHT
    when = "last night" if is_new else f"on {chunks.spoken_date(dream.at.date())}"
    return "\n".join((f"You dreamt {when}; it did not happen:", *lines)) if lines else ""


def _talked_between(entity: Entity, session: Session, since: datetime, until: datetime) -> bool:
    """Whether somebody said something in another conversation in that time."""
    for info in session_files.infos(entity.sessions):
        if info.id == session.id or info.last_at < since or info.at > until:
            continue
        try:
            messages = session_files.load(entity.sessions / info.id / sessions.FILE).messages
        except RecordInvalidError:
            continue
        if any(since <= one.at < until and one.role == "user" for one in messages):
            return True
    return False
