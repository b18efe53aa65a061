from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bumble.choosing import quotes
from bumble.choosing.quotes import Citation, Quote
from bumble.forms import forms
from bumble.forms.forms import MemoryForms

AT = datetime(2026, 11, 9, 12, tzinfo=ZoneInfo("Europe/Berlin"))


def worded(language: str) -> MemoryForms:
    return forms.load(language, Path("/nowhere")).memory


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("de", "> Kim, 9. November 2026: „x y“"),
        ("en", "> Kim, 9 November 2026: “x y”"),
        ("es", "> Kim, 9 de noviembre de 2026: «x y»"),
        ("fr", "> Kim, 9 novembre 2026 : « x y »"),
        ("it", "> Kim, 9 novembre 2026: «x y»"),
        ("pt", "> Kim, 9 de novembro de 2026: “x y”"),
    ],
)
def test_a_quote_has_name_day_and_marks_of_its_language(language: str, line: str) -> None:
    assert quotes.line(Quote("msg_1", "Kim", AT, "x y"), worded(language)) == line
    assert quotes.citations(line) == [Citation("Kim", "x y")]


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


@pytest.mark.parametrize(
    ("language", "text", "title"),
    [
        ("de", "hab ne tochter, Fenja, die ist 9 und spielt Handball", "Tochter, Fenja, Handball"),
        ("de", "mein bruder uwe hilft jetz samstags beim melken", "Bruder, samstags, melken"),
        ("en", "my sister Ottoline teaches cello in Ghent", "Sister, Ottoline, Ghent"),
        ("en", "ok thanks a lot", ""),
        (
            "en",
            "cant stand diesel, write that down, and keep it between us: Halifax",
            "Halifax, stand, diesel",
        ),
    ],
)
def test_a_title_is_made_of_words_that_were_said_names_first(
    language: str, text: str, title: str
) -> None:
    assert quotes.title([text], worded(language), language) == title


def test_those_who_talk_make_no_title_and_those_who_are_known_do() -> None:
    text = "ada, frido braucht neue reifen"
    title = quotes.title([text], worded("de"), "de", without=["Ada"], people=["Frido"])
    assert title == "Frido, reifen"


def test_a_prompt_shows_quotes_and_headings_on_one_line() -> None:
    text = "# Fenja\n\n> Kim, 9 November: “x”\n\n## More\n\n> y"
    assert quotes.plain(text) == "Fenja: Kim, 9 November: “x” More: y"
