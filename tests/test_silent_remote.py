"""Another machine that says nothing, or not enough, keeps no git of ours waiting."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bumble.files import git
from tests.support.running import Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@contextmanager
def silent() -> Iterator[int]:
    """Serve on a port, which it yields: take every connection, and say nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def take() -> None:
            try:
                while True:
                    taken.append(server.accept()[0])
            except OSError:
                return

        threading.Thread(target=take, daemon=True).start()
        yield server.getsockname()[1]
        for connection in taken:
            connection.close()


def follows(root: Path, address: str) -> None:
    """Let a folder's branch follow that of an address."""
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x"),
        ("remote", "add", "origin", address),
        ("config", "branch.main.remote", "origin"),
        ("config", "branch.main.merge", "refs/heads/main"),
    ):
        subprocess.run(["git", "-C", str(root), *words], check=True)


@pytest.mark.parametrize("form", ["git://127.0.0.1:{}/x", "http://127.0.0.1:{}/x"])
def test_a_remote_that_says_nothing_ends_sync(
    run: Run, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(git, "SILENCE_SECONDS", 0.5)
    with silent() as port:
        follows(run.entity.root, form.format(port))
        began = time.monotonic()
        done = run("sync")
        assert time.monotonic() - began < 20
    assert (done.code, "nothing came for 0.5 s" in done.err) == (13, True)
    assert "cut off" not in run.ok("status").err


def test_a_new_remote_that_says_nothing_is_asked_once(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "SILENCE_SECONDS", 0.5)
    asked: list[str] = []
    start = git._start

    def noted(folder: Path, arguments: Sequence[str], **more: Any) -> git.GitResult:
        asked.extend(arguments)
        return start(folder, arguments, **more)

    monkeypatch.setattr(git, "_start", noted)
    with silent() as port:
        follows(run.entity.root, f"http://127.0.0.1:{port}/x")
        done = run("sync", "--setup", f"http://127.0.0.1:{port}/x", "--yes")
    assert (done.code, "nothing came for 0.5 s" in done.err) == (13, True)
    assert asked.count("ls-remote") == 1


def test_what_a_remotes_program_leaves_running_is_ended_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "SILENCE_SECONDS", 0.5)
    program = tmp_path / "ssh"
    beats = tmp_path / "beats"
    program.write_text(f"#!/bin/sh\nwhile :; do echo >> {beats}; sleep 0.05; done\n")
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH", str(program))
    follows(run.entity.root, "ssh://nobody@example.invalid/x")
    began = time.monotonic()
    assert "nothing came" in run("sync").err
    assert time.monotonic() - began < 20
    size = beats.stat().st_size
    time.sleep(0.3)
    assert beats.stat().st_size == size


def test_a_remote_that_goes_on_talking_is_waited_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "SILENCE_SECONDS", 0.6)
    program = tmp_path / "ssh"
    program.write_text("#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8; do echo $i >&2; sleep 0.2; done\n")
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH", str(program))
    follows(run.entity.root, "ssh://nobody@example.invalid/x")
    done = run("sync")
    assert done.code == 13
    assert "nothing came" not in done.err
    monkeypatch.setattr(git, "NETWORK_TIMEOUT_SECONDS", 0.5)
    assert "git took longer than 0.5 s" in run("sync").err
