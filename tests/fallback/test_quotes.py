from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bumble.fallback import quotes, templates
from bumble.fallback.quotes import Quote

AT = datetime(2026, 11, 9, 12, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("de", "> Kim, 9. November 2026: „x y“"),
        ("en", "> Kim, 9 November 2026: “x y”"),
        ("es", "> Kim, 9 de noviembre de 2026: «x y»"),
        ("fr", "> Kim, 9 novembre 2026 : « x y »"),
        ("it", "> Kim, 9 novembre 2026: «x y»"),
        ("pt", "> Kim, 9 de novembro de 2026: “x y”"),
        ("fi", "> Kim, 2026-11-09: “x y”"),
    ],
)
def test_a_quote_has_name_day_and_marks_of_its_language(language: str, line: str) -> None:
    assert quotes.line(Quote("msg_1", "Kim", AT, "x y"), templates.load(language)) == line


@pytest.mark.parametrize(
    ("language", "day"),
    [
        ("en", "Monday, 9 November, 12:00"),
        ("ja", "11月9日月曜日 12:00"),
        ("zh", "11月9日星期一 12:00"),
    ],
)
def test_a_day_has_its_weekday_as_the_language_joins_them(language: str, day: str) -> None:
    assert quotes.weekday(AT, templates.load(language), year=False, timed=True) == day


def test_words_stand_as_they_were_said() -> None:
    text = 'hab   ne "tochter",\nFenja :) # 9 > 8 <b>'
    assert quotes.words_of(text) == 'hab ne "tochter", Fenja :) # 9 > 8 <b>'


def test_of_a_long_message_whole_sentences_are_quoted_and_the_gaps_marked() -> None:
    filler = "And then it went on like that for a while, as it does. "
    text = f"Fenja was born in Bremen. {filler * 30}Her school is in Kiel."
    quoted = quotes.words_of(text)
    assert len(quoted) < 600
    assert quoted.startswith("Fenja was born in Bremen.")
    assert "Her school is in Kiel." in quoted
    assert "…" in quoted
    assert all(part.strip() in text for part in quoted.split("…"))


def test_a_prompt_shows_quotes_and_headings_on_one_line() -> None:
    text = "# Fenja\n\n> Kim, 9 November: “x”\n\n## More\n\n> y"
    assert quotes.plain(text) == "“Fenja” – Kim, 9 November: “x” “More” – y"
