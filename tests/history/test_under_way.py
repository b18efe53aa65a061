"""What is written while git is in the middle of something with another clone's commits."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

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


def concluded(run: Run, text: str | None = None) -> None:
    root = run.entity.root
    git(root, "checkout", "--theirs", ".")
    if text is not None:
        run.write("notes.md", text)
    git(root, "commit", "-qam", "merged")


def notes(run: Run) -> str:
    return (run.entity.root / "notes.md").read_text()


def test_what_the_owner_takes_out_of_a_merge_that_ended_is_not_written_again(banked: Run) -> None:
    concluded(banked)
    assert FACT in notes(banked)
    banked.write("notes.md", "Hens.\n")
    git(banked.entity.root, "commit", "-qam", "no bank")
    ran = banked.ok("journal", "add", "The next command.")
    assert notes(banked) == "Hens.\n"
    assert "notes.md" not in ran.err
    assert uncommitted.notes(banked.entity.root) == []


def test_what_was_taken_out_while_a_merge_was_ended_is_told_and_not_written(banked: Run) -> None:
    root = banked.entity.root
    concluded(banked, "Hens.\n")
    ran = banked.ok("journal", "add", "The next command.")
    assert notes(banked) == "Hens.\n"
    blob = next(line for line in ran.err.splitlines() if line.startswith("  notes.md")).split()[-1]
    assert FACT in git(root, "show", blob) + "\n"
    assert "notes.md" not in banked.ok("journal", "add", "One more.").err


def test_what_was_written_amid_a_merge_stays_on_its_branch(banked: Run) -> None:
    root = banked.entity.root
    git(root, "merge", "--abort")
    git(root, "switch", "-q", "-c", "side", "main~1")
    banked.ok("journal", "add", "On another branch.")
    assert not (root / "notes.md").exists()
    git(root, "switch", "-q", "main")
    banked.ok("journal", "add", "Back.")
    assert notes(banked).count(FACT) == 1


def test_a_file_that_is_new_amid_a_merge_outlives_the_way_back(banked: Run) -> None:
    root = banked.entity.root
    for old, new in ((None, b"One.\n"), (b"One.\n", b"One.\nTwo.\n")):
        read = None if old is None else disk.sha256(old)
        change = changes.Change("new.md", "said", new, read, alone=True)
        commits.apply(root, changes.ChangeSet("learn", (change,)), POLICY)
    git(root, "add", "new.md")
    git(root, "merge", "--abort")
    assert not (root / "new.md").exists()
    banked.ok("journal", "add", "The next command.")
    assert (root / "new.md").read_text() == "One.\nTwo.\n"
    assert notes(banked).count(FACT) == 1
    assert git(root, "status", "--porcelain") == ""


def test_what_git_could_not_add_outlives_the_way_back(
    banked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = banked.entity.root
    monkeypatch.setattr(commits, "BUSY_WAIT_SECONDS", 0)
    (root / ".git" / "index.lock").touch()
    bank(banked)
    (root / ".git" / "index.lock").unlink()
    git(root, "reset", "-q", "--hard")
    assert notes(banked) == "Hens.\n"
    banked.ok("journal", "add", "The next command.")
    assert notes(banked).count(FACT) == 2


def test_a_later_note_of_a_file_counts(banked: Run) -> None:
    root = banked.entity.root
    git(root, "merge", "--abort")
    first = uncommitted.notes(root)[-1]
    later = {"notes.md": disk.sha256(b"Hens.\n")}
    name = f"{int(first.file.stem) + 1:08}.json"
    file = first.file.with_name(name)
    uncommitted.put(replace(first, file=file, after=later, staged={}))
    assert uncommitted.taken_back(root) == []


def test_what_git_took_back_is_there_before_more_is_written_on_no_branch(banked: Run) -> None:
    root = banked.entity.root
    git(root, "merge", "--abort")
    git(root, "switch", "-q", "--detach")
    banked.ok("journal", "add", "On no branch.")
    assert notes(banked).count(FACT) == 1
    git(root, "switch", "-q", "main")
    banked.ok("journal", "add", "Back.")
    assert git(root, "show", "HEAD:notes.md").count(FACT.strip()) == 1


def test_what_was_written_is_told_where_the_owner_went_on_from_the_way_back(banked: Run) -> None:
    root = banked.entity.root
    git(root, "merge", "--abort")
    git(root, "commit", "-q", "--allow-empty", "-m", "mine")
    assert f"notes.md: git -C {root} show" in banked.ok("journal", "add", "The next command.").err
    assert notes(banked) == "Hens.\n"
