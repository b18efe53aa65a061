"""What is told of a model behind a server, before it is asked and after it has answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import openai_wire
from tests.support.chatting import act, script
from tests.support.fake_server import FakeServer
from tests.support.running import Run

SAY = {"index": 0, "id": "c1", "function": {"name": "say", "arguments": '{"text": "Hello."}'}}
MODEL = {"id": "acme/large", "context_length": 200_000}
PRICES = {"prompt": "0.000002", "completion": "0.00001"}


@pytest.fixture
def ada(run: Run, server: FakeServer) -> Run:
    run.environ |= {
        "BUMBLE_LLM_BASE_URL": f"{server.url}/v1",
        "BUMBLE_LLM_MODEL": "acme/large",
        "BUMBLE_EMBEDDING_MODEL": "none",
        "BUMBLE_LIMITS_SETTLE": "later",
        "OPENAI_API_KEY": "sk-secret",
    }
    lists(server, MODEL)
    return run


def lists(server: FakeServer, *models: dict[str, Any]) -> None:
    server.routes["/v1/models"] = lambda exchange: exchange.json({"data": list(models)})


def answers(server: FakeServer, **usage: Any) -> None:
    counts = {"prompt_tokens": 1000, "completion_tokens": 100, **usage}
    end = b"data: " + json.dumps({"choices": [], "usage": counts}).encode() + b"\n\n"
    events = (openai_wire.event({"tool_calls": [SAY]}, "tool_calls"), end, openai_wire.DONE)
    server.routes[openai_wire.CHAT] = openai_wire.says(*events)


def shown(text: str) -> dict[str, str]:
    """The rows of a page, by their names."""
    rows = [line.strip().split("  ", 1) for line in text.split("\n") if line.startswith("  ")]
    return {row[0]: row[1].strip() for row in rows if row[1:]}


def test_show_tells_of_a_model_behind_an_endpoint(ada: Run, server: FakeServer) -> None:
    size = {"meta": {"n_params": 70_600_000_000}}
    lists(server, MODEL | size | {"pricing": PRICES})
    ada.environ["BUMBLE_LLM_BASE_URL"] = server.url.replace("//", "//sam:pass@") + "/v1"
    ada.environ |= {"BUMBLE_LLM_ABILITIES_TALK": "{}", "BUMBLE_LLM_ABILITIES_MEMORY": "{}"}
    text = ada.ok("model", "show").out
    assert "pass" not in text
    assert "sk-secret" not in text
    rows = shown(text)
    assert rows["backend"] == "endpoint"
    assert rows["address"] == f"{server.url}/v1"
    assert rows["key"] == "OPENAI_API_KEY, set"
    assert rows["private"] == "what is said stays on this machine"
    assert rows["window"] == "200,000 tokens, of which 32,768 are used (the endpoint says so)"
    assert rows["parameters"] == "70.6 billion"
    assert rows["prices"] == "$2 a million tokens read, $10 written"
    assert rows["trusted with"] == (
        "any other language: talk write, memory write "
        "(not probed; by its size, 70.6 billion parameters)"
    )
    data = ada.ok("model", "show", "acme/large", "--json").data
    assert (data["window"], data["used"], data["window_source"]) == (200_000, 32_768, "endpoint")


def test_show_tells_of_ollamas_a_script_and_the_catalogs(ada: Run, server: FakeServer) -> None:
    info = {"general.parameter_count": 1_200_000_000, "llama.context_length": 8192}
    server.routes["/api/show"] = lambda exchange: exchange.json({"model_info": info})
    ada.environ["BUMBLE_LLM_OLLAMA_URL"] = server.url
    rows = shown(ada.ok("model", "show", "ollama:llama3.2").out)
    assert (rows["backend"], rows["address"]) == ("ollama", server.url)
    assert rows["window"] == "8,192 tokens (the endpoint says so)"
    assert rows["parameters"] == "1.2 billion"
    assert "key" not in rows
    script(ada, act("say", text="Hello."))
    rows = shown(ada.ok("model", "show").out)
    assert rows["backend"] == "script"
    assert rows["trusted with"] == "any other language: talk write, memory write (its script)"
    trusted = shown(ada.ok("model", "show", "qwen3-1.7b").out)["trusted with"]
    assert "talk choose, memory choose (not probed; by its size, a file of" in trusted


def test_a_name_that_the_endpoint_does_not_have_is_found_by_status(
    ada: Run, server: FakeServer
) -> None:
    ada.environ["BUMBLE_LLM_MODEL"] = "acme/lagre"
    lists(server, MODEL, {"id": "acme/small"})
    model = ada.ok("status", "--json").data["model"]
    assert model["others"] == ["acme/large", "acme/small"]
    text = ada.ok("status").out
    assert "the endpoint does not list it; did you mean acme/large or acme/small?" in text
    assert shown(text)["it has"] == "acme/large, acme/small"
    lists(server, MODEL, {"id": "acme/lagre"})
    assert ada.ok("status", "--json").data["model"]["lacks"] is None


def test_setting_a_name_says_which_it_may_be_and_refuses_nothing(
    ada: Run, server: FakeServer
) -> None:
    del ada.environ["BUMBLE_LLM_MODEL"]
    ran = ada.ok("config", "set", "llm.model", "acme-large")
    assert "warning: acme-large: the endpoint does not list it; did you mean acme/large?" in ran.err
    assert ada.ok("config", "get", "llm.model").out == "acme-large\n"
    assert "warning" not in ada.ok("config", "set", "llm.model", "acme/large").err
    del server.routes["/v1/models"]
    assert "warning" not in ada.ok("config", "set", "llm.model", "anything").err
    ada.environ["BUMBLE_LLM_BASE_URL"] = "http://127.0.0.1:1/v1"
    assert "warning" not in ada.ok("config", "set", "llm.model", "else").err


def test_a_provider_is_the_users_own_and_never_of_a_folder(ada: Run) -> None:
    assert ada("config", "set", "llm.provider", "anthropic").code != 0
    ada.write("entity.yaml", ada.text("entity.yaml") + "llm: {provider: anthropic}\n")
    ada.ok("config", "trust", str(ada.entity.root))
    shown = ada.ok("config", "get", "llm.provider")
    assert shown.out == "none\n"
    assert "llm.provider" in shown.err


@pytest.mark.parametrize(
    ("told", "owners", "usage", "dollars"),
    [
        ({}, "", {"cost": 0.0123}, 0.0123),
        ({"pricing": PRICES}, "", {}, 0.003),
        ({"pricing": PRICES}, "{prompt: 1, completion: 2}", {}, 0.0012),
        ({}, "{prompt: 1, completion: 2}", {"cost": 0.5}, 0.5),
        ({}, "", {}, None),
    ],
)
def test_what_an_answer_cost_is_told_and_kept(
    ada: Run,
    server: FakeServer,
    told: dict[str, Any],
    owners: str,
    usage: dict[str, Any],
    dollars: float | None,
) -> None:
    lists(server, MODEL | told)
    details = {"completion_tokens_details": {"reasoning_tokens": 60}}
    answers(server, prompt_tokens_details={"cached_tokens": 900}, **details, **usage)
    if owners:
        ada.ok("config", "set", "llm.prices.prompt", "1")
        ada.ok("config", "set", "llm.prices.completion", "2")
    said = ada.ok("chat", "--usage", "Hello").err
    assert "prompt 1000 tokens: 900 cached, 100 evaluated" in said
    cost = "" if dollars is None else f" · ${dollars:.4f}"
    assert f"answer 100 tokens, 60 of them thought{cost} · first after" in said
    lines = [json.loads(line) for line in ada.entity.ledger.read_text().splitlines()]
    [line] = [line for line in lines if line["finish_reason"] != "warm"]
    assert line["reasoning_tokens"] == 60
    assert line.get("dollars") == (None if dollars is None else pytest.approx(dollars))
    today = shown(ada.ok("status").out)["today"]
    assert today == f"1 model call, 1,100 tokens{'' if dollars is None else f', ${dollars:.4f}'}"
