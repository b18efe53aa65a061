"""An endpoint may fill its fields with anything: that is an error of its, never a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bumble.errors import AnswerInvalidError, ModelUnreachableError
from bumble.llm.http_model import HttpModel
from bumble.llm.http_model import ollama as connect_ollama
from bumble.llm.http_model import openai as connect_openai
from bumble.llm.protocol import PromptMessage, Request
from tests.support import ollama_wire, openai_wire
from tests.support.fake_server import FakeServer
from tests.support.openai_wire import DONE

REQUEST = Request([PromptMessage("user", "Hi")], max_tokens=100)
CHAT = openai_wire.CHAT
ODD: list[Any] = [None, True, 7, 1.5, -1, "text", [], [[]], [None], [7], ["x"], {}, {"a": []}]


def openai(server: FakeServer, *events: Any) -> HttpModel:
    lines = [
        each if isinstance(each, bytes) else b"data: " + json.dumps(each).encode() + b"\n\n"
        for each in events
    ]
    server.routes[CHAT] = openai_wire.says(*lines, DONE)
    return connect_openai(f"{server.url}/v1", "m", sleep=lambda _: None)


def odd_events(value: Any) -> list[Any]:
    delta: dict[str, Any] = {"content": "Hi"}
    choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": "stop"}
    call = {"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}
    return [
        value,
        {"choices": value},
        {"choices": [value]},
        {"choices": [{**choice, "delta": value}]},
        {"choices": [{**choice, "finish_reason": value}]},
        *({"choices": [{**choice, "delta": {**delta, name: value}}]} for name in FIELDS),
        {"choices": [{**choice, "delta": {"tool_calls": [value]}}]},
        *({"choices": [{**choice, "delta": {"tool_calls": [{**call, n: value}]}}]} for n in call),
        {"choices": [choice], "usage": value},
        {"choices": [choice], "usage": {"prompt_tokens": value, "completion_tokens": value}},
        {"choices": [choice], "usage": {"prompt_tokens_details": value}},
        {"error": value, "choices": [choice]},
    ]


FIELDS = ("content", "reasoning_content", "reasoning", "tool_calls", "role")


@pytest.mark.parametrize("value", ODD, ids=str)
def test_a_field_of_another_type_is_an_answer_or_an_error_of_the_servers(
    server: FakeServer, value: Any
) -> None:
    for odd in odd_events(value):
        model = openai(server, odd)
        try:
            completion = model.complete(REQUEST)
        except (AnswerInvalidError, ModelUnreachableError) as problem:
            assert problem.exit_code in (20, 21)
            continue
        assert isinstance(completion.text, str)
        completion.text.encode()
        for count in (completion.usage.prompt_tokens, completion.usage.cached_tokens):
            assert count is None or type(count) is int


@pytest.mark.parametrize("value", ODD, ids=str)
def test_ollama_may_say_anything_too(server: FakeServer, value: Any) -> None:
    whole = json.loads(ollama_wire.part("Hi", done=True, done_reason="stop"))
    odd = [value, *({**whole, name: value} for name in (*whole, "error", "prompt_eval_count"))]
    odd += [{**whole, "message": {**whole["message"], n: value}} for n in ("content", "tool_calls")]
    for each in odd:
        line = json.dumps(each).encode() + b"\n"
        server.routes["/api/chat"] = ollama_wire.says(line)
        server.routes["/api/show"] = server.routes["/api/ps"] = lambda exchange: exchange.json(
            value
        )
        model = connect_ollama("m", host=server.url, sleep=lambda _: None)
        try:
            completion = model.complete(REQUEST)
        except (AnswerInvalidError, ModelUnreachableError) as problem:
            assert problem.exit_code in (20, 21)
        else:
            completion.text.encode()
