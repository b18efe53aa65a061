from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from bumble.cli import process
from bumble.cli.opening import Opened
from bumble.cli.talk import conversation
from bumble.entity import installation
from bumble.entity.folder import Entity
from bumble.llm.protocol import Request
from bumble.llm.scripted import ScriptedModel
from bumble.models.tiers import Abilities
from bumble.records import sessions
from bumble.runtime.people import speaker
from tests.support.turns import NOON, runtime_of

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


def test_only_a_model_in_this_process_that_talks_is_warmed(ada: Entity) -> None:
    runtime = runtime_of(ada, ScriptedModel([]))
    session = sessions.new("ses_1", NOON, "sam")
    assert conversation.beginning(runtime, session, "sam") is None
    local = replace(runtime, local=True)
    request = conversation.beginning(local, session, "sam")
    assert request is not None
    assert request.messages[0].role == "system"
    assert request.cache_id == "ses_1"
    assert conversation.beginning(replace(local, writes=False), session, "sam") is None
    none = replace(local, abilities=lambda: Abilities("none"))
    assert conversation.beginning(none, session, "sam") is None


def test_it_loads_first_and_then_evaluates_until_it_is_ended(ada: Entity) -> None:
    model = Slow()
    runtime = replace(runtime_of(ada, model), local=True)
    sam, opened = speaker(ada, runtime.identity, None), cast("Opened", None)  # it opens nothing
    talk = conversation.Conversation(opened, runtime, sam, None)
    talk.session = sessions.new("ses_1", NOON, "sam")
    talk.warm_ahead()
    assert model.begun.wait(10)
    assert model.asked == [True, False]
    talk.end_warming()
    assert not [thread for thread in threading.enumerate() if thread.name == "warming"]


class Slow(ScriptedModel):
    """Evaluates until it is stopped."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked: list[bool] = []
        self.begun = threading.Event()

    def warm(self, request: Request) -> None:
        assert request.stop is not None
        self.asked.append(request.stop.is_set())
        if not request.stop.is_set():
            self.begun.set()
            assert request.stop.wait(20)


def test_an_account_of_which_the_system_knows_no_home_is_no_reason_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(_: int) -> None:
        raise KeyError("uid not found")

    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert not process.user_folder("config").exists()
    assert installation.mark("a") == installation.mark("a")
