"""What `context` reports is what `chat` sends, captured on a server of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import openai_wire, tap
from tests.support.backends import ANSWERS, NOW, ollama, openai
from tests.support.fake_server import FakeServer
from tests.support.running import Run

SAID = ("Ich mag „Regen“ auf Dächern, 雨 🌧", "Why does rain feel like home?")


def schema_of(body: dict[str, Any]) -> Any:
    if "tools" in body:
        return body["tools"]
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
            len(one.get("content", "").encode()) for one in sent["messages"]
        )
        assert found["schema_bytes"] == size_of(schema_of(sent))
        assert found["total_bytes"] == int(request.headers["content-length"])
    assert (guessed["source"], told["source"]) == ("estimate", "run")
    assert told["history_messages"] == len(sent["messages"]) - 2 > 2
    assert ("tools" in sent) == (backend is openai)
    assert "Dächer" in json.dumps(sent["messages"], ensure_ascii=False)


@pytest.mark.weights
def test_context_counts_the_bytes_that_the_embedded_engine_is_sent(
    run: Run, weights_folder: Path
) -> None:
    script = run.write("../script.jsonl", json.dumps(json.dumps(ANSWERS[1])) + "\n")
    run.environ |= {
        "BUMBLE_WEIGHTS": str(weights_folder),
        "BUMBLE_LLM_MODEL": f"script:{script.resolve()}",
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
    assert printed["tools" if "tools" in sent else "schema"] == schema_of(sent)


def test_plain_text_of_an_endpoint_that_enforces_nothing_is_an_answer(
    run: Run, server: FakeServer
) -> None:
    path = openai(run, server)
    run.environ |= {"BUMBLE_EMBEDDING_MODEL": "none", "BUMBLE_LIMITS_SETTLE": "later"}
    run.environ["BUMBLE_LLM_TOOL_CHOICE"] = "auto"
    piece = openai_wire.event({"content": "Regen auf Dächern."}, "stop")
    server.routes[path] = openai_wire.says(piece, openai_wire.DONE)
    said = run.ok("chat", "--json", SAID[0]).data
    assert (said["reply"], said["stopped"]) == ("Regen auf Dächern.", "done")
    (sent,) = server.asked(path)
    assert not {"response_format", "tools", "tool_choice"} & sent.body.keys()


def test_an_announcement_of_an_endpoint_is_followed_by_its_work_and_plain_speech_is_one_request(
    run: Run, server: FakeServer
) -> None:
    path = openai(run, server)
    run.environ |= {"BUMBLE_EMBEDDING_MODEL": "none", "BUMBLE_LIMITS_SETTLE": "later"}
    run.environ["BUMBLE_COGNITION_GATE_JUDGE"] = "never"
    answers = iter(
        [
            ("say", {"text": "Das freut mich.", "then": "nothing"}),
            ("say", {"text": "Ich schaue gleich nach.", "then": "more"}),
            ("recall", {"query": "Regen"}),
            ("say", {"then": "nothing", "text": "Du magst ihn."}),
        ]
    )

    def respond(exchange: Any) -> None:
        name, arguments = next(answers)
        piece = openai_wire.calls([{"tool": name, "arguments": arguments}])
        openai_wire.says(openai_wire.event(piece, "tool_calls"), openai_wire.DONE)(exchange)

    server.routes[path] = respond
    assert run.ok("chat", "--json", SAID[0]).data["reply"] == "Das freut mich."
    assert len(server.asked(path)) == 1
    said = run.ok("chat", "--json", "Was mag ich denn").data
    assert (said["reply"], said["stopped"]) == ("Ich schaue gleich nach.\n\nDu magst ihn.", "done")
    assert len(server.asked(path)) == 4
