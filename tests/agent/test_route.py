from __future__ import annotations

import pytest

from bumble.agent import route, route_words

REFLEX = [
    "hi",
    "Hello!",
    "hey there",
    "good morning",
    "ok",
    "thanks",
    "bonjour",
    "你好",
    "привет!",
    "What time is it?",
    "Coffee or tea?",
    "I had soup for lunch.",
    "lol",
    "nice one",
]
DELIBERATE = [
    "Who are you?",
    "What can you do?",
    "Do you remember my sister?",
    "Read the file in your workspace",
    "Why do people dream?",
    "I feel a bit low today.",
    "What is the meaning of all this?",
    "Do you love anyone?",
    "I am afraid of tomorrow",
    "word " * 60,
]


@pytest.mark.parametrize("text", REFLEX)
def test_small_talk_is_a_reflex(text: str) -> None:
    assert route.route(text).profile == "reflex"


@pytest.mark.parametrize("text", DELIBERATE)
def test_what_matters_is_thought_about(text: str) -> None:
    assert route.route(text).profile == "deliberate"


def test_automation_and_heavy_moods_are_thought_about() -> None:
    assert route.route("hi", automation=True).rule == "automation"
    assert route.route("I had soup.", mood="anxious").rule == "heavy_mood"


def test_a_charged_question_is_no_reflex_by_its_length_alone() -> None:
    calm = route.route("Is it done?", intensity=0.1)
    charged = route.route("Is it done?", intensity=0.9)
    assert calm.rule == "short_question"
    assert charged.rule != "short_question"


LONG = "I went along the river and then home again, and it was a fine day, as far as days go, " * 1
LONG += "and nobody was there but me and a heron."


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("hi", "reflex"),
        ("Guten Morgen, wie geht's?", "reflex"),
        ("今日は疲れた", "reflex"),
        ("My dog is called Biscuit. He is afraid of the sea.", "reflex"),
        ("What does `os.walk` give back?", "deliberate"),
        ("look at notes/plan.md please", "deliberate"),
        ("https://example.org/a is down", "deliberate"),
        ("how much is 17 * 24?", "deliberate"),
        ("def f(x):\n    return x", "deliberate"),
        (LONG, "deliberate"),
        ("word " * 50, "deliberate"),
    ],
)
def test_an_able_model_thinks_by_the_form_of_a_message_in_any_language(
    text: str, profile: str
) -> None:
    assert route.by_form(text).profile == profile


WEIGHTY = [
    ("en", "My mother died last week"),
    ("en", "Calculate 17 * 23 + 4"),
    ("en", "Run the tests"),
    ("de", "mein bruder ist gestern verunglückt"),
    ("de", "sortier mir die adressen nach ort"),
    ("de", "bist du manchmal traurig?"),
    ("de", "soll ich das angebot annehmen oder warten?"),
    ("fr", "mon fils a recommencé la drogue"),
    ("fr", "résume ce contrat en cinq points"),
    ("es", "me han despedido hoy"),
    ("es", "cómo se calcula el interés compuesto"),
    ("it", "mia sorella è in ospedale"),
    ("it", "correggi il codice"),
    ("pt", "estou com medo do resultado"),
    ("pt", "qual a diferença entre um ETF e um fundo?"),
    ("nl", "mijn vader is gisteren overleden"),
    ("nl", "3 x 17 + 2"),
    ("ja", "母が亡くなりました"),
]
LIGHT = [
    ("de", "grüß dich, alles klar?"),
    ("de", "hahaha ich sterbe"),
    ("de", "es schneit!"),
    ("fr", "trop mignon ce chien"),
    ("fr", "ça va ?"),
    ("es", "qué hambre tengo"),
    ("it", "mare o montagna?"),
    ("pt", "kkkk adorei"),
    ("nl", "goedemorgen"),
    ("nl", "hoe gaat het?"),
]


@pytest.mark.parametrize(("language", "text"), WEIGHTY)
def test_what_is_heavy_or_work_is_thought_about_in_any_language(language: str, text: str) -> None:
    assert route.route(text, language).profile == "deliberate"


@pytest.mark.parametrize(("language", "text"), LIGHT)
def test_what_is_light_is_a_reflex_in_any_language(language: str, text: str) -> None:
    assert route.route(text, language).profile == "reflex"


def test_a_language_without_words_in_doubt_gets_thought() -> None:
    doubt = route.route("ik weet niet meer wat ik moet", "nl")
    assert (doubt.profile, doubt.rule) == ("deliberate", "unknown_language")


def test_every_list_of_a_language_can_be_read_and_all_languages_have_all() -> None:
    for language in ("de", "en", "es", "fr", "it", "pt"):
        assert set(route_words.load(language).patterns) == set(route_words.CUES)


@pytest.mark.parametrize(
    ("language", "reply", "is_promise"),
    [
        ("en", "Sure, I'll look it up for you.", True),
        ("en", "Shall I look it up? I'll be here.", False),
        ("de", "Klar, ich schaue gleich nach.", True),
        ("de", "Soll ich gleich nachsehen?", False),
        ("fr", "Je vais chercher ça.", True),
        ("nl", "Ik zoek het op.", False),
    ],
)
def test_a_promise_shows_by_the_words_of_a_language(
    language: str, reply: str, is_promise: bool
) -> None:
    assert route_words.promises(reply, language) is is_promise
