"""Two clones that diverge in every kind of record that there is, however git brings them together.

A kind that is new in the registry is in it by itself. Each clone writes a record of its own of
every kind that has a file each, changes the one both began with, takes one away and renames one.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.history import clone
from bumble.records import (
    journal,
    kinds,
    knowledge,
    self_model,
    session_files,
    soma,
    state,
    working,
)
from tests.support.every_kind import FIRST, MANY, OTHERS, OURS, grown, place, unread
from tests.support.repository import git
from tests.support.running import Run
from tests.support.sweeps import turns

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def lived(folder: Path, text: str, number: int) -> None:
    """Let a clone go on in every kind of record; one takes away what the other renames."""
    for kind in MANY:
        place(folder, kind, text, f"of{number}")
        (gone,) = (path for path in kind.paths(Entity(folder)) if f"gone{number}" in str(path))
        gone.unlink()
        (old,) = (path for path in kind.paths(Entity(folder)) if f"named{number}" in str(path))
        new = Path(str(old).replace(f"named{number}", f"renamed{number}"))
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
    for kind in kinds.KINDS:
        grown(folder, kind, text, number)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"day {number}")


@pytest.fixture
def begun(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Run, Path]:
    """A life with records of every kind, and a clone of it that went on by itself."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Sam")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")
    root = run.entity.root
    for kind in kinds.KINDS:
        place(root, kind, FIRST)
        for name in ("gone1", "gone2", "named1", "named2") if kind in MANY else ():
            place(root, kind, f"{FIRST} {name}", name)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a past")
    git(tmp_path, "clone", "-q", "--bare", str(root), "server")
    git(root, "remote", "add", "origin", str(tmp_path / "server"))
    git(root, "fetch", "-q")
    git(root, "branch", "-q", "--set-upstream-to", "origin/main")
    away = tmp_path / "away"
    git(tmp_path, "clone", "-q", str(tmp_path / "server"), str(away))
    lived(root, OURS, 1)
    lived(away, OTHERS, 2)
    git(away, "push", "-q")
    return run, away


def pulled(run: Run, *words: str) -> None:
    root = run.entity.root
    command = ["git", "-C", str(root), "-c", "core.editor=true", "pull", "-q", *words]
    subprocess.run(command, check=False, capture_output=True)


def merged_with_driver(run: Run) -> None:
    assert clone.install_driver(run.entity.root)
    pulled(run, "--no-rebase", "--no-edit")


def merged_without(run: Run) -> None:
    pulled(run, "--no-rebase", "--no-edit")
    run.ok("consolidate", "--check")


def rebased_with_driver(run: Run) -> None:
    assert clone.install_driver(run.entity.root)
    pulled(run, "--rebase")


def rebased_without(run: Run) -> None:
    pulled(run, "--rebase")
    run.ok("consolidate", "--check")
    root = run.entity.root
    if (root / ".git" / "rebase-merge").exists():
        git(root, "-c", "core.editor=true", "rebase", "--continue")


def synced(run: Run) -> None:
    run.ok("sync")


WAYS = (merged_with_driver, merged_without, rebased_with_driver, rebased_without, synced)


@pytest.mark.parametrize("way", turns(3, WAYS))
def test_clones_that_diverge_in_every_kind_come_together_whole(
    begun: tuple[Run, Path], way: Callable[[Run], None]
) -> None:
    run, _ = begun
    way(run)
    assert git(run.entity.root, "status", "--porcelain") == ""
    assert list(unread(run.entity)) == []
    for kind in MANY:
        names = " ".join(str(path) for path in kind.paths(run.entity))
        assert "gone" not in names, kind.name
        for word in ("of1", "of2", "/renamed1", "/renamed2", "x_renamed1"):
            assert word in names or word.startswith(("/", "x_")), (kind.name, word)
        assert "renamed1" in names and "renamed2" in names, kind.name
    for kind in (
        knowledge.KNOWLEDGE,
        journal.JOURNAL,
        working.SCRATCH,
        working.WORKING,
        session_files.SESSION,
    ):
        (path,) = kind.paths(run.entity)
        assert OURS in path.read_text(), kind.name
        assert OTHERS in path.read_text(), kind.name
    for kind in (state.STATE, soma.SOMA, self_model.SELF_MODEL):
        text = kind.paths(run.entity)[0].read_text()
        assert "x_1" in text and "x_2" in text, kind.name
    assert not [
        finding
        for finding in run("doctor", "--json").data["findings"]
        if finding["code"] in ("conflict-marker", "record-invalid")
    ]


def test_a_shallow_clone_diverged_in_every_kind_syncs(
    begun: tuple[Run, Path], tmp_path: Path
) -> None:
    run, away = begun
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path / 'server'}", str(shallow))
    for kind in MANY:
        place(shallow, kind, OURS, "of3")
    git(shallow, "add", "-A")
    git(shallow, "commit", "-qm", "day 3")
    for kind in MANY:
        place(away, kind, OTHERS, "of4")
    git(away, "add", "-A")
    git(away, "commit", "-qm", "day 4")
    git(away, "push", "-q")
    ran = run("-e", str(shallow), "sync")
    assert ran.code == 0, ran.err
    assert list(unread(Entity(shallow))) == []
    for kind in MANY:
        names = " ".join(str(path) for path in kind.paths(Entity(shallow)))
        assert "of3" in names and "of4" in names, kind.name
