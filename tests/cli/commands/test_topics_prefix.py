"""The overview of topics stands in the cached prompt: turns share every byte until one is drawn."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from tests.support.chatting import act, script
from tests.support.running import Run

HEADING = "# What your memories are about"
TODAY = datetime.fromisoformat("2026-05-24T08:00:00+01:00")
SAID = ("My tomatoes grow.", "The tomatoes are red.", "Tomatoes again!", "And the boat, the boat.")
BOAT = "# Boat\n\n- Will we sell the boat?\n"


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, of whose talks a boat keeps raising a question, with a model on a server."""
    script(run, *(act("say", text=f"I hear you, number {n}.") for n in range(12)))
    run.write("topics/boat.md", BOAT)
    run.now = TODAY
    return run


def sent(run: Run) -> list[bytes]:
    """The messages of the last request, byte for byte."""
    messages = json.loads(run.text(".bumble/cache/last_request.json"))
    return [f"{role}: {content}".encode() for role, content in messages]


def test_turns_share_the_prefix_while_topics_grow(ada: Run) -> None:
    requests = []
    for number, words in enumerate(SAID):
        ada.now = TODAY + timedelta(hours=number)
        ada.ok("chat", words)
        requests.append(sent(ada))
        ada.ok("skill", "list")  # other processes look, and a note grows what there is to count
        ada.ok("journal", "add", f"The tomatoes, and the boat, day {number}. #tomatoes")
    stable = requests[0][0]
    assert HEADING.encode() in stable
    assert b"- Boat: Will we sell the boat?" in stable
    assert b"omatoes" not in stable
    for before, after in pairwise(requests):
        assert after[0] == stable
        history = len(before) - 1  # all but the last message, which has its preamble
        assert after[:history] == before[:history]
    ada.file("memory.db").unlink()  # the index is made anew; the prompt is the same
    ada.now = TODAY + timedelta(hours=6)
    told = ada.ok("chat", "--debug-prefix", "Good night, boat.").err
    assert sent(ada)[0] == stable
    assert "first differs in the user message" in told


def test_a_question_that_is_drawn_is_in_the_next_prompt(ada: Run) -> None:
    ada.ok("chat", "The boat swims.")
    ada.write("topics/boat.md", f"{BOAT}- Does the boat leak?\n")
    ada.ok("chat", "Hello.")
    assert b"- Boat: Will we sell the boat? | Does the boat leak?" in sent(ada)[0]


def test_without_topics_there_is_no_heading(run: Run) -> None:
    script(run, act("say", text="Yes."))
    run.ok("chat", "The boat leaks again.")
    assert HEADING.encode() not in sent(run)[0]
