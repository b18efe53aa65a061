from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bumble.body import bars
from bumble.text import moments

BERLIN, KOLKATA = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")


@pytest.mark.parametrize(
    ("hour", "expected"), [(8, 1.0), (14, 1.15), (20, 1.0), (2, 0.85), (26, 0.85), (11, 1.10607)]
)
def test_the_rhythm_peaks_in_the_afternoon_and_sinks_at_night(hour: float, expected: float) -> None:
    assert bars.rhythm(hour) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("utc", "expected"),
    [
        ("2026-01-10T21:59:59+00:00", False),  # 22:59 in Berlin
        ("2026-01-10T22:00:00+00:00", True),
        ("2026-01-11T01:30:00+00:00", True),  # 02:30, past midnight
        ("2026-01-11T02:00:00+00:00", False),
        ("2026-03-29T00:59:00+00:00", True),  # 01:59, the minute before the clock skips 2
        ("2026-03-29T01:00:00+00:00", False),  # 03:00: hour 2 never comes
        ("2026-10-25T00:30:00+00:00", True),  # 02:30 summer time
        ("2026-10-25T01:30:00+00:00", True),  # 02:30 again
        ("2026-10-25T02:00:00+00:00", False),
    ],
)
def test_dream_hours_wrap_midnight_and_follow_dst(utc: str, *, expected: bool) -> None:
    at = datetime.fromisoformat(utc)
    assert moments.in_hours(at, BERLIN, [23, 0, 1, 2]) is expected
