"""Two clones that git merges without having been told how."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.history import clone
from bumble.records import episodes, soma, state
from tests.support import clones
from tests.support.clones import check_whole, lived
from tests.support.living import write
from tests.support.repository import git
from tests.support.running import NOON, Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    return clones.begun(run, monkeypatch)


def merged(life: Run, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    away = tmp_path / "away"
    git(tmp_path, "clone", "-q", str(life.entity.root), str(away))
    lived(life.entity.root, 1)
    lived(away, 2)
    git(life.entity.root, "config", "user.name", "Sam")
    git(life.entity.root, "config", "user.email", "sam@example.org")
    command = ["git", "-C", str(life.entity.root), *words, str(away), "main"]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_the_first_command_in_a_clone_tells_git_how_to_merge(life: Run) -> None:
    assert not clone.has_driver(life.entity.root)
    life.ok("consolidate", "--check")
    assert clone.has_driver(life.entity.root)
    assert git(life.entity.root, "status", "--porcelain") == ""


def test_what_git_merged_without_us_is_merged_by_the_next_command(
    life: Run, tmp_path: Path
) -> None:
    assert merged(life, tmp_path, "pull", "-q", "--no-rebase", "--no-edit").returncode != 0
    ran = life.ok("consolidate", "--check")
    assert "merged by meaning now" in ran.err
    check_whole(life)
    assert git(life.entity.root, "status", "--porcelain") == ""
    assert git(life.entity.root, "log", "-1", "--format=%p").count(" ") == 1


def test_who_only_reads_says_what_git_left_and_changes_nothing(life: Run, tmp_path: Path) -> None:
    merged(life, tmp_path, "pull", "-q", "--no-rebase", "--no-edit")
    before = git(life.entity.root, "status", "--porcelain"), life.entity.journal.read_bytes()
    for words in (("status",), ("journal", "show"), ("diff",), ("log",)):
        ran = life(*words)
        assert "git left half merged: " in ran.err and "journal.md" in ran.err
        assert ran.code == (12 if words[0] == "journal" else 0)
    after = git(life.entity.root, "status", "--porcelain"), life.entity.journal.read_bytes()
    assert after == before


def test_a_rebase_without_us_is_mended_too_and_goes_on(life: Run, tmp_path: Path) -> None:
    assert merged(life, tmp_path, "pull", "-q", "--rebase").returncode != 0
    assert "git rebase --continue" in life.ok("consolidate", "--check").err
    git(life.entity.root, "-c", "core.editor=true", "rebase", "--continue")
    check_whole(life)


def test_what_somebody_settled_by_hand_meanwhile_stays_theirs(life: Run, tmp_path: Path) -> None:
    merged(life, tmp_path, "pull", "-q", "--no-rebase", "--no-edit")
    life.entity.journal.write_text("# Mine\n")
    assert "journal.md" in life.ok("consolidate", "--check").err
    assert life.entity.journal.read_text() == "# Mine\n"


def test_markers_that_were_committed_leave_soma_and_state_readable(
    life: Run, tmp_path: Path
) -> None:
    merged(life, tmp_path, "pull", "-q", "--no-rebase", "--no-edit")
    git(life.entity.root, "add", "-A")
    git(life.entity.root, "commit", "-qm", "never looked")
    assert "<<<<<<<" in life.entity.state.read_text()
    assert "soma.yaml" in life.ok("consolidate", "--check").err
    assert soma.read(life.entity.soma).get("bars", "social", "value") in (51.0, 52.0)
    assert "x_mine" in state.read(life.entity.state).values


def test_a_talk_that_each_clone_told_by_itself_is_one_episode_after_a_merge(
    life: Run, tmp_path: Path
) -> None:
    root, away = life.entity.root, tmp_path / "away"
    git(tmp_path, "clone", "-q", str(root), str(away))
    for folder, title in ((root, "A dog by the sea"), (away, "Biscuit's fear")):
        told = episodes.new("ep_01M6R1C5Z0QJ3T7W8K9ABCDEFG", NOON, 0.5, f"# {title}\n\nA dog.")
        write(Entity(folder), episodes.EPISODE.plan_new(told, ""))
        with (folder / "knowledge.md").open("a") as facts:
            facts.write(f"\n## Biscuit\n\nOf {title}.\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", title)
    assert clone.install_driver(root)
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(away), "main")
    assert life("doctor").out.count("[record-twice]") == 1
    life.ok("consolidate", "--check")
    (kept,) = episodes.EPISODE.readable(life.entity.episodes)
    assert kept.stem.startswith("24-biscuits-fear-ep_") and kept.text.startswith("# Biscuit")
    assert "A dog by the sea" in life.entity.knowledge.read_text()
    assert life.ok("doctor", "--json").data["clean"]
    assert git(root, "status", "--porcelain") == ""
