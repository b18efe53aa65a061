from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from bumble.cli import completing
from bumble.entity import review_branch
from bumble.history import clone
from bumble.records import state
from tests.support.nights import DREAM, LISBON, lived
from tests.support.repository import git, subjects
from tests.support.running import Run
from tests.support.story import TOLD

NIGHT = datetime(2026, 5, 24, 3, 12, tzinfo=LISBON)
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada with a past, whose dreams, story and order of memory wait for their owner's word."""
    lived(run.entity)
    rules = [
        {"purpose": "dream", "text": DREAM, "always": True},
        {"purpose": "narrate", "json": TOLD, "always": True},
    ]
    script = run.write("../script.jsonl", "".join(json.dumps(rule) + "\n" for rule in rules))
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{script.resolve()}"
    run.ok("config", "set", "embedding.model", "none")
    run.ok("config", "set", "soma.dreams.enabled", "true")
    run.ok("config", "set", "git.review", "[dream, narrate, consolidate]")
    run.ok("config", "set", "memory.narrative_every_n_consolidations", "1")
    run.now = NIGHT
    root = run.entity.root
    git(root, "init", "-q", "-b", "main")
    clone.install_driver(root)
    git(root, "config", "user.name", "Sam")
    git(root, "config", "user.email", "sam@example.org")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    return run


def truth(run: Run) -> dict[str, bytes]:
    """Return the files that say what Ada holds, bookkeeping aside."""
    return {
        path.relative_to(run.entity.root).as_posix(): path.read_bytes()
        for path in run.entity.root.rglob("*")
        if path.is_file()
        and path.relative_to(run.entity.root).parts[0] not in (".git", ".bumble", "memory.db")
        and path.name != state.PATH
        and not path.name.startswith("memory.db")
    }


def branches(root: Path) -> list[str]:
    return git(root, "branch", "--format=%(refname:short)", "--list", "bumble-review/*").split()


def test_a_dream_waits_on_a_branch_and_is_nowhere_else(ada: Run) -> None:
    before = truth(ada)
    ran = ada.ok("dream", "-v")
    assert ran.out.startswith("Dreamt: ")
    assert "It waits for your word: `bumble review`." in ran.out
    assert truth(ada) == before
    (waits,) = ada.ok("review", "list", "--json").data
    assert branches(ada.entity.root) == [waits["branch"]]
    assert (waits["cycle"], waits["here"]) == ("dream", True)
    assert {change["path"].partition("/")[0] for change in waits["changes"]} >= {
        "dreams",
        "journal.md",
        "soma.yaml",
    }
    assert subjects(ada.entity.root)[:2] == [f"review: {waits['id']} waits", "start"]
    assert git(ada.entity.root, "status", "--porcelain") == ""
    words = waits["title"].partition(": ")[2]
    assert words not in ada.ok("recall", words).out
    assert words not in ada.ok("context", "prompt").out


def test_what_waits_is_not_asked_for_again_and_neither_is_what_was_rejected(ada: Run) -> None:
    ada.ok("dream")
    assert ada.ok("dream", "--json").data["done"] == []
    ada.ok("consolidate", "--force")
    count = len(ada.ok("review", "--json").data)
    assert count > 1
    ada.ok("review", "reject", "--all")
    assert (ada.ok("review", "--json").data, branches(ada.entity.root)) == ([], [])
    ada.ok("consolidate", "--force")
    assert ada.ok("dream", "--json").data["done"] == []
    assert ada.ok("review", "--json").data == []


