from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bumble.index.rows import Period
from bumble.recall import periods

NOW = datetime(2025, 7, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What happened in June 2024?", "2024-06-01", "2024-06-30"),
        ("What did we do in May?", "2025-05-01", "2025-05-31"),
        ("and in September?", "2024-09-01", "2024-09-30"),
        ("How fast was I in May last year?", "2024-05-01", "2024-05-31"),
        ("What was on 2024-05-12?", "2024-05-12", "2024-05-12"),
        ("What was on May 12th, 2024?", "2024-05-12", "2024-05-12"),
        ("What was on 5/12/2024?", "2024-05-12", "2024-05-12"),
        ("Was war am 5.12.2024?", "2024-12-05", "2024-12-05"),
        ("Wo waren wir letzten Sommer?", "2024-06-01", "2024-08-31"),
        ("Was war im Winter?", "2024-12-01", "2025-02-28"),
        ("Was war vor drei Wochen?", "2025-06-24", "2025-06-30"),
        ("Was war letzte Woche?", "2025-07-07", "2025-07-13"),
        ("What happened yesterday?", "2025-07-17", "2025-07-17"),
        ("What happened in the last two weeks?", "2025-07-04", "2025-07-18"),
        ("What was between October and December 2024?", "2024-10-01", "2024-12-31"),
        ("¿Qué pasó el 8 de mayo de 2024?", "2024-05-08", "2024-05-08"),
        ("¿Qué hicimos el verano pasado?", "2024-06-01", "2024-08-31"),
        ("Qu'avons-nous fait en mai ?", "2025-05-01", "2025-05-31"),
        ("Co robiliśmy w maju 2024?", "2024-05-01", "2024-05-31"),
        ("ما الذي حدث في مارس؟", "2025-03-01", "2025-03-31"),
        ("2024年3月12日に何がありましたか", "2024-03-12", "2024-03-12"),
        ("先月何がありましたか", "2025-06-01", "2025-06-30"),
        ("3週間前", "2025-06-24", "2025-06-30"),
        ("去年夏天我们去了哪里", "2024-06-01", "2024-08-31"),
        ("What happened in 2023?", "2023-01-01", "2023-12-31"),
        ("What did we do at Christmas?", "2024-12-24", "2024-12-26"),
        ("Was war an Ostern?", "2025-04-18", "2025-04-21"),
        ("¿Dónde estuvimos en Navidad de 2023?", "2023-12-24", "2023-12-26"),
        ("圣诞节我们做了什么", "2024-12-24", "2024-12-26"),
        ("Where are we in the last week of August?", "2024-08-01", "2024-08-31"),
        ("Apa yang terjadi kemarin?", "2025-07-17", "2025-07-17"),
    ],
)
def test_a_question_names_a_period(question: str, first: str, last: str) -> None:
    period = periods.read(question, NOW)
    assert period is not None
    assert f"{period.start + periods.BEFORE:%Y-%m-%d}" == first
    end = period.end - periods.AFTER
    assert f"{end - periods.BEFORE:%Y-%m-%d}" == last


@pytest.mark.parametrize(
    "question",
    [
        "What may I eat?",
        "How long ago was it?",
        "I paid 2000 euros",
        "We march on",
        "What shall I do tomorrow?",
        "mai dire mai",
        "你好吗",
        "ฉันอยู่ที่ไหน",
        "",
    ],
)
def test_a_question_without_a_period_names_none(question: str) -> None:
    assert periods.read(question, NOW) is None


def test_what_happened_around_something_is_looked_up() -> None:
    assert periods.is_around("What happened around her birthday?")
    assert periods.is_around("Was war rund um seinen Geburtstag?")
    assert not periods.is_around("What happened on her birthday?")


def test_the_days_around_a_month_count_half_and_those_around_a_day_whole() -> None:
    start, day = datetime(2026, 6, 1, tzinfo=UTC), timedelta(days=1)
    month = Period(start - day, start + 40 * day, day, 10 * day)
    assert [month.weight(start + n * day) for n in (-2, -1, 5, 35, 41)] == [0, 0.5, 1, 0.5, 0]
    one = Period(start - day, start + 11 * day, day, 10 * day)
    assert [one.weight(start + n * day) for n in (-2, -1, 0, 5, 12)] == [0, 1, 1, 1, 0]
