from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from tests.support.nights import DREAM, LISBON, lived
from tests.support.running import Run
from tests.support.story import TOLD

NIGHT = datetime(2026, 5, 24, 3, 12, tzinfo=LISBON)


@pytest.fixture
def nights(run: Run) -> Run:
    """Ada with a past and a model that dreams, at three in the morning."""
    lived(run.entity)
    rules = [
        {"purpose": "dream", "text": DREAM, "always": True},
        {"purpose": "narrate", "json": TOLD, "always": True},
    ]
    script = run.write("../script.jsonl", "".join(json.dumps(rule) + "\n" for rule in rules))
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{script.resolve()}"
    run.ok("config", "set", "embedding.model", "none")
    run.now = NIGHT
    return run


def on(run: Run) -> None:
    run.ok("config", "set", "soma.dreams.enabled", "true")


def files(run: Run) -> dict[str, str]:
    """Return the hashes of the truth files."""
    return {
        name: digest
        for name, (digest, _) in run.state().items()
        if digest and not name.startswith((".bumble", "memory.db"))
    }


def test_check_names_each_gate_and_counts_the_pairs(nights: Run) -> None:
    before = files(nights)
    data = nights.ok("dream", "--check", "--json").data
    assert [gate["name"] for gate in data["gates"]] == [
        "enabled",
        "silence",
        "cooldown",
        "hours",
        "daily cap",
        "model",
    ]
    assert [gate["passes"] for gate in data["gates"]] == [False, True, True, True, True, True]
    assert data["due"] is False
    assert (data["eligible_pairs"], data["similarity"]) == (15, "none")
    assert "15 pairs of memories may meet; no embedding model" in nights.ok("dream", "--check").out
    assert files(nights) == before


def test_a_night_of_cron_dreams_once_in_four_hours(nights: Run) -> None:
    on(nights)
    told, other = [], DREAM.replace("the", "a").replace("rise", "sleep")
    for minutes in range(0, 24 * 60, 10):
        nights.now = NIGHT.replace(hour=0, minute=0) + timedelta(minutes=minutes)
        told.append(nights.ok("dream", "--json").data["ran"])
        if told[-1]:  # the next is another
            again = {"purpose": "dream", "text": other, "always": True}
            nights.write("../script.jsonl", json.dumps(again))
    assert [n / 6 for n, ran in enumerate(told) if ran] == pytest.approx([0, 4], abs=0.2)
    calls = nights.entity.ledger.read_text().splitlines()
    assert len(calls) == 2


def test_a_story_that_will_not_do_exits_21_and_keeps_the_old(nights: Run) -> None:
    nights.write("narrative.md", "I was here before.\n")
    script = nights.write("../bad.yaml", "- {purpose: narrate, text: No., always: true}\n")
    nights.environ["BUMBLE_LLM_MODEL"] = f"script:{script.resolve()}"
    before = files(nights)
    assert nights("narrate").code == 21
    assert files(nights) == before


def test_consolidate_is_due_once_and_says_why(nights: Run) -> None:
    assert "due: 2 to do" in nights.ok("consolidate", "--check").out
    assert nights.ok("consolidate").out == ""
    before = files(nights)
    assert nights.ok("consolidate", "--check", "--json").data["due"] is False
    assert "interval: " in nights.ok("consolidate", "-v").out
    assert files(nights) == before
    (done,) = nights.ok("consolidate", "--force", "--json").data["done"]
    assert done["count"] == 2


def test_a_tick_dreams_with_the_other_model_too(nights: Run) -> None:
    on(nights)
    other = nights.write("../other.yaml", f"- {{purpose: dream, text: {json.dumps(DREAM)}}}\n")
    nights.ok("config", "set", "soma.dreams.model", f"script:{other.resolve()}")
    ran = nights.ok("tick", "--json")
    (done,) = [one for one in ran.data["done"] if one["pass"] == "dream"]
    assert "other.yaml" in the_companion(nights, done["id"])
    line = json.loads(nights.text(".bumble/log/runs.jsonl").splitlines()[-1])
    calls = nights.entity.ledger.read_text().splitlines()
    assert line["calls"] == len(calls)
    ended = [one for one in line["events"] if one["event"] == "dream_cycle_completed"]
    assert [one["id"] for one in ended] == [done["id"]]


def the_companion(run: Run, dream_id: str) -> str:
    (file,) = run.file("sources/dreams").glob(f"*{dream_id}.yaml")
    return file.read_text()
