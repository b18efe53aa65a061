from __future__ import annotations

from typing import Any

import pytest

from bumble.errors import ModelUnreachableError
from bumble.llm.http_model import HttpModel
from bumble.llm.http_model import ollama as connect_ollama
from bumble.llm.protocol import Model, PromptMessage, Request
from bumble.llm.wire import Timeouts
from tests.support.fake_server import Exchange, FakeServer
from tests.support.ollama_wire import END, part, says

PATIENT = Timeouts(connect_seconds=20, first_token_seconds=20, silence_seconds=20)
STALLING = Timeouts(connect_seconds=20, first_token_seconds=20, silence_seconds=0.3)
REQUEST = Request([PromptMessage("user", "Hi")], thinking=True)


@pytest.fixture
def ollama(server: FakeServer) -> FakeServer:
    shown = {
        "model_info": {"qwen3.context_length": 40960},
        "capabilities": ["completion", "tools", "thinking"],
    }
    server.routes["/api/show"] = lambda exchange: exchange.json(shown)
    server.routes["/api/ps"] = lambda exchange: exchange.json(
        {"models": [{"model": "m:latest", "name": "m:latest", "context_length": 8192}]}
    )
    server.routes["/api/chat"] = says(part("Hel"), part("lo"), END)
    return server


def connect(server: FakeServer, **more: Any) -> HttpModel:
    return connect_ollama(
        "m", host=server.url, **{"timeouts": PATIENT, "sleep": lambda _: None, **more}
    )


def test_an_answer_streams_with_its_usage(ollama: FakeServer) -> None:
    pieces: list[str] = []
    model: Model = connect(ollama)
    completion = model.complete(REQUEST, pieces.append)
    assert (completion.text, pieces) == ("Hello", ["Hel", "lo"])
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (20, 4)


def test_the_window_schema_and_thinking_are_set(ollama: FakeServer) -> None:
    schema = {"type": "object"}
    request = Request(REQUEST.messages, schema=schema, max_tokens=7, seed=3, temperature=0.1)
    connect(ollama, window_tokens=8192).complete(request)
    [sent] = [exchange.body for exchange in ollama.asked("/api/chat")]
    options = {"num_ctx": 8192, "num_predict": 7, "temperature": 0.1, "seed": 3}
    assert (sent["options"], sent["format"], sent["think"]) == (options, schema, False)


def test_a_smaller_window_than_asked_for_is_reported_once(ollama: FakeServer) -> None:
    warnings: list[str] = []
    model = connect(ollama, window_tokens=16384, on_warning=warnings.append)
    assert model.context_tokens == 16384
    model.complete(REQUEST)
    model.complete(REQUEST)
    assert model.context_tokens == 8192
    assert len(warnings) == 1 and "8192" in warnings[0] and "16384" in warnings[0]


def test_a_cut_stream_is_an_error_and_never_tried_again(ollama: FakeServer) -> None:
    ollama.routes["/api/chat"] = says(part("Hel"))
    with pytest.raises(ModelUnreachableError, match="cut off"):
        connect(ollama).complete(REQUEST)
    assert len(ollama.asked("/api/chat")) == 1


def test_a_hung_stream_ends_and_disconnects(ollama: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.start("application/x-ndjson")
        exchange.chunk(part("Hel"))
        exchange.hang(ollama)

    ollama.routes["/api/chat"] = respond
    with pytest.raises(ModelUnreachableError, match="in the middle of its answer"):
        connect(ollama, timeouts=STALLING).complete(REQUEST)
    assert ollama.left.wait(10)
