from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.cli.process import Stops
from bumble.errors import (
    CredentialsError,
    ModelUnreachableError,
)
from bumble.llm import structured
from bumble.llm.http_model import HttpModel
from bumble.llm.http_model import openai as connect_openai
from bumble.llm.protocol import EnoughError, Model, PromptMessage, Request
from bumble.llm.wire import Timeouts
from bumble.text.schema import closed
from tests.support.fake_server import Exchange, FakeServer
from tests.support.openai_wire import CHAT, event, hello, says

PATIENT = Timeouts(connect_seconds=20, first_token_seconds=20, silence_seconds=20)
IMPATIENT = Timeouts(connect_seconds=20, first_token_seconds=0.3, silence_seconds=0.3)
STALLING = Timeouts(connect_seconds=20, first_token_seconds=20, silence_seconds=0.3)
REQUEST = Request([PromptMessage("system", "You are Ada."), PromptMessage("user", "Hi")])
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def connect(server: FakeServer, **more: Any) -> HttpModel:
    return connect_openai(
        f"{server.url}/v1", "m", **{"timeouts": PATIENT, "sleep": lambda _: None, **more}
    )


def test_an_answer_streams_with_its_usage(server: FakeServer) -> None:
    server.routes[CHAT] = hello()
    pieces: list[str] = []
    model: Model = connect(server)
    completion = model.complete(REQUEST, pieces.append)
    assert (completion.text, pieces, completion.finish_reason) == ("Hello", ["Hel", "lo"], "stop")
    counts = completion.usage
    assert (counts.prompt_tokens, counts.cached_tokens, counts.completion_tokens) == (9, 3, 2)
    assert 0 < (completion.first_token_seconds or 0) <= completion.seconds
    sent = server.seen[0].body
    assert sent["messages"][0] == {"role": "system", "content": "You are Ada."}
    assert (sent["model"], sent["stream_options"]) == ("m", {"include_usage": True})


def test_only_the_key_that_was_passed_is_sent(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-not-for-you")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: not-for-you")
    server.routes[CHAT] = hello()
    connect(server).complete(REQUEST)
    connect(server, api_key="mine").complete(REQUEST)
    first, second = server.seen
    assert "not-for-you" not in str(first.headers) and "authorization" not in first.headers
    assert second.headers["authorization"] == "Bearer mine"


def test_reasoning_is_split_off_both_ways(server: FakeServer) -> None:
    server.routes[CHAT] = says(
        event({"reasoning_content": "hm "}),
        event({"content": "<thi"}),
        event({"content": "nk>so</think>Hi"}, "stop"),
    )
    pieces: list[str] = []
    completion = connect(server).complete(REQUEST, pieces.append)
    assert (completion.text, completion.reasoning, "".join(pieces)) == ("Hi", "hm so", "Hi")


def test_a_refused_schema_steps_down_and_stays_down(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        if exchange.body.get("response_format", {}).get("type") == "json_schema":
            exchange.json({"error": {"message": "response_format is not supported"}}, 400)
        elif "tools" in exchange.body:
            exchange.json({"error": {"message": "tools are not supported"}}, 422)
        else:
            says(event({"content": '{"a": 1}'}, "stop"))(exchange)

    server.routes[CHAT] = respond
    model = connect(server)
    request = Request(REQUEST.messages, schema=SCHEMA)
    assert model.complete(request).text == model.complete(request).text == '{"a": 1}'
    assert len(server.seen) == 4
    last = server.seen[-1].body
    assert last["response_format"] == {"type": "json_object"}
    assert '"integer"' in last["messages"][-1]["content"]


def test_only_a_schema_that_says_all_is_strict(server: FakeServer) -> None:
    server.routes[CHAT] = says(event({"content": '{"a": 1}'}, "stop"))
    model = connect(server)
    number = {"a": {"type": "integer"}}
    whole = {"type": "object", "properties": number, "required": ["a"]}
    closed = whole | {"additionalProperties": False}
    optional = closed | {"properties": {**number, "b": {"type": "string"}}}
    nested = closed | {"properties": {"a": {"type": "array", "items": optional}}}
    untyped = closed | {"properties": {"a": {"enum": [1, 2]}}}  # OpenAI takes none without a type
    for schema in (closed, whole, optional, nested, untyped):
        model.complete(Request(REQUEST.messages, schema=schema))
    sent = [one.body["response_format"]["json_schema"]["strict"] for one in server.seen]
    assert sent == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("answer", "believed"),
    [
        ('{"b": 1}', False),  # as Anthropic's compatible form answers, which ignores the schema
        ('```json\n{"a": {"a": 1}}\n```', False),
        ("I can't help with that.", True),
        ('```json\n{"a": 1}\n```', True),  # it costs no second call
    ],
)
def test_a_server_that_passes_over_a_schema_twice_is_asked_in_another_way(
    server: FakeServer, answer: str, *, believed: bool
) -> None:
    server.routes[CHAT] = says(event({"content": answer}, "stop"))
    model = connect(server)
    for _ in range(3):
        model.complete(Request(REQUEST.messages, schema=closed({"a": {"type": "integer"}})))
    assert ["response_format" in one.body for one in server.seen] == [True, True, believed]


