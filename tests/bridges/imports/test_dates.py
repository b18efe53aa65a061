from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from bumble.bridges.imports import foreign

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("told", "hour"),
    [
        ("Nov 14, 2025, 3:12:47\u202fPM PST", 23),
        ("14.11.2025, 15:12:47 MEZ", 14),
        ("14 de nov. de 2025, 15:12:47 BRT", 18),
        ("14 нояб. 2025 г., 15:12:47 MSK", 12),
        ("2025年11月14日 15:12:47 JST", 6),
        ("2025. 11. 14. 오후 3:12:47 KST", 6),
        ("14 nov 2025, 15:12:47 GMT−5", 20),
    ],
)
def test_a_time_is_read_in_the_words_and_the_zone_of_its_page(told: str, hour: int) -> None:
    at = foreign.time_shown(told, BERLIN)
    assert at is not None
    assert at.astimezone(UTC) == datetime(2025, 11, 14, hour, 12, 47, tzinfo=UTC)


@pytest.mark.parametrize("told", ["Sep 2, 2026", "We met 3 times in 2025", "2 Smarch 2026, 25:99"])
def test_what_has_no_day_or_no_time_of_day_is_none(told: str) -> None:
    assert foreign.time_shown(told, BERLIN) is None
