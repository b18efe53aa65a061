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
    ("said", "language", "minutes"),
    [
        ("in an hour and a half", "en", 90),
        ("in 2 and a half hours", "en", 150),
        ("in three quarters of an hour", "en", 45),
        ("in one and a half hours", "en", 90),
        ("in 2 hours (12:00)", "en", 120),
        ("in 10-15 minutes", "en", 10),
        ("dans quatre-vingt-dix minutes", "fr", 90),
        ("dentro de 20 minutos", "pt", 20),
        ("10 dakika sonra", "tr", 10),
        ("in drei viertel Stunden", "de", 45),
        ("dans 2h", "fr", 120),
        ("dans une heure et demie", "fr", 90),
        ("dentro de una hora y media", "es", 90),
        ("fra un'ora e mezza", "it", 90),
        ("tra mezz'ora", "it", 30),
        ("za godzinę", "pl", 60),
        ("om en halvtimme", "sv", 30),
        ("через полчаса", "ru", 30),
    ],
)
def test_a_span_from_now_is_as_long_as_it_was_said(said: str, language: str, minutes: int) -> None:
    due = due_time.time_of(said, said, language, TUESDAY)
    assert due == TUESDAY + timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("à 2h", "fr"),
        ("a las 2 horas", "es"),
        ("half past eight", "en"),
        ("ten minutes past eight", "en"),
        ("fünf Minuten vor acht", "de"),
        ("om kwart over acht uur", "nl"),
        ("saat 5'te", "tr"),
        ("in a few hours", "en"),
    ],
)
def test_an_hour_of_the_day_is_no_span(said: str, language: str) -> None:
    assert due_time.lapse(said, language) is None


def test_the_rest_of_a_span_is_read_where_too_little_was_marked() -> None:
    text = "Ricordami fra un'ora e mezza di spegnere il forno"
    assert due_time.widened(text, "fra un", "it") == "fra un'ora e mezza"


def test_today_in_a_week_is_none_of_both() -> None:
    said = "heute in einer Woche um 10"
    due = due_time.time_of(said, said, "de", TUESDAY)
    assert due == datetime(2026, 12, 8, 10, tzinfo=UTC)
