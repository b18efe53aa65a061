from __future__ import annotations

import pytest

from bumble.chat import route
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.models.embed.reader import MessageReading
from tests.support import lives

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


@pytest.mark.parametrize(
    ("reading", "profile", "rule"),
    [
        (MessageReading(-3, {"task": 1.0}), "deliberate", "task"),
        (MessageReading(-3, {"ask_memory": 0.2, "confide": 0.9}), "deliberate", "confide"),
        (MessageReading(2, {"tell": 2.0}), "deliberate", "kept"),
        (MessageReading(-3, {"tell": 2.0}, heavy=1), "deliberate", "heavy"),
        (MessageReading(-3, {"tell": 1.0, "joke": -1.0}), "reflex", "tell"),
        (MessageReading(-3, {}), "reflex", "tell"),
    ],
)
def test_below_that_what_a_message_is_decides(
    reading: MessageReading, profile: str, rule: str
) -> None:
    decided = route.by_reading("some words of theirs", reading)
    assert (decided.profile, decided.rule) == (profile, rule)


def test_a_large_window_elsewhere_has_more_room_for_what_is_recalled(ada: Entity) -> None:
    def most(window: int, **flags: object) -> int:
        model = ScriptedModel((), context_tokens=window)
        runtime = lives.runtime_of(ada, model, flags={"prompt.preamble_max_tokens": 700} | flags)
        return route.profile(runtime, "deliberate").preamble_max_tokens

    assert most(16_384) == 700 < most(32_768)
    assert most(128_000, **{"prompt.preamble_max_tokens": 0}) == 0
    assert most(128_000, **{"prompt.preamble_max_tokens": 300}) == 300  # the owner's number
    assert most(128_000, **{"cognition.max_context_tokens": 4_000}) == 700
