from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bumble.cli import process

AUTOGROUP = Path("/proc/self/autogroup")


@pytest.fixture
def session_leader() -> Iterator[int]:
    waiting = [sys.executable, "-c", "input()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, start_new_session=True) as started:
        yield started.pid


@pytest.mark.skipif(sys.platform == "win32", reason="niceness is of POSIX")
def test_what_settles_goes_behind_what_others_wait_for(session_leader: int) -> None:
    process.make_nice(session_leader)
    assert os.getpriority(os.PRIO_PROCESS, session_leader) == process.NICENESS


def _groups_by_session() -> bool:
    """Whether the kernel does: where it is switched off, the file is there and empty."""
    return AUTOGROUP.exists() and AUTOGROUP.read_text().strip() != ""


@pytest.mark.skipif(not _groups_by_session(), reason="this system doesn't group by session")
def test_where_linux_groups_by_session_the_whole_session_goes_behind(session_leader: int) -> None:
    group = Path(f"/proc/{session_leader}/autogroup")
    own = AUTOGROUP.read_text()
    process.make_nice(session_leader)
    assert group.read_text().endswith(f"nice {process.NICENESS}\n")
    assert AUTOGROUP.read_text() == own
