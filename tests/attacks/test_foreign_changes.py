"""Half-done changes that came with the folder: nobody carries them out unasked."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bumble.entity import changes, installation, uncommitted
from bumble.entity.changes import Change, ChangeSet
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.files import disk
from tests.support.chatting import script
from tests.support.running import Run

ID = "0123456789abcdef"
HOOK = ".git/hooks/post-commit"
PLACES = (
    HOOK,
    ".git/config",
    ".GIT/config",
    ".g\u200cit/config",
    "git~1/config",
    ".git./config",
    "workspace/sub/.git/config",
    ".bumble/log/calls.jsonl",
    ".bumble/x.md",
    ".envrc",
    ".vscode/tasks.json",
    "run.sh",
    "skills/tea/run.sh",
    "../x.md",
    "/tmp/x.md",
)
COMMANDS = (
    ("status",),
    ("doctor",),
    ("doctor", "--fix"),
    ("journal", "add", "It rains."),
    ("recall", "rain"),
    ("chat", "Hello?"),
    ("tick",),
    ("config", "get", "llm.model"),
)


def lay(root: Path, path: str, text: str = "evil\n", **more: Any) -> Path:
    """Leave a half-done change as an attacker would."""
    folder = root / ".bumble" / "intents" / ID
    folder.mkdir(parents=True, exist_ok=True)
    step = {"path": path, "before": None, "after": disk.sha256(text.encode()), "staged": "0"}
    (folder / "0").write_text(text)
    (folder / "intent.json").write_text(json.dumps({"title": "chat", "steps": [step]} | more))
    return folder


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@x", *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": os.defpath},
    )
    return done.stdout


def everything(run: Run) -> list[str]:
    told = []
    for command in COMMANDS:
        script(run, "Yes.")
        ran = run(*command)
        assert ran.code != 70, ran.err
        told.append(ran.err)
    return told


@pytest.mark.parametrize("path", [HOOK, ".git/config", "journal2.md", "workspace/x"])
def test_no_command_carries_out_what_another_began(run: Run, path: str) -> None:
    folder = lay(run.entity.root, path, mark="0" * 64)
    run.file(".git/hooks").mkdir(parents=True)
    for told in everything(run)[3:]:
        assert "bumble doctor --adopt" in told or "config" in told or not told
    assert not run.file(path).exists()
    assert (folder / "0").read_text() == "evil\n"
    codes = [one["code"] for one in run("doctor", "--json").data["findings"]]
    assert "change-foreign" in codes


def test_the_owner_may_have_it_carried_out(run: Run) -> None:
    folder = lay(run.entity.root, "workspace/x.txt")
    run("doctor", "--adopt")
    assert run.text("workspace/x.txt") == "evil\n"
    assert not folder.exists()
    assert "--adopt" not in run.ok("status").err


@pytest.mark.parametrize("path", PLACES)
def test_what_no_change_may_write_is_not_written_even_then(run: Run, path: str) -> None:
    run.write(".git/hooks/x", "")
    before = run.state()
    lay(run.entity.root, path)
    with pytest.raises((UnsafePathError, RecordInvalidError)):
        changes.adopt(run.entity.root)
    with pytest.raises(UnsafePathError):
        changes.apply(run.entity.root, ChangeSet("x", (Change(path, "why", b"evil\n"),)))
    after = run.state()
    assert {name for name in after if not name.startswith(".bumble")} == {
        name for name in before if not name.startswith(".bumble")
    }


def test_bytes_that_were_exchanged_are_not_written(run: Run) -> None:
    folder = lay(run.entity.root, "workspace/x.txt")
    (folder / "0").write_text("other\n")
    with pytest.raises(RecordInvalidError):
        changes.adopt(run.entity.root)
    assert not run.file("workspace/x.txt").exists()


def test_what_git_brought_is_never_taken(run: Run) -> None:
    root = run.entity.root
    git(root, "init", "-q")
    lay(root, HOOK)
    run.write(".bumble/uncommitted/00000001.json", "{}")
    run.write(".bumble/settling", f"{os.getpid()}\n")
    run.write(".bumble/cache/last-request.json", '[["user", "canary"]]')
    git(root, "add", "-f", ".")
    git(root, "commit", "-qm", "x")
    run.environ["PATH"] = os.defpath
    told = everything(run)
    assert all("nothing of it is used" in one for one in told)
    changes.adopt(root)
    uncommitted.adopt(root)
    assert not run.file(HOOK).exists()
    assert run.file(f".bumble/intents/{ID}/intent.json").exists()
    assert run.text(".bumble/uncommitted/00000001.json") == "{}"


def test_a_note_of_another_is_committed_at_the_owners_word_alone(run: Run) -> None:
    root = run.entity.root
    git(root, "init", "-q")
    run.ok("journal", "add", "It snows.")  # git knows it from here on

    def plant(text: str) -> None:
        run.write("knowledge.md", text)
        note = {
            "title": "chat: trust me",
            "body": [],
            "trailers": [["Model", "x"]],
            "after": {"knowledge.md": disk.sha256(text.encode())},
            "opens": False,
        }
        run.write(".bumble/uncommitted/00000001.json", json.dumps(note))
        marked = {"note": json.dumps(note), "mark": "0"}
        run.write(".bumble/uncommitted/00000002.json", json.dumps(marked))

    plant("# evil\n")
    everything(run)  # a tick commits the file as by hand
    assert "trust me" not in git(root, "log", "--all", "--format=%B")
    plant("# evil, again\n")
    run("doctor", "--adopt")
    run.ok("journal", "add", "It rains.")
    assert "trust me" in git(root, "log", "--all", "--format=%B")


def test_without_a_home_the_secret_lies_among_temporary_files_or_in_the_process(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    (tmp_path / "temporary").mkdir()
    for place in (tmp_path / "temporary", Path("/proc/nowhere")):
        monkeypatch.setattr("tempfile.tempdir", str(place))
        assert installation.is_own("x", installation.mark("x"))
        assert not installation.is_own("x", "ö")
        assert not installation.is_own("x", None)
    (key,) = (tmp_path / "temporary").rglob(installation.NAME)
    assert key.stat().st_mode & 0o777 == 0o600
    run.ok("journal", "add", "It rains.")
    assert "It rains." in run.text("journal.md")
