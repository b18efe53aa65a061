"""The entity's `workspace/`: listing, reading and writing files there, and running commands.

Off unless the owner allows it. A path that leads out, by dots or by a link, is refused; a program
runs in the workspace with next to no environment, for so long and with so much output.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from bumble.chat import programs
from bumble.entity import write_ahead
from bumble.entity.changes import Change
from bumble.entity.config import ToolsConfig
from bumble.entity.folder import Entity
from bumble.errors import RefusedError, UnsafePathError, UsageError
from bumble.files import disk

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


def read(entity: Entity, path: str) -> str:
    """Read a file.

    Raises:
        UsageError: If there is none, or it is no text, or too long.
    """
    file = locate(entity, path)
    _refuse_special(file, path)
    if not file.is_file():
        raise UsageError(f"there is no file {path}; there are: {listing(entity, '')}")
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


def state(entity: Entity, path: str) -> tuple[int, ...]:
    """Return what tells that a file has changed: its time and size; empty if it is not there."""
    file = locate(entity, path)
    if not file.is_file():
        return ()
    stat = file.stat()
    return (stat.st_mtime_ns, stat.st_size)


def listing(entity: Entity, path: str) -> str:
    """List a folder, a line a file."""
    folder = locate(entity, path)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {path}; there are: {listing(entity, '')}")
    paths = [path for path in sorted(folder.iterdir()) if path.name != ".gitkeep"]  # git's, no file
    listed = [disk.readable(f"{path.name}/" if path.is_dir() else path.name) for path in paths]
    return "\n".join(listed) or "(empty)"


def names(entity: Entity) -> list[str]:
    """Return the files of the workspace and of the folders in it, by name; no deeper, no hidden."""
    file_names: list[str] = []
    for path in _visible(entity.workspace):
        inside = _visible(path) if path.is_dir() and not path.is_symlink() else [path]
        file_names += [
            disk.readable(file.relative_to(entity.workspace).as_posix()) for file in inside
        ]
    return file_names


def _visible(folder: Path) -> list[Path]:
    """Return what lies in a folder; nothing if it may not be read, for no turn fails for that."""
    with contextlib.suppress(OSError):
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return []


def plan_write(entity: Entity, path: str, text: str) -> Change:
    """Plan to write a file; what it held goes to `.history/`.

    Raises:
        UsageError: If something else than a file is there.
        RefusedError: If git would take it for its own.
        UnsafePathError: If it leads out.
    """
    file = locate(entity, path)
    if file.is_dir() or file == entity.workspace:
        raise UsageError(f"{path} is a folder")
    _refuse_special(file, path)
    top = Path(os.path.realpath(entity.workspace))
    write_ahead.refuse_gits(file, top, path)
    _refuse_long(file.relative_to(top))
    name = f"{FOLDER}/{file.relative_to(top).as_posix()}"
    try:
        old = disk.read_if_there(file)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}") from error
    data = text if text.endswith("\n") else f"{text}\n"
    digest = None if old is None else disk.sha256(old)
    return Change(name, f"write {path}", data.encode(errors="replace"), digest, keeps=True)


def _refuse_special(file: Path, path: str) -> None:
    """Refuse a pipe, a socket or a device: who opens one may wait for ever.

    Raises:
        UsageError: If it is one.
    """
    if file.exists() and not file.is_file() and not file.is_dir():
        raise UsageError(f"{path} is a pipe, a socket or a device, not a file")


def _refuse_long(path: Path) -> None:
    """Refuse what a system may take and not its copy in `.history/`, whose name is longer.

    Raises:
        UsageError: If it is too long.
    """
    if max(len(os.fsencode(name)) for name in path.parts) > MAX_NAME_BYTES:
        raise UsageError(f"a name may be up to {MAX_NAME_BYTES} bytes long")
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise UsageError(f"a path may be up to {MAX_PATH_BYTES:,} bytes long")


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
    own = programs.environment(environ, config.command_variables)
    result = programs.run(
        arguments,
        folder=workspace,
        environ={**own, "HOME": str(workspace)},
        timeout_seconds=config.command_timeout_seconds,
    )
    if result.problem:
        printed = f"; until then it printed:\n{result.output}" if result.output else ""
        raise RefusedError(f"{arguments[0]}: {result.problem}{printed}")
    return f"exit {result.code}\n{result.output}".strip()
