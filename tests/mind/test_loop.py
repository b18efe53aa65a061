from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bumble.entity import settings
from bumble.llm.protocol import Completion, Message, OnText, Request, ToolCall
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.mind import loop, tools
from bumble.mind.tools import Result

CONFIG = settings.load().config.cognition.loop
REQUEST = Request([Message("system", "You are Ada."), Message("user", "Hello")])


def act(*calls: tuple[str, Mapping[str, Any]]) -> str:
    return json.dumps({"actions": [{"tool": name, "arguments": args} for name, args in calls]})


def say(text: str) -> str:
    return act(("say", {"text": text}))


def recall(query: str) -> str:
    return act(("recall", {"query": query}))


class Person:
    """Hears what is said, and runs every call with the same result."""

    def __init__(self, result: Result | None = None) -> None:
        self.heard = ""
        self.calls: list[ToolCall] = []
        self.result = result or Result("Biscuit is a dog.")

    def hear(self, piece: str) -> None:
        self.heard += piece

    def carry_out(self, call: ToolCall) -> Result:
        self.calls.append(call)
        return self.result


def run(replies: list[Reply], person: Person) -> tuple[loop.Outcome, ScriptedModel]:
    model = ScriptedModel(replies)
    done = loop.run(model, REQUEST, CONFIG, person.carry_out, person.hear, person="Sam")
    return done, model


def test_speech_ends_the_turn() -> None:
    person = Person()
    done, model = run([Reply(say("Hello Sam."))], person)
    assert (done.said, done.stopped, person.heard) == ("Hello Sam.", "done", "Hello Sam.")
    assert len(model.requests) == 1


def test_a_result_is_seen_by_the_next_step() -> None:
    person = Person()
    done, model = run([Reply(recall("dog")), Reply(say("It is Biscuit."))], person)
    assert [call.arguments for call in person.calls] == [{"query": "dog"}]
    assert "Biscuit is a dog." in model.requests[1].messages[-1].content
    assert done.said == "It is Biscuit."


def test_a_model_that_always_calls_tools_is_stopped_at_the_cap() -> None:
    person = Person()
    replies = [Reply(recall(f"number {n}")) for n in range(40)]
    done, model = run(replies, person)
    assert done.stopped == "step_cap"
    assert len(model.requests) == max(6, min(25, 6 + CONFIG.max_tool_rounds))


def test_the_fourth_identical_call_is_refused() -> None:
    person = Person()
    done, _ = run([*[Reply(recall("dog"))] * 4, Reply(say("Enough."))], person)
    assert len(person.calls) == 3
    assert done.steps[3].results[0].failed
    assert done.said == "Enough."


def test_plain_text_is_speech() -> None:
    person = Person()
    done, _ = run([Reply("Just words.")], person)
    assert done.said == person.heard == "Just words."
    assert done.stopped == "done"


def test_an_answer_that_is_cut_off_keeps_what_was_said() -> None:
    person = Person()
    cut = '{"actions": [{"tool": "say", "arguments": {"text": "It was a dark and'
    done, _ = run([Reply(cut, finish_reason="length")], person)
    assert done.said == person.heard == "It was a dark and"
    assert done.stopped == "length"


def test_an_echo_of_what_was_said_is_not_heard_twice() -> None:
    person = Person()
    both = act(("say", {"text": "I look it up."}), ("recall", {"query": "dog"}))
    done, _ = run([Reply(both), Reply(say("I look it up."))], person)
    assert person.heard == "I look it up."
    assert done.said == "I look it up."


def test_the_answer_schema_keeps_speech_and_work_apart() -> None:
    schema = loop.schema(tools.DECLARED)
    groups = schema["properties"]["actions"]["anyOf"]
    names = [
        {one["properties"]["tool"]["const"] for one in group["items"]["anyOf"]} for group in groups
    ]
    assert names[0] == {"say"}
    assert "recall" in names[1]
    assert "say" not in names[1]


class Interrupted(ScriptedModel):
    """Says half of its answer; then the person presses Ctrl-C."""

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        def stop(piece: str) -> None:
            if on_text:
                on_text(piece)
            if "half" in "".join(heard):
                raise KeyboardInterrupt
            heard.append(piece)

        heard: list[str] = []
        return super().complete(request, stop)


def test_an_interrupt_keeps_what_was_heard() -> None:
    person = Person()
    model = Interrupted([Reply(say("This is half of what I had to tell you."))])
    done = loop.run(model, REQUEST, CONFIG, person.carry_out, person.hear, person="Sam")
    assert done.stopped == "interrupted"
    assert done.said
    assert done.said == person.heard.strip()


@pytest.mark.parametrize("rounds", [0, 16])
def test_the_cap_follows_the_rounds_within_its_bounds(rounds: int) -> None:
    person = Person()
    model = ScriptedModel([Reply(recall(f"number {n}")) for n in range(40)])
    config = replace(CONFIG, max_tool_rounds=rounds)
    loop.run(model, REQUEST, config, person.carry_out, person.hear, person="Sam")
    assert len(model.requests) == max(6, min(25, 6 + rounds))
