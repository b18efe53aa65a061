"""Who may read what bumble makes: its owner alone, whatever the umask; a group where one shares."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chatting import act, script
from tests.support.running import Run


@pytest.fixture(params=[0o000, 0o022, 0o077], autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def live(run: Run) -> None:
    """Talk, remember, search, use files."""
    run.environ |= {"BUMBLE_LOG_PROMPTS": "true", "BUMBLE_TOOLS_FILES": "true"}
    script(run, act("write_file", path="sub/a.txt", text="x"), "Done.", "Done.")
    run.ok("chat", "Write a file.")
    run.ok("journal", "add", "It rains.")
    run.ok("recall", "rain")
    script(run, "Yes.")
    run.ok("tick")


def modes(place: Path) -> dict[str, int]:
    return {
        path.relative_to(place).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in place.rglob("*")
        if ".git" not in path.relative_to(place).parts
    }


def test_what_is_made_is_its_owners_alone(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "new" / "eve"
    run.ok("new", str(root), "--name", "Eve", "--owner", "Sam", "--no-git")
    run.entity = type(run.entity)(root)
    live(run)
    made = modes(root.parent) | modes(tmp_path / "home")
    assert {"eve/memory.db", "eve/.bumble/log/calls.jsonl", "eve/workspace/sub/a.txt"} <= set(made)
    del made["script.jsonl"]  # the test's own
    assert {name: oct(mode) for name, mode in made.items() if mode & 0o077} == {}
