"""Two clones that git merges without having been told how."""

from __future__ import annotations

import json
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


SESSION = "ses_01M6EXTYF048DEKQHZD9ZYYBTX"
HEARD = ("11:50", "11:55", "12:00")


def hears(folder: Path, *minutes: str, waits: str = "") -> None:
    """Let messages of these minutes stand in a transcript, with a cursor on one of them."""
    file = folder / "sessions" / SESSION / "messages.jsonl"
    if not file.exists():
        file.parent.mkdir(parents=True)
        head = {"type": "session", "id": SESSION, "at": "2026-11-02T11:50:00+00:00", "by": "sam"}
        file.write_text(json.dumps(head) + "\n")
    with file.open("a") as lines:
        for minute in minutes:
            row = {"type": "message", "id": name_of(minute), "role": "user", "speaker": "sam"}
            at = f"2026-11-02T{minute}:00+00:00"
            lines.write(json.dumps({**row, "text": f"told at {minute}", "at": at}) + "\n")
    there = state.read(folder / state.PATH)
    gone = () if waits else ([state.SECTION, SESSION],)
    values = {state.SECTION: {SESSION: name_of(waits)}} if waits else {}
    change = state.plan_write(there, values, "heard", remove=gone)
    if change is not None and change.data is not None:
        (folder / state.PATH).write_bytes(change.data)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "heard", "--allow-empty")


def name_of(minute: str) -> str:
    return f"msg_01M6EXTYF0{minute.replace(':', ''):0>16}"


@pytest.mark.parametrize(
    ("before", "ours", "theirs", "waits"),
    [
        # both heard something, and neither has dealt with it: the first waits
        ((("11:50",), ""), (("11:55",), "11:55"), (("12:00",), "12:00"), "11:55"),
        # one dealt with what had waited, the other heard more of it
        ((("11:50",), "11:50"), ((), ""), (("12:00",), "11:50"), "12:00"),
        # one dealt with all of its own, what the other heard stands before
        ((("11:50",), ""), (("12:00",), ""), (("11:55",), "11:55"), "11:55"),
        ((("11:50",), "11:50"), ((), ""), ((), "11:50"), ""),
    ],
)
def test_what_one_clone_heard_waits_after_a_merge_until_somebody_has_dealt_with_it(
    life: Run,
    tmp_path: Path,
    before: tuple[tuple[str, ...], str],
    ours: tuple[tuple[str, ...], str],
    theirs: tuple[tuple[str, ...], str],
    waits: str,
) -> None:
    root, away = life.entity.root, tmp_path / "away"
    git(root, "config", "user.name", "Sam")
    git(root, "config", "user.email", "sam@example.org")
    hears(root, *before[0], waits=before[1])
    git(tmp_path, "clone", "-q", str(root), str(away))
    hears(root, *ours[0], waits=ours[1])
    hears(away, *theirs[0], waits=theirs[1])
    life.ok("status")
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(away), "main")
    assert "half merged" not in life.ok("status").err  # who only reads takes nothing of it away
    life.ok("consolidate", "--check")
    file = state.read(root / state.PATH)
    assert state.first_waiting(file, SESSION) == (name_of(waits) if waits else None)
    assert git(root, "status", "--porcelain") == ""
    life.ok("consolidate", "--check")
    assert state.read(root / state.PATH).source == file.source


def test_a_merge_is_looked_through_though_a_hand_has_committed_since(
    life: Run, tmp_path: Path
) -> None:
    root, away = life.entity.root, tmp_path / "away"
    git(root, "config", "user.name", "Sam")
    git(root, "config", "user.email", "sam@example.org")
    hears(root, "11:50", waits="11:50")
    git(tmp_path, "clone", "-q", str(root), str(away))
    hears(root)  # and deals with it
    hears(away, "12:00", waits="11:50")
    life.ok("status")
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(away), "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "mine")
    life.ok("consolidate", "--check")
    file = state.read(root / state.PATH)
    assert state.first_waiting(file, SESSION) == name_of("12:00")
    git(root, "reset", "-q", "--hard", "HEAD~3")  # to before the merge
    life.ok("consolidate", "--check")
    assert state.first_waiting(state.read(root / state.PATH), SESSION) is None


def test_a_merge_is_looked_through_once(life: Run, tmp_path: Path) -> None:
    root, away = life.entity.root, tmp_path / "away"
    git(root, "config", "user.name", "Sam")
    git(root, "config", "user.email", "sam@example.org")
    hears(root, "11:50")
    git(tmp_path, "clone", "-q", str(root), str(away))
    hears(root, "11:55", waits="11:55")
    hears(away, "12:00", waits="12:00")
    life.ok("status")
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(away), "main")
    life.ok("doctor", "--fix")
    file = state.read(root / state.PATH)
    assert state.first_waiting(file, SESSION) == name_of("11:55")
    git(root, "reset", "-q", "--hard", "HEAD^")  # to the merge
    gone = state.plan_write(file, {}, "dealt with", remove=[[state.SECTION, SESSION]])
    assert gone and gone.data
    (root / state.PATH).write_bytes(gone.data)
    git(root, "switch", "-qc", "trial")
    life.ok("consolidate", "--check")
    assert state.first_waiting(state.read(root / state.PATH), SESSION) is None
