"""What `context` reports is what `chat` sends, captured on a server of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llm import test_ollama, test_openai_compatible
from tests.support import tap
from tests.support.fake_server import FakeServer
from tests.support.running import Run

ANSWERS = (
    {"actions": [{"tool": "recall", "arguments": {"query": "Dächer & 雨"}}]},
    {"actions": [{"tool": "say", "arguments": {"text": "Regen auf Dächern. 🌧"}}]},
)
SAID = ("Ich mag „Regen“ auf Dächern, 雨 🌧", "Why does rain feel like home?")
NOW = ("--now", "2026-05-24T13:00:00+01:00")


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    yield fake
    fake.close()


def openai(run: Run, server: FakeServer) -> str:
    """Let Ada talk to an endpoint."""
    run.environ["BUMBLE_LLM_BASE_URL"] = f"{server.url}/v1"
    run.environ["BUMBLE_LLM_MODEL"] = "m"

    def respond(exchange: Any) -> None:
        piece = {"content": _answer(exchange.body["messages"])}
        events = (test_openai_compatible.event(piece, "stop"), test_openai_compatible.usage())
        test_openai_compatible.says(*events, test_openai_compatible.DONE)(exchange)

    server.routes[test_openai_compatible.CHAT] = respond
    return test_openai_compatible.CHAT


def ollama(run: Run, server: FakeServer) -> str:
    """Let Ada talk to Ollama."""
    run.environ["BUMBLE_LLM_OLLAMA_URL"] = server.url
    run.environ["BUMBLE_LLM_MODEL"] = "ollama:m"
    shown = {"model_info": {"q.context_length": 40960}, "capabilities": ["completion", "tools"]}
    server.routes["/api/show"] = lambda exchange: exchange.json(shown)
    server.routes["/api/ps"] = lambda exchange: exchange.json({"models": []})

    def respond(exchange: Any) -> None:
        text = test_ollama.part(_answer(exchange.body["messages"]))
        test_ollama.says(text, test_ollama.END)(exchange)

    server.routes["/api/chat"] = respond
    return "/api/chat"


def _answer(messages: list[dict[str, Any]]) -> str:
    """Search first, then speak."""
    searched = "<result" in messages[-1]["content"]
    return json.dumps(ANSWERS[searched], ensure_ascii=False)


def schema_of(body: dict[str, Any]) -> Any:
    if "format" in body:
        return body["format"]
    return body["response_format"]["json_schema"]["schema"]


def size_of(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


@pytest.mark.parametrize("backend", [openai, ollama])
def test_context_counts_the_bytes_that_chat_sends(
    run: Run, server: FakeServer, backend: Any
) -> None:
    path = backend(run, server)
    run.environ |= {"BUMBLE_EMBEDDING_MODEL": "none", "BUMBLE_LIMITS_SETTLE": "later"}
    run.environ["BUMBLE_COGNITION_GATE_ENABLED"] = "false"
    run.write("GENOME.md", "Ich mag Tee ☕.")
    run.write("skills/tee.md", "---\ndescription: Tee kochen\n---\n\nWasser.\n")
    run.ok("chat", SAID[0])
    before = len(server.asked(path))
    guessed = run.ok("context", "json", "-m", SAID[1], *NOW).data
    assert len(server.asked(path)) == before  # looking sends nothing
    run.ok("chat", SAID[1], *NOW)
    request = server.asked(path)[before]
    sent = request.body
    told = run.ok("context", "json").data
    for found in (guessed, told):
        assert found["messages_bytes"] == sum(
            len(one["content"].encode()) for one in sent["messages"]
        )
        assert found["schema_bytes"] == size_of(schema_of(sent))
        assert found["total_bytes"] == int(request.headers["content-length"])
    assert (guessed["source"], told["source"]) == ("estimate", "run")
    assert told["history_messages"] == len(sent["messages"]) - 2 > 2
    assert "Dächer" in json.dumps(sent["messages"], ensure_ascii=False)


@pytest.mark.weights
def test_context_counts_the_bytes_that_the_embedded_engine_is_sent(
    run: Run, weights_folder: Path
) -> None:
    script = run.write("../script.jsonl", json.dumps(json.dumps(ANSWERS[1])) + "\n")
    run.environ |= {
        "BUMBLE_WEIGHTS": str(weights_folder),
        "BUMBLE_LLM_MODEL": f"script:{script}",
        "BUMBLE_EMBEDDING_MODEL": "none",
        "BUMBLE_LIMITS_SETTLE": "later",
        "BUMBLE_COGNITION_DELIBERATE_MAX_TOKENS": "40",
        "BUMBLE_COGNITION_LOOP_MAX_TOOL_ROUNDS": "0",
    }
    run.write("GENOME.md", "Ich mag Tee ☕.")
    run.ok("chat", SAID[0])
    run.environ["BUMBLE_LLM_MODEL"] = "smollm2-135m"
    with tap.tapped(run.monkeypatch) as asked:
        guessed = run.ok("context", "json", "-m", SAID[1], *NOW).data
        assert not asked  # looking loads no weights
        run("chat", SAID[1], *NOW)
    body = next(body for path, body in asked if path == "/v1/chat/completions")
    sent = json.loads(body)
    told = run.ok("context", "json").data
    for found in (guessed, told):
        assert found["messages_bytes"] == sum(
            len(one["content"].encode()) for one in sent["messages"]
        )
        schema = json.loads(sent["grammar"].partition("%json")[2])
        del schema["x-guidance"]  # how the engine is to space it
        assert found["schema_bytes"] == size_of(schema)
        assert found["total_bytes"] == len(body)
    assert (guessed["source"], told["source"]) == ("estimate", "run")
    assert told["history_messages"] == len(sent["messages"]) - 2 > 1


@pytest.mark.parametrize("backend", [openai, ollama])
def test_context_prompt_prints_the_messages_that_chat_sends(
    run: Run, server: FakeServer, backend: Any
) -> None:
    path = backend(run, server)
    run.environ |= {"BUMBLE_EMBEDDING_MODEL": "none", "BUMBLE_LIMITS_SETTLE": "later"}
    run.ok("chat", SAID[0])
    before = len(server.asked(path))
    printed = run.ok("context", "prompt", "--json", "-m", SAID[1], *NOW).data
    run.ok("chat", SAID[1], *NOW)
    sent = server.asked(path)[before].body
    assert printed["messages"] == sent["messages"]
    assert printed["schema"] == schema_of(sent)


def test_plain_text_of_an_endpoint_that_enforces_nothing_is_an_answer(
    run: Run, server: FakeServer
) -> None:
    path = openai(run, server)
    run.environ |= {"BUMBLE_EMBEDDING_MODEL": "none", "BUMBLE_LIMITS_SETTLE": "later"}
    run.environ["BUMBLE_LLM_TOOL_CHOICE"] = "auto"
    piece = test_openai_compatible.event({"content": "Regen auf Dächern."}, "stop")
    server.routes[path] = test_openai_compatible.says(piece, test_openai_compatible.DONE)
    said = run.ok("chat", "--json", SAID[0]).data
    assert (said["reply"], said["stopped"]) == ("Regen auf Dächern.", "done")
    (sent,) = server.asked(path)
    assert not {"response_format", "tools", "tool_choice"} & sent.body.keys()
