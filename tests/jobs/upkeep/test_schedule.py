from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from bumble.runtime import schedule

LISBON = ZoneInfo("Europe/Lisbon")
SATURDAY = datetime(2026, 5, 23, 12, tzinfo=UTC)
NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


@pytest.mark.parametrize("number", range(8))
def test_weekdays_are_0_to_7_and_both_ends_are_sunday(number: int) -> None:
    by_number = schedule.following(f"30 6 * * {number}", SATURDAY, LISBON)
    by_name = schedule.following(f"30 6 * * {NAMES[number]}", SATURDAY, LISBON)
    assert by_number == by_name
    assert by_number.isoweekday() % 7 == number % 7
    assert (by_number.hour, by_number.minute) == (6, 30)
    assert timedelta() < by_number - SATURDAY <= timedelta(days=7)


@pytest.mark.parametrize(
    ("days", "wanted"),
    [
        ("1-5", {1, 2, 3, 4, 5}),
        ("5-7", {5, 6, 7}),
        ("0,6", {6, 7}),
        ("6,7", {6, 7}),
        ("0-6", {1, 2, 3, 4, 5, 6, 7}),
        ("1-7", {1, 2, 3, 4, 5, 6, 7}),
        ("MON-FRI", {1, 2, 3, 4, 5}),
        ("*", {1, 2, 3, 4, 5, 6, 7}),
    ],
)
def test_ranges_and_lists_of_weekdays(days: str, wanted: set[int]) -> None:
    at, found = SATURDAY, set()
    for _ in range(14):
        at = schedule.following(f"0 9 * * {days}", at, LISBON)
        found.add(at.isoweekday())
    assert found == wanted


def test_times_are_the_entitys() -> None:
    at = schedule.following("0 8 * * *", SATURDAY, ZoneInfo("Asia/Tokyo"))
    assert at.isoformat() == "2026-05-24T08:00:00+09:00"


def test_a_time_that_the_clocks_skip_comes_later_and_one_that_comes_twice_comes_once() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    spring = schedule.following("30 2 * * *", datetime(2026, 3, 28, 12, tzinfo=UTC), berlin)
    assert spring.isoformat() == "2026-03-29T03:00:00+02:00"
    first = schedule.following("30 2 * * *", datetime(2026, 10, 24, 12, tzinfo=UTC), berlin)
    second = schedule.following("30 2 * * *", first, berlin)
    assert (first.day, second.day) == (25, 26)


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "* * * * * *", "60 * * * *", "0 24 * * *", "0 0 * * 8", "@daily", "0 0 30 2 *"],
)
def test_what_is_no_schedule_says_so(expression: str) -> None:
    with pytest.raises(ValueError, match=r"is (no|a) schedule"):
        schedule.check(expression)
