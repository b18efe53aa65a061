"""Merges that a kill cuts off, at the calls of git: the next commands end or undo them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.entity import git_operations
from bumble.entity.git_operations import Operation
from bumble.files import git as bumble_git
from bumble.files.gitdir import find
from tests.support import clones, git_kills
from tests.support.clones import check_whole, lived
from tests.support.git_kills import GitKiller, needs_killer
from tests.support.repository import git
from tests.support.running import Run
from tests.support.sweeps import WHOLE, sampled, turn, turns

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A life that another clone went on with, and a server between both."""
    clones.begun(run, monkeypatch)
    root = run.entity.root
    run.ok("status")
    git(tmp_path, "clone", "-q", "--bare", str(root), "server")
    git(root, "remote", "add", "origin", str(tmp_path / "server"))
    git(root, "push", "-qu", "origin", "main")
    git(tmp_path, "clone", "-q", str(tmp_path / "server"), "away")
    lived(tmp_path / "away", 2)
    (tmp_path / "away" / "notes.md").write_text("New there.\n")
    git(tmp_path / "away", "add", "-A")
    git(tmp_path / "away", "commit", "-qm", "notes")
    git(tmp_path / "away", "push", "-q")
    return run


def truth(root: Path) -> dict[str, bytes]:
    """Return every file that is neither git's nor derived."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and path.relative_to(root).parts[0] not in (".git", ".bumble", "memory.db")
    }


def left_over(root: Path) -> list[str]:
    """Return what of git's work lies there that has no end."""
    repository = find(root)
    assert repository is not None
    left = [str(path) for path in (root / ".git").rglob("*.lock")]
    left += [str(path) for path in root.glob(".merge_file_*")]
    left += [str(note) for note in git_operations.cut_off(root)]
    left += [repository.under_way] if repository.under_way else []
    return left + git(root, "status", "--porcelain").splitlines()


def check_ended(life: Run, before: dict[str, bytes], *, merges: bool) -> None:
    """Check what commands make of a folder that a kill has left."""
    root = life.entity.root
    found, left = truth(root), left_over(root)
    done = life.ok("status")
    assert truth(root) == found
    assert ("cut off" in done.err) == bool(git_operations.cut_off(root))
    codes = {one["code"] for one in life("doctor", "--json").data["findings"]}
    assert ("git-cut-off" in codes) or not left
    life.ok("journal", "add", "It rained.")
    assert left_over(root) == []
    now = truth(root)
    assert git(root, "log", "-1", "--format=%s").startswith("journal")
    if "notes.md" not in now:  # it was taken back, to the byte
        assert {**now, "journal.md": b""} == {**before, "journal.md": b""}
    assert life.ok("sync").code == 0
    assert left_over(root) == []
    assert "git-cut-off" not in life.ok("doctor").out
    if merges:
        check_whole(life)
    assert (root / "notes.md").read_text() == "New there.\n"
    assert "It rained." in life.entity.journal.read_text()


def some(calls: list[tuple[str, str]]) -> list[int]:
    """Choose a call: of each kind of moment in a merge, one at each commit has its turn."""

    def first(fits: Callable[[str, str], bool]) -> int:
        return next((n for n, call in enumerate(calls, 1) if fits(*call)), 0)

    def last(fits: Callable[[str, str], bool]) -> int:
        return max((n for n, call in enumerate(calls, 1) if fits(*call)), default=0)

    chosen = {
        first(lambda name, path: ".merge_file_" in path and name == "unlink"),
        last(lambda name, path: "/.git/" not in path and ".merge_file" not in path),
        last(lambda name, path: path.endswith("MERGE_HEAD")),
    }
    ordered = sorted(chosen - {0})
    return ordered if WHOLE else [ordered[turn() % len(ordered)]]


def sweep(
    life: Run,
    killer: GitKiller,
    choose: Callable[[list[tuple[str, str]]], list[int]],
    aside: Path,
    *,
    merges: bool,
) -> None:
    """Kill a sync at the calls that are chosen, each time from the same beginning."""
    root = life.entity.root
    before = truth(root)
    shutil.copytree(root, aside, symlinks=True)
    for number in choose(killer.calls(life, "sync")):
        shutil.rmtree(root)
        shutil.copytree(aside, root, symlinks=True)
        assert killer.run(life, number, "sync") == -signal.SIGKILL
        check_ended(life, before, merges=merges)


@needs_killer
@sampled
def test_a_merge_that_is_cut_off_is_taken_back_and_done_again(life: Run, tmp_path: Path) -> None:
    lived(life.entity.root, 1)
    sweep(life, git_kills.made(tmp_path / "killer"), some, tmp_path / "aside", merges=True)


