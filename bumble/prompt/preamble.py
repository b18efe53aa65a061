"""The preamble's parts: the time, who is present, the body, the workspace, and what is in mind.

Living memory, notes and a fresh dream change from day to day, so they stand here, beside the cached
part, with a budget of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bumble import patterns
from bumble.body import ebb, hormones
from bumble.body.soma import Soma
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.index import chunks
from bumble.llm import prompts
from bumble.llm.protocol import Block
from bumble.prompt import system
from bumble.records import (
    base,
    dreams,
    narrative,
    provenance,
    reminders,
    self_model,
    session_files,
    sessions,
    working,
)
from bumble.runtime import people, schedule
from bumble.runtime.body_state import Stirring
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import markdown, moments, tokens, words

NAMED_FILES, NAME_CHARS = 8, 60  # of the workspace, named in every turn
LEAST_FAILED, SHAKY_SHARE, LATELY = 3, 1 / 3, timedelta(days=14)  # of a tool that is named
ANCHOR_TOKENS = 60  # of an anchor that came back
ATTACHED = "attached"  # the block of the files that a message points to


def body_text(
    runtime: Runtime, soma: Soma, profile: ProfileName, readers: Sequence[str] = ()
) -> str:
    """Put the body into words within its budget, as loud as it is; in a reflex in one line.

    Levels and tone have their room before the details of the body: they say how to speak. What
    the entity is in one sentence comes last, because its story is in the stable part too.
    """
    level = ebb.shown_tier(soma)
    room = runtime.config.prompt.body_max_tokens * 4
    if profile == "reflex":
        return _within(room, _body_block(runtime, soma, level, room).partition("\n")[0])
    met = people.interactions(runtime)
    if level == "quiet":
        line = _body_block(runtime, soma, level, room)
        return _within(room, f"{line}\n{hormones.young_note(met)}".rstrip(), line)

    def tone(self_view: str) -> str:
        return hormones.section(
            soma.hormones,
            phenotype=self_view,
            interactions=met,
            named=runtime.config.soma.hormones.show_names,
        )

    details = _body_block(runtime, soma, level, room - len(tone("")) - 1)
    return _within(
        room,
        f"{details}\n{tone(phenotype(runtime, readers))}",
        f"{details}\n{tone('')}",
        _body_block(runtime, soma, level, room),
    )


def _body_block(runtime: Runtime, soma: Soma, level: ebb.Tier, room: int) -> str:
    """Put bars and feelings into words; what to do with them the tone says."""
    room, with_mood = min(room, ebb.BLOCK_MAX_CHARS), not runtime.config.prompt.mood_in_system
    return ebb.body_block(soma, level, max_chars=room, with_mood=with_mood)


def _within(room: int, *texts: str) -> str:
    """Return the first text that fits, none if none does."""
    return next((text for text in texts if len(text) <= room), "")


def anchor_text(stirring: Stirring | None) -> str:
    """Name the anchor that came back by itself."""
    if stirring is None:
        return ""
    anchor = stirring.anchor
    about = f": {words.one_line(anchor.description)}" if anchor.description else ""
    text = tokens.cut(f"- {anchor.label}{about}", ANCHOR_TOKENS)
    return f"This brings back how something felt:\n{prompts.tagged('memory', text)}"


def tools_text(runtime: Runtime, profile: ProfileName, names: Sequence[str], at: datetime) -> str:
    """Say which tools have often failed lately, where there is one to be chosen."""
    if profile == "reflex":
        return ""
    served = runtime.read_or(
        lambda: self_model.tools(self_model.read(runtime.entity.self_model)),
        dict[str, self_model.ToolRecord](),
    )
    shaky = [
        f"`{name}` failed {tool.failed} of {tool.used} times"
        for name, tool in served.items()
        if name in names
        and tool.failed >= LEAST_FAILED
        and tool.failing_share >= SHAKY_SHARE
        and tool.last_failed is not None
        and moments.gap(tool.last_failed, at) < LATELY
    ]
    return f"Of your tools, {', '.join(shaky)}." if shaky else ""


def phenotype(runtime: Runtime, readers: Sequence[str]) -> str:
    """Return how the entity sees itself: its story, of which the first sentence is used."""
    whole = runtime.read_or(lambda: narrative.read(runtime.entity.narrative), None)
    return markdown.prose(narrative.told_to(whole, readers))


def workspace_text(runtime: Runtime, names: Sequence[str]) -> str:
    """Name the files of the workspace, if they may be read: a small model does not look itself."""
    if not (runtime.config.tools.files and names):
        return ""
    named = [prompts.harmless(words.one_line(name)[:NAME_CHARS]) for name in names[:NAMED_FILES]]
    more = f" and {len(names) - len(named)} more (`list_files`)" if len(names) > len(named) else ""
    return f"The files in your workspace are: {', '.join(named)}{more}. `read_file` reads one."


def now_text(
    runtime: Runtime,
    speaker: str,
    at: datetime,
    last_spoke: datetime | None,
    other_ids: Sequence[str] = (),
) -> str:
    """Say what time it is, who is here, and how long the silence was."""
    local, world = at.astimezone(runtime.zone), at.astimezone(ZoneInfo("UTC"))
    name = prompts.harmless(speaker)
    since = f", after {people.ago(at - last_spoke)}" if last_spoke else " for the first time"
    lines = [
        f"Now: {local:%A %d %B %Y, %H:%M} ({world:%H:%M} UTC).",
        f"You are {runtime.identity.name}. {name} talks to you{since}.",
    ]
    if other_ids:
        names = [
            person.name if (person := people.readable_person(runtime, other)) else other
            for other in other_ids
        ]
        here = prompts.harmless(", ".join(names))
        lines.insert(
            1,
            f"{here} can hear you too: what one told you alone is not shown to you now. What they "
            "say to one another needs no word of yours: `end_turn` alone.",
        )
    return " ".join(lines)


_LINK = patterns.compile(r"\[([^\]\n]+)\]\([^)\n]*\.md\)")  # no place of a file is of use in a talk
MOST_TOKENS = 500  # of living memory, notes and a fresh dream before each message
# names of the blocks
LIVING, NOTES, DREAM, REMINDERS = "working memory", "notes", "dream", "reminders"
SHOWN_NOTES = 8  # the newest
SHOWN_REMINDERS = 8  # the next
DREAM_TURNS = 3  # of the first talk after a dream that see it
LAST_NIGHT = timedelta(hours=24)  # ago, at most


def blocks(
    runtime: Runtime, stable: system.Stable, session: sessions.Session, share: float
) -> tuple[tuple[Block, ...], int]:
    """Return what is in mind, most important first, and the most tokens that it may take.

    Args:
        runtime: Whose mind.
        stable: With the living memory as the people of the conversation may meet it.
        session: The conversation, with the message that is to be answered.
        share: Of the whole budget, in [0, 1]: a reflex gets less.
    """
    parts = (
        Block(DREAM, dream_text(runtime, session)),
        Block(LIVING, living_text(stable)),
        Block(NOTES, runtime.read_or(lambda: notes_text(runtime.entity, session.people), "")),
        Block(REMINDERS, reminders_text(runtime, session)),
    )
    return tuple(block for block in parts if block.text), int(MOST_TOKENS * share)


def living_text(stable: system.Stable) -> str:
    """Word the living memory; headings alone tell nothing."""
    text = next((file.text for file in stable.files if file.name == system.LIVING_MEMORY), "")
    tells = any(line.strip() and not line.startswith("#") for line in text.splitlines())
    return prompts.tagged("working-memory", _LINK.sub(r"\1", text)) if tells else ""


def notes_text(entity: Entity, readers: Sequence[str]) -> str:
    """Word the newest scratch notes that everybody here may meet."""
    notes = [
        f"{working.NOTE_MARK}{line.text}"
        for line in working.scratch_lines(entity.root / working.SCRATCH_PATH)
        if base.may_read(line.origin.audience, readers)
        and not provenance.is_untrusted(line.origin.trust)
    ]
    return "\n".join(("Notes you jotted down:", *notes[-SHOWN_NOTES:])) if notes else ""


def reminders_text(runtime: Runtime, session: sessions.Session) -> str:
    """Word the next reminders of who spoke last, for or by whom, of what they or it said.

    With several present, those that all of these were told.
    """
    said = (one.speaker for one in reversed(session.messages) if one.role == "user")
    speaker, alone = next(said, ""), len(session.people) < 2
    waiting = [
        one
        for one in schedule.waiting(runtime.entity, speaker, session.people)
        if not provenance.is_untrusted(one.provenance.trust) and (alone or one.provenance.audience)
    ]
    rows = [
        f"- {one.at.astimezone(runtime.zone):%A %Y-%m-%d %H:%M}"
        f"{f' ({one.repeat})' if one.repeat else ''}{_parties(runtime, one, speaker)}"
        f": {prompts.harmless(words.one_line(one.text))}"
        for one in waiting[:SHOWN_REMINDERS]
    ]
    return "\n".join(("Reminders that are set:", *rows)) if rows else ""


def _parties(runtime: Runtime, reminder: reminders.Reminder, speaker: str) -> str:
    """Name whom somebody's reminder is for, or who asked for it, where that is somebody else."""
    if not reminder.asked_by:
        return ""
    is_for = reminder.person != speaker
    other = reminder.person if is_for else reminder.asked_by
    name = people.name_of(runtime, other) or other
    return f", {'for' if is_for else 'from'} {prompts.harmless(name)}"


