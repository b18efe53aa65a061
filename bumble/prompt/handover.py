"""The brief that one conversation leaves for the next: when it is written, and what is in it.

Made without a model: links to what was remembered of the talk, what was left open, how it felt, and
the files that were spoken of, so that "that file" can be told later. What happened stands in its
episodes alone, and is read there, as it was put right since.
No answer waits for it: until it is made, the last words of a talk stand for it, and so they do
where no model is trusted to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bumble import patterns
from bumble.entity import secrets
from bumble.entity.changes import Change
from bumble.fallback import sayings
from bumble.llm import prompts
from bumble.models.embed import protocol
from bumble.records import base, episodes, session_files, state
from bumble.records.sessions import Session
from bumble.runtime import people
from bumble.runtime.job import Condition, Due, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import markdown, moments, titles, tokens, words

TURNS = 3  # of a new conversation that see the brief of the last
MIN_QUALITY = 0.4  # a brief worse than this is not written
AGED = timedelta(hours=48)  # an older brief says how old it is
LAST = "Said last"
LEAST_MESSAGES = 4  # a conversation of one exchange leaves nothing to hand over
SHARE = 0.5  # of what is recalled for a message, at most
LINE_TOKENS = 60  # of a message, in a brief by rule
STATE_TOKENS = 120  # of what an episode tells
MAX_TOUCHED = 16
_LINK = patterns.compile(r"\[[^\[\]]*\]\([^()\s]*(ep_\w+)\.md\)")
_FILE = patterns.compile(r"(?<![\w./-])[\w./-]*\w\.[A-Za-z]\w{0,4}\b")


class Brief(Struct, frozen=True):
    """The brief of an earlier conversation, and how it fits the first message of the next."""

    session: str
    text: str
    at: datetime
    likeness: float | None  # calibrated, in [-1, 1]; None without an embedder
    fits: bool
    waits: bool = False  # whether the conversation has still to be remembered


def check(runtime: Runtime) -> Due[Session]:
    """Find conversations that are over and have left no brief: the last one with each person."""
    now, idle = runtime.now(), timedelta(hours=runtime.config.session.idle_hours)
    infos = session_files.by_recency(session_files.infos(runtime.entity.sessions), now)
    ended = [info for info in infos if info.ended or moments.gap(info.last_at, now) > idle]
    newest = {info.by: info.id for info in ended}
    over = [info for info in ended if newest[info.by] == info.id]
    waiting = [
        session
        for info in over
        if not (runtime.entity.sessions / info.id / "handover.md").exists()
        and is_worth(session := session_files.find(runtime.entity.sessions, info.id))
        and sayings.wording(runtime, session, session.messages) is None
        and not _waits(runtime, session)
        and any(_of_talk(session))  # else its episodes need not be looked for
    ]
    told = list(episodes.EPISODE.readable(runtime.entity.episodes)) if waiting else []
    jobs = [each for each in waiting if _quality(_of_memories(told, each)) >= MIN_QUALITY]
    condition = Condition(
        "conversations that are over", str(len(over)), "one without a brief", bool(jobs)
    )
    return Due((condition,), tuple(jobs))


def is_worth(session: Session) -> bool:
    """Whether there is enough in a conversation to hand over."""
    return len(session.messages) >= LEAST_MESSAGES


def run(runtime: Runtime, session: Session) -> JobResult:
    """Write the brief, or say why there is none."""
    data: dict[str, Any] = {"session": session.id, "written": False}
    if _waits(runtime, session):
        return _none(session, "it comes once the talk is remembered", data)
    values = _of_memories(episodes.EPISODE.readable(runtime.entity.episodes), session)
    quality = _quality(values)
    data |= {"quality": quality, "least": MIN_QUALITY}
    if quality < MIN_QUALITY:
        return _none(session, f"quality {quality:.2f}, wants {MIN_QUALITY:.2f}", data)
    files = ", ".join(f"`{each}`" for each in touched(session))
    text = "\n\n".join(filter(None, (*values, files)))
    origin = base.Provenance(
        by="handover",
        sources=(session.id,),
        trust=base.lowest_trust(
            message.trust for message in session.messages if message.role == "user"
        ),
        audience=session.people,
    )

    def plan() -> list[Change | None]:
        old = session_files.read_handover(runtime.entity.sessions, session.id)
        why, ended = "leave word for the next conversation", session.messages[-1].at
        return [session_files.plan_handover(session.id, old, text, ended, origin, why)]

    return JobResult(
        f"handover: a brief of the talk {_of(session)}",
        plan,
        (f"left a brief for the next conversation: quality {quality:.2f}",),
        data | {"written": True},
        traced([session.id], origin.model),
        asked=False,
    )


def _waits(runtime: Runtime, session: Session) -> bool:
    """Whether a conversation has still to be remembered."""
    return state.first_waiting(state.read(runtime.entity.state), session.id) is not None


def _none(session: Session, why: str, data: Mapping[str, Any]) -> JobResult:
    """Say why there is no brief."""
    return JobResult(
        f"handover: no brief of the talk {_of(session)}",
        tuple,
        (f"no brief for the next conversation: {why}",),
        {**data, "why": why},
        ran=False,
        asked=False,
    )


def _quality(values: Sequence[str]) -> float:
    """Return how much of what a brief may have there is."""
    return round(sum(map(bool, values)) / len(values), 2)


def _of_memories(told: Iterable[episodes.Episode], session: Session) -> tuple[str, str, str]:
    """Return what was remembered of a talk, what was left open in it, and how it felt."""
    links = [episodes.link(each, "../../") for each in told if each.session == session.id]
    return ", ".join(links), *_of_talk(session)


def _of_talk(session: Session) -> tuple[str, str]:
    """Return what was left open in a talk, and how it felt."""
    felt = [each.felt for each in session.appraisals.values() if each.felt]
    unanswered = [words.one_line(each.text) for each in session.unanswered[-1:]]
    asked = [
        f"> {text}"
        for text in unanswered
        if text.endswith(words.QUESTION_MARKS) and not secrets.find_secret(text)
    ]
    return "".join(asked), "".join(felt[-1:])


def _of(session: Session) -> str:
    """Say with whom a conversation was, and when."""
    names = dict.fromkeys(one.called() for one in session.messages if one.role == "user")
    return f"with {' and '.join(filter(None, names)) or 'somebody'} of {session.at:%Y-%m-%d}"


def touched(session: Session) -> list[str]:
    """Return the files that a conversation spoke of, the latest first."""
    said = [message.text for message in reversed(session.messages) if message.role != "tool"]
    files = [file for text in said for file in _FILE.findall(text)]
    return list(dict.fromkeys(files))[:MAX_TOUCHED]


def brief(runtime: Runtime, session: Session) -> Brief | None:
    """Return the brief of the last conversation with the same people, in the first turns.

    It is held against what a person said first in this one: the entity may have greeted them.
    """
    said = [message.text for message in session.messages if message.role == "user"]
    if not 0 < len(said) <= TURNS:
        return None
    others = [
        info
        for info in session_files.infos(runtime.entity.sessions)
        if session.by in (info.by, *info.present) and info.id != session.id
    ]
    before = next(reversed(session_files.by_recency(others, session.at)), None)
    left = runtime.read_or(lambda: _left_by(runtime, before, session.people), None)
    if before is None or left is None:
        return None
    text, at, waits = left
    first = words.unaddressed(said[0], runtime.identity.name)
    likeness = _likeness(runtime.memory.embedder, text, first)
    threshold = runtime.config.session.continuity_threshold
    fits = waits or likeness is None or likeness >= threshold
    return Brief(before.id, text, at, likeness, fits, waits)


def _left_by(
    runtime: Runtime, info: session_files.SessionInfo | None, readers: Sequence[str]
) -> tuple[str, datetime, bool] | None:
    """Return the brief that a talk left, and when; its last words, where no pass has made one.

    And whether it has still to be remembered: then nothing else tells what was said in it, however
    short it was, and whatever is spoken of now.
    """
    if info is None:
        return None
    left, waits = session_files.read_handover(runtime.entity.sessions, info.id), False
    if left is not None:
        allowed, at = left.audience, left.at
        text = _followed(runtime, left.text, readers)
    else:
        talk = session_files.find(runtime.entity.sessions, info.id)
        allowed, at, waits = talk.people, talk.last_at, _waits(runtime, talk)
        text = _last_words(talk) if waits or is_worth(talk) else ""
    return (text, at, waits) if text and base.may_read(allowed, readers) else None


def _followed(runtime: Runtime, text: str, readers: Sequence[str]) -> str:
    """Return a brief with what its links lead to: the end of each episode, as it stands now."""

    def told(link: re.Match[str]) -> str:
        files = episodes.EPISODE.locate(runtime.entity, link[1])
        episode = base.load(files[0], episodes.EPISODE.parse) if files else None
        if episode is None or not base.may_read(episode.audience, readers):
            return ""
        story = episode.telling.narrative
        rows = markdown.prose(story).splitlines()
        prose = words.sentences("\n".join(row for row in rows if not row.startswith(">")))
        # as many of the last as have room; the rest is the episode's to tell
        end = reversed(tokens.leading(reversed(prose), STATE_TOKENS))
        heading = titles.heading(story)
        return "\n".join(filter(None, (heading and f"{heading}:", words.paragraph(end))))

    return _LINK.sub(told, text.replace("), [", ")\n[")).strip(", \n")


def _last_words(talk: Session) -> str:
    """Return the end of a talk, as it was said: a brief by rule, which asks nothing."""
    shown = [
        message
        for message in talk.messages
        if message.role != "tool"
        and message.text
        and message.is_example
        and secrets.find_secret(message.text) is None
    ]
    lines = [  # so that a small model knows who said it
        f"I answered: {message.text}"
        if message.role == "assistant"
        else f"{message.extra.get('name', '')} said: {message.text}"
        for message in shown[-LEAST_MESSAGES:]
    ]
    rows = [tokens.cut(words.one_line(line), LINE_TOKENS) for line in lines]
    return "\n".join((f"## {LAST}\n", *rows)) if rows else ""


def _likeness(embedder: protocol.Embedder | None, text: str, message: str) -> float | None:
    """Compare a brief with what was said first, sentence by sentence: the nearest counts."""
    if embedder is None:
        return None
    parts = [
        part
        for line in re.sub(r"^## .*$", "", text, flags=re.M).splitlines()
        for part in words.sentences(line)
    ]
    query = embedder.embed_query(message)[0]
    nearest = max(vector @ query for vector in embedder.embed_documents(parts))
    return float(protocol.similarity(nearest, embedder.unrelated_cosine))


def prompt_text(last_brief: Brief | None, at: datetime, most_tokens: int) -> str:
    """Word a brief for a prompt, if the conversation goes on from it; an old one says how old.

    Of one that is longer than it may be, the newest lines stay.
    """
    if last_brief is None or not last_brief.fits:
        return ""
    age = at - last_brief.at
    old = f" ({people.ago(age)} ago)" if age > AGED else ""
    head = f"Your notes from the last conversation{old}"
    # one by hand may have any length, and is not to take the room of all others
    most = max(LINE_TOKENS, most_tokens // 2)
    rows = [tokens.cut(row, most) for row in last_brief.text.splitlines()]
    lines = reversed(tokens.leading(reversed(rows), most_tokens))
    return prompts.tagged("memory", "\n".join((f"{head}:", *lines)))
