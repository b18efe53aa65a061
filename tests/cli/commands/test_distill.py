from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.running import Run
from tests.support.stretches import belief, claim, fact, makes
from tests.support.talks import TALK, said

LISBON = claim("Sam lives in Lisbon.", "m1", rests=["moved to Lisbon"])
TEA = claim("Sam prefers tea.", "m7", rests=["tea"])
REX = claim("Sam hates Rex.", "m7", rests=["hate Rex"])
ANSWER = json.loads(
    makes(LISBON, knowledge=[fact("Sam's home", LISBON)], beliefs=[belief(TEA), belief(REX)]).text
)
NOW = "2026-05-24T15:00:00+01:00"


def script(run: Run, *rules: dict[str, Any]) -> None:
    path = run.file("script.jsonl")
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{path}"


@pytest.fixture
def talked(run: Run) -> Run:
    said(run.entity, TALK)
    script(
        run,
        {"purpose": "stretch", "json": ANSWER, "always": True},
        {"purpose": "mend", "json": {"mended": []}, "always": True},
    )
    return run


def test_what_was_said_becomes_memory_that_can_be_looked_at(talked: Run) -> None:
    ran = talked.ok("distill", "--now", NOW, "-v")
    assert "1 fact, 1 belief, 0 notes; 1 dropped" in ran.out
    assert 'do not say "hate Rex"' in ran.out
    assert "Sam lives in Lisbon." in talked.text("knowledge.md")
    [belief] = talked.ok("belief", "list", "--json").data
    assert belief["text"] == "Sam prefers tea."
    assert belief["evidence"] == ["msg_007"]
    assert belief["provenance"]["from"] == ["ses_1", "msg_007"]


def test_cron_hears_nothing_and_the_second_run_changes_nothing(talked: Run) -> None:
    assert talked.ok("distill", "--now", NOW).out == ""
    before = talked.state()
    ran = talked("distill", "--now", NOW, "--exit-code")
    assert (ran.code, ran.out) == (4, "")
    talked.ok("distill", "--now", NOW, "--force")
    changed = {name for name, one in talked.state().items() if before.get(name) != one}
    assert not {name for name in changed if not name.startswith(".bumble")}


def test_check_shows_every_gate_and_writes_nothing(talked: Run) -> None:
    before = talked.state()
    ran = talked.ok("distill", "--check", "--now", NOW)
    assert "1 over, 0 going on" in ran.out and "due: 1 to do" in ran.out
    assert talked.state() == before
    talked.ok("config", "set", "memory.distillation.min_turns", "50")
    talked.ok("config", "set", "memory.distillation.cycle_seconds", "90000")
    data = talked.ok("distill", "--check", "--json", "--now", "2026-05-24T12:20:30+00:00").data
    assert data["due"] is False
    shown = talked.ok("distill", "--check", "--now", "2026-05-24T12:20:30+00:00").out
    assert all(name in shown for name in ("enabled", "time or turns", "depth", "urgency"))


def test_who_asks_for_what_is_not_due_hears_why(talked: Run) -> None:
    talked.ok("distill", "--now", NOW)
    assert talked.ok("distill", "--now", NOW).out.startswith("Nothing to do: stretches of")
    told = talked.ok("distill", "--now", NOW, "--json").data
    assert told["why"].startswith("stretches of conversation: 0 over")
    assert talked.ok("reflect", "--now", NOW).out.startswith("Nothing to do: ")
    assert talked.ok("evolve", "--now", NOW).out.startswith("Nothing to do: interactions")
    assert talked.ok("dream", "--now", NOW, "--force").out.startswith("No dream: ")
    assert talked.ok("dream", "--now", NOW).out == ""  # cron asks it every few minutes
