"""The time of a reminder, as the reader marks it and as it is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bumble.fallback import due_time

TUESDAY = datetime(2026, 12, 1, 19, 0, tzinfo=UTC)


@pytest.mark.parametrize("said", ["7:20", "16:20", "8:50", "23:59"])
def test_a_minute_is_the_one_that_was_said(said: str) -> None:
    due = due_time.time_of(f"remind me tomorrow at {said}", f"tomorrow at {said}", "en", TUESDAY)
    hour, minute = map(int, said.split(":"))
    assert due == datetime(2026, 12, 2, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "language", "hour"),
    [
        ("am Donnerstag um 5:15", "de", 5),
        ("on Thursday at 5:15", "en", 17),
        ("jeudi à 5:15", "fr", 5),
        ("torsdag 10.15", "sv", 10),
    ],
)
def test_who_writes_hours_to_24_means_by_an_early_one_what_it_says(
    said: str, language: str, hour: int
) -> None:
    due = due_time.time_of(said, said, language, TUESDAY)
    assert due == datetime(2026, 12, 3, hour, 15, tzinfo=UTC)


def test_where_another_time_was_marked_the_plain_one_beside_it_counts() -> None:
    text = (
        "remind me thursday at 6pm to ring the skip people, i want one for the weekend after next"
    )
    due = due_time.time_of(text, "the weekend after next", "en", TUESDAY)
    assert due == datetime(2026, 12, 3, 18, tzinfo=UTC)
    two = "remind me thursday at 6pm or friday at 7pm, and the weekend after next"
    assert due_time.time_of(two, "the weekend after next", "en", TUESDAY) is None


@pytest.mark.parametrize(
    ("text", "language", "is_all"),
    [
        ("On 20 December at ten in the morning.", "en", True),
        ("am Dienstag um halb acht", "de", True),
        ("ten people came on 20 December", "en", False),
    ],
)
def test_a_text_may_be_nothing_but_a_time(text: str, language: str, is_all: bool) -> None:
    assert due_time.is_all(text, language) is is_all


@pytest.mark.parametrize(
    ("said", "language", "hours", "rest"),
    [
        ("remind me half an hour before", "en", 0.5, "remind me"),
        ("erinner mich ne Stunde vorher. Danke", "de", 1, "erinner mich. Danke"),
        ("une heure et demie avant", "fr", 1.5, ""),
        ("een uur van tevoren", "nl", 1, ""),
        ("two days before", "en", 48, ""),
        ("ten minutes before eight", "en", 0, "ten minutes before eight"),
        ("before she goes to bingo at one", "en", 0, "before she goes to bingo at one"),
        ("the 8 boxes before 5", "en", 0, "the 8 boxes before 5"),
        ("meet at 8, an hour before", "en", 1, "meet at 8,"),
        ("in two hours before the match", "en", 0, "in two hours before the match"),
        ("om 8 uur voor de tandarts", "nl", 0, "om 8 uur voor de tandarts"),
    ],
)
def test_how_long_before_a_time_is_parted_from_it(
    said: str, language: str, hours: float, rest: str
) -> None:
    assert due_time.before(said, language) == (timedelta(hours=hours), rest)


@pytest.mark.parametrize(
    ("said", "language", "due"),
    [
        ("Friday the 18th at 3pm", "en", (18, 15)),
        ("vendredi 18 à 15h", "fr", (18, 15)),
        ("Freitag 18.12. 15 Uhr", "de", (18, 15)),
        ("Donnerstag 8.30.", "de", (3, 8)),
        ("quarter to midnight on Friday", "en", (4, 23)),
        ("in 1 Tag abends um 8", "de", (2, 20)),
        ("Thursday 7", "en", (3, 9)),
        ("Friday the 4th", "en", (4, 9)),
        ("Friday the 11th at 3pm", "en", (11, 15)),
        ("el jueves 3 a las 9", "es", (3, 9)),
        ("Saturday at midnight", "en", (6, 0)),
        ("um Mitternacht", "de", (2, 0)),
        ("esta noche", "es", (1, 21)),
        ("el sábado por la mañana", "es", (5, 9)),
        ("mañana a las 8 de la mañana", "es", (2, 8)),
        ("morgenavond", "nl", (2, 18)),
    ],
)
def test_what_names_a_day_twice_is_that_day(said: str, language: str, due: tuple[int, int]) -> None:
    day, hour = due
    found = due_time.time_of(said, said, language, TUESDAY)
    assert found is not None and (found.month, found.day, found.hour) == (12, day, hour)


def test_a_week_of_midnights_ends_its_days() -> None:
    assert due_time.schedule("every Friday at midnight", "en", TUESDAY) == "0 0 * * 6"
    assert due_time.schedule("Mondays at 9", "en", TUESDAY) == "0 9 * * 1"
