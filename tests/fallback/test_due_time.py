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
        ("in zweieinhalb Stunden", "de", 150),
        ("om en och en halv timme", "sv", 90),
        ("bir buçuk saat sonra", "tr", 90),
        ("半小时后", "zh", 30),
        ("一个半小时后", "zh", 90),
        ("两个小时后", "zh", 120),
        ("1時間半後に", "ja", 90),
        ("三十分後", "ja", 30),
        ("بعد ساعة ونصف", "ar", 90),
        ("بعد ساعتين", "ar", 120),
        ("بعد خمس عشرة دقيقة", "ar", 15),
        ("आधे घंटे बाद", "hi", 30),
        ("साढ़े तीन घंटे बाद", "hi", 210),
        ("डेढ़ घंटे में", "hi", 90),
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


SATURDAY = datetime(2026, 10, 31, 12, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "when", "language", "day_and_hour"),
    [
        ("thursday 5, 8h30 in the morning, the knee", "8h30", "en", "11-05 08:30"),
        ("kan du minde mig om på mandag kl 13 at købe ind", "på mandag kl 13", "da", "11-02 13:00"),
        ("明日の朝9時に薬を飲むように教えて", "明日の朝9時に", "ja", "11-01 09:00"),
        ("明後日の午後3時半に歯医者", "明後日の午後3時半", "ja", "11-02 15:30"),
        ("今夜8時、母に電話", "8時", "ja", "10-31 20:00"),
        ("来週の月曜日の午前10時に電話", "来週の月曜日の午前10時に", "ja", "11-02 10:00"),
        ("三日後の夕方6時に返す", "三日後の夕方6時に", "ja", "11-03 18:00"),
        ("十一月三日の夜９時", "十一月三日の夜９時", "ja", "11-03 21:00"),
        ("今夜12時に起こして", "今夜12時に", "ja", "11-01 00:00"),
        ("再来週の月曜の9時", "再来週の月曜の9時", "ja", None),
        ("明日の9時の5分前に", "明日の9時", "ja", None),
        ("四時五分前に声かけて", "四時五分", "ja", None),
        ("母の日の朝9時", "母の日の朝9時", "ja", None),
        ("明天早上九点提醒我吃药", "明天早上九点", "zh", "11-01 09:00"),
        ("星期四中午十二点一刻交房租", "星期四中午十二点一刻", "zh", "11-05 12:15"),
        ("下周一上午10点", "下周一上午10点", "zh", "11-02 10:00"),
        ("周五下班前得交社保材料", "周五", "zh", None),
        ("ذكّريني غدًا الساعة 9 أن أتصل", "غدًا الساعة 9", "ar", "11-01 09:00"),
        ("بعد غدٍ الساعة 10 صباحًا", "بعد غدٍ الساعة 10 صباحًا", "ar", "11-02 10:00"),
        ("الساعة خمسة إلا ربع", "الساعة خمسة إلا ربع", "ar", "10-31 16:45"),
        ("غدا الساعة الثامنة والنصف صباحا", "غدا الساعة الثامنة", "ar", "11-01 08:30"),
        (
            "بعد ثلاثة أيام الساعة السادسة مساءً",
            "بعد ثلاثة أيام الساعة السادسة مساءً",
            "ar",
            "11-03 18:00",
        ),
        ("कल सुबह 9 बजे दवा", "सुबह 9 बजे", "hi", "11-01 09:00"),
        ("परसों दोपहर साढ़े तीन बजे", "परसों दोपहर साढ़े तीन बजे", "hi", "11-02 15:30"),
        ("कल शाम सवा पाँच बजे", "कल शाम सवा पाँच बजे", "hi", "11-01 17:15"),
        ("कल रात 2 बजे", "कल रात 2 बजे", "hi", "11-02 02:00"),
        ("सवा दो घंटे बाद", "सवा दो घंटे बाद", "hi", None),
        ("14 नवंबर को सुबह 8 बजे", "14 नवंबर को सुबह 8 बजे", "hi", "11-14 08:00"),
        ("in 3 days at 6", "in 3 days at 6", "en", "11-03 06:00"),
        ("dans dix jours les points", "dans dix jours", "fr", "11-10 09:00"),
        ("for 3 May tell me two days before", "two days before", "en", None),
        ("mañana 8 horas", "mañana 8 horas", "es", "11-01 08:00"),
        ("how was your night? tell me at 1", "at 1", "en", "10-31 13:00"),
        ("the op is at 8 o'clock, wake me at 7 tomorrow", "at 7 tomorrow", "en", "11-01 07:00"),
    ],
)
def test_a_time_is_right_or_asked_for_in_any_script(
    text: str, when: str, language: str, day_and_hour: str | None
) -> None:
    due = due_time.time_of(text, due_time.widened(text, when, language), language, SATURDAY)
    assert (due and f"{due:%m-%d %H:%M}") == day_and_hour


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("明後日の12時半でお願いします", "ja"),
        ("明天九点吧，麻烦了", "zh"),
        ("कल सुबह 9 बजे, कृपया", "hi"),
    ],
)
def test_please_is_no_other_purpose(text: str, language: str) -> None:
    assert due_time.is_all(text, language)


@pytest.mark.parametrize(
    ("said", "language", "day", "hour"),
    [
        ("remind me the night before my flight on the 5th to pack", "en", 4, 18),
        ("my flight is on the 5th at 9. remind me at 8pm the night before", "en", 4, 20),
        ("Am Freitag ist Prüfung, erinner mich am Tag davor", "de", 3, 9),
        ("rappelle-moi la veille au soir, mon vol est vendredi", "fr", 3, 18),
        ("remind me to ring the bank first thing tomorrow", "en", 2, 9),
    ],
)
def test_a_time_may_be_told_by_what_comes_after_it(
    said: str, language: str, day: int, hour: int
) -> None:
    when = "first" if "first" in said else "before"
    due = due_time.time_of(said, when, language, TUESDAY)
    assert due == datetime(2026, 12, day, hour, tzinfo=UTC)


def test_what_is_before_a_day_that_nobody_named_is_no_time() -> None:
    assert due_time.time_of("remind me the night before", "before", "en", TUESDAY) is None


@pytest.mark.parametrize(
    ("said", "day", "hour"),
    [("u petak u 7 ujutro", 4, 7), ("sutra u 19 sati", 2, 19), ("u subotu u 8 navečer", 5, 20)],
)
def test_croatian_says_at_by_the_word_that_leads_to_a_span_elsewhere(
    said: str, day: int, hour: int
) -> None:
    due = due_time.time_of(said, said, "hr", TUESDAY)
    assert due == datetime(2026, 12, day, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "language", "minutes"),
    [
        ("Push that back by two hours.", "en", 120),
        ("eine halbe Stunde früher", "de", -30),
        ("Move it back by a day", "en", 1440),
        ("Move it to 8", "en", None),
    ],
)
def test_something_is_moved_by_a_span_or_the_other_way(
    said: str, language: str, minutes: int | None
) -> None:
    by = due_time.shift(said, language)
    assert by == (None if minutes is None else timedelta(minutes=minutes))
