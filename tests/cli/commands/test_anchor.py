from __future__ import annotations

from datetime import timedelta

import pytest

from bumble.records import anchors
from tests.support.running import Run

LEVELS = {"dopamine": 0.8, "cortisol": 0.1, "oxytocin": 0.6}


def put(run: Run, label: str, strength: float = 1.0, days: float = 0) -> None:
    at = run.now - timedelta(days=days)
    anchor = anchors.new(label, "", LEVELS, at, strength)
    run.write(anchors.ANCHOR.path(anchor.id), anchor.source.text)


def test_an_anchor_is_added_listed_shown_and_removed(run: Run) -> None:
    run.ok("anchor", "add", "The sea", "Sam laughed.")
    [listed] = run.ok("anchor", "list", "--json").data
    assert (listed["label"], listed["description"]) == ("The sea", "Sam laughed.")
    assert "anchors/the-sea.yaml" in run.ok("anchor", "show", "the sea").out
    assert run("anchor", "add", "the  SEA").code == 13
    run.ok("anchor", "remove", "the sea", "--yes")
    assert run.ok("anchor", "list", "--json").data == []


def test_a_recall_moves_the_body_by_the_formula(run: Run) -> None:
    put(run, "The sea")
    now = ("--json", "--now", "2026-05-24T12:30:00+01:00")
    before = run.ok("soma", *now).data["hormones"]
    written = run.ok("anchor", "recall", "The sea", *now).data
    after = run.ok("soma", *now).data["hormones"]
    for name, level in LEVELS.items():
        wanted = 0.7 * before[name]["level"] + 0.3 * level
        assert after[name]["level"] == pytest.approx(wanted, abs=1e-4)
        assert written["after"][name] == pytest.approx(wanted, abs=1e-4)
    assert anchors.ANCHOR.load(run.file("anchors/the-sea.yaml")).recalled == 1


def test_the_twenty_first_drops_the_weakest(run: Run) -> None:
    for number in range(18):
        put(run, f"place {number}")
    put(run, "weak", 0.3)
    put(run, "old", 0.9, days=90)
    added = run.ok("anchor", "add", "one more", "--json").data
    assert added["dropped"] == ["old"]
    labels = {entry["label"] for entry in run.ok("anchor", "list", "--json").data}
    assert len(labels) == 20
    assert {"weak", "one more"} <= labels
