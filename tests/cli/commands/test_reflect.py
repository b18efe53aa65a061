from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.running import Run
from tests.support.stretches import claim, makes, seen

SAID = "I have a dog called Biscuit, who is old."
PORTRAIT = "Sam has a dog called Biscuit.\nBiscuit is old, and Sam knows it."
DOG = claim("Sam has a dog called Biscuit.", "m1", rests=["a dog called Biscuit"])
ANSWER = json.loads(makes(DOG, people=[seen("Sam", PORTRAIT)]).text)


def rule(purpose: str, **value: Any) -> dict[str, Any]:
    return {"purpose": purpose, "json": value, "always": True}


@pytest.fixture
def talking(run: Run) -> Run:
    """Ada with a model that answers, after Sam told her of his dog."""
    say = {"actions": [{"tool": "say", "arguments": {"text": "How dear."}}]}
    rules = [rule("chat", **say), rule("stretch", **ANSWER)]
    path = run.write("../script.jsonl", "".join(json.dumps(one) + "\n" for one in rules))
    run.environ |= {"BUMBLE_LLM_MODEL": f"script:{path.resolve()}"}
    run.ok("chat", SAID)
    return run


def test_reflect_writes_the_portrait_once_and_is_quiet_about_it(talking: Run) -> None:
    assert talking.ok("reflect").out == ""
    assert "Biscuit is old, and Sam knows it." in talking.text("relationships/sam.md")
    before = talking.state()
    assert "Nothing to do" in talking.ok("reflect", "-v").out
    after = {path: one for path, one in talking.state().items() if ".bumble" not in path}
    assert after == {path: one for path, one in before.items() if ".bumble" not in path}


def test_where_no_model_may_write_it_says_so(talking: Run) -> None:
    talking.ok("config", "set", "llm.abilities.memory.en", "none")
    talking.ok("reflect")
    assert "wants one that may write a portrait" in talking.ok("reflect", "Sam", "-v").out


def test_show_says_how_the_two_stand(talking: Run) -> None:
    talking.ok("reflect")
    data = talking.ok("person", "show", "Sam", "--json").data
    assert data["bond"]["stage"] == "forming" and data["bond"]["silence_seconds"] > 0
    assert "forming, health 0.68" in talking.ok("person", "show", "Sam").out


def test_prompts_are_kept_only_where_the_owner_asks_and_are_forgotten_too(talking: Run) -> None:
    kept = talking.entity.prompts
    assert not kept.exists()
    talking.ok("config", "set", "log.prompts", "true")
    talking.ok("chat", "Good evening.", "--incognito")
    assert not kept.exists()
    talking.ok("chat", SAID)
    assert SAID in kept.read_text() and "How dear." in kept.read_text()
    talking.ok("person", "forget", "Sam", "--yes")
    assert not kept.exists()


def test_forget_asks_and_then_leaves_nothing(talking: Run) -> None:
    talking.ok("reflect")
    before = talking.state()
    assert talking("person", "forget", "Sam").code == 13
    assert talking.ok("person", "forget", "Sam", "--dry-run").out
    assert talking.state() == before
    assert (
        "Each copy of the folder still holds the old bytes"
        in talking.ok("person", "forget", "Sam", "--yes").err
    )
    ran = talking.ok("recall", "Biscuit dog", "--json")
    assert ran.data["hits"] == [] if isinstance(ran.data, dict) else ran.data == []
    assert "Nothing to do" in talking.ok("person", "forget", "Sam", "--yes").out
    assert talking("doctor").code == 0