def test_every_branch_is_asked_whether_it_names_what_waits(
    ada: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.ok("dream")
    (waits,) = ada.ok("review", "--json").data
    root = ada.entity.root
    for n in range(3):
        git(root, "branch", f"a{n}", "main~1")  # before it was noted
    monkeypatch.setattr("bumble.files.git.MAX_NAMES", 1)
    assert review_branch.named_nowhere(root, state.PATH, {waits["id"]}) == set()
    assert review_branch.named_nowhere(root, state.PATH, {"dream-00000000"}) == {"dream-00000000"}


def test_accepting_says_which_section_is_only_for_some_from_then_on(ada: Run) -> None:
    ada.ok("knowledge", "set", "Tea", "Oolong.")
    ada.ok("dream")
    (waits,) = ada.ok("review", "--json").data
    root = ada.entity.root
    git(root, "worktree", "add", "-q", "../other", waits["branch"])
    book = root.parent / "other" / "knowledge.md"
    book.write_text(book.read_text().replace("## Tea", "## Tea [only for sam]"))
    git(root, "-C", "../other", "commit", "-qa", "--amend", "--no-edit")
    git(root, "worktree", "remove", "--force", "../other")
    assert "“Tea” of knowledge.md was for everybody" in ada.ok("review", "accept", waits["id"]).err


def test_accepting_writes_it_as_a_commit_that_undo_takes_back(ada: Run) -> None:
    ada.ok("dream")
    before = truth(ada)
    (waits,) = ada.ok("review", "--json").data
    dry = ada.ok("review", "accept", "--dry-run")
    assert "new dream" in dry.out
    assert truth(ada) == before
    (accepted,) = ada.ok("review", "accept", waits["id"], "--json").data["accepted"]
    assert accepted["stays"] == []
    assert subjects(ada.entity.root)[0] == waits["title"]
    body = git(ada.entity.root, "log", "-1", "--format=%b")
    assert f"Accepts: {waits['commit']}" in body
    assert all(why in body for why in waits["why"])
    assert "Cycle: dream" in body
    assert ada.ok("review", "--json").data == []
    assert branches(ada.entity.root) == []
    assert any(path.startswith("dreams/") for path in truth(ada))
    assert ada.ok("doctor").code == 0
    ada.ok("undo", "--cycle", "dream")
    assert truth(ada) == before


def test_which_one_is_meant_has_to_be_clear(ada: Run) -> None:
    assert ada.ok("review", "accept").err == "Nothing waits for review.\n"
    ada.ok("dream")
    ada.ok("narrate")
    ran = ada("review", "accept")
    assert ran.code == 2
    assert "Say which, or --all: dream-" in ran.err
    assert ada("review", "accept", "--all", "dream").code == 2
    assert ada("review", "reject", "nothing").code == 1
    ada.ok("review", "accept", "narrate")
    (waits,) = ada.ok("review", "--json").data
    assert waits["id"].startswith("dream-")


def test_what_lies_in_another_clone_is_dropped_by_its_whole_name_alone(ada: Run) -> None:
    ada.ok("dream")
    (away,) = ada.ok("review", "--json").data
    ada.ok("consolidate", "--force")
    git(ada.entity.root, "branch", "-qD", away["branch"])  # only the list came by a sync
    git(ada.entity.root, "remote", "add", "origin", "../other")
    passed = f"Passed over: {away['id']} (its branch is not here)."
    assert passed in ada.ok("review", "reject", "--all").err
    assert [one["id"] for one in ada.ok("review", "--json").data] == [away["id"]]
    assert (ada("review", "reject").code, ada("review", "reject", "--all").code) == (2, 2)
    git(ada.entity.root, "remote", "remove", "origin")  # then there is no other clone
    assert ada("review", "accept", "--all").code == 13
    ada.ok("review", "reject", "--all")
    assert ada.ok("review", "--json").data == []


def test_without_git_a_cycle_under_review_writes_nothing_and_asks_no_model(run: Run) -> None:
    lived(run.entity)
    run.ok("config", "set", "git.review", "[narrate]")
    run.environ["BUMBLE_LLM_MODEL"] = "none"
    before = run.text("state.yaml") if run.file("state.yaml").exists() else ""
    ran = run("narrate", "--force")
    assert ran.code == 1
    assert "narrate is to wait for review (git.review), and can't: it is in no git" in ran.err
    assert not run.file("narrative.md").exists()
    assert (run.text("state.yaml") if run.file("state.yaml").exists() else "") == before
    assert not run.entity.ledger.exists()
    assert "it is in no git repository" in run.ok("review").err


def test_status_and_completion_tell_what_waits(ada: Run) -> None:
    assert ada.ok("status", "--json").data["review"] == []
    ada.ok("dream")
    (waits,) = ada.ok("review", "--json").data
    assert ada.ok("status", "--json").data["review"] == [waits["id"]]
    assert "1 proposal: `bumble review`" in ada.ok("status").out
    folder = str(ada.entity.root)
    assert list(completing.offers(["-e", folder, "review", "accept"], "")[1]) == [waits["id"]]
    git(ada.entity.root, "branch", "-qD", waits["branch"])
    assert ada("review", "accept", waits["id"]).code == 13
    ada.ok("review", "reject", waits["id"])
    assert ada.ok("status", "--json").data["review"] == []


def test_forgetting_a_person_drops_what_is_proposed_of_them(ada: Run) -> None:
    ada.ok("narrate")  # it tells of Sam
    ada.ok("dream")
    names = [one["id"] for one in ada.ok("review", "--json").data]
    assert len(names) == 2
    ada.ok("person", "add", "Kim", "Kim sails.")
    ada.ok("person", "forget", "Kim", "--yes")
    assert [one["id"] for one in ada.ok("review", "--json").data] == names
    ada.ok("person", "forget", "Sam", "--yes")
    left = [one["id"] for one in ada.ok("review", "--json").data]
    assert not any(name.startswith("narrate") for name in left)
    assert branches(ada.entity.root) == [f"bumble-review/{name}" for name in left]
