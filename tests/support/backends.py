"""A command's process led to a backend of this machine, which searches first and then speaks."""

from __future__ import annotations

import json
from typing import Any

from tests.support import ollama_wire, openai_wire
from tests.support.fake_server import FakeServer
from tests.support.running import Run

ANSWERS = (
    {"actions": [{"tool": "recall", "arguments": {"query": "Dächer & 雨"}}]},
    {"actions": [{"tool": "say", "arguments": {"text": "Regen auf Dächern. 🌧"}}]},
)


NOW = ("--now", "2026-05-24T13:00:00+01:00")


def openai(run: Run, server: FakeServer) -> str:
    """Let Ada talk to an endpoint."""
    run.environ["BUMBLE_LLM_BASE_URL"] = f"{server.url}/v1"
    run.environ["BUMBLE_LLM_MODEL"] = "m"

    def respond(exchange: Any) -> None:
        answer = _answer(exchange.body["messages"])
        piece, reason = {"content": answer}, "stop"
        if "tools" in exchange.body:
            piece, reason = openai_wire.calls(json.loads(answer)["actions"]), "tool_calls"
        events = (openai_wire.event(piece, reason), openai_wire.usage())
        openai_wire.says(*events, openai_wire.DONE)(exchange)

    server.routes[openai_wire.CHAT] = respond
    return openai_wire.CHAT


def ollama(run: Run, server: FakeServer) -> str:
    """Let Ada talk to Ollama."""
    run.environ["BUMBLE_LLM_OLLAMA_URL"] = server.url
    run.environ["BUMBLE_LLM_MODEL"] = "ollama:m"
    shown = {"model_info": {"q.context_length": 40960}, "capabilities": ["completion", "tools"]}
    server.routes["/api/show"] = lambda exchange: exchange.json(shown)
    server.routes["/api/ps"] = lambda exchange: exchange.json({"models": []})

    def respond(exchange: Any) -> None:
        text = ollama_wire.part(_answer(exchange.body["messages"]))
        ollama_wire.says(text, ollama_wire.END)(exchange)

    server.routes["/api/chat"] = respond
    return "/api/chat"


def _answer(messages: list[dict[str, Any]]) -> str:
    """Search first, then speak."""
    last = messages[-1]
    searched = last["role"] == "tool" or "<result" in last["content"]
    return json.dumps(ANSWERS[searched], ensure_ascii=False)
