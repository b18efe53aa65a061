"""How a turn ends where the model does not do as it should: bounded, and with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.chatting import act, script
from tests.support.running import Ran, Run

ASKED = "Can you write down in cat.md what you remember of my cat?"  # work: the gate may doubt
WANTS_MORE = {
    "purpose": "judge",
    "json": {"verdict": "CONTINUE", "missing": "the writing down"},
    "always": True,
}


def always(text: str, **more: Any) -> dict[str, Any]:
    return {"purpose": "chat", "text": text, "always": True, **more}


def acts(tool: str, **arguments: Any) -> dict[str, Any]:
    return {**act(tool, **arguments), "always": True}


MISBEHAVING = {
    "always calls tools": ([acts("recall", query="cat")], 21, "unfinished", "heard nothing yet"),
    "never says a word": ([acts("end_turn")], 21, "unfinished", "heard nothing yet"),
    "only thinks": ([acts("think", text="Hm.")], 21, "unfinished", "heard nothing yet"),
    "promises and does nothing": (
        [acts("say", text="I will do it!"), WANTS_MORE], 0, "unfinished", "the writing down",
    ),
    "returns broken JSON": (
        [always('{"actions": [{"tool": "recall", ')], 21, "unreadable", "could not be read",
    ),
    "is cut off": (
        [always('{"actions":[{"tool":"say","arguments":{"text":"Once', finish_reason="length")],
        0, "length", "longest length",
    ),
    "is cut off in a call": (
        [always('{"actions":[{"tool":"write_journal","argu', finish_reason="length")],
        21, "length", "longest length",
    ),
    "repeats itself": (
        [acts("say", text="A cat is a cat."), WANTS_MORE], 0, "unfinished", "the writing down",
    ),
    "waits": ([acts("wait")], 0, "waiting", "the entity waits"),
}  # fmt: skip


def asked(run: Run) -> Ran:
    return run("chat", "--json", ASKED)


@pytest.mark.parametrize("how", MISBEHAVING)
def test_every_turn_ends_with_a_reason(run: Run, how: str) -> None:
    rules, code, stopped, reason = MISBEHAVING[how]
    script(run, *rules)
    ran = asked(run)
    assert (ran.code, ran.data["stopped"]) == (code, stopped)
    assert len(ran.data["steps"]) <= 25
    assert ran.err.startswith("stopped: ")
    assert reason in ran.err
    kept = run.ok("session", "show", "--json").data["messages"]
    assert kept[0]["text"] == ASKED


def test_what_was_done_before_the_model_failed_is_kept_and_the_failure_is_told(run: Run) -> None:
    script(run, act("update_knowledge", title="Sam's cat", body="Sam has a cat."))
    ran = asked(run)  # the script has no answer left
    assert (ran.code, ran.data["stopped"]) == (21, "failed")
    assert "no answer left" in ran.data["why"]
    assert ran.json["error"]["exit_code"] == 21
    assert "no answer left" in ran.json["error"]["message"]
    assert "stopped: the answer broke off" in ran.err
    assert "Sam has a cat." in run.text("knowledge.md")
    script(run, act("say", text="It is written down."), WANTS_MORE | {"always": False, "json": {
        "verdict": "DONE", "missing": ""
    }})  # fmt: skip
    assert run.ok("chat", "Did you?", "--json").data["reply"] == "It is written down."
    assert ASKED in json.dumps(run.ok("session", "show", "--json").data)


def test_what_turns_the_model_back_is_never_stored(run: Run) -> None:
    script(run, act("recall", query="cat"), act("say", text="I look…"), acts("say", text="None."))
    run.ok("config", "set", "cognition.gate.max_continues", "1")
    run("chat", ASKED)
    (place,) = run.file("sessions").glob("*/messages.jsonl")
    stored = place.read_text()
    for told in ("Already searched", "These are the results", "Not done yet", "Turn context"):
        assert told not in stored
