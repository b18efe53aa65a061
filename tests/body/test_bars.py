from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.body import bars
from bumble.body.bars import Bar, Bars
from bumble.body.config import BAR_NAMES
from tests.support.body_defaults import NOON, TEMPERAMENT, bars_at
from tests.support.sweeps import examples

BERLIN = ZoneInfo("Europe/Berlin")

LEVEL = st.floats(0, 100)
STATES = st.builds(
    lambda pairs: Bars(NOON, dict(zip(BAR_NAMES, pairs, strict=True)), {}),
    st.lists(st.builds(Bar, LEVEL, LEVEL), min_size=5, max_size=5),
)


def stepped(start: Bars, hours: float, step_hours: float = 1 / 60) -> Bars:
    """Walk the differential equations in small steps, with the continuous rhythm of UTC."""
    levels, passed = dict(start.levels), 0.0
    while passed < hours - 1e-9:
        step = min(step_hours, hours - passed)
        hour = start.at.hour + start.at.minute / 60 + passed + step / 2
        rhythm = bars.rhythm(hour)
        values = {name: bar.value for name, bar in levels.items()}
        for name, bar in levels.items():
            rate = TEMPERAMENT[name].decay_percent_per_hour / 100 * rhythm
            for link in bars.COUPLINGS:
                if link.target == name and values[link.source] > link.above:
                    rate *= link.factor
            idle = bars.IDLE_PER_HOUR.get(name, 0.0)
            value = bar.value + (idle - rate * (bar.value - bar.rest)) * step
            rest = bar.rest + bars.DRIFT_PER_HOUR * (bar.value - bar.rest) * step
            began, band = TEMPERAMENT[name].initial, bars.BAND
            rest = max(min(began - band, bar.rest), min(max(began + band, bar.rest), rest))
            levels[name] = Bar(min(100, max(0, value)), min(100, max(0, rest)))
        passed += step
    return replace(start, at=start.at + timedelta(hours=hours), levels=levels)


@given(STATES, st.floats(0.01, 72))
@settings(max_examples=examples(40))
def test_the_closed_form_equals_fine_steps_within_one_percent(start: Bars, hours: float) -> None:
    leapt = bars.advance(start, NOON + timedelta(hours=hours), UTC, TEMPERAMENT)
    walked = stepped(start, hours)
    for name in BAR_NAMES:
        near = pytest.approx(walked.value(name), rel=0.01, abs=0.1)
        assert leapt.value(name) == near, name


@given(
    STATES, st.floats(0, 5000), st.dictionaries(st.sampled_from(BAR_NAMES), st.floats(-500, 500))
)
@settings(max_examples=examples(40))
def test_bars_stay_between_empty_and_full(
    start: Bars, hours: float, deltas: dict[str, float]
) -> None:
    moved = bars.nudge(start, deltas)
    for state in (moved, bars.advance(moved, NOON + timedelta(hours=hours), UTC, TEMPERAMENT)):
        assert all(0 <= bar.value <= 100 and 0 <= bar.rest <= 100 for bar in state.levels.values())


@pytest.mark.parametrize(
    ("high", "hurried", "factor"),
    [
        ({"social": 95}, "curiosity", 1.5),
        ({"tension": 95}, "comfort", 2.0),
        ({}, "curiosity", 1.0),
    ],
)
def test_a_high_bar_hurries_another(high: dict[str, float], hurried: str, factor: float) -> None:
    start, rate = bars_at(**{hurried: 75.0}, **high), TEMPERAMENT[hurried].decay_percent_per_hour
    later = bars.advance(start, NOON + timedelta(minutes=30), UTC, TEMPERAMENT)
    rest = start.levels[hurried].rest
    rhythm = bars.rhythm(12.5)
    expected = rest + (75 - rest) * math.exp(-rate / 100 * factor * rhythm / 2)
    assert later.value(hurried) == pytest.approx(expected, abs=0.3)  # it idles, too


def test_night_in_the_entitys_own_zone_slows_decay() -> None:
    start, later = bars_at(tension=90), NOON + timedelta(hours=2)
    by_day = bars.advance(start, later, UTC, TEMPERAMENT).value("tension")
    by_night = bars.advance(start, later, ZoneInfo("Pacific/Auckland"), TEMPERAMENT).value(
        "tension"
    )
    assert by_night > by_day + 0.5


@pytest.mark.parametrize(
    ("day", "hours"), [((2026, 3, 29), 23), ((2026, 10, 25), 25), ((2026, 7, 1), 24)]
)
def test_a_dst_day_is_as_long_as_it_was(day: tuple[int, int, int], hours: int) -> None:
    start = datetime(*day, tzinfo=BERLIN)
    end = datetime(day[0], day[1], day[2] + 1, tzinfo=BERLIN)
    later = bars.advance(bars_at(start, tension=60), end, UTC, TEMPERAMENT)
    walked = stepped(bars_at(start, tension=60), hours)
    assert later.value("tension") == pytest.approx(walked.value("tension"), rel=0.002)


@pytest.mark.parametrize(
    ("start", "delta", "expected"),
    [(50, 10, 55), (90, 10, 91), (100, 10, 100), (0, 10, 10), (50, -10, 40), (5, -10, 0)],
)
def test_what_raises_a_bar_counts_less_the_fuller_it_is(
    start: float, delta: float, expected: float
) -> None:
    moved = bars.nudge(bars_at(social=start), {"social": delta})
    assert moved.value("social") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("message_in", {"social": 51.0}),
        ("message_out", {"social": 50.5, "creative": 40.3}),
        ("tool", {"curiosity": 45.55}),
        ("dream", {}),
    ],
)
def test_events_move_the_bars_of_their_row(event: str, expected: dict[str, float]) -> None:
    moved = bars.nudge(bars_at(), bars.EVENTS.get(event, {}))
    values = {name: bar.value for name, bar in bars_at().levels.items()}
    assert {name: bar.value for name, bar in moved.levels.items()} == pytest.approx(
        values | expected
    )


def test_an_impulse_waits_for_its_threshold_and_its_cooldown() -> None:
    assert bars.ready_impulses(bars_at(social=79.9)) == ()
    full = bars_at(social=80)
    assert bars.ready_impulses(full) == ("reach_out",)
    fired = bars.fire(full, "reach_out")
    assert fired.value("social") == 55
    assert fired.fired == {"reach_out": NOON}
    again = replace(fired, levels=full.levels)
    early, late = NOON + timedelta(minutes=29, seconds=59), NOON + timedelta(minutes=30)
    assert bars.ready_impulses(replace(again, at=early)) == ()
    assert bars.ready_impulses(replace(again, at=late)) == ("reach_out",)
