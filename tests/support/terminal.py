"""A command at a terminal of its own: what stands on it and when, keys, another size."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping

from tests.support import forked

PATIENCE_SECONDS = 60


class Terminal:
    """Runs `bumble ARGV` at a pseudo terminal."""

    def __init__(
        self,
        argv: list[str],
        environ: Mapping[str, str],
        *,
        columns: int = 80,
        piped: bool = False,
        anew: bool = False,
    ) -> None:
        """Start it.

        Args:
            argv: What follows `bumble`.
            environ: Its variables; PATH and TERM are added.
            columns: How wide the terminal is.
            piped: Whether its standard output goes elsewhere, to `out`.
            anew: Whether it is no fork of this process, which may have loaded a model.
        """
        self._end, inside = pty.openpty()
        self.resize(columns)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.text = ""  # everything that was written on the terminal
        self._seen = 0
        self.started = time.perf_counter()
        environ = {"TERM": "xterm", **environ, "PATH": os.environ["PATH"]}
        command = forked.bumble(argv, environ, before=_take)
        if anew:
            words = [sys.executable, "-P", "-m", "bumble", *argv]
            command = {"args": words, "env": environ, "preexec_fn": _take}
        self.process = subprocess.Popen(
            **command,
            stdin=inside,
            stdout=subprocess.PIPE if piped else inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)

    def resize(self, columns: int) -> None:
        """Make it so wide."""
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def wait_for(self, text: str) -> float:
        """Read until a text comes after what was waited for; return the seconds since the start."""
        while text not in self.text[self._seen :]:
            assert self._read(), f"{text!r} never came: {self.text!r}"
        self._seen = self.text.index(text, self._seen) + len(text)
        return time.perf_counter() - self.started

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._end, keys.encode())

    def finish(self) -> int:
        """Read until it ends; return its exit code, and give up the terminal."""
        while self._read():
            pass
        self.out = self.process.stdout.read().decode() if self.process.stdout else ""
        code = self.process.wait(PATIENCE_SECONDS)
        os.close(self._end)
        return code

    @property
    def left(self) -> list[str]:
        """The lines that stand there in the end: without what was written over."""
        plain = self.text.replace("\r\n", "\n")
        return [line.split("\r\x1b[2K")[-1] for line in plain.split("\n")]

    def _read(self) -> bool:
        """Take in what was written; whether anything came before it ended."""
        ready, _, _ = select.select([self._end], [], [], PATIENCE_SECONDS)
        assert ready, f"nothing more within {PATIENCE_SECONDS} s: {self.text!r}"
        try:
            data = os.read(self._end, 65536)
        except OSError:  # Linux's way to say that nobody holds the other end any more
            return False
        self.text += self._decoder.decode(data)
        return bool(data)


def _take() -> None:
    """Have the terminal as one's own."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
