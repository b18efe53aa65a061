"""`undo --last` while the newest change can't be committed: it undoes that or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from bumble.entity import commits
from tests.support.repository import after_a_dream, git, subjects
from tests.support.running import Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def ada(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Ada under git, after a dream and a fact."""
    monkeypatch.setattr(commits, "BUSY_WAIT_SECONDS", 0.01)
    after_a_dream(run)
    run.ok("knowledge", "set", "Pets", "A dog.")
    return run


def detached(run: Run) -> None:
    git(run.entity.root, "checkout", "-q", "--detach")


def staged(run: Run) -> None:
    run.write("knowledge.md", run.text("knowledge.md") + "\nBy hand.\n")
    git(run.entity.root, "add", "knowledge.md")


def locked(run: Run) -> None:
    run.write(".git/index.lock", "")


def merging(run: Run) -> None:
    run.write(".git/MERGE_HEAD", git(run.entity.root, "rev-parse", "HEAD") + "\n")


WAYS = pytest.mark.parametrize(
    "stop, why",
    [
        (detached, "no branch is checked out"),
        (staged, "you have staged knowledge.md"),
        (locked, "another git is at work"),
        (merging, "a merge is under way"),
    ],
)


@WAYS
def test_nothing_older_is_undone_while_the_newest_change_waits(
    ada: Run, stop: Callable[[Run], None], why: str
) -> None:
    root = ada.entity.root
    stop(ada)
    ada.ok("knowledge", "set", "Home", "Lisbon.")
    before = {path: data for path, data in ada.state().items() if not path.startswith(".git/")}
    head = git(root, "rev-parse", "HEAD")
    for words in (["--last"], ["--cycle", "knowledge"], ["--last", "--dry-run"]):
        ran = ada("undo", *words)
        assert ran.code == 13
        assert why in ran.err
        assert '  knowledge set: learn "Home"' in ran.err
    after = {path: data for path, data in ada.state().items() if not path.startswith(".git/")}
    assert {path: data[0] for path, data in after.items()} == {
        path: data[0] for path, data in before.items()
    }
    assert git(root, "rev-parse", "HEAD") == head


def test_a_kind_that_does_not_wait_and_a_commit_by_name_can_be_undone(ada: Run) -> None:
    detached(ada)
    ada.ok("knowledge", "set", "Home", "Lisbon.")
    assert ada("undo", "bel_1", "--dry-run").code == 0
    ada.ok("undo", "--cycle", "dream")
    assert not ada.file("dreams/drm_1.md").exists()


def test_a_record_that_was_changed_since_is_not_undone_to_before_that(ada: Run) -> None:
    ada.ok("journal", "add", "A day.")
    detached(ada)
    ada.ok("knowledge", "set", "Pets", "A cat.")
    ran = ada("undo", "knowledge")
    assert ran.code == 13
    assert "not committed yet" in ran.err
    assert ada("undo", "drm_1", "--dry-run").code == 0


def test_once_it_is_committed_it_is_the_newest(ada: Run) -> None:
    locked(ada)
    ada.ok("knowledge", "set", "Home", "Lisbon.")
    ada.file(".git/index.lock").unlink()
    ada.ok("undo", "--last")
    assert "Lisbon." not in ada.text("knowledge.md")
    assert "A dog." in ada.text("knowledge.md")
    assert subjects(ada.entity.root)[0] == 'undo: knowledge set: learn "Home"'
