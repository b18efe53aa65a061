"""Where a conversation is cut into stretches: pauses, changes of topic, length, its end.

A stretch is what one answer is asked for. Knows no model; what makes two texts alike is the
embedder's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

from bumble.models.embed import protocol
from bumble.records.sessions import Message, Session
from bumble.runtime.runtime import Runtime
from bumble.text import moments, stop_words, tokens

PAUSE, TOPIC, LENGTH, END = "pause", "topic", "length", "end"
SETTLED_TURNS = 3  # a shorter segment has no topic yet that could be left
TELLING_WORDS = 5  # what says less ("Thanks, see you!") is no change of topic
TURNS_AWAY = 2  # one turn to something else may be an aside

Turn: TypeAlias = tuple[Message, ...]  # what a person said and all that followed from it
# How alike a text is to the nearest of some others, calibrated: 0 is what unrelated texts get.
Likeness: TypeAlias = Callable[[str, Sequence[str]], float]


class SegmentRules(Struct, frozen=True):
    """The limits at which a segment closes."""

    pause: timedelta
    max_turns: int  # >= 1
    alike_from: float  # calibrated similarity from which a turn goes on with the topic


class StretchJob(Struct, frozen=True):
    """A stretch of a conversation of which nothing was made yet, whole turns of it."""

    session_id: str
    messages: tuple[Message, ...]  # at least one
    closed: str  # what closed it: PAUSE, TOPIC, LENGTH or END; empty while it may go on


def cut(
    session: Session,
    messages: Sequence[Message],
    rules: SegmentRules,
    now: datetime,
    likeness: Likeness | None = None,
) -> list[StretchJob]:
    """Cut messages of a conversation into stretches.

    Args:
        session: The conversation; once it has ended, so has its last stretch.
        messages: By time.
        rules: When a stretch closes.
        now: The present: silence until then closes the last stretch.
        likeness: Finds changes of topic; None looks for none.

    Returns:
        Stretches in order, which hold every message once; only the last may still go on.
    """
    groups: list[tuple[list[Turn], str]] = []
    turns = turns_of(messages)
    for n, turn in enumerate(turns):
        current = groups[-1][0] if groups else []
        closed = _closed_by(current, turns[n:], rules, likeness) if current else ""
        if closed:
            groups[-1] = (current, closed)
        if closed or not groups:
            groups.append(([], ""))
        groups[-1][0].append(turn)
    if groups:
        last = groups[-1][0]
        ended = session.ended is not None
        groups[-1] = (last, _closed_since(last, rules, now, ended=ended))
    return [StretchJob(session.id, joined(group), closed) for group, closed in groups]


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """Group messages into turns; what comes before anybody spoke is a turn too."""
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return [tuple(turn) for turn in turns]


def _closed_by(
    current: Sequence[Turn], coming: Sequence[Turn], rules: SegmentRules, likeness: Likeness | None
) -> str:
    """Say why the first of the coming turns does not belong to the current segment, if so."""
    if moments.gap(current[-1][-1].at, coming[0][0].at) >= rules.pause:
        return PAUSE
    if len(current) >= rules.max_turns:
        return LENGTH
    if likeness is not None and _leaves_topic(current, coming, rules, likeness):
        return TOPIC
    return ""


def _leaves_topic(
    current: Sequence[Turn], coming: Sequence[Turn], rules: SegmentRules, likeness: Likeness
) -> bool:
    """Whether the next turns of substance are all about something else than the segment so far."""
    turn_texts = [_text(turn, "user") for turn in coming[:TURNS_AWAY]]
    if len(current) < SETTLED_TURNS or len(turn_texts) < TURNS_AWAY:
        return False
    if any(len(stop_words.telling_words(text)) < TELLING_WORDS for text in turn_texts):
        return False
    before = [_text(turn, "user", "assistant") for turn in current]
    return all(likeness(text, before) < rules.alike_from for text in turn_texts)


def _closed_since(
    current: Sequence[Turn], rules: SegmentRules, now: datetime, *, ended: bool
) -> str:
    """Say why nothing that may still be said belongs to the last segment, if so."""
    last = current[-1]
    if ended:
        return END
    if moments.gap(last[-1].at, now) >= rules.pause:
        return PAUSE
    if len(current) >= rules.max_turns and any(message.role == "assistant" for message in last):
        return LENGTH  # a last turn without an answer is still being answered
    return ""


def _text(turn: Turn, *roles: str) -> str:
    return "\n".join(message.text for message in turn if message.role in roles)


def joined(turns: Sequence[Turn]) -> tuple[Message, ...]:
    """Return the messages of some turns."""
    return tuple(message for turn in turns for message in turn)


def by_size(turns: Sequence[Turn], budget_chars: int) -> list[tuple[Message, ...]]:
    """Group whole turns, each group of at most so many characters where a turn isn't longer."""

    def size(turn: Turn) -> int:
        return sum(min(len(message.text), budget_chars) + 20 for message in turn)

    return [joined(group) for group in tokens.packed(turns, size, budget_chars)]


def stretches(runtime: Runtime, session: Session, waiting: Sequence[Message]) -> list[StretchJob]:
    """Cut what waits of a conversation into stretches, by pauses, topics, length and its end."""
    memory = runtime.config.memory
    rules = SegmentRules(
        pause=timedelta(minutes=memory.episode_pause_minutes),
        max_turns=max(1, memory.episode_max_turns),
        alike_from=runtime.config.session.continuity_threshold,
    )
    # what tells how alike two texts are; opens the embedder when first asked
    vectors: dict[str, protocol.Floats] = {}

    def alike(text: str, earlier_texts: Sequence[str]) -> float:
        embedder = runtime.memory.embedder
        if embedder is None:
            return 1.0  # without one, no topic ever changes
        new = [
            candidate
            for candidate in dict.fromkeys((text, *earlier_texts))
            if candidate not in vectors
        ]
        vectors.update(zip(new, embedder.embed_documents(new), strict=True) if new else ())
        nearest = max(vectors[other] @ vectors[text] for other in earlier_texts)
        return float(protocol.similarity(nearest, embedder.unrelated_cosine))

    return cut(session, waiting, rules, runtime.now(), alike)