@pytest.mark.parametrize("status", [400, 404, 422, 501])
def test_a_server_that_enforces_nothing_is_told_the_schema_in_words(
    server: FakeServer, status: int
) -> None:
    def respond(exchange: Exchange) -> None:
        if {"response_format", "tools"} & exchange.body.keys():
            exchange.json({"error": {"message": "unsupported parameter"}}, status)
        else:
            says(event({"content": 'Sure: {"a": 1}'}, "stop"))(exchange)

    server.routes[CHAT] = respond
    model, request = connect(server), Request(REQUEST.messages, "distill")
    assert structured.answer(model, request, SCHEMA) == {"a": 1}
    assert structured.answer(model, request, SCHEMA) == {"a": 1}
    assert len(server.seen) == 5
    assert '"integer"' in server.seen[-1].body["messages"][-1]["content"]


def test_a_refused_word_does_not_give_up_the_schema_of_objects(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        form = exchange.body.get("response_format", {"type": "none"})
        if form["type"] == "json_schema" and "enum" in form["json_schema"]["schema"]:
            exchange.json({"error": {"message": "schema must be an object"}}, 400)
            return
        text = "CHAT" if form["type"] == "none" else '{"a": 1}'
        says(event({"content": text}, "stop"))(exchange)

    server.routes[CHAT] = respond
    model = connect(server)
    word = Request(REQUEST.messages, schema={"enum": ["CHAT", "DEEP"]})
    assert model.complete(word).text == model.complete(word).text == "CHAT"
    assert len(server.seen) == 3
    assert '"DEEP"' in server.seen[-1].body["messages"][-1]["content"]
    assert model.complete(Request(REQUEST.messages, schema=SCHEMA)).text == '{"a": 1}'
    assert server.seen[-1].body["response_format"]["type"] == "json_schema"


def test_a_passing_failure_does_not_give_up_the_schema(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        if len(server.seen) == 1:
            exchange.json({"error": {"message": "slow down"}}, 429)
        else:
            says(event({"content": '{"a": 1}'}, "stop"))(exchange)

    server.routes[CHAT] = respond
    assert structured.answer(connect(server), REQUEST, SCHEMA) == {"a": 1}
    assert server.seen[-1].body["response_format"]["type"] == "json_schema"


def test_a_forced_tool_gives_its_arguments_as_the_text(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        if "tools" not in exchange.body:
            exchange.json({"error": {"message": "no response_format"}}, 400)
            return
        call = {"name": "answer", "arguments": '{"a": 1}'}
        part = {"tool_calls": [{"index": 0, "id": "c", "function": call}]}
        says(event(part), event({}, "tool_calls"))(exchange)

    server.routes[CHAT] = respond
    pieces: list[str] = []
    completion = connect(server).complete(Request(REQUEST.messages, schema=SCHEMA), pieces.append)
    assert (completion.text, completion.finish_reason, pieces) == ('{"a": 1}', "stop", ['{"a": 1}'])


@pytest.mark.parametrize("key", ["sk-…", "sk-a\nb"])
def test_a_placeholder_in_the_place_of_a_key_says_so_and_is_not_sent(
    server: FakeServer, key: str
) -> None:
    with pytest.raises(CredentialsError, match="the placeholder of an instruction"):
        connect(server, api_key=key).complete(REQUEST)
    assert server.seen == []


def test_a_passing_failure_is_tried_again(server: FakeServer, naps: list[float]) -> None:
    def respond(exchange: Exchange) -> None:
        if len(server.seen) == 1:
            exchange.json({"error": {"message": "overloaded"}}, 503)
        elif len(server.seen) == 2:
            exchange.start()
            exchange.cut()
        else:
            hello()(exchange)

    server.routes[CHAT] = respond
    assert connect(server, sleep=naps.append).complete(REQUEST).text == "Hello"
    assert naps == [0.5, 1.0]


def test_of_a_stream_cut_before_its_first_token_no_answer_came(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.start()
        exchange.cut()

    server.routes[CHAT] = respond
    with pytest.raises(ModelUnreachableError, match="no answer came"):
        connect(server).complete(REQUEST)


def test_a_stream_cut_after_its_first_token_is_not_tried_again(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.start()
        exchange.chunk(event({"content": "Hel"}))
        exchange.cut()

    server.routes[CHAT] = respond
    pieces: list[str] = []
    with pytest.raises(ModelUnreachableError, match="cut off"):
        connect(server).complete(REQUEST, pieces.append)
    assert pieces == ["Hel"] and len(server.seen) == 1


def test_silence_before_the_first_token_ends_the_wait_and_the_request(server: FakeServer) -> None:
    server.routes[CHAT] = lambda exchange: exchange.hang(server)
    started = time.monotonic()
    with pytest.raises(ModelUnreachableError, match=r"nothing for 0\.3 s before the first token"):
        connect(server, timeouts=IMPATIENT).complete(REQUEST)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("talks", [False, True])
def test_an_answer_ends_when_its_seconds_are_over(server: FakeServer, talks: bool) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.start()
        while talks and not server.ended.is_set():
            exchange.chunk(event({"content": "on "}))
            time.sleep(0.02)
        exchange.hang(server)

    server.routes[CHAT] = respond
    started = time.monotonic()
    heard: list[str] = []
    with pytest.raises(EnoughError):
        connect(server).complete(replace(REQUEST, seconds=0.4), heard.append)
    assert time.monotonic() - started < 5
    assert bool(heard) == talks
    assert server.left.wait(10) or talks


def test_keep_alives_are_no_tokens(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.start()
        while not server.ended.is_set():
            exchange.chunk(b": ping\n\n" + event({"role": "assistant"}))
            time.sleep(0.05)

    server.routes[CHAT] = respond
    with pytest.raises(ModelUnreachableError, match="before the first token"):
        connect(server, timeouts=IMPATIENT).complete(REQUEST)
    assert server.left.wait(10)


def test_silence_in_the_middle_disconnects(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.start()
        exchange.chunk(event({"content": "Hel"}))
        exchange.hang(server)

    server.routes[CHAT] = respond
    with pytest.raises(ModelUnreachableError, match="in the middle of its answer"):
        connect(server, timeouts=STALLING).complete(REQUEST)
    assert server.left.wait(10)


def test_an_interrupt_disconnects_at_once(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        exchange.start()
        exchange.chunk(event({"content": "Hel"}))
        exchange.hang(server)

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    server.routes[CHAT] = respond
    with pytest.raises(KeyboardInterrupt):
        connect(server, timeouts=Timeouts()).complete(REQUEST, interrupt)
    assert server.left.wait(10)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to threads there")
def test_an_interrupt_that_does_not_end_the_wait_is_heard(server: FakeServer) -> None:
    """A signal that another thread takes leaves this one waiting, as one just before would."""

    def respond(exchange: Exchange) -> None:
        exchange.start()
        exchange.chunk(event({"content": "Hel"}))
        time.sleep(0.3)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        exchange.hang(server)

    server.routes[CHAT] = respond
    started = time.monotonic()
    with Stops().watched(), pytest.raises(KeyboardInterrupt):
        connect(server).complete(REQUEST)
    assert time.monotonic() - started < 10
    assert server.left.wait(10)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to threads there")
@pytest.mark.parametrize("is_warm", [False, True])
def test_an_interrupt_before_the_first_header_disconnects_at_once(
    server: FakeServer, is_warm: bool
) -> None:
    def respond(exchange: Exchange) -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        exchange.hang(server)

    model = connect(server)
    if is_warm:  # by a connection that was made for another question
        server.routes[f"{CHAT.removesuffix('/chat/completions')}/models"] = lambda exchange: (
            exchange.json({"data": [{"id": "m", "max_model_len": 9}]})
        )
        assert model.context_tokens == 9
    server.routes[CHAT] = respond
    with Stops().watched(), pytest.raises(KeyboardInterrupt):
        model.complete(REQUEST)
    assert server.left.wait(10)
    server.routes[CHAT] = hello()
    assert model.complete(REQUEST).text == "Hello"


@pytest.mark.parametrize(
    ("models", "props", "tokens"),
    [
        ({"data": [{"id": "m", "max_model_len": 4096}]}, None, 4096),
        ({"data": [{"id": "x", "context_length": 1}, {"id": "m", "context_length": 9}]}, None, 9),
        ({"data": [{"id": "m"}]}, {"default_generation_settings": {"n_ctx": 2048}}, 2048),
        ({"data": [{"id": "m"}]}, None, None),
        ({"data": "?"}, {"default_generation_settings": 3}, None),
    ],
)
def test_the_context_window_is_asked_of_the_server_once(
    server: FakeServer, models: Any, props: Any, tokens: int | None
) -> None:
    server.routes["/v1/models"] = lambda exchange: exchange.json(models)
    if props is not None:
        server.routes["/props"] = lambda exchange: exchange.json(props)
    model = connect(server)
    assert model.context_tokens == model.context_tokens == tokens
    assert len(server.asked("/v1/models")) == 1


def test_threads_of_finished_streams_are_gone(server: FakeServer) -> None:
    server.routes[CHAT] = hello()
    model = connect(server)
    for _ in range(3):
        model.complete(REQUEST)
    for thread in threading.enumerate():
        if thread.name == "model-stream":
            thread.join(10)
            assert not thread.is_alive()
