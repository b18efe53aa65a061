"""A life whose clones go on by themselves, in every kind of file that both write."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bumble.records import session_files, sessions, soma, state
from bumble.records.sessions import Message
from tests.support.living import talked, write
from tests.support.repository import body, git
from tests.support.running import NOON, Run


def begun(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Put a life with a talk and a body under git."""
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


def check_whole(life: Run) -> None:
    """Check that a folder holds what both clones lived through."""
    talk = session_files.find(life.entity.sessions, "ses_1")
    assert [m.text for m in talk.messages] == ["I bake.", "Good.", "Line 1.", "Line 2."]
    assert state.read(life.entity.state).get("dream", "count") == 3
    assert soma.read(life.entity.soma).get("bars", "social", "value") in (51.0, 52.0)
    diary = life.entity.journal.read_text()
    assert "Entry 1." in diary and "Entry 2." in diary
    assert "<<<<<<<" not in diary
