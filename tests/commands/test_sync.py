from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.records import session_files, sessions
from tests.support import clones
from tests.support.clones import check_whole, lived
from tests.support.repository import git
from tests.support.running import Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    return clones.begun(run, monkeypatch)


@pytest.fixture
def away(life: Run, tmp_path: Path) -> Path:
    """Another clone, and the server between both."""
    root = life.entity.root
    git(tmp_path, "clone", "-q", "--bare", str(root), "server")
    git(root, "remote", "add", "origin", str(tmp_path / "server"))
    git(root, "push", "-qu", "origin", "main")
    git(tmp_path, "clone", "-q", str(tmp_path / "server"), "away")
    lived(tmp_path / "away", 2)
    git(tmp_path / "away", "push", "-q")
    return tmp_path / "away"


def test_two_clones_are_brought_together_and_nothing_is_pushed_unasked(
    life: Run, away: Path
) -> None:
    lived(life.entity.root, 1)
    before = git(away, "ls-remote", "origin", "main")
    assert life.ok("sync", "--json").data["merged"] == 1
    check_whole(life)
    assert git(life.entity.root, "status", "--porcelain") == ""
    assert git(away, "ls-remote", "origin", "main") == before
    assert life.ok("sync", "--push", "--json").data == {
        "merged": 0,
        "mended": [],
        "gone": {},
        "locked_changed": [],
        "not_obeyed": [],
        "pushed": True,
        "problems": [],
    }
    git(away, "pull", "-q", "--ff-only")
    assert (away / sessions.path("ses_1")).read_text().count("Line 1.") == 1


def test_a_locked_section_that_another_clone_changed_is_named(life: Run, away: Path) -> None:
    life.ok("knowledge", "set", "Vows", "Never share confidences.", "--locked")
    life.ok("sync", "--push")
    git(away, "pull", "-q", "--ff-only")
    file = away / "knowledge.md"
    file.write_text(file.read_text().replace("## [locked] Vows", "## Vows"))
    git(away, "commit", "-qam", "unlock")
    git(away, "push", "-q")
    done = life.ok("sync", "--json")
    assert done.data["locked_changed"] == ["Vows"]
    assert "locked section “Vows”" in done.err
    assert life.ok("sync", "--json").data["locked_changed"] == []


def test_a_shallow_clone_gets_what_the_merge_needs(life: Run, away: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path / 'server'}", str(shallow))
    lived(shallow, 3)
    lived(away, 4)
    git(away, "push", "-q")
    ran = life("-e", str(shallow), "sync")
    assert ran.code == 0, ran.err
    talk = session_files.load(shallow / sessions.path("ses_1"))
    assert [m.text for m in talk.messages][2:] == ["Line 2.", "Line 3.", "Line 4."]


@pytest.mark.parametrize(
    "setting", ["core.sshCommand", "remote.origin.uploadpack", "merge.evil.driver"]
)
def test_no_program_of_the_repositorys_own_config_runs(
    life: Run, away: Path, tmp_path: Path, setting: str
) -> None:
    lived(life.entity.root, 1)
    git(life.entity.root, "config", setting, f"touch {tmp_path / 'ran'};false")
    ran = life("sync")
    assert (ran.code, setting.lower() in ran.err) == (13, True)
    assert not (tmp_path / "ran").exists()


def test_without_a_remote_it_says_what_to_do(life: Run) -> None:
    ran = life("sync")
    assert ran.code == 13
    assert "remote add origin" in ran.err


def bring(away: Path, path: str, make: Callable[[Path], object]) -> None:
    """Let the other clone push something in the place of a file."""
    file = away / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    make(file)
    git(away, "add", "-fA")
    git(away, "commit", "-qm", "odd")
    git(away, "push", "-q")


def folder(file: Path) -> None:
    file.mkdir()
    (file / "x.md").write_text("x\n")


@pytest.mark.parametrize(
    ("path", "make", "why"),
    [
        ("knowledge.md", lambda file: file.symlink_to("/etc/hostname"), "a link"),
        ("episodes/x.md", lambda file: file.symlink_to("../journal.md"), "a link"),
        ("knowledge.md", folder, "a folder of a file"),
        ("beliefs", lambda file: file.write_text("x"), "a folder's place"),
        (".bumble/lock", lambda file: file.write_text("x"), "each clone's own"),
    ],
)
def test_what_no_clone_commits_is_refused_before_anything_is_merged(
    life: Run, away: Path, path: str, make: Callable[[Path], object], why: str
) -> None:
    bring(away, path, make)
    before = git(life.entity.root, "rev-parse", "HEAD")
    done = life("sync")
    assert (done.code, why in done.err, f"{path}" in done.err) == (13, True, True), done.err
    assert git(life.entity.root, "rev-parse", "HEAD") == before
    assert "Nothing is wrong" in life.ok("doctor").out
