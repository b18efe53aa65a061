from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from bumble.body import familiarity
from bumble.body.familiarity import STRANGER, Scores


def exchange(
    bond: Scores, interactions: int, hours: float = 0, *, meaningful: bool = True
) -> Scores:
    return familiarity.after_exchange(
        bond,
        silence_hours=hours,
        interactions=interactions,
        meaningful=meaningful,
    )


@pytest.mark.parametrize(
    ("before", "hours", "after"),
    [(0.88, 336, 0.48), (0.88, 672, 0.28), (0.88, 0, 0.88), (0.05, 336, 0.05), (0.5, -10, 0.5)],
)
def test_silence_halves_familiarity_toward_its_floor(
    before: float, hours: float, after: float
) -> None:
    assert familiarity.decayed(before, hours) == pytest.approx(after)


@pytest.mark.parametrize(("count", "limit"), [(0, 0.0), (1, 0.15773), (80, 1.0), (500, 1.0)])
def test_the_ceiling_rises_with_the_count(count: int, limit: float) -> None:
    assert familiarity.ceiling(count) == pytest.approx(limit, abs=1e-5)


def test_an_exchange_of_substance_counts_more() -> None:
    new = STRANGER
    assert exchange(new, 1).familiarity == pytest.approx(0.017)
    assert exchange(new, 1, meaningful=False).familiarity == pytest.approx(0.007)
    assert astuple(exchange(new, 1)) == pytest.approx((0.017, 0.5, 0.5, 0, 0))


@pytest.mark.parametrize(("direction", "level"), [(1, 0.52), (0, 0.5), (-1, 0.48)])
def test_good_and_harm_move_warmth_and_trust_by_a_step(direction: int, level: float) -> None:
    bond = familiarity.felt(STRANGER, direction)
    assert astuple(bond) == pytest.approx((0.0, level, level, 0, 0))


@given(st.lists(st.tuples(st.floats(0, 2000), st.booleans()), max_size=300))
def test_a_bond_stays_in_range_and_under_its_ceiling(exchanges: list[tuple[float, bool]]) -> None:
    bond = STRANGER
    for count, (hours, meaningful) in enumerate(exchanges, start=1):
        bond = exchange(bond, count, hours, meaningful=meaningful)
        assert 0 <= bond.familiarity <= familiarity.ceiling(count)


@pytest.mark.parametrize(
    ("points", "expected"),
    [({}, 0), ({"social": 3, "comfort": -1}, 1), ({"tension": 2}, -1), ({"creative": 9}, 0)],
)
def test_the_appraisal_gives_the_direction(points: dict[str, float], expected: int) -> None:
    assert familiarity.direction(points) == expected
