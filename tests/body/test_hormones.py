from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.body import hormones
from bumble.body.config import HORMONE_NAMES
from bumble.body.hormones import Hormones
from tests.support.body_defaults import BORN, NOON

RESTED = BORN.hormones


def levels(dopamine: float = 0.15, cortisol: float = 0.02, oxytocin: float = 0.20) -> Hormones:
    return Hormones(NOON, {"dopamine": dopamine, "cortisol": cortisol, "oxytocin": oxytocin})


@pytest.mark.parametrize(
    ("name", "minutes", "rest"),
    [("dopamine", 30, 0.15), ("cortisol", 60, 0.02), ("oxytocin", 45, 0.2)],
)
def test_half_the_gap_to_the_rest_is_gone_after_a_half_life(
    name: str, minutes: float, rest: float
) -> None:
    later = hormones.advance(levels(1, 1, 1), NOON + timedelta(minutes=minutes))
    assert later.levels[name] == pytest.approx(rest + (1 - rest) / 2)


@given(
    st.dictionaries(st.sampled_from(HORMONE_NAMES), st.floats(-5, 5)),
    st.floats(0, 1), st.floats(0, 1), st.floats(0, 1),
)  # fmt: skip
def test_levels_stay_between_none_and_full(
    deltas: dict[str, float], a: float, b: float, c: float
) -> None:
    moved = hormones.nudge(levels(a, b, c), deltas)
    assert all(0 <= level <= 1 for level in moved.levels.values())


@pytest.mark.parametrize(
    ("event", "name", "expected"),
    [
        ("message_in", "oxytocin", 0.2 + 0.03 * 0.8),
        ("tool_failed", "cortisol", 0.02 + 0.05 * 0.98),
        ("impulse", "dopamine", 0.15 + 0.10 * 0.85),
        ("dream", "cortisol", 0.0),
    ],
)
def test_events_move_the_hormones_of_their_row(event: str, name: str, expected: float) -> None:
    assert hormones.nudge(RESTED, hormones.EVENTS[event]).levels[name] == pytest.approx(expected)


def test_a_tense_appraisal_raises_cortisol_and_a_comforting_one_lowers_it() -> None:
    tense = hormones.apply_bar_deltas(RESTED, {"tension": 10})
    assert tense.levels["cortisol"] == pytest.approx(0.02 + 0.2 * 0.98)
    soothed = hormones.apply_bar_deltas(tense, {"comfort": 10})
    assert soothed.levels["cortisol"] == pytest.approx(tense.levels["cortisol"] - 0.15)


@pytest.mark.parametrize(
    ("state", "given", "tone"),
    [
        (levels(), ("baseline", "baseline", "baseline"), "be steady and natural"),
        (
            levels(dopamine=0.6),
            ("DOMINANT", "baseline", "baseline"),
            "be enthusiastic and celebrate wins",
        ),
        (
            levels(cortisol=0.5, oxytocin=0.4),
            ("baseline", "DOMINANT", "active"),
            "be focused and concise, minimize tangents; let some warmth show",
        ),
        (
            levels(dopamine=0.7, cortisol=0.9),
            ("active", "DOMINANT", "baseline"),
            "be focused and concise, minimize tangents; lean towards the lively and hopeful",
        ),
        (levels(oxytocin=0.05), ("baseline", "baseline", "baseline"), "be steady and natural"),
    ],
)
def test_labels_and_tone_follow_the_levels(
    state: Hormones, given: tuple[str, ...], tone: str
) -> None:
    assert tuple(hormones.labels(state).values()) == given
    assert hormones.tone(state) == tone
