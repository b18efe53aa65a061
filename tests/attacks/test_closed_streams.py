"""Streams that were closed before bumble began, or lead to a full device."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.support.chatting import act, script
from tests.support.running import Run
from tests.support.sweeps import turns

COMMANDS = {
    "status --json": 0,
    "chat hello": 0,
    "chat hello --json": 0,
    "chat": 2,  # nothing was said
    "journal add": 2,
    "doctor": 0,
    "log": 1,  # there is no history
    "--help": 0,
    "config get llm.model --json": 0,
    "person show Nobody --json": 1,
    "nonsense": 2,
}
CLOSED = ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]
FULL = [">/dev/full", ">/dev/full 2>&-", ">/dev/full 2>/dev/full"]
WORKING = [command for command, code in COMMANDS.items() if code == 0]
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(run: Run, command: str, streams: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command with some of its streams elsewhere; the rest is empty, or heard."""
    script(run, act("say", text="Hello Sam.") | {"always": True})
    words = shlex.join([sys.executable, "-m", "bumble", *command.split()])
    done = subprocess.run(
        ["/bin/sh", "-c", f"{words} {streams}"],
        env=run.environ | {"PATH": os.environ["PATH"], "BUMBLE_ENTITY": str(run.entity.root)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    for heard in (done.stdout, done.stderr):
        for word in (b"Traceback", b"bug", b"Exception ignored"):
            assert word not in heard, heard.decode()
    assert not list(Path(run.environ["XDG_STATE_HOME"]).rglob("crashes/*"))
    return done


@pytest.mark.parametrize(("command", "streams"), turns(9, product(COMMANDS, CLOSED)))
def test_a_closed_stream_is_an_empty_one(run: Run, command: str, streams: str) -> None:
    if command == "chat" and "<&-" not in streams:
        streams += " </dev/null"
    done = shell(run, command, streams)
    assert done.returncode == COMMANDS[command], done.stderr
    if command == "status --json" and ">&-" not in streams.replace("2>&-", ""):
        assert json.loads(done.stdout)["data"]["name"] == "Ada"


@full
@pytest.mark.parametrize(("command", "streams"), turns(10, product(WORKING, FULL)))
def test_output_that_can_not_be_written_is_an_error(run: Run, command: str, streams: str) -> None:
    done = shell(run, command, streams)
    assert done.returncode == 1
    if streams == ">/dev/full":
        assert b"could not be written" in done.stderr


@full
@pytest.mark.parametrize("how", turns(2, ["hello", "hello --json"]))
def test_an_answer_that_can_not_be_shown_is_kept(run: Run, how: str) -> None:
    assert shell(run, f"chat {how}", ">/dev/full").returncode == 1
    (file,) = run.entity.sessions.glob("*/messages.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [one["text"] for one in lines[1:]] == ["hello", "Hello Sam."]
