"""The entity's `workspace/`: listing, reading and writing files there, and running commands.

Off unless the owner allows it. What the entity wrote in a talk is for those who heard that, as its
records are; what a person put there is for everybody. A path that leads out, by dots or by a link,
is refused; a program runs in the workspace with next to no environment, for so long and with so
much output.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from bumble.entity import companions, write_ahead
from bumble.entity.changes import Change
from bumble.entity.config import ToolsConfig
from bumble.entity.folder import Entity
from bumble.errors import RefusedError, UnsafePathError, UsageError
from bumble.files import disk
from bumble.llm import prompts
from bumble.records import base, provenance
from bumble.text import yaml_edit

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
        if name.upper() in names or name in also or name.startswith(PASSED_ON_PREFIXES)
    }
    # it runs among files of the entity: no program is looked for there, as empty parts would do
    places = passed.pop("PATH", "").split(os.pathsep)
    if absolute := [place for place in places if Path(place).is_absolute()]:
        passed["PATH"] = os.pathsep.join(absolute)
    return passed


# In a group of its own, so that all of it can be killed, and Ctrl-C is the talk's alone.
APART: Mapping[str, Any] = {"start_new_session": True}
if sys.platform == "win32":
    APART = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}


def run_program(
    command: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    timeout_seconds: float,
    errors: bool = True,
) -> ProgramResult:
    """Run a program, without a shell, and wait for it alone.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environ: All it gets of the environment.
        timeout_seconds: When it is killed, with all it started.
        errors: Whether what it prints as errors is output, too.
    """
    data = bytearray()
    try:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors else subprocess.DEVNULL,
            **APART,
        )
    except (OSError, ValueError) as error:  # of values, a NUL in an argument
        return ProgramResult(NO_CODE, "", getattr(error, "strerror", None) or str(error))
    reader = threading.Thread(target=_collect, args=(process.stdout, data), daemon=True)
    reader.start()
    problem = ""
    try:
        process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        problem = f"took longer than {timeout_seconds:g} s"
    finally:
        kill_group(process.pid)  # all of it, or what is left
        process.kill()
        process.wait()
        reader.join(GRACE_SECONDS)
    output = bytes(data[:MAX_OUTPUT_BYTES]).decode(errors="replace").strip()
    if len(data) > MAX_OUTPUT_BYTES:
        output += f"\n(it printed more than {MAX_OUTPUT_BYTES:,} bytes; the rest was dropped)"
    return ProgramResult(NO_CODE if problem else process.returncode, output, problem)


def _collect(pipe: IO[bytes], data: bytearray) -> None:
    """Read what a program prints, and keep it up to a limit."""
    with pipe, contextlib.suppress(OSError):
        while piece := os.read(pipe.fileno(), PIECE_BYTES):
            data += piece[: MAX_OUTPUT_BYTES + 1 - len(data)]


def kill_group(pid: int) -> None:
    """Kill all that belongs to a program which was started in a group of its own."""
    with contextlib.suppress(OSError):  # there is nobody left
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True)
        else:
            os.killpg(pid, signal.SIGKILL)


FOLDER = "workspace"
MAX_NAME_BYTES, MAX_PATH_BYTES = 200, 1000  # of what is written
MAX_READ_BYTES = 1_000_000


def locate(entity: Entity, path: str) -> Path:
    """Return the place of a path in the workspace.

    `workspace/a.txt` is `a.txt`, as people name it, unless there is such a folder in it.

    Raises:
        UnsafePathError: If it leads out.
    """
    disk.make_folder(entity.workspace)
    place = disk.inside(entity.workspace, path or ".")
    first, _, rest = Path(path).as_posix().partition("/")
    if first == FOLDER and not (entity.workspace / FOLDER).exists():
        return disk.inside(entity.workspace, rest or ".")
    return place


def _may_read(file: Path, readers: Sequence[str]) -> bool:
    """Whether some people may meet a file; a folder, if they may meet what is in it."""
    try:
        if file.is_dir() and not file.is_symlink():
            inside = list(file.iterdir())
            return not inside or any(_may_read(one, readers) for one in inside)
        note = yaml_edit.parse_mapping(companions.of(Path(os.path.realpath(file)))[1])
        return base.may_read(base.provenance(note).audience, readers)
    except (ValueError, OSError, UnsafePathError):  # nobody knows for whom it is
        return False


def read(entity: Entity, path: str, readers: Sequence[str]) -> str:
    """Read a file.

    Raises:
        UsageError: If there is none for all of these people, or it is no text, or too long.
    """
    file = locate(entity, path)
    _refuse_special(file, path)
    if not file.is_file() or not _may_read(file, readers):
        raise UsageError(f"there is no file {path}; there are: {listing(entity, '', readers)}")
    if disk.is_elsewhere(file):
        raise UnsafePathError(path, "it is another name of a file outside the entity folder")
    try:
        data = disk.read(file, most=MAX_READ_BYTES + 1)
        if len(data) > MAX_READ_BYTES:
            raise UsageError(f"{path} is longer than {MAX_READ_BYTES:,} bytes")
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text") from error
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error


def listing(entity: Entity, path: str, readers: Sequence[str]) -> str:
    """List a folder as some people may see it, a line a file."""
    folder = locate(entity, path)
    if not (folder.is_dir() and (folder == locate(entity, "") or _may_read(folder, readers))):
        raise UsageError(f"there is no folder {path}; there are: {listing(entity, '', readers)}")
    paths = [path for path in sorted(folder.iterdir()) if path.name != ".gitkeep"]  # git's, no file
    paths = [path for path in paths if _may_read(path, readers)]
    listed = [disk.readable(f"{path.name}/" if path.is_dir() else path.name) for path in paths]
    return "\n".join(listed) or "(empty)"


def names(entity: Entity, readers: Sequence[str]) -> list[str]:
    """Return the files of the workspace and of the folders in it, by name; no deeper, no hidden.

    Args:
        entity: Whose.
        readers: Who all may meet them.
    """
    file_names: list[str] = []
    for path in _visible(entity.workspace):
        inside = _visible(path) if path.is_dir() and not path.is_symlink() else [path]
        file_names += [
            disk.readable(file.relative_to(entity.workspace).as_posix())
            for file in inside
            if _may_read(file, readers)
        ]
    return file_names


def _visible(folder: Path) -> list[Path]:
    """Return what lies in a folder; nothing if it may not be read, for no turn fails for that."""
    with contextlib.suppress(OSError):
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return []


def plan_write(entity: Entity, path: str, text: str, origin: base.Provenance) -> Change:
    """Plan to write a file; what it held goes to `.history/`, and for whom it is stays so.

    Args:
        entity: Whose.
        path: In the workspace.
        text: All that it is to hold.
        origin: Where that comes from, and who may meet it.

    Raises:
        UsageError: If something else than a file is there, or one that is for other people.
        RefusedError: If git would take it for its own.
        UnsafePathError: If it leads out.
    """
    file = locate(entity, path)
    if file.is_dir() or file == entity.workspace:
        raise UsageError(f"{path} is a folder")
    _refuse_special(file, path)
    top = Path(os.path.realpath(entity.workspace))
    write_ahead.refuse_gits(file, top, path)
    inner = file.relative_to(top)
    # a system may take it, and not its copy in `.history/`, whose name is longer
    if max(len(os.fsencode(part)) for part in inner.parts) > MAX_NAME_BYTES:
        raise UsageError(f"a name may be up to {MAX_NAME_BYTES} bytes long")
    if len(os.fsencode(inner)) > MAX_PATH_BYTES:
        raise UsageError(f"a path may be up to {MAX_PATH_BYTES:,} bytes long")
    name = f"{FOLDER}/{inner.as_posix()}"
    try:
        old = companions.read(entity.root, name)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}") from error
    note = ""
    if old is not None:
        note = companions.of(Path(os.path.realpath(file)))[1]
        told = base.provenance(yaml_edit.parse_mapping(note)).audience
        if not _may_read(file, origin.audience) or (note and {*told} != {*origin.audience}):
            raise UsageError(f"{path} can't be written: the name is taken; choose another")
    # what a hand put there without a note is everybody's, and stays that
    comment = provenance.origin_comment(origin) if note or old is None else ""
    data = comment + (text if text.endswith("\n") else f"{text}\n")
    digest = companions.digest(name, old)
    return Change(name, f"write {path}", data.encode(errors="replace"), digest, keeps=True)


def _refuse_special(file: Path, path: str) -> None:
    """Refuse a pipe, a socket or a device: who opens one may wait for ever.

    Raises:
        UsageError: If it is one.
    """
    if file.exists() and not file.is_file() and not file.is_dir():
        raise UsageError(f"{path} is a pipe, a socket or a device, not a file")


def run(entity: Entity, command: str, config: ToolsConfig, environ: Mapping[str, str]) -> str:
    """Run a program in the workspace, without a shell.

    Returns:
        Its exit code and output.

    Raises:
        UsageError: If the command can't be read.
        RefusedError: If it can't be started or took too long; all it started is killed.
    """
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command can't be read: {error}") from error
    if not arguments:
        raise UsageError("there is no command")
    workspace = locate(entity, "")
    result = run_program(
        arguments,
        folder=workspace,
        environ={**environment(environ, config.command_variables), "HOME": str(workspace)},
        timeout_seconds=config.command_timeout_seconds,
    )
    if result.problem:
        printed = f"; until then it printed:\n{result.output}" if result.output else ""
        raise RefusedError(f"{arguments[0]}: {result.problem}{printed}")
    return f"exit {result.code}\n{result.output}".strip()


TIMEOUT_SECONDS = 2  # the person waits for it
MAX_CHARS = 400


def describe(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], also: Sequence[str] = ()
) -> tuple[str, str]:
    """Run the program in a folder.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environ: Of the person.
        also: Variables of it that a program gets besides the usual ones.

    Returns:
        What it printed, worded for a prompt, and what the person should hear; either may be empty.
    """
    if not command:
        return "", ""
    result = run_program(
        command,
        folder=folder,
        environ=environment(environ, also),
        timeout_seconds=TIMEOUT_SECONDS,
        errors=False,
    )
    if result.failed:
        problem = result.problem or f"ended with {result.code}"
        return "", f"prompt.host_command: {command[0]} {problem}"
    text = result.output[:MAX_CHARS]
    return (f"About this machine:\n{prompts.tagged('result', text)}" if text else ""), ""
