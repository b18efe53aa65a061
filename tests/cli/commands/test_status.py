from __future__ import annotations

import shutil

import pytest

from tests.support import looking
from tests.support.repository import git
from tests.support.running import Run


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, on a machine without models."""
    return looking.without_models(run)


def test_newborn_on_a_bare_machine_has_a_status(ada: Run) -> None:
    data = ada.ok("status", "--json").data
    assert data["name"] == "Ada"
    assert data["owner"] == "Sam"
    assert data["timezone"] == "Europe/Lisbon"
    assert data["embedding"] is None
    assert data["last_session"] is None
    assert data["unanswered"] == []
    assert data["index"]["exists"] is False
    assert data["window"]["history_tokens"] == 0
    assert data["window"]["stable_tokens"] > 100
    shown = ada.ok("status").out
    assert "none yet; begin with `bumble chat" in shown
    assert "not made yet; the first search makes it" in shown


def test_model_that_is_not_here_says_how_to_get_it(ada: Run) -> None:
    model = ada.ok("status", "--json").data["model"]
    assert (model["name"], model["backend"]) == ("qwen3-1.7b", "embedded")
    assert "environment" in model["why"]
    assert "bumble model pull qwen3-1.7b" in model["lacks"]


def test_window_fills_with_the_newest_conversation(ada: Run) -> None:
    looking.session(ada, "long", ("sam", "word " * 800), ("", "Yes."), day=20)
    looking.session(ada, "new", ("sam", "Hi"), ("", "Hello."), day=21)
    empty = ada.ok("status", "--json").data
    assert empty["last_session"]["id"] == "ses_new"
    assert empty["window"]["history_tokens"] < 100
    looking.session(ada, "long", ("sam", "word " * 800), ("", "Yes."), day=22)
    filled = ada.ok("status", "--json").data
    assert filled["last_session"]["id"] == "ses_long"
    assert filled["window"]["history_tokens"] > 1000
    assert filled["window"]["full"] > empty["window"]["full"]


def test_counts_what_is_there(full: Run) -> None:
    looking.without_models(full)
    full.ok("project", "add", "The boat", "--next", "sand it")
    full.ok("anchor", "add", "The pier")
    full.write("working/MEMORY.md", "## Bond\n\n- Sam is near.\n- Kim, too.\n")
    counts = full.ok("status", "--json").data["counts"]
    assert {name: count for name, count in counts.items() if count or name in ("dreams",)} == {
        "sessions": 1,
        "episodes": 1,
        "beliefs": 1,
        "people": 1,
        "skills": 1,
        "dreams": 0,
        "projects": 1,
        "anchors": 1,
        "working_memory": 2,
        "knowledge": 2,
        "journal": 1,
    }
    assert "2 sections of knowledge, 1 journal entry, 1 person" in full.ok("status").out


def test_mood_and_what_waits_are_told(ada: Run) -> None:
    looking.session(ada, "one", ("sam", "Hello?"), ("", "Yes."))
    ada.write(
        "state.yaml",
        "sessions:\n"
        "  ses_one:\n"
        "    {appraise: msg_one0, remember: msg_one0, reflect: {sam: msg_one0, kim: msg_one0}}\n"
        "  ses_gone: {appraise: msg_1}\n",
    )
    data = ada.ok("status", "--json").data
    assert data["mood"] == {"name": "content", "intensity": 0.43}
    assert data["pending"] == 1
    shown = ada.ok("status").out
    assert "mood       content (0.43)" in shown
    assert "pending    1 talk of which nothing is remembered yet" in shown


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_commits_that_wait_are_told_with_the_reason(run: Run) -> None:
    git(run.entity.root, "init", "-q", "-b", "main")
    git(run.entity.root, "add", "-A")
    git(run.entity.root, *WHO, "commit", "-qm", "a past")
    assert run.ok("status", "--json").data["uncommitted"] is None
    (run.entity.root / ".git" / "MERGE_HEAD").write_text(git(run.entity.root, "rev-parse", "HEAD"))
    run.ok("journal", "add", "Rain.")
    waiting = run.ok("status", "--json").data["uncommitted"]
    assert (waiting["count"], waiting["why"]) == (1, "a merge is under way; finish it first")
    assert "1 change not in git yet: a merge is under way" in run.ok("status").out


WHO = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
