"""Told to stop in the middle of an answer, or just behind it: what was shown is kept."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from msgspec import Struct, field

from bumble.entity import commits
from bumble.entity.changes import ChangeSet
from tests.support import forked
from tests.support.chatting import act, script
from tests.support.fake_server import Exchange, FakeServer
from tests.support.running import ABLE, Run
from tests.support.sweeps import turns

CODES: dict[int, int] = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
SHOWN = "The bees went out at dawn, all of them together"
PATIENCE_SECONDS = 30
LEAST_BYTES = 2048  # of a transcript of one turn; more than that has the last request
RAW_SECONDS = 1.0  # until the prompt has taken the terminal over


@pytest.fixture(autouse=True)
def hears_the_terminal_close() -> Iterator[None]:
    """Behind `nohup` nothing that the tests start would."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


class Slow(Struct):
    """An endpoint that says some words, and waits before it goes on."""

    server: FakeServer
    words: str
    ends: bool = False  # or the stream stays open
    go_on: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.server.routes["/v1/chat/completions"] = self.complete

    def complete(self, exchange: Exchange) -> None:
        exchange.start()
        for n in range(0, len(self.words), 9):
            delta = {"choices": [{"index": 0, "delta": {"content": self.words[n : n + 9]}}]}
            exchange.chunk(f"data: {json.dumps(delta)}\n\n".encode())
        if not self.ends:
            self.go_on.wait(PATIENCE_SECONDS)
        finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        exchange.chunk(f"data: {json.dumps(finish)}\n\ndata: [DONE]\n\n".encode())
        exchange.end()


def spoken(text: str, *, whole: bool = False) -> str:
    answer = json.dumps({"actions": [{"tool": "say", "arguments": {"text": text}}]})
    return answer if whole else answer[: answer.index(text) + len(text)]


def variables(run: Run, server: FakeServer) -> dict[str, str]:
    return run.environ | {
        "PATH": os.environ["PATH"],
        "BUMBLE_LLM_BASE_URL": f"{server.url}/v1",
        "BUMBLE_LLM_MODEL": "slow",
        **ABLE,
        "BUMBLE_EMBEDDING_MODEL": "none",
        "BUMBLE_LIMITS_SETTLE": "later",
    }


