"""No server makes bumble hang or fill the memory: all that is read has a limit."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import pytest

from bumble.errors import AnswerInvalidError, CredentialsError
from bumble.llm import detect, http_errors
from bumble.llm.http_model import HttpModel
from bumble.llm.http_model import ollama as connect_ollama
from bumble.llm.http_model import openai as connect_openai
from bumble.llm.protocol import PromptMessage, Request
from tests.support import ollama_wire, openai_wire
from tests.support.fake_server import Exchange, FakeServer
from tests.support.sweeps import turns

REQUEST = Request([PromptMessage("user", "Hi")], max_tokens=100)
PATHS = ("/v1/chat/completions", "/v1/models", "/props", "/api/chat", "/api/show", "/api/ps")
MEGABYTE = b"x" * (1 << 20)


def openai(server: FakeServer) -> HttpModel:
    return connect_openai(f"{server.url}/v1", "m", sleep=lambda _: None)


def ollama(server: FakeServer) -> HttpModel:
    return connect_ollama("m", host=server.url, sleep=lambda _: None)


def endless(begin: bytes, piece: bytes, status: int = 200) -> Any:
    """Send a gigabyte, unless the client leaves."""

    def respond(exchange: Exchange) -> None:
        exchange.start("text/event-stream", status)
        if begin:  # an empty chunk is the last
            exchange.chunk(begin)
        for _ in range((1 << 30) // len(piece)):
            exchange.chunk(piece)
        exchange.end()

    return respond


BEGINS = (b"", b"data: ", b'data: {"choices":"', b"{")


@pytest.mark.parametrize(("begin", "connect"), turns(4, product(BEGINS, [openai, ollama])))
def test_a_gigabyte_without_an_end_is_cut_off(
    server: FakeServer, connect: Any, begin: bytes
) -> None:
    for path in PATHS:
        server.routes[path] = endless(begin, MEGABYTE)
    model = connect(server)
    started = time.monotonic()
    _ = model.context_tokens
    with pytest.raises(AnswerInvalidError, match="more than 16 MB"):
        model.complete(REQUEST)
    assert time.monotonic() - started < 60
    assert server.left.wait(10)


def test_an_answer_far_longer_than_it_was_allowed_is_cut_off(server: FakeServer) -> None:
    event = openai_wire.event({"content": "all work and no play " * 50})
    server.routes[PATHS[0]] = endless(b"", event)
    shown: list[str] = []
    with pytest.raises(AnswerInvalidError, match="characters and was cut off") as caught:
        openai(server).complete(REQUEST, shown.append)
    assert (
        len(caught.value.answer)
        <= http_errors.TEXT_CHARS + 100 * http_errors.CHARS_PER_TOKEN + 2000
    )
    assert caught.value.answer.startswith("".join(shown)[:1000])
    server.routes["/api/chat"] = endless(b"", ollama_wire.part("all work and no play " * 50))
    with pytest.raises(AnswerInvalidError, match="characters and was cut off"):
        ollama(server).complete(REQUEST)


@pytest.mark.parametrize("connect", [openai, ollama])
def test_a_page_of_errors_is_read_no_further_than_its_beginning(
    server: FakeServer, connect: Any
) -> None:
    for path in PATHS:
        server.routes[path] = endless(b"no account ", MEGABYTE, 401)
    with pytest.raises(CredentialsError, match="wants another key") as caught:
        connect(server).complete(REQUEST)
    assert len(str(caught.value)) < 1000


def test_a_probe_ends_however_slowly_something_answers(server: FakeServer) -> None:
    def drip(exchange: Exchange) -> None:
        exchange.start("application/json")
        while not server.ended.wait(0.05):
            exchange.chunk(b" ")

    server.routes["/v1/models"] = drip
    started = time.monotonic()
    address = detect.Address("x", "openai", server.url)
    assert detect.servers([address], timeout_seconds=0.25) == ()
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("connect", [openai, ollama])
def test_an_event_nested_without_end_is_an_invalid_answer(server: FakeServer, connect: Any) -> None:
    deep = b"[" * 200_000
    for path in PATHS:
        server.routes[path] = openai_wire.says(
            (b"data: " if path.startswith("/v1") else b"") + deep + b"\n\n"
        )
    model = connect(server)
    _ = model.context_tokens
    with pytest.raises(AnswerInvalidError):
        model.complete(REQUEST)
