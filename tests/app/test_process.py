from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bumble.app import process

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


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this system doesn't group by session")
def test_where_linux_groups_by_session_the_whole_session_goes_behind(session_leader: int) -> None:
    group = Path(f"/proc/{session_leader}/autogroup")
    assert group.read_text().endswith("nice 0\n")
    process.make_nice(session_leader)
    assert group.read_text().endswith(f"nice {process.NICENESS}\n")
    assert AUTOGROUP.read_text().endswith("nice 0\n")


def test_what_has_ended_can_be_made_nice() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    process.make_nice(ended.pid)
