"""Running an outside program: its environment, time limit, output size, and how it is killed.

They get no standard input but a text that is meant for them, next to nothing of the environment, so
much time and so much output. That such a program may run at all is decided where settings are read.
Knows nothing of who asks for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

MAX_OUTPUT_BYTES = 1_000_000  # the rest is read and thrown away
PIECE_BYTES = 65_536
GRACE_SECONDS = 0.5  # for what was printed last; something else may hold the pipe for ever
NO_CODE = -1  # of a program that has not ended by itself

# What a program needs to find its way: no keys.
PASSED_ON = frozenset(
    [
        *("PATH", "HOME", "LANG", "LANGUAGE", "TZ"),
        # without these, programs do not start on Windows
        *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP"),
        *("USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    ]
)
PASSED_ON_PREFIXES = ("LC_", "XDG_")
DESKTOP = frozenset(  # the screen and the bus of the person
    [
        *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
        *("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"),
    ]
)


class ProgramResult(Struct, frozen=True):
    """What came of a program."""

    code: int
    output: str
    problem: str = ""  # why it did not start, or was ended

    @property
    def failed(self) -> bool:
        """Whether it did not do what it was started for."""
        return bool(self.problem) or self.code != 0


def environment(
    environ: Mapping[str, str], also: Sequence[str] = (), *, desktop: bool = True
) -> dict[str, str]:
    """Return what a program may know of an environment.

    Args:
        environ: Of the person.
        also: Names that the person's own config adds.
        desktop: Whether it may use the person's screen and bus.
    """
    names = PASSED_ON | DESKTOP if desktop else PASSED_ON
    passed = {
        name: value
        for name, value in environ.items()
        if name.upper() in names or name.startswith(PASSED_ON_PREFIXES) or name in also
    }
    # it runs among files of the entity: no program is looked for there, as empty parts would do
    places = passed.pop("PATH", "").split(os.pathsep)
    if absolute := [place for place in places if Path(place).is_absolute()]:
        passed["PATH"] = os.pathsep.join(absolute)
    return passed


def run(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    timeout_seconds: float,
    text: str | None = None,
    errors: bool = True,
    stays: bool = False,
) -> ProgramResult:
    """Run a program, without a shell, and wait for it alone.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environ: All it gets of the environment.
        timeout_seconds: When it is killed, with all it started.
        text: What it reads on its standard input; None: nothing.
        errors: Whether what it prints as errors is output, too.
        stays: Whether what it leaves running may go on when it has ended in time.
    """
    # a group of its own, so that all of it can be killed, and Ctrl-C is the talk's alone
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    try:
        with _input(text) as stdin:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                env=dict(environ),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if errors else subprocess.DEVNULL,
                **apart,
            )
    except OSError as error:
        return ProgramResult(NO_CODE, "", error.strerror or str(error))
    except ValueError as error:  # a NUL in an argument
        return ProgramResult(NO_CODE, "", str(error))
    output = _Output(process.stdout)
    problem = ""
    try:
        process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        problem = f"took longer than {timeout_seconds:g} s"
    finally:
        if process.poll() is None or not stays:
            _kill(process)
        output.end()
    return ProgramResult(NO_CODE if problem else process.returncode, output.text, problem)


@contextlib.contextmanager
def _input(text: str | None) -> Iterator[int | IO[bytes]]:
    """Give a text as a file: nobody waits for a program that does not read it."""
    if text is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode(errors="replace"))
        file.seek(0)
        yield file


class _Output:
    """What a program prints, read as it comes and kept up to a limit."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self._data = bytearray()
        self._ended = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._reader.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe, contextlib.suppress(OSError):
            while (piece := os.read(pipe.fileno(), PIECE_BYTES)) and not self._ended.is_set():
                self._data += piece[: MAX_OUTPUT_BYTES + 1 - len(self._data)]

    def end(self) -> None:
        """Take what has come, whoever still holds the other end."""
        self._reader.join(GRACE_SECONDS)
        self._ended.set()

    @property
    def text(self) -> str:
        """The output, with a sentence where it was cut off."""
        data = bytes(self._data)
        text = data[:MAX_OUTPUT_BYTES].decode(errors="replace").strip()
        if len(data) <= MAX_OUTPUT_BYTES:
            return text
        return f"{text}\n(it printed more than {MAX_OUTPUT_BYTES:,} bytes; the rest was dropped)"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and all of its group, or what is left of it."""
    kill_group(process.pid)
    process.kill()
    process.wait()


def kill_group(pid: int) -> None:
    """Kill all that belongs to a program which was started in a group of its own."""
    with contextlib.suppress(OSError):  # there is nobody left
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True)
        else:
            os.killpg(pid, signal.SIGKILL)
