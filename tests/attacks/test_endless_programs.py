"""A program that goes on, leaves others behind or prints without end holds up nobody."""

from __future__ import annotations

import os
import shlex
import sys
import time

import pytest
from msgspec.structs import replace

from bumble.chat import workspace
from bumble.entity import settings
from bumble.entity.folder import Entity
from bumble.errors import RefusedError
from tests.support.chatting import act, script
from tests.support.running import Run
from tests.support.sweeps import turns

TOOLS = replace(settings.load().config.tools, command_timeout_seconds=1)
ENVIRON = {"PATH": os.defpath}
WAITS = "import time; time.sleep(60)"
HOLDS = "import time; time.sleep(8)"
# a child that holds the pipe; `apart` leaves the group, so that a kill of the group misses it
CHILD = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', '{}']{}); {}"
APART = ", start_new_session=True"
posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes and groups of POSIX")


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


@posix
@pytest.mark.parametrize("apart", ["", APART])
def test_a_grandchild_that_outlives_the_limit_is_not_waited_for(entity: Entity, apart: str) -> None:
    started = time.monotonic()
    code = CHILD.format(HOLDS, apart, WAITS)
    with pytest.raises(RefusedError, match="longer than"):
        workspace.run(entity, python(code), TOOLS, ENVIRON)
    assert time.monotonic() - started < 6


@posix
def test_what_a_program_leaves_running_ends_with_it(entity: Entity) -> None:
    (entity.workspace / "late.py").write_text("import time; time.sleep(0.8); open('late', 'w')")
    code = "import subprocess, sys; subprocess.Popen([sys.executable, 'late.py'])"
    patient = replace(TOOLS, command_timeout_seconds=30)  # it ends at once, but for a busy machine
    workspace.run(entity, python(code), patient, ENVIRON)
    time.sleep(1.2)
    assert not (entity.workspace / "late").exists()


def test_output_is_cut_while_it_comes(entity: Entity) -> None:
    code = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    with pytest.raises(RefusedError, match="longer than") as refused:
        workspace.run(entity, python(code), TOOLS, ENVIRON)
    assert "the rest was dropped" in str(refused.value)
    assert len(str(refused.value)) < 1_001_000


@posix
@pytest.mark.parametrize("tool", ["read_file", "write_file"])
def test_a_pipe_in_the_workspace_holds_up_nobody(run: Run, tool: str) -> None:
    os.mkfifo(run.entity.workspace / "pipe")
    run.environ["BUMBLE_TOOLS_FILES"] = "true"
    text = {"text": "x"} if tool == "write_file" else {}
    script(run, act(tool, path="pipe", **text), act("say", text="Done."))
    assert run("chat", "Do it.").code == 0
    (talk,) = run.entity.sessions.rglob("messages.jsonl")
    assert "pipe is a pipe, a socket or a device" in talk.read_text()


@pytest.mark.parametrize("command", turns(3, ["a\0b", "\ud800", "x" * 200_000, "/", "."]))
def test_a_command_that_cannot_be_is_a_result(run: Run, command: str) -> None:
    run.ok("config", "trust", str(run.entity.root))
    run.ok("config", "set", "tools.run_command", "true")
    script(run, act("run_command", command=command), act("say", text="Done."))
    assert run("chat", "Run it.").code == 0
