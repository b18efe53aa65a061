from __future__ import annotations

import subprocess
import sys

import pytest

from bumble.models import probe
from bumble.text import languages

GERMAN = ["gestern war ich mit meiner schwester am see", "das wasser war noch viel zu kalt"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hab den zug verpasst, komm spaeter", "de"),
        ("cant find my keys anywhere lol", "en"),
        ("jai oublie mon parapluie au boulot", "fr"),
        ("mañana tengo examen y no he estudiado nada", "es"),
        ("stasera non riesco a venire mi spiace", "it"),
        ("nao consegui dormir essa noite", "pt"),
        ("ik ben vandaag de hele dag thuis gebleven", "nl"),
        ("jutro idę do lekarza i trochę się boję", "pl"),
        ("jag har varit i stan hela dagen", "sv"),
        ("bugün çok yoruldum, yarın konuşalım", "tr"),
        ("сегодня был тяжёлый день", "ru"),
        ("今日はとても疲れました", "ja"),
        ("मोहन छह बार हार गया", "hi"),
    ],
)
def test_what_people_type_tells_its_language(text: str, code: str) -> None:
    assert languages.language(text) == code


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["nu prüf isch disch ma, zu wem geh isch immer zum kartenspieln"], "de"),
        (["i mog di, des woast scho", "mia fahrn morgn auf minga eini"], "de"),
        (["i bi hüt z'bärn gsi und ha nüt gässe", "chasch mer hälfe, i weiss nid was mache"], "de"),
        (
            ["aggio visto a frateto, steva cu 'a mugliera", "nun ce sta niente 'a fa, nun vene"],
            "it",
        ),
    ],
)
def test_a_dialect_is_answered_in_the_language_it_belongs_to(texts: list[str], code: str) -> None:
    assert languages.spoken(texts) == code


@pytest.mark.parametrize(
    "text", ["ok", "thanks!!", "nice", "merci", "sorry", "ciao", "Giovanni Rossi", "cool 😂"]
)
def test_a_foreign_word_changes_nothing(text: str) -> None:
    assert languages.spoken([*GERMAN, text]) == "de"
    assert languages.spoken([text], "de") == "de"


def test_a_clear_message_in_another_language_changes_it_at_once() -> None:
    english = "I think I will stay at home with the kids this weekend"
    assert languages.spoken([*GERMAN * 4, english]) == "en"
    assert languages.spoken([*GERMAN * 4, english, "ok"]) == "en"
    assert languages.spoken([*GERMAN * 4, english, *GERMAN]) == "de"


def test_the_model_is_loaded_for_the_first_text_only() -> None:
    code = (
        "import sys, bumble.text.words, bumble.runtime.spoken; sys.exit('fasttext' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_words_that_another_language_says_often_make_no_other_of_a_long_text() -> None:
    told = (
        "Da znaš tko je tko: muž je u luci i lovi ribe kad se stigne, sin je u gradu i javi se kad"
        " mu je teško, a mama je sama i ne zna što je bilo jučer, i sve se to ne može reći nikome."
    )
    assert languages.language(told) in ("", "hr", "sr")


@pytest.mark.parametrize(
    "told", ["میری بہن کراچی میں رہتی ہے اور ڈاکٹر ہے", "ती पुण्यात राहते आणि शिक्षिका आहे"]
)
def test_no_text_in_other_letters_is_in_a_language_of_latin_ones(told: str) -> None:
    assert languages.language(told) in ("", "ur", "mr")


def test_a_language_has_a_name_whether_or_not_a_model_is_probed_in_it() -> None:
    named = {code: languages.name(code) for code in [*probe.languages(), "pl", "uk"]}
    assert (named["de"], named["pl"]) == ("German", "Polish")
    assert not any(code in name.split() for code, name in named.items())
    assert languages.name("oc") == "the language oc"
