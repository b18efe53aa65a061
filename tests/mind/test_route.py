from __future__ import annotations

import pytest

from bumble.entity import settings
from bumble.mind import route

CONFIG = settings.load().config.cognition.router

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
    assert route.route(text, CONFIG).profile == "reflex"


@pytest.mark.parametrize("text", DELIBERATE)
def test_what_matters_is_thought_about(text: str) -> None:
    assert route.route(text, CONFIG).profile == "deliberate"


def test_automation_and_heavy_moods_are_thought_about() -> None:
    assert route.route("hi", CONFIG, automation=True).rule == "automation"
    assert route.route("I had soup.", CONFIG, mood="anxious").rule == "heavy_mood"


def test_a_charged_question_is_no_reflex_by_its_length_alone() -> None:
    calm = route.route("Is it done?", CONFIG, intensity=0.1)
    charged = route.route("Is it done?", CONFIG, intensity=0.9)
    assert calm.rule == "short_question"
    assert charged.rule != "short_question"
