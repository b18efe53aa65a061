from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from bumble.llm.scripted import Reply
from bumble.models import probe
from tests.support import able, openai_wire
from tests.support.fake_server import FakeServer
from tests.support.running import Run

REMOTE = "http://llm.example.com/v1"


@pytest.fixture
def here(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Ada, and a state folder of her owner's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run.environ["XDG_STATE_HOME"] = str(tmp_path / "state")
    run.environ |= {"BUMBLE_LLM_ABILITIES_TALK": "{}", "BUMBLE_LLM_ABILITIES_MEMORY": "{}"}
    return run


def script(run: Run, replies: list[Reply]) -> str:
    items = [
        {
            "purpose": one.purpose,
            "contains": one.contains,
            "text": one.text,
            "always": True,
        }
        for one in replies
    ]
    lines = "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items)
    return f"script:{run.write('able.jsonl', lines)}"


def serve(run: Run, server: FakeServer, *languages: str) -> None:
    """Let an endpoint on this machine answer every case rightly, and every chat with a hello."""
    run.environ["BUMBLE_LLM_BASE_URL"] = f"{server.url}/v1"
    run.environ["BUMBLE_LLM_MODEL"] = "m"
    rights = {one.contains or "": one.text for one in able.replies(*languages)}
    hello = json.dumps({"actions": [{"tool": "say", "arguments": {"text": "Hallo Sam."}}]})

    def respond(exchange: Any) -> None:
        asked = exchange.body["messages"][-1]["content"]
        text = next((right for case, right in rights.items() if case in asked), hello)
        events = (openai_wire.event({"content": text}, "stop"), openai_wire.usage())
        openai_wire.says(*events, openai_wire.DONE)(exchange)

    server.routes[openai_wire.CHAT] = respond
    small = {"data": [{"id": "m", "meta": {"n_params": 1_500_000_000}}]}
    server.routes["/v1/models"] = lambda exchange: exchange.json(small)


def asked(server: FakeServer) -> int:
    return len(server.asked(openai_wire.CHAT))


def test_a_scripted_able_model_writes_and_one_that_talks_nonsense_is_not_asked(here: Run) -> None:
    able_one = script(here, able.replies("de", "en"))
    data = here.ok("model", "probe", able_one, "-l", "de", "-l", "en", "--json").data
    assert {code: one["tiers"] for code, one in data["languages"].items()} == {
        code: {"talk": "write", "memory": "write"} for code in ("de", "en")
    }
    assert data["probed"] == ["de", "en"]
    nonsense = here.write("nonsense.yaml", "- {purpose: probe, text: Blub., always: true}\n")
    said = here.ok("model", "probe", f"script:{nonsense}", "-l", "de")
    assert "talk none, memory none" in said.out
    assert "processor time" in said.err


def test_what_was_measured_is_not_asked_again_but_by_wish(here: Run, server: FakeServer) -> None:
    serve(here, server, "en")
    first = here.ok("model", "probe", "-l", "en", "--json").data
    count = asked(server)
    assert count == sum(first["languages"]["en"]["of"].values())
    assert here.ok("model", "probe", "-l", "en", "--json").data["probed"] == []
    assert asked(server) == count
    again = here.ok("model", "probe", "-l", "en", "--again", "--json").data
    assert asked(server) == 2 * count
    same = ("tiers", "right", "of")
    assert [again["languages"]["en"][key] for key in same] == [
        first["languages"]["en"][key] for key in same
    ]


def test_a_probe_that_is_stopped_keeps_what_is_done(
    here: Run, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(here, server, "en")
    answer = server.routes[openai_wire.CHAT]

    def leave(exchange: Any) -> None:
        if asked(server) == 31:
            signal.raise_signal(signal.SIGINT)
        answer(exchange)

    server.routes[openai_wire.CHAT] = leave
    assert here("model", "probe", "-l", "en").code == 130
    server.routes[openai_wire.CHAT] = answer
    here.ok("model", "probe", "-l", "en")
    cases = len(probe.load("en"))
    assert cases <= asked(server) <= cases + 2  # what was in flight is asked again


def test_what_may_cost_money_is_asked_about_first(here: Run) -> None:
    here.environ["BUMBLE_LLM_BASE_URL"] = REMOTE
    here.environ["BUMBLE_LLM_MODEL"] = "big"
    ran = here("model", "probe", "-l", "en")
    assert ran.code != 0
    assert "may cost money" in ran.err
    assert "--yes" in ran.err


def test_a_tick_probes_the_languages_that_are_spoken(here: Run, server: FakeServer) -> None:
    serve(here, server, "de")
    here.ok("chat", "Ich habe heute mit meiner Schwester einen Kuchen gebacken, der war gut.")
    here.ok("config", "set", "limits.calls_per_turn", "200")
    status = here.ok("status").out
    why = "not probed; by its size, 1.5 billion parameters"
    assert f"German: talk choose, memory choose ({why})" in status
    early = here.ok("tick", "--json").data
    assert "probe" in early["held"] or early["done"]
    for _ in range(3):
        here.ok("tick")
    assert "German: talk write, memory write (probed 2026-05-24)" in here.ok("status").out
    count = asked(server)
    here.ok("tick")
    assert asked(server) == count


def test_a_tick_asks_nothing_that_may_cost_money(here: Run, server: FakeServer) -> None:
    serve(here, server, "en")
    here.environ["OPENAI_API_KEY"] = "paid"
    here.ok("chat", "I have been baking a cake with my sister today, it was good.")
    gates = here.ok("tick", "--check", "--json").data["probe"]
    assert not gates["due"]
    assert "cost" in json.dumps(gates)


def test_the_first_talk_in_a_language_the_model_can_not_write_says_so_once(
    here: Run, server: FakeServer
) -> None:
    serve(here, server, "de")
    here.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    german = "Ich habe heute mit meiner Schwester einen Kuchen gebacken, der war gut."
    first = here.ok("chat", german).err
    assert "m is a small model, so it isn't trusted to write German unchecked:" in first
    assert "A larger one of that server: `bumble config set llm.model NAME`." in first
    assert "bumble model pull" not in first
    assert "German" not in here.ok("chat", german).err
    assert "English" in here.ok("chat", "And what have you been doing all the day?" * 9).err


def test_a_model_can_be_probed_without_an_entity(
    here: Run, server: FakeServer, tmp_path: Path
) -> None:
    serve(here, server, "en")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ran = here("model", "probe", "-l", "en", cwd=elsewhere)
    assert ran.code == 0, ran.err
    assert "talk write, memory write" in ran.out