def limited(limit: tuple[int, int]) -> None:
    """Let this process make no file larger than so many bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, limit)


def talking(
    run: Run, server: FakeServer, *words: str, before: Callable[[], None] | None = None
) -> subprocess.Popen[bytes]:
    argv = ["chat", "-e", str(run.entity.root), *words]
    return subprocess.Popen(
        **forked.bumble(argv, variables(run, server), before=before),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def shown(process: subprocess.Popen[bytes], text: str) -> None:
    """Wait until a process has said something."""
    assert process.stdout is not None
    heard = b""
    while text.encode() not in heard:
        piece = os.read(process.stdout.fileno(), 4096)
        assert piece, process.communicate()[1].decode()
        heard += piece


def told(run: Run) -> list[dict[str, object]]:
    (file,) = run.entity.sessions.glob("*/messages.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [one for one in lines if one.get("role") == "assistant"]


@pytest.mark.parametrize("number", turns(len(CODES), CODES), ids=str)
def test_what_was_shown_by_then_is_stored(run: Run, server: FakeServer, number: int) -> None:
    slow = Slow(server, spoken(SHOWN))
    process = talking(run, server, "What do the bees do?")
    shown(process, SHOWN)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    slow.go_on.set()
    assert (process.returncode, b"Traceback" in err) == (CODES[number], False), err
    (answer,) = told(run)
    assert (answer["text"], answer["stopped"]) == (SHOWN, "interrupted")
    assert not list(run.entity.private.glob("intents/*"))


@pytest.mark.parametrize(("number", "ends"), turns(3, product(CODES, [False, True])))
def test_right_after_the_last_word(run: Run, server: FakeServer, number: int, ends: bool) -> None:
    slow = Slow(server, spoken(SHOWN, whole=True), ends=ends)
    process = talking(run, server, "What do the bees do?")
    shown(process, SHOWN)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_SECONDS)
    slow.go_on.set()
    assert process.returncode in ((CODES[number], 0) if ends else (CODES[number],))
    assert [one["text"] for one in told(run)] == [SHOWN]


@pytest.mark.parametrize(("number", "times"), turns(3, product(CODES, [2, 1])))
def test_while_the_answer_is_being_stored(run: Run, number: int, times: int) -> None:
    script(run, act("write_journal", text="They flew."), act("say", text=SHOWN))
    real = commits.apply

    def struck(root: Path, change_set: ChangeSet, *args: object, **more: object) -> object:
        if any("answer" in one.why for one in change_set.changes):
            for _ in range(times):
                os.kill(os.getpid(), number)
        return real(root, change_set, *args, **more)  # type: ignore[arg-type]

    run.monkeypatch.setattr(commits, "apply", struck)
    ran = run("chat", "What do the bees do?")
    assert (ran.code, ran.out.strip()) == (CODES[number], SHOWN)
    assert told(run)[-1]["text"] == SHOWN
    assert "They flew." in run.text("journal.md")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def at_terminal(run: Run, server: FakeServer, *words: str) -> tuple[subprocess.Popen[bytes], int]:
    """Talk at a terminal of its own, whose other end is returned."""
    terminal, end = pty.openpty()
    argv = ["chat", "-e", str(run.entity.root), *words]
    environ = variables(run, server) | {"TERM": "dumb"}
    process: subprocess.Popen[bytes] = subprocess.Popen(
        **forked.bumble(argv, environ, before=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
    )
    os.close(end)
    return process, terminal


def wait_for(terminal: int, text: str) -> None:
    heard = b""
    while text.encode() not in heard:
        heard += os.read(terminal, 4096)


@pytest.mark.parametrize(
    "words", turns(2, [["What do the bees do?"], []]), ids=["one", "conversation"]
)
def test_the_terminal_is_closed(run: Run, server: FakeServer, words: list[str]) -> None:
    slow = Slow(server, spoken(SHOWN))
    process, terminal = at_terminal(run, server, *words)
    if not words:
        wait_for(terminal, "Sam> ")
        time.sleep(RAW_SECONDS)
        os.write(terminal, b"What do the bees do?\r")
    wait_for(terminal, SHOWN)
    os.close(terminal)
    process.wait(PATIENCE_SECONDS)
    slow.go_on.set()
    assert process.returncode == CODES[signal.SIGHUP]
    assert [one["text"] for one in told(run)] == [SHOWN]


@pytest.mark.parametrize("number", turns(2, [signal.SIGTERM, signal.SIGHUP]))
def test_a_conversation_that_waits_for_its_person_ends(
    run: Run, server: FakeServer, number: int
) -> None:
    process, terminal = at_terminal(run, server)
    wait_for(terminal, "Sam> ")
    time.sleep(RAW_SECONDS)
    process.send_signal(number)
    process.wait(PATIENCE_SECONDS)
    os.close(terminal)
    assert process.returncode == CODES[number]


def test_what_was_told_to_ignore_the_terminal_goes_on(run: Run, server: FakeServer) -> None:
    slow = Slow(server, spoken(SHOWN, whole=True))
    ignoring = f"import os, signal, sys; signal.signal({int(signal.SIGHUP)}, signal.SIG_IGN); "
    ignoring += "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = ["-m", "bumble", "chat", "-e", str(run.entity.root), "What do the bees do?"]
    process = subprocess.Popen(
        [sys.executable, "-c", ignoring, *command],
        env=variables(run, server),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    shown(process, SHOWN)
    process.send_signal(signal.SIGHUP)
    slow.go_on.set()
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert [(one["text"], "stopped" in one) for one in told(run)] == [(SHOWN, False)]


def test_whoever_listens_goes_away(run: Run, server: FakeServer) -> None:
    slow = Slow(server, spoken(SHOWN + ", and came home.", whole=True))
    process = talking(run, server, "What do the bees do?")
    shown(process, SHOWN[:9])
    assert process.stdout is not None
    process.stdout.close()
    slow.go_on.set()
    process.wait(PATIENCE_SECONDS)
    assert told(run)[-1]["text"] == SHOWN + ", and came home."


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of processes there")
def test_a_limit_of_file_sizes_costs_no_answer(run: Run, server: FakeServer) -> None:
    """What can be done without is not kept; the answer is, and the command says what is missing."""
    slow = Slow(server, spoken(SHOWN, whole=True), ends=True)
    slow.go_on.set()
    limit = (LEAST_BYTES, LEAST_BYTES)
    process = talking(run, server, "What do the bees do?", before=lambda: limited(limit))
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, SHOWN in out.decode(), b"Traceback" in err) == (0, True, False), err
    assert [one["text"] for one in told(run)] == [SHOWN]
