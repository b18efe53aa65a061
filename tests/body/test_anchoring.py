from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bumble.body import hormones
from bumble.body.hormones import REST, Hormones

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