@needs_killer
@pytest.mark.parametrize(
    "words", turns(2, [["knowledge", "set", "Sea", "Wide."], ["undo", "--last"]])
)
def test_a_commit_that_is_cut_off_is_told_and_made(
    life: Run, tmp_path: Path, words: list[str]
) -> None:
    root, killer = life.entity.root, git_kills.made(tmp_path / "killer")
    life.ok("knowledge", "set", "Tea", "Hot.")
    shutil.copytree(root, tmp_path / "aside", symlinks=True)
    calls = [n for n, (_, path) in enumerate(killer.calls(life, *words), 1) if "/obj" not in path]
    after = life.entity.knowledge.read_bytes()
    for number in (calls[len(calls) // 2], calls[-1]):
        shutil.rmtree(root)
        shutil.copytree(tmp_path / "aside", root, symlinks=True)
        assert killer.run(life, number, *words) == -signal.SIGKILL
        codes = {one["code"] for one in life("doctor", "--json").data["findings"]}
        assert not left_over(root) or codes & {"git-cut-off", "git-uncommitted"}
        life.ok("journal", "add", "It rained.")
        assert left_over(root) == []
        assert life.entity.knowledge.read_bytes() == after
        assert not codes & {"git-cut-off"} or "git-cut-off" not in life.ok("doctor").out


@needs_killer
@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("merges", [True, False])
def test_a_merge_may_be_cut_off_anywhere(life: Run, tmp_path: Path, merges: bool) -> None:
    if merges:
        lived(life.entity.root, 1)

    def every(calls: list[tuple[str, str]]) -> list[int]:
        return [n for n, (name, path) in enumerate(calls, 1) if "/objects/" not in path]

    sweep(life, git_kills.made(tmp_path / "killer"), every, tmp_path / "aside", merges=merges)


ORPHAN = """
import subprocess, sys, time
from pathlib import Path
from bumble.entity import git_operations
from bumble.entity.git_operations import Operation
from bumble.files import git
root, head = Path(sys.argv[1]), sys.argv[2]
with git_operations.noted(root, Operation("merge", head=head, incoming=head)):
    held = git._holding.get()
    subprocess.Popen(["sleep", "1.5"], pass_fds=(held.descriptor,))
    print(flush=True)
    time.sleep(60)
"""


def test_nothing_is_written_while_the_git_of_a_killed_bumble_merges(
    life: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = life.entity.root
    environ = {**os.environ, **life.environ, "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(root), git(root, "rev-parse", "HEAD")],
        stdout=subprocess.PIPE,
        env=environ,
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        writer.kill()
    assert git_operations.cut_off(root) == {}  # its git lives
    monkeypatch.setattr(bumble_git, "TIMEOUT_SECONDS", 0.3)
    assert life("journal", "add", "Too soon.").code == 11
    monkeypatch.setattr(bumble_git, "TIMEOUT_SECONDS", 20)
    assert life.ok("journal", "add", "It rained.")
    assert left_over(root) == []
    assert "Too soon" not in life.entity.journal.read_text()


def test_what_somebody_wrote_since_is_kept_beside(life: Run) -> None:
    root = life.entity.root
    git(root, "fetch", "-q")
    head, incoming = git(root, "rev-parse", "HEAD", "origin/main").split()
    before = truth(root)
    merge = Operation("merge", head=head, incoming=incoming)
    with pytest.raises(KeyboardInterrupt), git_operations.noted(root, merge):
        git(root, "checkout", "-q", incoming, "--", ".")
        (root / "soma.yaml").write_text("Mine, written in between.\n")
        raise KeyboardInterrupt
    life.ok("knowledge", "set", "Sea", "Wide.")
    now = truth(root)
    kept = [data for path, data in now.items() if path.startswith(".history/")]
    assert kept == [b"Mine, written in between.\n"]
    assert {path: data for path, data in now.items() if path in before} == {
        **before,
        "knowledge.md": now["knowledge.md"],
    }
    assert "notes.md" not in now


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_merge_whose_git_alone_is_killed_stays_noted(life: Run) -> None:
    root = life.entity.root
    place, head = bumble_git.at(root), git(root, "rev-parse", "HEAD")
    assert place is not None
    with git_operations.noted(root, Operation("merge", head=head, incoming=head)):
        assert place.call("-c", "alias.die=!kill -9 $PPID", "die").killed
    assert [one.what for one in git_operations.cut_off(root).values()] == ["merge"]
    life.ok("journal", "add", "It rained.")
    assert left_over(root) == []


def test_a_merge_that_git_cant_end_is_taken_back_at_once(life: Run) -> None:
    root = life.entity.root
    lived(root, 1)
    before = truth(root)
    in_the_way = root / ".git" / "refs" / "heads" / "main.lock"
    in_the_way.mkdir()
    (in_the_way / "kept").touch()  # so that the merge can't be ended, as on a full disk
    assert life("sync").code == 13
    shutil.rmtree(in_the_way)
    assert truth(root) == before
    assert left_over(root) == []
    life.ok("sync")
    check_whole(life)


def test_a_merge_that_cant_be_taken_back_yet_stays_noted(life: Run) -> None:
    root = life.entity.root
    lived(root, 1)
    before = truth(root)
    git(root, "fetch", "-q")
    head, incoming = git(root, "rev-parse", "HEAD", "origin/main").split()
    lock = root / ".git" / "index.lock"
    with (
        pytest.raises(KeyboardInterrupt),
        git_operations.noted(root, Operation("merge", head=head, incoming=incoming)),
    ):
        git(root, "checkout", "-q", incoming, "--", "notes.md")
        lock.mkdir()  # as a full disk does
        raise KeyboardInterrupt
    assert life("journal", "add", "Too soon.").code == 1
    assert len(git_operations.cut_off(root)) == 1
    lock.rmdir()
    life.ok("status")
    life.ok("doctor", "--fix")
    assert truth(root) == before
    assert left_over(root) == []


def test_a_merge_of_git_that_we_cant_end_is_ended_later(life: Run) -> None:
    root = life.entity.root
    lived(root, 1)
    git(root, "config", "--remove-section", "merge.bumble")
    pull = ["git", "-C", str(root), "pull", "-q", "--no-rebase", "--no-edit"]
    assert subprocess.run(pull, check=False, capture_output=True).returncode == 1
    (root / ".git" / "COMMIT_EDITMSG").unlink()
    (root / ".git" / "COMMIT_EDITMSG").mkdir()  # as a full disk does
    assert "not committed yet" in life.ok("journal", "add", "It rained.").err
    (root / ".git" / "COMMIT_EDITMSG").rmdir()
    life.ok("journal", "add", "The sun came out.")
    assert left_over(root) == []
    check_whole(life)
    assert "It rained." in life.entity.journal.read_text()