def dream_text(runtime: Runtime, session: sessions.Session) -> str:
    """Word the last dream, in the first turns of the first talk after it."""
    newest = dreams.DREAM.files(runtime.entity.dreams)[-1:]
    dream = (
        runtime.read_or(lambda: base.load(newest[0], dreams.DREAM.parse), None) if newest else None
    )
    if dream is None or not base.may_read(dream.provenance.audience, session.people):
        return ""
    since = [message for message in session.messages if message.at >= dream.at]
    turns = sum(message.role == "user" for message in since)
    if not 0 < turns <= DREAM_TURNS or _talked_between(runtime, session, dream.at, since[0].at):
        return ""
    lines = [f"- {fragment}" for fragment in dream.fragments]
    lines += [f"- {dream.thread}"] if dream.thread else []
    is_new = since[0].at - dream.at < LAST_NIGHT
    when = "last night" if is_new else f"on {chunks.spoken_date(dream.at.date())}"
    return "\n".join((f"You dreamt {when}; it did not happen:", *lines)) if lines else ""


def _talked_between(
    runtime: Runtime, session: sessions.Session, since: datetime, until: datetime
) -> bool:
    """Whether somebody said something in another conversation in that time."""
    for info in session_files.infos(runtime.entity.sessions):
        if info.id == session.id or info.last_at < since or info.at > until:
            continue
        with suppress(RecordInvalidError):
            file = runtime.entity.sessions / info.id / sessions.FILE
            messages = session_files.load(file).messages
            if any(since <= one.at < until and one.role == "user" for one in messages):
                return True
    return False
