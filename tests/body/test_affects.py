from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.body import affects, hormones
from bumble.body.affects import Affect, Imprint, Mood
from bumble.body.config import EMOTIONS
from bumble.body.hormones import REST, Hormones
from tests.support.body_defaults import MEMORY, NOON, bars_at

MONTH = 2592000.0


def test_a_feeling_felt_again_grows_and_only_the_strongest_are_held() -> None:
    once = affects.feel((), ["Quiet joy!", "quiet  joy"], 0.5, NOON)
    assert once == (Affect("quiet-joy", 0.5, NOON),)
    twice = affects.feel(once, ["quiet-joy"], 0.5, NOON)
    assert twice[0].intensity == pytest.approx(0.75)
    crowd = affects.feel(twice, [f"feeling{n}" for n in range(20)], 0.3, NOON)
    assert len(crowd) == affects.MOST
    assert crowd[0].name == "quiet-joy"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, Mood("content", 0.43)),  # a new body: comfort 65 is over 60
        ({"comfort": 59}, Mood("neutral", 0.0)),
        ({"comfort": 60}, Mood("content", 0.4)),
        ({"comfort": 0, "tension": 70}, Mood("anxious", 0.4)),
        ({"comfort": 0, "curiosity": 65}, Mood("curious", 0.4)),
        ({"comfort": 0, "social": 75}, Mood("affectionate", 0.4)),
        ({"comfort": 0, "creative": 70}, Mood("excited", 0.4)),
        ({"comfort": 0, "creative": 69.9}, Mood("neutral", 0.0)),
        ({"comfort": 65, "tension": 90}, Mood("anxious", 0.52)),  # the larger overshoot wins
        ({"comfort": 100, "tension": 100}, Mood("content", 0.64)),
        ({"comfort": 65, "tension": 75}, Mood("anxious", 0.43)),  # a tie goes to the first
    ],
)
def test_the_largest_overshoot_gives_the_mood(values: dict[str, float], expected: Mood) -> None:
    present = affects.mood(bars_at(**values))
    assert present.name == expected.name
    assert present.intensity == pytest.approx(expected.intensity)


@pytest.mark.parametrize(
    ("imprints", "mood", "age", "expected"),
    [
        ([], "anxious", 0.0, 1.0),
        ([("neutral", 1.0)], "neutral", 0.0, 1.0),
        ([("anxious", 1.0)], "anxious", 0.0, 1 + 0.35 * 0.85),
        ([("anxious", 1.0)], "anxious", MONTH, 1 + 0.35 * 0.85 / 2),
        ([("anxious", 1.0)], "neutral", 0.0, 1 + 0.35 * 0.3),
        ([("anxious", 0.5)], "melancholy", 0.0, 1 + 0.35 * 0.5 * 0.78),
        ([("anxious", 1.0)] * 3, "anxious", 0.0, 1 + 0.35 * 1.5),  # capped
        ([("amused", 1.0)], "content", -99.0, 1 + 0.35 * 0.68),
    ],
)
def test_an_imprint_lifts_recall_by_the_formula(
    imprints: list[tuple[str, float]], mood: str, age: float, expected: float
) -> None:
    left = [Imprint(emotion, intensity, "") for emotion, intensity in imprints]
    assert affects.imprint_factor(left, mood, age, MEMORY) == pytest.approx(expected)


IMPRINTS = st.lists(
    st.builds(Imprint, st.sampled_from(EMOTIONS), st.floats(0, 1), st.just("")), max_size=5
)


@given(IMPRINTS, st.sampled_from(EMOTIONS), st.floats(0, 1e9))
def test_weight_zero_is_plain_retrieval_exactly(
    imprints: list[Imprint], mood: str, age: float
) -> None:
    plain = replace(MEMORY, imprint_recall_weight=0.0)
    assert affects.imprint_factor(imprints, mood, age, plain) == 1.0


@given(IMPRINTS, st.sampled_from(EMOTIONS), st.floats(0, 1e9))
def test_the_factor_is_bounded_and_the_shares_add_up(
    imprints: list[Imprint], mood: str, age: float
) -> None:
    shares = affects.imprint_shares(imprints, mood, age, MEMORY)
    factor = affects.imprint_factor(imprints, mood, age, MEMORY)
    assert 1 <= factor <= 1 + 0.35 * 1.5
    assert factor == pytest.approx(1 + 0.35 * min(1.5, sum(shares)))


AT = datetime(2026, 5, 24, 12, tzinfo=UTC)
HIGH = {"dopamine": 0.8, "cortisol": 0.1, "oxytocin": 0.6}
LOW = {"dopamine": 0.2, "cortisol": 0.5, "oxytocin": 0.3}


@pytest.mark.parametrize("share", [hormones.ASKED, hormones.WORDS, hormones.ALIKE])
def test_a_blend_is_the_formula(share: float) -> None:
    levels = hormones.blend(Hormones(AT, LOW), HIGH, share).levels
    assert levels == {name: (1 - share) * LOW[name] + share * HIGH[name] for name in LOW}


def test_a_body_is_like_itself_and_at_rest_like_nothing() -> None:
    assert hormones.likeness(HIGH, HIGH) == pytest.approx(1)
    assert hormones.likeness(HIGH, LOW) < hormones.ALIKE_ABOVE
    assert hormones.likeness(REST, HIGH) == 0


def test_time_takes_half_of_an_anchor_in_a_month() -> None:
    later = AT + timedelta(days=hormones.HALF_LIFE_DAYS)
    assert hormones.left(0.8, AT, later) == pytest.approx(0.4)
    assert hormones.left(0.8, later, AT) == 0.8
