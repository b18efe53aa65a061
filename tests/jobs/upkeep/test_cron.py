from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bumble.cli.commands import cron
from bumble.cli.commands.cron import Job
from bumble.errors import RefusedError
from bumble.runtime import schedule

ADA = Job(Path("/home/sam/my ada"), "Ada", "/opt/py/bin/python")
BO = Job(Path("/home/sam/bo"), "Bo", "/opt/py/bin/python")
MINE = "MAILTO=sam\n0 5 * * * backup  # mine\n"


def test_the_line_names_everything_in_full_and_survives_a_shell() -> None:
    line = cron.block(ADA).splitlines()[1]
    minutes, command = line.split(" * * * * ")
    assert minutes == "*/10"
    assert shlex.split(command) == [*ADA.arguments]


def test_only_its_own_block_is_touched() -> None:
    one = cron.with_block(MINE, ADA, cron.block(ADA))
    both = cron.with_block(one, BO, cron.block(BO))
    assert both == MINE + cron.block(ADA) + cron.block(BO)
    assert cron.with_block(both, ADA, cron.block(ADA)) == both
    moved = Job(ADA.root, "Ada", "/new/python")
    again = cron.with_block(both, moved, cron.block(moved))
    assert again == MINE + cron.block(moved) + cron.block(BO)
    assert cron.with_block(both, ADA, "") == MINE + cron.block(BO)
    assert cron.with_block(cron.with_block(both, ADA, ""), BO, "") == MINE
    assert cron.with_block(MINE, ADA, "") == MINE


def test_half_a_block_is_left_to_its_owner() -> None:
    half = "\n".join(cron.block(ADA).splitlines()[:2]) + "\n"
    for text in (cron.block(ADA), ""):
        with pytest.raises(RefusedError, match="crontab -e"):
            cron.with_block(half, ADA, text)


def test_units_have_names_of_their_own_and_quote_what_systemd_would_read() -> None:
    odd = Job(Path('/x/50% "$HOME"'), "Ada", "/py")
    assert odd.unit != Job(Path("/y"), "Ada", "/py").unit
    service = cron.units(odd)[f"{odd.unit}.service"]
    assert 'ExecStart="/py" "-P" "-m" "bumble" "-e" "/x/50%% \\"$$HOME\\"" "tick"' in service
    assert "OnCalendar=*:0/10" in cron.units(odd)[f"{odd.unit}.timer"]


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
