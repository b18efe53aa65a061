"""Where a conversation is cut into segments: pauses, changes of topic, length, its end.

An episode is made of a segment. Pure: messages in, segments out; what makes two texts alike comes
in as a function. Knows neither files nor models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

from bumble.records.sessions import Message
from bumble.text import moments, stop_words

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


class Segment(Struct, frozen=True):
    """Messages that belong together, whole turns of them."""

    messages: tuple[Message, ...]  # at least one
    closed: str  # what closed it: PAUSE, TOPIC, LENGTH or END; empty while it may go on


def cut(
    messages: Sequence[Message],
    rules: SegmentRules,
    now: datetime,
    *,
    ended: bool,
    likeness: Likeness | None = None,
) -> list[Segment]:
    """Cut messages into segments.

    Args:
        messages: By time.
        rules: When a segment closes.
        now: The present: silence until then closes the last segment.
        ended: Whether the conversation was ended.
        likeness: Finds changes of topic; None looks for none.

    Returns:
        Segments in order, which hold every message once; only the last may still go on.
    """
    segments: list[Segment] = []
    current: list[Turn] = []
    turns = turns_of(messages)
    for n, turn in enumerate(turns):
        closed = _closed_by(current, turns[n:], rules, likeness) if current else ""
        if closed:
            segments.append(_joined(current, closed))
            current = []
        current.append(turn)
    if current:
        segments.append(_joined(current, _closed_since(current, rules, now, ended=ended)))
    return segments


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
    turn_texts = [_spoken_text(turn) for turn in coming[:TURNS_AWAY]]
    if len(current) < SETTLED_TURNS or len(turn_texts) < TURNS_AWAY:
        return False
    if any(len(stop_words.telling_words(text)) < TELLING_WORDS for text in turn_texts):
        return False
    before = [_text(turn) for turn in current]
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


def _spoken_text(turn: Turn) -> str:
    return "\n".join(message.text for message in turn if message.role == "user")


def _text(turn: Turn) -> str:
    return "\n".join(message.text for message in turn if message.role != "tool")


def _joined(turns: Sequence[Turn], closed: str) -> Segment:
    return Segment(tuple(message for turn in turns for message in turn), closed)
