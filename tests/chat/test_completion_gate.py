from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from bumble.chat import completion_gate
from bumble.chat.completion_gate import Gate
from bumble.entity import settings
from bumble.errors import ModelUnreachableError
from bumble.llm.protocol import Action, Completion, OnText, Request
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.runtime.runtime import Result

CALL = Action("call_1", "write_journal", {"text": "Sam came."})
DID = (CALL, Result("saved"))
FAILED = (CALL, Result("failed: the disk is full", failed=True))
FOUND = (Action("call_1", "recall", {"query": "Sam"}), Result("Sam sails."))


def judge(verdict: str, missing: str = "") -> Reply:
    return Reply(json.dumps({"verdict": verdict, "missing": missing}), purpose="judge")


def gate_of(
    *replies: Reply, judge: str = "always", enabled: bool = True
) -> tuple[Gate, ScriptedModel]:
    model = ScriptedModel(replies)
    flags = {"cognition.gate.enabled": enabled, "cognition.gate.judge": judge}
    config = settings.load(flags=flags).config.cognition.gate
    return Gate(model, config, "Write it down, please."), model


@pytest.mark.parametrize("said", ["", "  \n"])
def test_a_turn_in_which_nothing_was_heard_is_not_over(said: str) -> None:
    found, model = gate_of()
    assert found.missing(said, [DID]) == "the person has heard nothing yet"
    assert model.requests == []


@pytest.mark.parametrize("said", ["Let me look…", "I write it down now...", "好的：", "すぐ。。。"])
def test_what_only_announces_is_not_the_end_in_any_language(said: str) -> None:
    found, model = gate_of(judge="never")
    assert found.missing(said, []) == "this only announces something"
    assert found.missing(said, [FAILED]) == "this only announces something"
    assert found.missing(said, [DID]) == ""
    assert model.requests == []


@pytest.mark.parametrize("said", ["Done.", "Here is the list:\n- tea", "long " * 40 + "…"])
def test_what_says_something_is_no_chatter(said: str) -> None:
    assert not completion_gate.is_chatter(said)


def test_the_judge_of_grounding_sees_what_the_tools_gave() -> None:
    found, model = gate_of(judge("DONE"))
    assert found.missing("It is in the diary.", [DID, FAILED]) == ""
    text = model.requests[0].messages[0].content
    assert "- write_journal: saved" in text
    assert "- write_journal (failed): failed: the disk is full" in text


def test_a_judge_that_cannot_be_read_holds_nobody_up() -> None:
    found, _ = gate_of(Reply("Perhaps.", always=True))
    assert found.missing("I wrote it down.", []) == ""


def test_a_judge_that_is_not_there_holds_nobody_up() -> None:
    class Gone(ScriptedModel):
        def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
            raise ModelUnreachableError("it has gone")

    config = settings.load(flags={"cognition.gate.judge": "always"}).config.cognition.gate
    assert Gate(Gone([]), config, "Write it down.").missing("I wrote it down.", []) == ""


@pytest.mark.parametrize(
    ("message", "reply", "work", "asked"),
    [
        ("How are you?", "Fine, and you?", [], False),
        ("Fix the bug in main.py", "I fixed it.", [], True),
        ("Fix the bug in main.py", "```python\n" + "x = 1\n" * 30 + "```", [], False),
        ("Write it down.", "Done.", [FAILED], True),
        ("Write it down.", "Done.", [DID], False),
        ("Look it up.", "Done.", [FOUND], True),
        ("Write it down.", "It is written in your diary, under today's date. " * 4, [DID], False),
    ],
)
def test_an_able_model_is_asked_only_where_work_was_wanted_and_the_reply_is_short(
    message: str, reply: str, work: list[tuple[Action, Result]], asked: bool
) -> None:
    found, model = gate_of(judge("DONE"), judge="auto")
    assert replace(found, message=message).missing(reply, work) == ""
    assert bool(model.requests) == asked


@pytest.mark.parametrize(("work", "asked"), [([FOUND], False), ([FAILED], True), ([], True)])
def test_a_model_that_says_that_it_is_done_is_asked_only_where_nothing_was_done_or_it_failed(
    work: list[tuple[Action, Result]], asked: bool
) -> None:
    found, model = gate_of(judge("DONE"), judge="auto")
    found = replace(found, message="Look it up in notes.md")
    assert found.missing("Done.", work, says_all=True) == ""
    assert bool(model.requests) == asked
