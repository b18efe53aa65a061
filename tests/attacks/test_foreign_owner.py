"""A folder that belongs to somebody else: its history is read once the user has told git so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.chatting import script
from tests.support.repository import begun, git
from tests.support.running import Run

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.skipif(
        os.name != "posix" or os.geteuid() != 0, reason="only root gives files to somebody else"
    ),
]
SOMEBODY = 12345


@pytest.fixture
def ada(run: Run, tmp_path: Path) -> Run:
    """Ada under git, in a folder of somebody else's whose config names a program."""
    root = run.entity.root
    Path(run.environ["HOME"]).mkdir()
    begun(root)
    run.ok("knowledge", "set", "Pets", "A dog.")
    git(root, "config", "core.fsmonitor", f"touch {tmp_path / 'marker'}")
    git(root, "config", "safe.directory", "*")  # what it says of itself
    give(root)
    script(run, {"purpose": "chat", "text": "Hello."})
    return run


def give(root: Path) -> None:
    """Make a folder and all in it somebody else's."""
    for place in (root, *root.rglob("*")):
        os.chown(place, SOMEBODY, -1)


def test_log_diff_and_undo_name_gits_own_way_to_trust_it(ada: Run, tmp_path: Path) -> None:
    root = ada.entity.root
    for words in (["log"], ["diff"], ["undo", "--last"], ["undo", "--last", "--dry-run"]):
        ran = ada(*words)
        assert ran.code == 1
        assert f"{root} belongs to somebody else" in ran.err
        assert f"`git config --global --add safe.directory {root}`" in ran.err
        assert "git init" not in ran.err
    assert not (tmp_path / "marker").exists()


def test_what_is_written_there_is_not_committed_and_doctor_says_why(
    ada: Run, tmp_path: Path
) -> None:
    root = ada.entity.root
    before = (root / ".git" / "config").read_text()
    ran = ada.ok("chat", "Hello.")
    assert ran.out.strip().endswith("Hello.")
    assert "safe.directory" in ran.err
    findings = {one["code"]: one for one in ada("doctor", "--json").data["findings"]}
    assert "git-none" not in findings
    assert findings["git-foreign"]["fix"] == f"git config --global --add safe.directory {root}"
    ada("doctor", "--fix")
    assert not (tmp_path / "marker").exists()
    assert (root / ".git" / "config").read_text() == before


@pytest.mark.parametrize("place", ["{root}", "*", "{above}/*", "~/../ada"])
def test_what_the_user_told_git_counts(ada: Run, tmp_path: Path, place: str) -> None:
    root = ada.entity.root
    value = place.format(root=root, above=root.parent)
    git(root.parent, "config", "--global", "--add", "safe.directory", value)
    assert "learn" in ada.ok("log").out
    ada.ok("undo", "--last")
    assert git(root, "-c", "safe.directory=*", "-c", "core.fsmonitor=", "log", "-1", "--format=%s")
    assert not (tmp_path / "marker").exists()


def test_under_sudo_the_users_own_folder_is_theirs(
    ada: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(SOMEBODY))
    assert "learn" in ada.ok("log").out


@pytest.mark.parametrize("path", [".git", ".git/config", "."])
def test_one_part_of_somebody_elses_is_enough(run: Run, path: str) -> None:
    root = run.entity.root
    git(root, "init", "-q", "-b", "main")
    os.chown(root / path, SOMEBODY, -1)
    assert "safe.directory" in run("log").err
