"""What is heard, stored and done of answers that an endpoint gives as text."""

from __future__ import annotations

import json

import pytest

from bumble.chat import loop, tool_list
from bumble.chat.completion_gate import Gate
from bumble.chat.tools import Result
from bumble.entity import settings
from bumble.llm.http_model import HttpModel, openai
from bumble.llm.protocol import Action, PromptMessage, Request
from tests.support.fake_server import FakeServer
from tests.support.openai_wire import CHAT, event, says

REQUEST = Request([PromptMessage("system", "You are Ada."), PromptMessage("user", "A dog!")])
NAME = "Biscuit is a good name."
THOUGHT = "SECRET user has a dog"


class Talk:
    """One turn, with what the person heard and what was done."""

    def __init__(self, server: FakeServer) -> None:
        self.heard = ""
        self.calls: list[Action] = []
        self.model: HttpModel = openai(f"{server.url}/v1", "m", sleep=lambda _: None)

    def hear(self, piece: str) -> None:
        self.heard += piece

    def carry_out(self, call: Action) -> Result:
        self.calls.append(call)
        return Result("noted")

    def turn(self) -> loop.LoopOutcome:
        config = settings.load().config.cognition
        return loop.run(
            self.model,
            REQUEST,
            tool_list.DECLARED,
            config.loop,
            self.carry_out,
            self.hear,
            person="Sam",
            gate=Gate(self.model, config.gate, "A dog!", "never"),
        )


def answers(server: FakeServer, content: str, size: int) -> None:
    """Have the server answer with a text, in pieces of a length."""
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    server.routes[CHAT] = says(*(event({"content": one}) for one in pieces), event({}, "stop"))


THOUGHTS = [
    f"{THOUGHT}</think>\n\n{NAME}",
    f"<think>{THOUGHT}</think>\n\n{NAME}",
    f'<think type="x">{THOUGHT}</think>{NAME}',
    f"<THINK>{THOUGHT}: `</think>` ends it</THINK>{NAME}",
    f"◁think▷{THOUGHT}◁/think▷{NAME}",
    json.dumps(
        {"actions": [{"tool": "say", "arguments": {"text": f"<think>{THOUGHT}</think>\n\n{NAME}"}}]}
    ),
]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("content", THOUGHTS)
def test_no_thought_is_heard_or_stored(server: FakeServer, content: str, size: int) -> None:
    answers(server, content, size)
    talk = Talk(server)
    assert talk.turn().said == talk.heard == NAME


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "content",
    [
        "Some models wrap it in a `<think>` tag, which the client hides. " + NAME,
        "It ends with `</think>`, and then the answer follows. " + NAME,
        "So:\n\n```xml\n<think>\nHm.\n</think>\nHello\n```\n" + NAME,
        '```json\n{"name": "Biscuit", "kind": "dog"}\n```\nThat is it as JSON.',
        '{"name": "Biscuit", "kind": "dog"}',
        "[Biscuit wags] Hello there.",
    ],
)
def test_what_only_tells_of_tags_or_data_is_said_whole(
    server: FakeServer, content: str, size: int
) -> None:
    answers(server, content, size)
    talk = Talk(server)
    assert talk.turn().said == talk.heard == content


def test_a_call_says_no_thought(server: FakeServer) -> None:
    text = f"<think>{THOUGHT}</think>\n\n{NAME}"
    arguments = json.dumps({"text": text, "then": "nothing"}).replace("<", "\\u003c")
    first = {"index": 0, "id": "c", "function": {"name": "say", "arguments": arguments[:20]}}
    rest = {"index": 0, "function": {"arguments": arguments[20:]}}
    server.routes[CHAT] = says(
        event({"tool_calls": [first]}), event({"tool_calls": [rest]}), event({}, "tool_calls")
    )
    talk = Talk(server)
    assert talk.turn().said == talk.heard == NAME


@pytest.mark.parametrize("kind", ["reasoning", "thinking"])
def test_a_part_that_is_no_text_is_not_said(server: FakeServer, kind: str) -> None:
    parts = [{"type": kind, "text": THOUGHT}, {"type": "text", "text": NAME}]
    server.routes[CHAT] = says(event({"content": parts}, "stop"))
    talk = Talk(server)
    done = talk.turn()
    assert done.said == talk.heard == NAME
    assert done.completions[0].reasoning == THOUGHT


def test_a_template_that_opens_thoughts_is_known_from_its_first_answer_on(
    server: FakeServer,
) -> None:
    answers(server, f"{THOUGHT}</think>\n\n{NAME}", 3)
    talk = Talk(server)
    texts: list[str] = []
    for _ in range(2):
        talk.heard = ""
        texts.append(talk.model.complete(REQUEST, talk.hear).text)
    assert texts == [NAME, NAME] and talk.heard == NAME
    answers(server, NAME, 3)  # it didn't think
    assert talk.model.complete(REQUEST).text == NAME


def test_halves_of_characters_in_two_pieces_are_one(server: FakeServer) -> None:
    server.routes[CHAT] = says(
        event({"content": "Good dog \ud83d"}), event({"content": "\udc36!"}, "stop")
    )
    talk = Talk(server)
    assert talk.turn().said == talk.heard == "Good dog 🐶!"
