"""Two clones that git merges without having been told how."""

from __future__ import annotations

import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.history import clone, driver
from bumble.records import session_files, sessions, soma, state
from bumble.records.sessions import Message
from tests.support.living import talked, write
from tests.support.repository import body, git
from tests.support.running import NOON, Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Sam")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")
    talked(run.entity, "ses_1", ("sam", "I bake."), ("ada", "Good."))
    write(run.entity, soma.plan_write(soma.read(run.entity.soma), body(50.0, "a wave"), ""))
    git(run.entity.root, "init", "-q", "-b", "main")
    git(run.entity.root, "add", "-A")
    git(run.entity.root, "commit", "-qm", "a past")
    return run


def lived(folder: Path, number: int) -> None:
    """Let a clone go on by itself, in every kind of file that both write."""
    talk = session_files.load(folder / sessions.path("ses_1"))
    message = Message(
        f"msg_9{number}", NOON + timedelta(hours=number), "user", f"Line {number}.", "sam"
    )
    change = sessions.plan_append(talk, [message], "")
    assert change.data is not None
    with (folder / change.path).open("ab") as transcript:
        transcript.write(change.data)
    changed = soma.plan_write(
        soma.read(folder / "soma.yaml"), body(50.0 + number, f"thought {number}"), ""
    )
    assert changed is not None and changed.data is not None
    (folder / "soma.yaml").write_bytes(changed.data)
    (folder / "state.yaml").write_text(
        f"dream: {{day: 2026-05-24, count: {number}}}\nx_mine: {number}\n"
    )
    with (folder / "journal.md").open("a") as diary:
        diary.write(f"\n## 2026-05-24 1{number}:00:00\n\nEntry {number}.\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"day {number}")


def merged(life: Run, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    away = tmp_path / "away"
    git(tmp_path, "clone", "-q", str(life.entity.root), str(away))
    lived(life.entity.root, 1)
    lived(away, 2)
    git(life.entity.root, "config", "user.name", "Sam")
    git(life.entity.root, "config", "user.email", "sam@example.org")
    command = ["git", "-C", str(life.entity.root), *words, str(away), "main"]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def check_whole(life: Run) -> None:
    talk = session_files.find(life.entity.sessions, "ses_1")
    assert [m.text for m in talk.messages] == ["I bake.", "Good.", "Line 1.", "Line 2."]
    assert state.read(life.entity.state).get("dream", "count") == 3
    assert soma.read(life.entity.soma).get("bars", "social", "value") in (51.0, 52.0)
    diary = life.entity.journal.read_text()
    assert "Entry 1." in diary and "Entry 2." in diary
    assert "<<<<<<<" not in diary


def test_the_first_command_in_a_clone_tells_git_how_to_merge(life: Run) -> None:
    assert not driver.is_installed(life.entity.root)
    life.ok("status")
    assert driver.is_installed(life.entity.root)
    assert git(life.entity.root, "status", "--porcelain") == ""


def test_what_git_merged_without_us_is_merged_by_the_next_command(
    life: Run, tmp_path: Path
) -> None:
    assert merged(life, tmp_path, "pull", "-q", "--no-rebase", "--no-edit").returncode != 0
    ran = life.ok("status")
    assert "merged by meaning now" in ran.err
    check_whole(life)
    assert git(life.entity.root, "status", "--porcelain") == ""
    assert git(life.entity.root, "log", "-1", "--format=%p").count(" ") == 1


def test_a_rebase_without_us_is_mended_too_and_goes_on(life: Run, tmp_path: Path) -> None:
    assert merged(life, tmp_path, "pull", "-q", "--rebase").returncode != 0
    assert "git rebase --continue" in life.ok("status").err
    git(life.entity.root, "-c", "core.editor=true", "rebase", "--continue")
    check_whole(life)


def test_what_somebody_settled_by_hand_meanwhile_stays_theirs(life: Run, tmp_path: Path) -> None:
    merged(life, tmp_path, "pull", "-q", "--no-rebase", "--no-edit")
    life.entity.journal.write_text("# Mine\n")
    assert "journal.md" in life.ok("status").err
    assert life.entity.journal.read_text() == "# Mine\n"


def test_markers_that_were_committed_leave_soma_and_state_readable(
    life: Run, tmp_path: Path
) -> None:
    merged(life, tmp_path, "pull", "-q", "--no-rebase", "--no-edit")
    git(life.entity.root, "add", "-A")
    git(life.entity.root, "commit", "-qm", "never looked")
    assert "<<<<<<<" in life.entity.state.read_text()
    assert "soma.yaml" in life.ok("status").err
    assert soma.read(life.entity.soma).get("bars", "social", "value") in (51.0, 52.0)
    assert "x_mine" in state.read(life.entity.state).values


def test_a_text_with_markers_is_taken_apart() -> None:
    text = "a: 1\n<<<<<<< HEAD\nb: 2\n||||||| base\nb: 1\n=======\nb: 3\n>>>>>>> other\nc: 4\n"
    assert clone.sides(text) == (
        "a: 1\nb: 1\nc: 4\n",
        "a: 1\nb: 2\nc: 4\n",
        "a: 1\nb: 3\nc: 4\n",
    )
