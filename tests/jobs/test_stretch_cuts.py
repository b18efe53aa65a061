from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.entity.config import Config, MemoryConfig, SessionConfig
from bumble.entity.folder import Entity
from bumble.jobs import scene
from bumble.jobs.scene import LENGTH, PAUSE, TOPIC, StretchJob
from bumble.models.tiers import Abilities
from bumble.records import sessions
from bumble.records.sessions import Message
from tests.support import living

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)
BOATS = "The old boats in the harbour need fresh paint before summer"
TAXES = "My tax return for last year is due within four weeks"


def message(n: int, minutes: float, role: str, text: str = "hello") -> Message:
    return Message(f"msg_{n:05}", NOON + timedelta(minutes=minutes), role, text)


def talk(*texts: str, answered: bool = True, step: float = 1) -> list[Message]:
    """A turn a minute: somebody says each text, the entity answers it."""
    found = []
    for n, text in enumerate(texts):
        found.append(message(2 * n, n * step, "user", text))
        found.append(message(2 * n + 1, n * step + 0.5, "assistant", "I see."))
    return found if answered else found[:-1]


def by_word(text: str, others: Sequence[str]) -> float:
    """One text is like another if they share a long word."""
    long = {word for word in text.split() if len(word) > 5}
    return float(any(long & set(other.split()) for other in others))


def cut(
    messages: list[Message],
    until: float | datetime = 5,
    *,
    ended: bool = False,
    topics: bool = False,
    max_turns: int = 4,
) -> list[StretchJob]:
    now = until if isinstance(until, datetime) else NOON + timedelta(minutes=until)
    session = sessions.new("ses_1", NOON, "sam")
    session = replace(session, ended=now) if ended else session
    memory = MemoryConfig(episode_pause_minutes=30, episode_max_turns=max_turns)
    config = Config(memory=memory, session=SessionConfig(continuity_threshold=0.25))
    return scene.cut(session, messages, config, now, by_word if topics else None)


def test_a_change_of_topic_cuts_no_talk_of_which_there_will_be_quotes_alone(ada: Entity) -> None:
    said = [BOATS, f"Again: {BOATS}", f"So: {BOATS}", TAXES, f"And then: {TAXES}"]
    lines = [line for text in said for line in (("sam", text), ("ada", "I see."))]
    session = living.talked(ada, "ses_1", *lines)
    runtime = living.runtime_of(ada)
    quoting = replace(runtime, abilities=lambda: Abilities())
    assert len(scene.stretches(runtime, session, session.messages)) == 2
    assert len(scene.stretches(quoting, session, session.messages)) == 1


def test_a_pause_in_between_closes_what_was_before() -> None:
    later = [message(10, 31, "user"), message(11, 32, "assistant")]
    first, second = cut([*talk("a"), *later], 33)
    assert (first.closed, second.closed) == (PAUSE, "")
    assert [one.id for one in second.messages] == ["msg_00010", "msg_00011"]


def test_a_change_of_topic_closes_once_it_lasts_two_turns() -> None:
    boats = talk(BOATS, "Which boats in the harbour?", "Those boats in the harbour that leak.")
    one = message(20, 4, "user", TAXES)
    two = message(21, 5, "user", f"{TAXES}, and the office wants receipts")
    assert [each.closed for each in cut([*boats, one], topics=True)] == [""]
    first, second = cut([*boats, one, two], topics=True)
    assert (first.closed, second.messages) == (TOPIC, (one, two))
    assert [each.closed for each in cut([*boats, one, two])] == [LENGTH, ""]  # without an embedder


@pytest.mark.parametrize(
    "aside", ["Thanks!", "What about the harbour and the boats there, painted green or grey?"]
)
def test_small_talk_and_a_return_are_no_change_of_topic(aside: str) -> None:
    boats = talk(BOATS, "Which boats in the harbour?", "Those boats in the harbour that leak.")
    asides = [message(20, 4, "user", TAXES), message(21, 5, "user", aside)]
    assert TOPIC not in [each.closed for each in cut([*boats, *asides], topics=True)]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    roles = draw(st.lists(st.sampled_from(["user", "assistant", "tool"]), max_size=60))
    gaps = draw(st.lists(st.sampled_from([0.1, 3, 29, 30, 200]), min_size=60, max_size=60))
    texts = st.sampled_from([BOATS, TAXES, "ok"])
    at, found = 0.0, []
    for n, role in enumerate(roles):
        at += gaps[n]
        found.append(message(n, at, role, draw(texts)))
    return found


@given(conversations(), st.integers(1, 6), st.booleans(), st.booleans())
def test_stretches_hold_every_message_once_in_order_and_whole_turns(
    messages: list[Message], max_turns: int, ended: bool, topics: bool
) -> None:
    now = messages[-1].at if messages else NOON
    found = cut(messages, now, ended=ended, topics=topics, max_turns=max_turns)
    assert [one for each in found for one in each.messages] == messages
    assert all(each.closed for each in found[:-1])
    for each in found[1:]:
        assert each.messages[0].role == "user"
    assert all(len(scene.turns_of(each.messages)) <= max_turns for each in found)


@given(conversations(), st.integers(1, 6), st.integers(0, 60))
def test_what_closed_stays_closed_when_more_is_said(
    messages: list[Message], max_turns: int, count: int
) -> None:
    start = messages[:count]
    now = start[-1].at if start else NOON
    early = [each for each in cut(start, now, max_turns=max_turns) if each.closed]
    late = cut(messages, messages[-1].at if messages else NOON, max_turns=max_turns)
    for before, after in zip(early, late, strict=False):
        assert after.messages[: len(before.messages)] == before.messages
