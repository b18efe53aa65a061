"""What is written while git is in the middle of something with another clone's commits."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bumble.entity import changes, commits, uncommitted
from bumble.files import disk
from tests.support import clones
from tests.support.repository import git
from tests.support.running import Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

SAID = "My grandmother died today."
NOW = datetime(2026, 3, 1, tzinfo=UTC)
POLICY = commits.CommitPolicy(True, "Ada", lambda: NOW, print)


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
    assert "both sides changed the same thing" in ran.stdout + ran.stderr


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


@pytest.mark.parametrize("end", [("merge", "--continue"), ("commit", "-qam", "mine")])
def test_what_was_written_meanwhile_does_not_keep_a_merge_from_its_end(
    life: Run, end: tuple[str, ...]
) -> None:
    root = life.entity.root
    brought(root, "merge", "origin/main")
    staged = git(root, "diff", "--cached", "--name-only")
    lived(life)
    assert git(root, "diff", "--cached", "--name-only") == staged
    git(root, "checkout", "--theirs", "knowledge.md")
    git(root, "add", "knowledge.md")
    git(root, "-c", "core.editor=true", *end)
    assert "half merged" not in life.ok("status").err
    check(life)


def test_sync_commits_what_was_written_while_a_merge_was_open_before_it_merges_more(
    life: Run,
) -> None:
    root, away = life.entity.root, life.entity.root.with_name("away")
    brought(root, "merge", "origin/main")
    lived(life)
    life.ok("-e", str(away), "journal", "add", "And more.")
    git(away, "push", "-q")
    git(root, "checkout", "--theirs", "knowledge.md")
    git(root, "add", "knowledge.md")
    life.ok("sync")
    assert "And more." in life.entity.journal.read_text()
    check(life)


def test_the_way_back_of_a_merge_loses_nothing_that_was_written_meanwhile(life: Run) -> None:
    root = life.entity.root
    brought(root, "merge", "origin/main")
    lived(life)
    assert "what it brought" in life("doctor").out
    back = ["git", "-C", str(root), "merge", "--abort"]
    ran = subprocess.run(back, check=False, capture_output=True, text=True)
    assert "journal.md" in ran.stderr  # the merge brought it, too: git refuses
    git(root, "checkout", "--theirs", "knowledge.md")
    git(root, "commit", "-qam", "merged all the same")
    check(life)


PATCH = ("am", "-q", "-3", "../tea.patch")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("rebase", ("rebase", "origin/main")),
        ("cherry-pick", ("cherry-pick", "origin/main~1")),
        ("revert", ("revert", "--no-edit", "HEAD~2")),
        ("am", PATCH),
    ],
)
def test_nothing_is_written_that_git_would_take_back(
    life: Run, what: str, words: tuple[str, ...]
) -> None:
    root = life.entity.root
    patch = git(root, "format-patch", "-1", "--stdout", "origin/main~1")
    root.with_name("tea.patch").write_text(f"{patch}\n")
    life.ok("knowledge", "set", "Tea", "Mate")
    brought(root, *words)
    assert f"`git -C {root} {what} --continue`" in life("doctor").out
    before = git(root, "status", "--porcelain"), life.entity.journal.read_bytes()
    for command in (("chat", SAID), ("journal", "add", "It rained.")):
        ran = life(*command)
        assert ran.code == 13
        assert "Nothing has been written. Go on with" in ran.err
        assert f"take it back with `git -C {root} {what} --abort`" in ran.err
    assert (git(root, "status", "--porcelain"), life.entity.journal.read_bytes()) == before
    life.ok("chat", "--incognito", SAID)
    life.ok("recall", "tea")
    git(root, what, "--abort")
    life.ok("chat", SAID)
    assert git(root, "status", "--porcelain") == ""


def test_no_model_is_asked_for_what_may_not_be_written(life: Run) -> None:
    brought(life.entity.root, "rebase", "origin/main")
    calls = life.entity.ledger.read_bytes()
    ran = life("tick", "--now", "2027-01-01T03:00")
    assert "a rebase is under way" in ran.err
    assert life.entity.ledger.read_bytes() == calls


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


FACT = "\n## Bank\n\nBo banks at Mewa.\n"


@pytest.fixture
def banked(life: Run) -> Run:
    """A life that learns of a bank, in a file that is not in conflict, amid a merge."""
    life.write("notes.md", "Hens.\n")
    git(life.entity.root, "add", "notes.md")
    git(life.entity.root, "commit", "-qm", "notes")
    brought(life.entity.root, "merge", "origin/main")
    bank(life)
    return life


def bank(run: Run) -> None:
    file = run.entity.root / "notes.md"
    old = file.read_text()
    planned = changes.ChangeSet("learn", (changes.write("notes.md", old + FACT, old, "said"),))
    commits.apply(run.entity.root, planned, POLICY)


def notes(run: Run) -> str:
    return (run.entity.root / "notes.md").read_text()


def test_what_the_owner_takes_out_of_a_merge_that_ended_is_not_written_again(banked: Run) -> None:
    root = banked.entity.root
    git(root, "checkout", "--theirs", "knowledge.md")
    git(root, "commit", "-qam", "merged")
    banked.write("notes.md", "Hens.\n")
    git(root, "commit", "-qam", "no bank")
    banked.ok("journal", "add", "The next command.")
    assert notes(banked) == "Hens.\n"
    assert uncommitted.notes(root) == []


@pytest.mark.parametrize("words", [("checkout", "--theirs", "."), ("reset", "-q", "--hard")])
def test_what_is_thrown_away_with_a_merge_is_kept_and_named(
    banked: Run, words: tuple[str, ...]
) -> None:
    root = banked.entity.root
    copy = banked.entity.root / ".history" / "notes.merge.md"
    git(root, *words)
    if words[0] == "checkout":
        git(root, "commit", "-qam", "merged")
    ran = banked.ok("journal", "add", "The next command.")
    assert notes(banked) == "Hens.\n"
    assert "not there any more: see .history/notes.merge.md" in ran.err
    assert copy.read_text() == f"Hens.\n{FACT}"
    assert "notes.md" not in banked.ok("journal", "add", "One more.").err
    assert banked.ok("doctor", "--json").data["clean"]


def test_what_a_merge_did_not_bring_outlives_the_way_back(banked: Run) -> None:
    root = banked.entity.root
    for old, new in ((None, b"One.\n"), (b"One.\n", b"One.\nTwo.\n")):
        read = None if old is None else disk.sha256(old)
        change = changes.Change("new.md", "said", new, read, alone=True)
        commits.apply(root, changes.ChangeSet("learn", (change,)), POLICY)
    git(root, "merge", "--abort")
    assert "[git-uncommitted]" in banked("doctor").out
    banked.ok("journal", "add", "The next command.")
    assert (root / "new.md").read_text() == "One.\nTwo.\n"
    assert notes(banked).count(FACT) == 1
    assert git(root, "status", "--porcelain") == ""
    assert list((root / ".history").rglob("*.merge.*")) == []
