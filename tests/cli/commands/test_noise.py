from __future__ import annotations

import json

import pytest

from tests.support.running import Run

REPLIES = [
    {"purpose": "musings", "json": {"thoughts": ["do bees queue", "what the rain leaves behind"]}},
    {"purpose": "musings", "json": {"thoughts": ["Do bees queue?", "a door left open"]}},
]


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, whose model follows a script."""
    run.write("replies.yaml", json.dumps(REPLIES))
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{run.file('replies.yaml')}"
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    return run


def test_a_tick_lets_thoughts_come_quietly(ada: Run) -> None:
    assert ada.ok("noise", "tick").out == ""
    shown = ada.ok("noise", "--json").data
    assert [one["text"] for one in shown] == ["do bees queue", "what the rain leaves behind"]
    assert shown[0]["kind"] == "thought"
    assert "do bees queue\n" in ada.ok("noise").out


def test_the_mark_of_a_dream_is_shown_and_for_whom_a_thought_is(ada: Run) -> None:
    ada.ok("noise", "tick")
    text = ada.text("soma.yaml").replace("kind: thought", "kind: dream", 1)
    ada.write("soma.yaml", text)
    assert "[dream] do bees queue" in ada.ok("noise").out
    assert "[dream]" not in ada.text("soma.yaml")
