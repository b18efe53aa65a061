"""Intents: how several files become new together, though each is written by itself.

Every new file is staged in `.bumble/intents/<id>/` and on the disk before `intent.json` appears
there; from then on the set will be finished, by this process or by the next. A kill before leaves
nothing of the set, a kill after leaves work for `recover`. Call these functions with the entity's
lock held.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bumble import files
from bumble.errors import ChangeUnfinishedError, FolderUnwritableError, RecordInvalidError

INTENT = "intent.json"
HISTORY = ".history"


@dataclass(frozen=True)
class Step:
    """One file of an intent: what it was, what it becomes, and where the new bytes are staged."""

    path: str
    before: str | None  # SHA-256; None: no file
    after: str | None
    staged: str | None  # a number, the name in the intent's folder


def _new_folder(root: Path) -> Path:
    return root / ".bumble" / "intents" / secrets.token_hex(8)


def carry_out(root: Path, title: str, planned: Sequence[tuple[Step, bytes | None]]) -> None:
    """Write several files as one.

    Raises:
        FolderUnwritableError: If the system refuses a write; nothing has changed then.
        ChangeUnfinishedError: If it refuses after some files are in place.
    """
    folder = _new_folder(root)
    _stage(root, folder, title, planned)
    _finish(root, folder)


def replace_one(root: Path, step: Step, new: bytes | None) -> None:
    """Write a set of one file; the empty folder tells the next process if this one is killed."""
    path, folder = files.inside(root, step.path), _new_folder(root)
    with files.refusing(path):
        files.make_folder(folder)
    try:
        if new is None:
            files.remove(path)
        else:
            files.write_atomic(path, new)
    finally:
        with suppress(OSError):
            folder.rmdir()


def leftovers(root: Path) -> list[Path]:
    """Return the intents that are not finished: another process is writing, or was killed."""
    folder = root / ".bumble" / "intents"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def stray_files(root: Path) -> list[Path]:
    """Return the temporary files that killed writers left; only sure while nobody writes."""
    found: list[Path] = []
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        found += [Path(place, name) for name in names if name.endswith(files.TEMPORARY_SUFFIX)]
    return sorted(found)


def recover(root: Path) -> list[Path]:
    """Finish or drop every intent, and remove stray files where there was one.

    Returns:
        Copies in `.history/` of new files whose place a person's edit has taken since the kill.
    """
    kept: list[Path] = []
    unfinished = leftovers(root)
    for folder in unfinished:
        if (folder / INTENT).exists():
            kept += _finish(root, folder)
        else:
            _drop(folder)
    if unfinished:
        sweep(root)
    return kept


def sweep(root: Path) -> list[Path]:
    """Remove stray temporary files and return what they were."""
    found = stray_files(root)
    for path in found:
        files.remove(path)
    return found


def _stage(
    root: Path, folder: Path, title: str, planned: Sequence[tuple[Step, bytes | None]]
) -> None:
    """Put every new file and the intent on the disk; until the intent is there, nothing counts."""
    try:
        with files.refusing(folder):
            files.make_folder(folder)
            steps = []
            for n, (step, new) in enumerate(planned):
                _check_writable(files.inside(root, step.path))
                if new is not None:
                    files.write_synced(folder / str(n), new, mode=None)
                staged = None if new is None else str(n)
                steps.append(Step(step.path, step.before, step.after, staged))
            intent = {"title": title, "steps": [vars(step) for step in steps]}
            text = json.dumps(intent, ensure_ascii=False, indent=1) + "\n"
            files.sync_folder(folder)
            files.write_synced(folder / f"{INTENT}.new", text.encode(errors="replace"), mode=None)
            os.replace(folder / f"{INTENT}.new", folder / INTENT)  # noqa: PTH105
            files.sync_folder(folder)
    except FolderUnwritableError as error:
        with suppress(FolderUnwritableError):
            _drop(folder)
        if (folder / INTENT).exists():  # it can't be taken back: the next process will finish it
            raise ChangeUnfinishedError(root, str(error)) from error
        raise


def _check_writable(path: Path) -> None:
    """Refuse early what the system would refuse when it is too late to leave all as it was."""
    place = next(parent for parent in path.parents if parent.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        raise FolderUnwritableError(path, "no permission to write to its folder")


def _drop(folder: Path) -> None:
    """Remove an intent: its record first, so that a kill in between leaves nothing to finish."""
    files.remove(folder / INTENT)
    shutil.rmtree(folder, ignore_errors=True)


def _finish(root: Path, folder: Path) -> list[Path]:
    """Bring every file of an intent to its new state, and drop it; one edited since is kept."""
    steps = _steps(folder / INTENT)
    kept = []
    try:
        for step in steps:
            kept += _take(root, folder, step)
        for place in {files.inside(root, step.path).parent for step in steps}:
            if place.is_dir():
                with files.refusing(place):
                    files.sync_folder(place)
        _drop(folder)
    except FolderUnwritableError as error:
        raise ChangeUnfinishedError(root, str(error)) from error
    return kept


def _steps(path: Path) -> list[Step]:
    try:
        steps = [Step(**step) for step in json.loads(path.read_bytes())["steps"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordInvalidError(path, f"not an intent record: {error}") from error
    if any(step.staged is not None and not step.staged.isdigit() for step in steps):
        raise RecordInvalidError(path, "not an intent record: `staged` should be a number")
    return steps


def _take(root: Path, folder: Path, step: Step) -> list[Path]:
    """Do one step, if it is still to be done.

    Returns:
        The copy of the new file, where the file was edited after a kill: theirs stays.
    """
    path = files.inside(root, step.path)
    current = digest(read(path))
    if current == step.after:
        return []
    if step.staged is None:
        if current == step.before:
            files.remove(path)
        return []
    staged = folder / step.staged
    if current == step.before:
        files.move(staged, path)
    elif staged.exists():
        kept = root / HISTORY / f"{folder.name}.{path.name}"
        files.move(staged, kept)
        return [kept]
    return []


def read(path: Path) -> bytes | None:
    """Read a file that is to be changed; None where there is none."""
    try:
        return files.read_if_there(path)
    except OSError as error:  # a folder, or a file that may not be read
        raise FolderUnwritableError(path, error.strerror or str(error)) from error


def digest(data: bytes | None) -> str | None:
    """Return the SHA-256 of a file's bytes; None where there is no file."""
    return None if data is None else files.sha256(data)
