from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bumble.body import anchoring
from bumble.body.hormones import REST, Hormones

AT = datetime(2026, 5, 24, 12, tzinfo=UTC)
HIGH = {"dopamine": 0.8, "cortisol": 0.1, "oxytocin": 0.6}
LOW = {"dopamine": 0.2, "cortisol": 0.5, "oxytocin": 0.3}


@pytest.mark.parametrize("share", [anchoring.ASKED, anchoring.WORDS, anchoring.ALIKE])
def test_a_blend_is_the_formula(share: float) -> None:
    levels = anchoring.blend(Hormones(AT, LOW), HIGH, share).levels
    assert levels == {name: (1 - share) * LOW[name] + share * HIGH[name] for name in LOW}


def test_the_shares_are_those_of_the_mechanics() -> None:
    assert (anchoring.ASKED, anchoring.WORDS, anchoring.ALIKE) == (0.3, 0.25, 0.15)
    assert (anchoring.MOST, anchoring.ALIKE_ABOVE, anchoring.CHARGED) == (20, 0.85, 0.8)
    assert timedelta(minutes=15) == anchoring.COOL_DOWN


def test_a_body_is_like_itself_and_at_rest_like_nothing() -> None:
    assert anchoring.likeness(HIGH, HIGH) == pytest.approx(1)
    assert anchoring.likeness(HIGH, LOW) < anchoring.ALIKE_ABOVE
    assert anchoring.likeness(REST, HIGH) == 0


def test_time_takes_half_of_an_anchor_in_a_month() -> None:
    later = AT + timedelta(days=anchoring.HALF_LIFE_DAYS)
    assert anchoring.left(0.8, AT, later) == pytest.approx(0.4)
    assert anchoring.left(0.8, later, AT) == 0.8
