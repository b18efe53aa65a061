"""The overview of topics stands in the cached prompt: the turns of a day share every byte of it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from tests.support.chatting import act, script
from tests.support.running import Run

DAYS = ("The boat has a leak.", "Will we sell the boat next winter?", "Olaf repairs the boat.")
HEADING = "# What your memories are about, as of this morning"
TODAY = datetime.fromisoformat("2026-05-24T08:00:00+01:00")
SAID = ("My tomatoes grow.", "The tomatoes are red.", "Tomatoes again!", "And the boat, the boat.")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, to whom Sam spoke of a boat on three days, with a model on a server."""
    lines = [act("say", text=f"I hear you, number {n}.") for n in range(12)]
    script(run, *lines)
    for day, words in enumerate(DAYS, 10):
        at = f"2026-05-{day}T12:00:00+00:00"
        head = f'{{"type":"session","id":"ses_{day}","at":"{at}","by":"sam"}}\n'
        said = {"type": "message", "id": f"msg_{day}", "at": at, "role": "user", "text": words}
        said |= {"speaker": "sam", "trust": "owner"}
        run.write(f"sessions/ses_{day}/messages.jsonl", f"{head}{json.dumps(said)}\n")
    run.now = TODAY
    return run


def sent(run: Run) -> list[bytes]:
    """The messages of the last request, byte for byte."""
    messages = json.loads(run.text(".bumble/cache/last_request.json"))
    return [f"{role}: {content}".encode() for role, content in messages]


def test_turns_of_a_day_share_the_prefix_while_topics_grow(ada: Run) -> None:
    ada.ok("tick")
    requests = []
    for number, words in enumerate(SAID):
        ada.now = TODAY + timedelta(hours=number)
        ada.ok("chat", words)
        requests.append(sent(ada))
        ada.ok("skill", "list")  # other processes look, and a note grows what there is to count
        ada.ok("journal", "add", f"The tomatoes, and the boat, day {number}. #tomatoes")
    stable = requests[0][0]
    assert HEADING.encode() in stable
    assert b"- Boat (3 times" in stable
    assert b"omatoes" not in stable
    for before, after in pairwise(requests):
        assert after[0] == stable
        history = len(before) - 1  # all but the last message, which has its preamble
        assert after[:history] == before[:history]
    ada.file("memory.db").unlink()  # the index is made anew; the day's prompt is the same
    ada.now = TODAY + timedelta(hours=6)
    told = ada.ok("chat", "--debug-prefix", "Good night, boat.").err
    assert sent(ada)[0] == stable
    assert "first differs in the user message" in told


def test_the_next_day_has_an_overview_of_its_own(ada: Run) -> None:
    ada.ok("chat", "The boat swims.")
    first = sent(ada)[0]
    ada.now = TODAY + timedelta(days=1)
    ada.ok("tick")
    ada.ok("chat", "--new-session", "Hello.")
    assert b"- Boat (4 times" in sent(ada)[0]
    assert sent(ada)[0] != first


def test_a_day_that_began_without_topics_keeps_its_prompt_until_the_next(run: Run) -> None:
    script(run, *(act("say", text=f"Yes {n}.") for n in range(9)))
    run.now = TODAY
    prompts = set()
    for number in range(4):
        run.ok("chat", f"The boat leaks again, number {number}.")
        prompts.add(sent(run)[0])
    assert len(prompts) == 1
    assert HEADING.encode() not in prompts.pop()
