from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.body import affects, ebb
from bumble.body.affects import Affect
from bumble.body.config import BAR_NAMES
from bumble.body.noise import Fragment
from bumble.body.soma import FeltLine, Soma
from tests.support.body_defaults import BORN, NOON, STIRRED, body

BODIES = st.builds(
    lambda values, feelings, thoughts, felt: replace(
        body(**dict(zip(BAR_NAMES, values, strict=True))),
        affects=affects.feel((), feelings, 0.5, NOON),
        noise=tuple(Fragment(text, "dream", 0.5, NOON) for text in thoughts),
        felt=FeltLine(felt, NOON) if felt else None,
    ),
    st.lists(st.floats(0, 100), min_size=5, max_size=5),
    st.lists(st.text(min_size=1, max_size=40), max_size=12),
    st.lists(st.text("abcde ", min_size=1, max_size=200), max_size=8),
    st.text("abcde ", max_size=200),
)


def crowded(affect_count: int, noise_count: int, **values: float) -> Soma:
    feelings = tuple(Affect(f"feeling{n}", 0.5, NOON) for n in range(affect_count))
    thoughts = tuple(Fragment(f"thought{n}", "thought", 0.5, NOON) for n in range(noise_count))
    return replace(body(**values), affects=feelings, noise=thoughts)


@pytest.mark.parametrize(
    ("state", "expected", "tier"),
    [
        (BORN, 0.0, "quiet"),
        (body(social=75), 0.38 * 0.5, "quiet"),
        (crowded(6, 8), 0.22, "quiet"),
        (crowded(12, 4), 0.17, "quiet"),
        (body(curiosity=100), 0.38 + 0.18, "normal"),
        (body(social=80), 0.38 * 0.6 + 0.18, "normal"),
        (body(curiosity=70, comfort=70), 0.38 * 0.5 + 0.22, "normal"),
        (body(curiosity=95, comfort=70), 0.38 + 0.22 + 0.18, "high"),
        (crowded(6, 8, curiosity=95, comfort=70, social=100), 1.0, "high"),
    ],
)
def test_loudness_adds_up_and_gives_the_tier(state: Soma, expected: float, tier: str) -> None:
    loud = ebb.loudness(state)
    assert loud == pytest.approx(expected)
    assert ebb.tier(loud) == tier


def test_a_stirring_body() -> None:
    assert ebb.body_block(STIRRED, "normal") == (
        "Body: stirring. Mood: amused (0.62).\n"
        "Bars: social 85 (rest 50), curiosity 74 (rest 45), comfort 71 (rest 65).\n"
        "Urge: reach out.\n"
        "Torn: curiosity against comfort.\n"
        "Feelings: amused (0.6), a-little-proud (0.4).\n"
        "## Noise\n"
        "[dream] the tide pulls at thoughts\n"
        "bees do not queue"
    )


def test_a_loud_body() -> None:
    assert ebb.body_block(STIRRED, "high") == (
        "Body: loud. Mood: amused (0.62).\n"
        "Bars: social 85 (rest 50), curiosity 74 (rest 45), creative 40 (rest 40), "
        "tension 15 (rest 15), comfort 71 (rest 65).\n"
        "Urge: reach out.\n"
        "Torn: curiosity against comfort.\n"
        "Feelings: amused (0.6), a-little-proud (0.4).\n"
        "It felt like this: a quick bright tug, like a kite\n"
        "## Noise\n"
        "[dream] the tide pulls at thoughts\n"
        "bees do not queue\n"
        "was it about something else underneath"
    )


@given(BODIES)
def test_a_tag_is_short_and_reads_back(state: Soma) -> None:
    tag = ebb.episode_tag(state)
    assert len(tag) <= 220
    found = ebb.parse_tag(f"soma: {tag}")
    assert found
    assert found.bars == {name: round(state.bars.value(name)) for name in BAR_NAMES}
    assert found.mood == affects.mood(state.bars).name


WHOLE = "social=85% curiosity=74% creative=40% tension=15% comfort=71% mood=content"


@pytest.mark.parametrize(
    "tag",
    [
        "",
        WHOLE.replace("curiosity=74% ", ""),
        WHOLE.replace("74%", "174%"),
        WHOLE.replace("74%", "much"),
        WHOLE.replace("mood=content", "mood=giddy"),
    ],
)
def test_a_broken_tag_is_none(tag: str) -> None:
    assert ebb.parse_tag(tag) is None
