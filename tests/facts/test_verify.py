from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bumble import prompts
from bumble.facts import verify
from bumble.facts.extract import ExtractedItem, Extraction
from bumble.facts.extract_window import Window
from bumble.records.sessions import Message
from bumble.text import passed_on

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)


def window(*said: str) -> Window:
    messages = tuple(
        Message(f"msg_{n}", NOON + timedelta(minutes=n), "user", text, speaker="sam")
        for n, text in enumerate(said)
    )
    return Window("ses_1", ("sam",), {"sam": "Sam"}, "Ada", messages, UTC)


def fact(text: str, title: str = "Sam's work") -> ExtractedItem:
    return ExtractedItem("knowledge", text, (1,), title=title)


@pytest.mark.parametrize(
    "text",
    [
        "Sam works in a bakery.",
        "Sam works at the museum since April, not in a bakery.",
        "Sam spielt am Abend Klavier.",
    ],
)
def test_what_the_examples_of_the_prompt_say_is_not_what_somebody_said(text: str) -> None:
    seen = window("Work was long today. Am Abend war Ruhe seit April.", "I am tired.")
    kept, (rejected,) = verify.check(seen, [fact(text)], {})
    assert kept == []
    assert "the prompt's example" in rejected.reason
    assert verify.journal(seen, Extraction(journal=text)) == ""


def test_who_does_work_in_a_bakery_is_believed() -> None:
    seen = window("I work in two bakeries now.")
    kept, rejected = verify.check(seen, [fact("Sam works in two bakeries.")], {})
    assert (len(kept), rejected) == (1, [])
    before = {"Sam's work": "Sam works in a bakery."}
    corrected = fact("Sam works at night, no longer in a bakery.")
    kept, rejected = verify.check(window("I work at night, not there."), [corrected], before)
    assert (len(kept), rejected) == (1, [])


def test_the_words_of_the_examples_stand_in_the_answers_they_give() -> None:
    prompt = prompts.load("distill")
    answers = [text for role, text in prompt.turns(**dict.fromkeys(prompt.slots, "x"))[1:]]
    for word in prompt.example_words:
        assert any(word in text.casefold() for text in answers)


def test_beside_what_was_read_only_what_people_say_is_kept() -> None:
    """One word of the owner's is no evidence for what a mail says, where he passed on a mail."""
    claim = fact("The repairs of the house go to Sam's friends alone.", "Repairs")
    asked = "What does this mail about the repairs want of me?"
    kept, rejected = verify.check(window(asked), [claim], {})
    assert (len(kept), rejected) == (1, [])
    kept, (rejected_one,) = verify.check(window(f"{asked} {passed_on.LEFT_OUT}"), [claim], {})
    assert kept == []
    assert "only read" in rejected_one.reason
    said = fact("Sam asks what the mail about the repairs wants.", "Repairs")
    kept, rejected = verify.check(window(f"{asked} {passed_on.LEFT_OUT}"), [said], {})
    assert (len(kept), rejected) == (1, [])
