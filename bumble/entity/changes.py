"""Change sets: what a turn or a cycle wants to write, applied as one.

`apply` takes the entity's lock, checks that no file moved on since it was read, stages every new file
under `.bumble/intents/`, and then replaces them one by one. A kill before the staging is complete
leaves nothing of the set, a kill after it leaves work that `recover` finishes: all or none.
Knows nothing of what the files mean.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bumble import files
from bumble.errors import FileChangedError, RecordExistsError, RecordInvalidError

INTENT = "intent.json"
DEFAULT_LOCK_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class Change:
    """One file that is to be made, replaced, lengthened or removed."""

    path: str  # relative to the entity folder, with forward slashes
    why: str  # in the entity's terms: "remember that Sam moved"
    data: bytes | None  # the whole new file, or what is added to its end; None removes it
    read: str | None = None  # SHA-256 of the file this was planned on; None: there was none
    adds: bool = False  # `data` goes to the end, whatever the file holds by then


@dataclass(frozen=True)
class ChangeSet:
    """Changes that happen together or not at all."""

    title: str  # one line: "chat: Sam and Ada", "dream: tides"
    changes: tuple[Change, ...] = ()
    trailers: tuple[tuple[str, str], ...] = ()  # ("Model", "qwen3-4b"), for the history

    def __bool__(self) -> bool:
        return bool(self.changes)


def write(path: str, new: str, old: str | None, why: str) -> Change:
    """Plan to make a file (`old` None) or to replace the text that was read."""
    return Change(path, why, new.encode(), None if old is None else files.sha256(old.encode()))


def add(path: str, text: str, why: str) -> Change:
    """Plan to add text to the end of a file, which is made if need be."""
    return Change(path, why, text.encode(), adds=True)


def delete(path: str, old: str, why: str) -> Change:
    """Plan to remove a file that was read as `old`."""
    return Change(path, why, None, files.sha256(old.encode()))


@dataclass(frozen=True)
class _Step:
    """One file of an intent: what it was, what it becomes, and where the new bytes are staged."""

    path: str
    before: str | None  # SHA-256; None: no file
    after: str | None
    staged: str | None


def apply(
    root: Path, change_set: ChangeSet, *, timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS
) -> list[Path]:
    """Write a change set, all of it or nothing.

    Returns:
        The files that were written or removed; one whose bytes already were as wanted is left out.

    Raises:
        LockedError: If another process writes for longer than the timeout.
        FileChangedError: If a file moved on since it was read.
        RecordExistsError: If a file that was to be made is there already.
        UnsafePathError: If a path leads out of the folder.
        FolderUnwritableError: If the system refuses a write.
    """
    if not change_set:
        return []
    with files.lock(lock_path(root), place=root, timeout_seconds=timeout_seconds):
        _recover(root)
        planned = _plan(root, change_set.changes)
        if len(planned) == 1:  # a rename is all-or-nothing by itself
            _replace(root, planned[0][0], planned[0][1])
        elif planned:
            _stage_and_replace(root, change_set.title, planned)
    return [files.inside(root, step.path) for step, _ in planned]


def recover(root: Path, *, timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS) -> None:
    """Finish or drop what a killed process left; does not touch the folder when there is nothing."""
    if not leftovers(root):
        return
    with files.lock(lock_path(root), place=root, timeout_seconds=timeout_seconds):
        _recover(root)


def leftovers(root: Path) -> list[Path]:
    """Return the intents that are not finished: another process is writing, or was killed."""
    folder = root / ".bumble" / "intents"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def lock_path(root: Path) -> Path:
    """Return the file whose lock a writer holds."""
    return root / ".bumble" / "lock"


def _plan(root: Path, changes: Sequence[Change]) -> list[tuple[_Step, bytes | None]]:
    """Work out every new file, refusing what moved on; several additions to one file are joined."""
    planned: dict[str, tuple[_Step, bytes | None]] = {}
    for change in changes:
        path = files.inside(root, change.path)
        earlier = planned.get(change.path)
        current = earlier[1] if earlier else files.read_if_there(path)
        before = earlier[0].before if earlier else _hash(current)
        if not change.adds and not earlier:
            _check(path, change, before)
        new = _added(current, change.data or b"") if change.adds else change.data
        planned[change.path] = (_Step(change.path, before, _hash(new), None), new)
    return [(step, new) for step, new in planned.values() if step.before != step.after]


def _check(path: Path, change: Change, before: str | None) -> None:
    if change.read == before or (change.data is not None and _hash(change.data) == before):
        return
    if change.read is None:
        raise RecordExistsError(path)
    raise FileChangedError(path)


def _added(current: bytes | None, data: bytes) -> bytes:
    if current and not current.endswith(b"\n"):
        return current + b"\n" + data  # a hand edit may have left the last line open
    return (current or b"") + data


def _hash(data: bytes | None) -> str | None:
    return None if data is None else files.sha256(data)


def _stage_and_replace(root: Path, title: str, planned: list[tuple[_Step, bytes | None]]) -> None:
    # 1. stage every new file
    folder = root / ".bumble" / "intents" / files.sha256(repr(planned).encode())[:16]
    steps = []
    for n, (step, new) in enumerate(planned):
        staged = None if new is None else str(n)
        if new is not None:
            files.write_atomic(folder / str(n), new)
        steps.append(_Step(step.path, step.before, step.after, staged))
    # 2. the intent: from here on the set will be finished, whatever happens
    intent = {"title": title, "steps": [vars(step) for step in steps]}
    files.write_atomic(folder / INTENT, (json.dumps(intent) + "\n").encode())
    # 3. replace, and drop the intent
    for step, new in planned:
        _replace(root, step, new)
    _drop(folder)


def _replace(root: Path, step: _Step, new: bytes | None) -> None:
    path = files.inside(root, step.path)
    if new is None:
        files.remove(path)
    else:
        files.write_atomic(path, new)


def _drop(folder: Path) -> None:
    """Remove an intent: its record first, so that a kill in between leaves staging without intent."""
    files.remove(folder / INTENT)
    shutil.rmtree(folder, ignore_errors=True)


def _recover(root: Path) -> None:
    for folder in leftovers(root):
        raw = files.read_if_there(folder / INTENT)
        if raw is not None:
            _finish(root, folder, raw)
        _drop(folder)


def _finish(root: Path, folder: Path, raw: bytes) -> None:
    """Bring every file of an intent to its new state; one that a person edited since is kept."""
    try:
        steps = [_Step(**step) for step in json.loads(raw)["steps"]]
    except (ValueError, KeyError, TypeError) as error:
        raise RecordInvalidError(folder / INTENT, f"not an intent record: {error}") from error
    for step in steps:
        path = files.inside(root, step.path)
        current = _hash(files.read_if_there(path))
        if current == step.after:
            continue
        new = None if step.staged is None else (folder / step.staged).read_bytes()
        if current == step.before:
            _replace(root, step, new)
        elif (
            new is not None
        ):  # edited after the kill: theirs stays, ours is kept beside the history
            kept = root / ".history" / f"{path.name}.{folder.name}"
            files.write_atomic(kept, new)
