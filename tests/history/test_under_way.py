"""What is written while git is in the middle of something with another clone's commits."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import clones
from tests.support.repository import git
from tests.support.running import Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

SAID = "My grandmother died today."


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A life with a talk, whose clone and itself set one fact each to something else."""
    run = clones.begun(run, monkeypatch)
    script = run.write("../script.jsonl", '{"purpose": "chat", "text": "Oh.", "always": true}\n')
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{script.resolve()}"
    root, away = run.entity.root, run.entity.root.with_name("away")
    run.ok("chat", "Hello.")
    run.ok("journal", "add", "It begins.")
    run.ok("knowledge", "set", "Tea", "Any.")
    run.ok("project", "add", "Boat", "--next", "sand")
    run.ok("sync", "--setup", str(root.with_name("server")), "--yes")
    git(root, "clone", "-q", str(root.with_name("server")), str(away))
    for folder, tea in ((root, "Sencha"), (away, "Assam")):
        run.ok("-e", str(folder), "knowledge", "set", "Tea", tea)
        run.ok("-e", str(folder), "journal", "add", f"Tea is {tea}.")
    git(away, "push", "-q")
    git(root, "fetch", "-q")
    return run


def brought(root: Path, *words: str) -> None:
    """Have git begin with what the other clone pushed, which ends in a conflict."""
    ran = subprocess.run(["git", "-C", root, *words], check=False, capture_output=True, text=True)
    assert "CONFLICT" in ran.stdout + ran.stderr


def lived(run: Run) -> None:
    assert "not committed yet" in run.ok("chat", SAID).err
    run.ok("project", "edit", "Boat", "--next", "sail")
    run.ok("journal", "add", "It rained.")


def check(run: Run) -> None:
    """Check that nothing of that is lost, and that all of it is committed, once."""
    run.ok("journal", "add", "The next command.")
    said = "".join(path.read_text() for path in run.entity.sessions.rglob("messages.jsonl"))
    assert (said.count(SAID), said.count("Oh.")) == (1, 2)
    assert "next: [sail]" in next((run.entity.root / "projects").iterdir()).read_text()
    assert run.entity.journal.read_text().count("It rained.") == 1
    assert git(run.entity.root, "status", "--porcelain") == ""
    assert run.ok("doctor", "--json").data["clean"]


WAYS = (("rebase", "rebase", "origin/main"), ("merge", "merge", "origin/main"))


@pytest.mark.parametrize(("what", "words"), [(what, words) for what, *words in WAYS])
@pytest.mark.parametrize("mends", [(), ("doctor", "--fix")])
def test_what_was_written_meanwhile_outlives_the_way_back(
    life: Run, what: str, words: list[str], mends: tuple[str, ...]
) -> None:
    root = life.entity.root
    brought(root, *words)
    lived(life)
    assert f"{what} --abort" in life("doctor").out
    git(root, what, "--abort")
    assert SAID not in "".join(p.read_text() for p in life.entity.sessions.rglob("*.jsonl"))
    assert "[git-uncommitted]" in life("doctor").out
    if mends:
        life.ok(*mends)
    check(life)
    assert "Sencha" in life.entity.knowledge.read_text()
    assert "Assam" not in life.entity.journal.read_text()


@pytest.mark.parametrize(("what", "words"), [(what, words) for what, *words in WAYS])
def test_what_was_written_meanwhile_does_not_keep_git_from_going_on(
    life: Run, what: str, words: list[str]
) -> None:
    root = life.entity.root
    brought(root, *words)
    lived(life)
    git(root, "checkout", "--theirs", "knowledge.md")
    git(root, "add", "knowledge.md")
    git(root, "-c", "core.editor=true", what, "--continue")
    assert "half merged" not in life.ok("status").err
    check(life)


@pytest.mark.parametrize(("old", "new"), [(b"\n", b"\r\n"), (b"\n- ", b"  \n- ")])
def test_other_line_ends_are_no_change_that_keeps_a_merge_from_coming(
    life: Run, old: bytes, new: bytes
) -> None:
    root = life.entity.root
    git(root, "reset", "-q", "--hard", "HEAD~2")
    for file in (life.entity.knowledge, life.entity.journal, root / "entity.yaml"):
        file.write_bytes(file.read_bytes().replace(old, new))
    ran = life.ok("sync", "--push")
    assert "Assam" in life.entity.knowledge.read_text()
    assert "another clone changed" not in ran.err
    assert git(root, "status", "--porcelain") == ""
    git(root.with_name("away"), "pull", "-q", "--ff-only")


@pytest.mark.parametrize("what", ["rebase", "cherry-pick"])
def test_sync_says_how_what_it_does_not_go_on_with_ends(life: Run, what: str) -> None:
    root = life.entity.root
    brought(root, what, "origin/main~1" if what == "cherry-pick" else "origin/main")
    ran = life("sync")
    assert ran.code == 13
    assert f"a {what} is under way" in ran.err
    assert f"{what} --continue`, or take it back with `git -C {root} {what} --abort`" in ran.err


def test_a_stash_that_git_could_not_join_is_not_called_staged(life: Run) -> None:
    root, fact = life.entity.root, life.entity.knowledge
    fact.write_text(fact.read_text().replace("Sencha", "Mate"))
    git(root, "stash", "-q")
    life.ok("knowledge", "set", "Tea", "Rooibos")
    brought(root, "stash", "pop")
    ran = life("sync")
    assert "could not join the two sides of knowledge.md" in ran.err
    assert "staged" not in ran.err


def test_a_fact_that_a_merge_makes_private_is_named(life: Run) -> None:
    root, away = life.entity.root, life.entity.root.with_name("away")
    git(root, "reset", "-q", "--hard", "HEAD~2")
    life.ok("knowledge", "set", "Of Sam", "Sam is on holiday.")
    life.ok("-e", str(away), "knowledge", "set", "Of Sam [only for sam]", "Sam is ill.")
    git(away, "push", "-q")
    ran = life.ok("sync")
    assert "“Of Sam” of knowledge.md was for everybody, and is only for some now" in ran.err
    assert "## Of Sam [only for sam]" in life.entity.knowledge.read_text()
