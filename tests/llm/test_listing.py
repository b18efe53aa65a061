"""What an endpoint says of its models: names, windows, prices; what OpenAI's newest refuse."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from msgspec.structs import replace

from bumble.entity.config import LlmConfig
from bumble.llm import detect, http_errors, http_model, openai_format
from bumble.llm.http_model import HttpModel
from bumble.llm.protocol import PromptMessage, Request, Tool
from bumble.llm.wire import Habits
from tests.support.fake_server import Exchange, FakeServer
from tests.support.openai_wire import CHAT, DONE, event, hello, says

MODELS = "/v1/models"
SAY = Tool("say", "Say it.", {"type": "object", "properties": {"text": {"type": "string"}}})
REQUEST = Request((PromptMessage("user", "Hello"),), tools=(SAY,))


def model(server: FakeServer, name: str) -> HttpModel:
    return http_model.openai(f"{server.url}/v1", name, retries=0)


def lists(server: FakeServer, *ids: str, **more: Any) -> None:
    answer = {"data": [{"id": one} for one in ids], **more}
    server.routes[MODELS] = lambda exchange: exchange.json(answer)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("m", ["m"]),
        ("gemini-3.8-flash", ["models/gemini-3.8-flash"]),
        ("models/gemini-3.8-flash", ["models/gemini-3.8-flash"]),
        ("claude-haiku-4-5", ["claude-haiku-4-5-20251001"]),
        ("gpt-5.4-mini", ["gpt-5.4-mini-2026-03-17"]),
        ("meta/llama-4:online", ["meta/llama-4"]),
    ],
)
def test_a_name_is_found_in_the_forms_that_lists_have(
    server: FakeServer, name: str, ids: list[str]
) -> None:
    lists(server, "other", *ids)
    assert model(server, name).told.names == ()


def test_a_name_that_is_not_listed_is_told_until_it_is(server: FakeServer) -> None:
    lists(server, "models/a", "b")
    unknown = model(server, "c")
    told = [unknown.told.names]
    lists(server, "a", "b", "c")
    told.append(unknown.told.names)
    assert told == [("a", "b"), ()]


@pytest.mark.parametrize("status", [200, 401, 404, 500])
def test_where_there_is_no_whole_list_no_name_is_missing(server: FakeServer, status: int) -> None:
    answer = {"data": [{"id": "a"}], "has_more": True}
    server.routes[MODELS] = lambda exchange: exchange.json(answer, status)
    assert model(server, "c").told.names == ()


@pytest.mark.parametrize(
    ("entry", "name", "window"),
    [
        ({"max_model_len": 9000}, "m", (9000, "endpoint")),
        ({"max_input_tokens": 1_000_000}, "m", (1_000_000, "endpoint")),
        ({"context_length": "9000"}, "m", (9000, "endpoint")),
        ({"context_length": 9000.0}, "m", (9000, "endpoint")),
        ({"max_prompt_length": 9000}, "m", (9000, "endpoint")),
        ({"model_info": {"max_input_tokens": 9000}}, "m", (9000, "endpoint")),
        (
            {"providers": [{"context_length": 9001}, {"context_length": 9000}]},
            "m",
            (9000, "endpoint"),
        ),
        ({}, "claude-sonnet-5-5", (200_000, "family")),
        ({}, "m", (None, "default")),
    ],
)
def test_a_window_is_told_with_its_source(
    server: FakeServer, entry: dict[str, Any], name: str, window: tuple[int | None, str]
) -> None:
    answer = {"data": [{"id": name, **entry}]}
    server.routes[MODELS] = lambda exchange: exchange.json(answer)
    assert model(server, name).told.window == window


@pytest.mark.parametrize("key", ["id", "name"])
def test_a_list_below_another_key_is_read(server: FakeServer, key: str) -> None:
    answer = {"models": [{key: "m", "context_length": 9000}]}
    server.routes[MODELS] = lambda exchange: exchange.json(answer)
    assert model(server, "m").told.window == (9000, "endpoint")


def test_a_server_that_is_down_is_asked_again_later() -> None:
    dialect = openai_format.OpenAIDialect("claude-x")
    learned = dialect.learned(lambda path, post: None, Habits())
    assert (learned.asked, learned.context_tokens) == (False, 200_000)
    assert dialect.learned(lambda path, post: {}, Habits()).asked


def test_headers_of_the_list_go_along_only_where_models_are_asked_for(server: FakeServer) -> None:
    lists(server, "claude-sonnet-5-5")
    server.routes[CHAT] = hello()
    peer = http_errors.Peer(f"{server.url}/v1", "sk-ant")
    dialect = openai_format.OpenAIDialect("claude-sonnet-5-5")
    headers = {"x-api-key": "sk-ant", "anthropic-version": "2023-06-01"}
    claude = HttpModel("openai:claude-sonnet-5-5", peer, dialect, list_headers=headers)
    assert claude.told.names == ()
    claude.complete(replace(REQUEST, tools=()))
    listed, said = server.seen
    assert listed.headers["x-api-key"] == "sk-ant"
    assert listed.headers["anthropic-version"] == "2023-06-01"
    assert said.headers["authorization"] == "Bearer sk-ant"
    assert "x-api-key" not in said.headers


def test_who_takes_tools_only_without_effort_gets_them_so(server: FakeServer) -> None:
    # https://github.com/BerriAI/litellm/pull/34569: only an explicit `none` will do.
    refusal = (
        "Function tools with reasoning_effort are not supported for gpt-5.6 in "
        "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort "
        "to 'none'."
    )

    def respond(exchange: Exchange) -> None:
        if "tools" in exchange.body and exchange.body.get("reasoning_effort") != "none":
            error = {"message": refusal, "param": "reasoning_effort"}
            exchange.json({"error": error}, 400)
            return
        says(event({"content": "Hello"}, "stop"), DONE)(exchange)

    server.routes[CHAT] = respond
    peer = http_errors.Peer(f"{server.url}/v1", "sk")
    dialect = openai_format.OpenAIDialect("gpt-5.6", thinks={"reasoning_effort": "medium"})
    newest = HttpModel("openai:gpt-5.6", peer, dialect)
    newest.complete(replace(REQUEST, thinking=True))
    bodies = [exchange.body for exchange in server.asked(CHAT)]
    assert [body.get("reasoning_effort") for body in bodies] == ["medium", "none"]
    assert "tools" in bodies[1]
    newest.complete(replace(REQUEST, tools=(), thinking=True))
    assert server.seen[-1].body["reasoning_effort"] == "medium"


def test_every_provider_can_be_set_and_has_its_sources() -> None:
    names = get_args(get_args(get_type_hints(LlmConfig, include_extras=True)["provider"])[0])
    assert names == ("none", *(one.name for one in detect.providers()))
    for one in detect.providers():
        assert one.url.startswith("https://")
        assert one.source.startswith("https://")
        assert one.models.startswith("https://")
