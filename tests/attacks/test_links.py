"""Links in a folder that somebody else made: nothing outside it is read, written or removed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.chat import workspace
from bumble.errors import UnsafePathError
from bumble.files import disk
from tests.support.chatting import act, script
from tests.support.running import Run
from tests.support.sweeps import turns

CANARY = "canary-7f3a"
FILES = (
    ".bumble/log/calls.jsonl",
    ".bumble/log/prompts.jsonl",
    ".bumble/log/runs.jsonl",
    ".bumble/lock",
    ".bumble/index.lock",
    ".bumble/talking",
    ".bumble/tick.lock",
    ".bumble/settling",
    ".bumble/history",
    ".bumble/cache/last-request.json",
    "memory.db",
    "memory.db-journal",
    "journal.md",
    "knowledge.md",
    "soma.yaml",
    "state.yaml",
    "workspace/a.txt",
)
FOLDERS = (
    ".bumble",
    ".bumble/log",
    ".bumble/cache",
    ".bumble/cache/tools",
    ".bumble/fulltext",
    ".bumble/intents",
    ".bumble/uncommitted",
    ".history",
    "workspace",
    "workspace/sub",
    "episodes",
    "beliefs",
    "sessions",
    "reminders",
)
COMMANDS = (
    ("status",),
    ("doctor",),
    ("doctor", "--fix"),
    ("doctor", "--adopt"),
    ("journal", "add", "It rains."),
    ("knowledge", "set", "Pets", "A cat."),
    ("recall", "cat"),
    ("chat", "What is in the workspace?"),
    ("tick",),
    ("context",),
    ("episode", "list"),
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What no command may touch: a file, and a folder with files in it, some of telling names."""
    place = tmp_path / "outside"
    for name in ("file", "folder/a.txt", "folder/calls.jsonl", "folder/tools/x.json"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"{CANARY}\n")
    intents = place / "folder" / "0123456789abcdef"
    intents.mkdir()
    (intents / "0").write_text(CANARY)
    (place / "folder" / "ep_x.md").write_text(
        f"---\nat: 2026-05-24T10:00:00+01:00\nsignificance: 0.5\n---\n{CANARY}\n"
    )
    return place


def state(place: Path) -> dict[str, tuple[int, str]]:
    return {
        path.relative_to(place).as_posix(): (
            path.lstat().st_mode,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(place.rglob("*"))
    }


def put(run: Run, path: str, make: Callable[[Path], None]) -> None:
    place = run.file(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        disk.clear(place)
    place.unlink(missing_ok=True)
    make(place)


def assail(run: Run, outside: Path) -> None:
    """Run every command; nothing outside changes, nothing of it is shown or sent."""
    before = state(outside)
    run.environ |= {"BUMBLE_LOG_PROMPTS": "true", "BUMBLE_TOOLS_FILES": "true"}
    for command in COMMANDS:
        script(
            run,
            act("list_files", path=""),
            act("list_files", path="sub"),
            act("read_file", path="a.txt"),
            act("read_file", path="sub/a.txt"),
            act("write_file", path="sub/new.txt", text="x"),
            "Nothing much.",
        )
        ran = run(*command)
        assert ran.code != 70, (command, ran.err)
        assert CANARY not in ran.out + ran.err, command
        assert state(outside) == before, command
    for transcript in run.entity.root.glob("sessions/*/messages.jsonl"):
        assert transcript.is_symlink() or CANARY not in transcript.read_text()


@pytest.mark.parametrize("path", turns(5, FILES))
def test_no_link_in_the_place_of_a_file_leads_out(run: Run, outside: Path, path: str) -> None:
    run.write("workspace/a.txt", "mine\n")
    put(run, path, lambda place: place.symlink_to(outside / "file"))
    assail(run, outside)


@pytest.mark.parametrize("path", turns(4, FOLDERS))
def test_no_link_in_the_place_of_a_folder_leads_out(run: Run, outside: Path, path: str) -> None:
    put(run, path, lambda place: place.symlink_to(outside / "folder"))
    assail(run, outside)


@pytest.mark.parametrize(
    "path", turns(6, [path for path in FILES if not path.endswith((".md", ".yaml"))])
)
def test_no_hard_link_changes_or_shows_a_file_outside(run: Run, outside: Path, path: str) -> None:
    put(run, path, lambda place: place.hardlink_to(outside / "file"))
    assail(run, outside)


@pytest.mark.parametrize(
    "path", turns(6, [path for path in FILES if "/" in path or path == "memory.db"])
)
def test_a_folder_in_the_place_of_a_cache_is_told_not_a_crash(
    run: Run, outside: Path, path: str
) -> None:
    put(run, path, Path.mkdir)
    assail(run, outside)


@pytest.mark.parametrize("path", turns(10, [*FILES, *FOLDERS]))
def test_a_link_to_itself_is_told_not_a_crash(run: Run, outside: Path, path: str) -> None:
    put(run, path, lambda place: place.symlink_to(place))
    assail(run, outside)


@pytest.mark.parametrize("path", [".bumble/intents", ".bumble/fulltext", ".bumble/cache"])
def test_a_link_to_the_memories_does_not_remove_them(run: Run, path: str) -> None:
    episode = run.write("episodes/2026/ep.md", "remembered\n")
    put(run, path, lambda place: place.symlink_to(run.file("episodes")))
    for command in COMMANDS:
        script(run, "Yes.")
        run(*command)
    assert episode.read_text() == "remembered\n"


def test_nothing_is_written_to_what_is_gits_own_by_a_link(run: Run) -> None:
    run.write(".git/config", "[core]\n")
    run.file("journal.md").symlink_to(".git/config")
    assert run("journal", "add", "[core] fsmonitor = x").code == 13
    assert run.text(".git/config") == "[core]\n"


def test_a_link_that_stays_inside_goes_on_working(run: Run) -> None:
    run.file(".bumble").mkdir(exist_ok=True)
    run.file(".bumble/real").mkdir()
    run.file(".bumble/log").symlink_to("real")
    run.file("workspace/docs").mkdir(parents=True)
    run.write("workspace/docs/a.txt", "mine\n")
    run.file("workspace/near").symlink_to("docs")
    os.link(run.file("workspace/docs/a.txt"), run.file("workspace/b.txt"))
    script(run, "Yes.")
    run.ok("chat", "Read them.")
    assert run.file(".bumble/real/calls.jsonl").exists()
    assert workspace.read(run.entity, "near/a.txt", ()) == "mine\n"
    assert workspace.read(run.entity, "b.txt", ()) == "mine\n"


def test_a_link_put_there_after_the_look_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "ada"
    (root / "in").mkdir(parents=True)
    (tmp_path / "secret").write_text(CANARY)
    disk.enclose(root)
    (root / "in" / "a.md").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match=r".*"):
        disk._walked(str(root), ["in", "a.md"], os.O_RDONLY, 0o600)
    with pytest.raises(UnsafePathError):
        disk.read(root / "in" / "a.md")
