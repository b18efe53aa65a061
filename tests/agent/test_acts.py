from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bumble.agent import acts
from bumble.agent.held import ASKS


@pytest.mark.parametrize(
    ("language", "message", "act"),
    [
        ("en", "hi there", "greeting"),
        ("en", "our dog died this morning", "heavy"),
        ("en", "my phone battery died", "telling"),
        ("en", "not happy with the haircut", "bad"),
        ("en", "so proud I could cry", "good"),
        ("en", "what's my aunt called?", "recall"),
        ("de", "danke dir!", "thanks"),
        ("de", "behalt das für dich: ich ziehe im Herbst weg von hier", "confided"),
        ("de", "bin total erschöpft heute", "bad"),
        ("es", "¿qué hora es?", "clock"),
        ("fr", "je suis épuisée", "bad"),
        ("it", "buonanotte!", "goodbye"),
        ("pt", "você gosta de música?", "opinion"),
        ("de", "weißt du, wo mein Schlüssel liegt?", "recall"),
        ("de", "erzähl mir nen witz", "request"),
        ("es", "¿sabías que la miel no caduca?", "telling"),
        ("nl", "mijn hond is ziek", "telling"),
        ("de", "Bin auf Penizillin allergisch. Als Kind wär ich fast dran gestorben", "plan"),
        ("de", "mit mehr Geld wär ich längst weg", "hypothetical"),
    ],
)
def test_the_act_shows_in_the_words_of_each_language(language: str, message: str, act: str) -> None:
    assert acts.of(message, language) == act


@pytest.mark.parametrize("message", ["notier das bitte", "was steht in plan.txt"])
def test_what_needs_a_tool_says_so_or_names_a_file(message: str) -> None:
    assert acts.needs_tools(message, "de")


def test_telling_needs_none() -> None:
    assert not acts.needs_tools("wir waren heute am see", "de")


def test_what_is_absurd_is_taken_as_a_joke_unless_it_complains() -> None:
    assert acts.of("unsere katze hat die gewerkschaft gegründet", "de") == "joke"
    assert acts.of("our toaster has joined a union", "en") == "joke"
    assert acts.of("the printer is on strike again, so annoyed and stressed", "en") != "joke"


def test_a_machine_on_strike_is_broken_and_no_joke() -> None:
    assert acts.of("40 kisten geschleppt und der fahrstuhl streikt auch noch", "de") != "joke"
    assert acts.of("my printer is on strike again and i have to be there at 8", "en") != "joke"


def test_what_begins_like_a_question_and_tells_is_none() -> None:
    told = "was mir bisschen bauchweh macht, mein vertrag geht nur bis 31. juli 2027"
    assert acts.of(told, "de") not in ASKS
    assert acts.of("was ich am liebsten esse?", "de") in ASKS
    assert acts.of("what worries me is that my contract ends in july", "en") not in ASKS
    assert acts.of("what did i tell you about my contract", "en") in ASKS


def test_where_somebody_works_is_no_bad_news_and_a_promotion_is_good_whoever_cries() -> None:
    assert acts.of("i take blood at city hospital, phlebotomist", "en") != "bad"
    assert acts.of("mum is in hospital since tuesday", "en") == "bad"
    assert acts.of("i GOT THE PROMOTION. team lead from november!! mum cried", "en") == "good"


def test_a_correction_told_with_a_laugh_is_one_where_it_has_a_date() -> None:
    told = "the fitting's been moved, it's the 31st now (halloween lol)"
    assert acts.of(told, "en") == "correction"


def test_what_is_worth_keeping_is_no_joke_whoever_laughs() -> None:
    told = "lena meine freundin is schwanger, termin is der 3. august, weiß in der firma jeder lol"
    assert acts.of(told, "de") == "good"
    assert acts.of("the hoover wants a pay rise lol", "en") == "joke"


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("it was my late husband's birthday on the 6th, i took freesias to the cemetery", "en"),
        ("am 6. dezember hat mein seliger mann geburtstag, da bring ich blumen zum friedhof", "de"),
        ("il compleanno della mia povera moglie era il 6 dicembre", "it"),
    ],
)
def test_of_the_dead_no_birthday_is_good_news(message: str, language: str) -> None:
    assert acts.of(message, language) in ("plan", "telling")


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("So, jetzt gieße ich noch die Blumen auf dem Balkon und gucke fern. Bis bald.", "de"),
        ("right, that's me done for the day, kettle on. night, Ada", "en"),
        ("bon, je finis mon café et je vais promener le chien dans le parc, bisous", "fr"),
    ],
)
def test_what_ends_in_taking_leave_takes_leave(message: str, language: str) -> None:
    assert acts.of(message, language) == "goodbye"


@given(st.text(max_size=200), st.sampled_from(("de", "en", "es", "fr", "it", "pt", "nl")))
@example("...", "en")
@example("", "de")
def test_any_text_is_some_act(text: str, language: str) -> None:
    assert acts.of(text, language) in get_args(acts.Act)


def test_what_is_told_before_taking_leave_is_told() -> None:
    told = "my sister Lena got married in Porto last May, she lives there now. bye"
    assert acts.of(told, "en") != "goodbye"


def test_what_is_asked_of_the_world_is_no_question_of_memory() -> None:
    told = "how many pints of blood in a grown man?? a patient asked and my mind went blank"
    assert acts.of(told, "en") == "question"
    assert acts.of("wot time did i say the test was", "en") == "recall"
    assert acts.of("wann muss ich zum zahnarzt?", "de") == "recall"
    assert acts.of("cuándo llega mi hermana y hasta cuándo se queda", "es") == "recall"
    assert acts.of("c quand mon kiné", "fr") == "recall"


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("hey ada. i run the 8 lane bowling alley on grand ave", "en"),
        ("From my chair I write down every ship that goes by.", "en"),
        ("File this under Things That Matter: no shellfish near Kieran.", "en"),
        ("does that wee brain of yours run on gas or electric", "en"),
        ("j'ai envoyé un dossier pour une école de cirque", "fr"),
    ],
)
def test_a_word_of_tools_in_a_statement_asks_for_none(message: str, language: str) -> None:
    assert not acts.needs_tools(message, language)


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("Write in your journal that Biscuit had a bath today.", "en"),
        ("Look in your journal: what did Biscuit have today?", "en"),
        ("please run the tests", "en"),
        ("Calculate 17 * 23 + 4", "en"),
        ("remind me to call the dentist at nine", "en"),
        ("what is in notes.txt", "en"),
        ("Schreib in dein Tagebuch, dass es geregnet hat.", "de"),
    ],
)
def test_work_for_tools_is_seen(message: str, language: str) -> None:
    assert acts.needs_tools(message, language)
