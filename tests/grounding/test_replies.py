from __future__ import annotations

import pytest
from msgspec.structs import replace

from bumble.grounding import replies
from bumble.grounding.replies import Situation

ENGLISH = Situation(
    "my tooth has been hurting since Monday",
    "en",
    "Ada",
    "Sam",
    statements=("my tooth has been hurting since Monday",),
    answers=("That sounds like a long week for you.",),
)
GERMAN = replace(
    ENGLISH, language="de", message="mein zahn tut weh", statements=("mein zahn tut weh",)
)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Ouch. Is somebody looking at it?", None),
        ("That sounds like a long week for you.", "it was said before"),
        ("I'm sorry, but how can I help?", "an assistant's phrase"),
        ("Das klingt aber gar nicht gut, oder?", "another language"),
        ("My tooth has been hurting too.", "it takes for its own what another said"),
        ("I went to the dentist as well.", "it tells of a body"),
        ("I don't know what that is.", "it denies what was said"),
        ("Then call Doctor Miller.", "a name or number that nobody gave"),
        ("Hello Ada, poor you.", "it takes for its own what another said"),
        ("Sam is telling me about a tooth.", "it speaks of the person as of another"),
        ("Poor you, Sam! Since Monday?", None),
        ("Hi Sam, ouch.", None),
        ("**Ouch**", "it is no speech"),
    ],
)
def test_what_can_be_told_without_a_model(reply: str, why: str | None) -> None:
    assert replies.problem(reply, ENGLISH) == why


def test_the_same_in_german() -> None:
    assert replies.problem("Oje. Seit wann denn?", GERMAN) is None
    assert replies.problem("Wie kann ich dir helfen?", GERMAN) == "an assistant's phrase"
    assert replies.problem("Wie geht es Ihnen damit?", GERMAN) == "it is formal"
