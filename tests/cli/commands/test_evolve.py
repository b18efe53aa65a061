from __future__ import annotations

import shutil

import pytest

from bumble.entity import settings
from bumble.history import clone
from bumble.records import proposals
from bumble.records.proposals import Item
from tests.support.repository import git
from tests.support.running import NOON, Run

ITEMS = {
    "traits": [Item("warmth", "I cared.", ("ep_1",), 0.01)],
    "behaviours": [Item("I ask how it went.", "It helped.", ("ep_1",))],
    "curiosity": [Item("tomatoes", "They grow.", ("ep_1",))],
}


@pytest.fixture
def grown(run: Run) -> Run:
    proposal = proposals.new("evo_1", NOON, 100, ITEMS, "+x")
    run.write(proposals.PROPOSAL.path("evo_1"), proposal.source.text)
    return run


def test_a_proposal_is_shown_as_a_diff_with_reasons_and_writes_nothing(grown: Run) -> None:
    before = grown.state()
    shown = grown.ok("evolve", "--show").out
    assert "warmth +0.01: I cared. (ep_1)" in shown
    assert "+    warmth: 0.51" in shown
    grown.ok("evolve", "--apply", "evo_1", "--dry-run")
    assert grown.state() == before


def test_applying_changes_only_what_was_proposed_and_comments_stay(grown: Run) -> None:
    before = grown.text("entity.yaml")
    grown.ok("evolve", "--apply", "evo_1")
    after = grown.text("entity.yaml")
    assert set(before.splitlines()) <= set(after.splitlines())
    loaded = settings.load(grown.entity.file)
    assert loaded.identity is not None
    persona = loaded.identity.identity
    assert dict(persona.traits) == {"warmth": 0.51}
    assert (persona.behaviours, persona.curiosity) == (("I ask how it went.",), ("tomatoes",))
    assert grown("evolve", "--apply", "evo_1").code == 13
    assert proposals.PROPOSAL.load(grown.file("evolution/evo_1.md")).status == "applied"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_undo_takes_an_applied_proposal_back(grown: Run) -> None:
    root = grown.entity.root
    git(root, "init", "-q", "-b", "main")
    clone.install_driver(root)
    git(root, "add", "-A")
    git(root, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "start")
    before = grown.text("entity.yaml")
    grown.ok("evolve", "--apply", "evo_1")
    grown.ok("undo", "--last")
    assert grown.text("entity.yaml") == before
    assert proposals.PROPOSAL.load(grown.file("evolution/evo_1.md")).status == "open"


def test_what_is_rejected_changes_nothing(grown: Run) -> None:
    before = grown.text("entity.yaml")
    grown.ok("evolve", "--reject", "evo_1")
    assert grown.text("entity.yaml") == before
    assert proposals.PROPOSAL.load(grown.file("evolution/evo_1.md")).status == "rejected"
