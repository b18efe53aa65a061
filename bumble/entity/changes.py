"""Change sets: files written together under the entity's lock, or refused if edited since.

`apply` takes the entity's lock, checks that no file moved on since it was read, and writes all
files or none, whatever kills it (`write_ahead`). A change of a record is one of its whole: what it
makes of the record's two files, `companions` says. Knows nothing of what the files mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

from bumble.entity import companions, write_ahead
from bumble.entity.write_ahead import DEFAULT_LOCK_TIMEOUT_SECONDS as DEFAULT_LOCK_TIMEOUT_SECONDS
from bumble.entity.write_ahead import IntentStep
from bumble.errors import FileChangedError, RecordExistsError
from bumble.files import disk

if TYPE_CHECKING:
    from bumble.entity.commits import Commits  # which writes change sets itself

HISTORY = PurePosixPath(".history")  # earlier versions of what the entity rewrote
held, lock_path = write_ahead.held, write_ahead.lock_path
recover, adopt, sweep = write_ahead.recover, write_ahead.adopt, write_ahead.sweep


class Change(Struct, frozen=True):
    """One file that is to be made, replaced, lengthened or removed."""

    path: str  # relative to the entity folder, with forward slashes
    why: str  # in the entity's terms: "remember that Sam moved"
    data: bytes | None  # the whole new record, or what is added to its end; None removes it
    read: str | None = None  # SHA-256 of the whole this was planned on; None: there was none
    adds: bool = False  # `data` goes to the end, whatever the file holds by then
    keeps: bool = False  # the bytes that were there go to `.history/`
    by_hash: bool = False  # the file is named for its bytes: they are right whoever wrote it
    alone: bool = False  # the bytes are the file's own, and its companion stays as it is
    settles: bool = False  # its owner's word on what a merge left open in it


class ChangeSet(Struct, frozen=True):
    """Changes that happen together or not at all."""

    title: str  # one line: "chat: Sam and Ada", "dream: tides"
    changes: tuple[Change, ...] = ()
    trailers: tuple[tuple[str, str], ...] = ()  # ("Model", "qwen3-4b"), for the history
    opens: bool = False  # the next set goes on where this ends: one commit for both
    marks: tuple[str, ...] = ()  # by which what it deals with is known again, once it was proposed

    def __bool__(self) -> bool:
        return bool(self.changes)


class Version(Struct, frozen=True):
    """A file before and after something."""

    path: str
    before: bytes | None  # None: there was none
    after: bytes | None


def write(path: str, new: str, old: str | None, why: str) -> Change:
    """Plan to make a file (`old` None) or to replace the text that was read."""
    read = None if old is None else companions.digest(path, _encoded(old))
    return Change(path, why, _encoded(new), read)


def add(path: str, text: str, why: str) -> Change:
    """Plan to add text to the end of a file, which is made if need be."""
    return Change(path, why, _encoded(text), adds=True)


def delete(path: str, old: str, why: str) -> Change:
    """Plan to remove a file that was read as `old`."""
    return Change(path, why, None, companions.digest(path, _encoded(old)))


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")  # half a character, from a terminal, becomes `?`


def apply(
    root: Path,
    change_set: ChangeSet,
    *,
    timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS,
    history: Commits | None = None,
    before: Callable[[], None] = lambda: None,
) -> list[Path]:
    """Write a change set, all of it or nothing.

    Args:
        root: Of the entity.
        change_set: The changes.
        timeout_seconds: How long to wait for another process that writes.
        history: What keeps earlier versions; told of the set before and after.
        before: Called before anything is written, with the lock held; may refuse the set.

    Returns:
        The files that were written or removed; one whose bytes already were as wanted is left out.

    Raises:
        LockedError: If another process writes for longer than the timeout.
        FileChangedError: If a file moved on since it was read.
        RecordExistsError: If a file that was to be made is there already.
        UnsafePathError: If a path leads out of the folder.
        FolderUnwritableError: If the system refuses a write; nothing has changed then.
        ChangeUnfinishedError: If it refuses after some files are in place; the next `apply` or
            `recover` finishes the set.
    """
    if not change_set:
        return []
    disk.enclose(root)
    with held(root, timeout_seconds=timeout_seconds):
        recover(root)
        if history is not None:
            history.settle()
        planned = _plan(root, change_set.changes)
        if planned:
            before()
            if history is not None:
                history.begin(change_set, [step for step, _ in planned])
        if len(planned) == 1:  # a rename is all or nothing by itself
            write_ahead.replace_one(root, *planned[0])
        elif planned:
            write_ahead.carry_out(root, change_set.title, planned)
        gone = [step.path for step, data in planned if data is None]
        for path in (path for path in gone if path.count("/") > 1):  # a folder of a kind stays
            with suppress(OSError):  # something else lies in it
                disk.inside(root, path).parent.rmdir()
        if history is not None and planned:
            history.end()
    return [disk.inside(root, step.path) for step, _ in planned]


def versions(root: Path, changes: Sequence[Change]) -> list[Version]:
    """Return what some changes would make of the folder as it is; writes nothing.

    Raises:
        UserError: As `apply` does where a file moved on, or may not be written.
    """
    planned = []
    for step, new in _plan(root, changes):
        before = write_ahead.read(write_ahead.target(root, step.path))
        if write_ahead.digest(before) != step.before:
            raise FileChangedError(root / step.path)
        planned.append(Version(step.path, before, new))
    return planned


class _Draft(Struct):
    """A record, or another file, while the changes of a set are worked out."""

    path: str
    found: bytes | None  # the whole, as it lies there
    data: bytes | None  # as it is to be, so far
    alone: bool


def _plan(root: Path, changes: Sequence[Change]) -> list[tuple[IntentStep, bytes | None]]:
    """Work out every new file, refusing what moved on; several additions to one file are joined."""
    drafts, kept = _drafted(root, changes)
    planned = [step for draft in drafts for step in _steps(root, draft)]
    planned += [_step(root, path, data) for path, data in kept.items()]
    return [(step, new) for step, new in planned if step.before != step.after]


def wholes(root: Path, changes: Sequence[Change]) -> list[Version]:
    """Return what some changes would make of the records of the folder as it is; writes nothing.

    Raises:
        UserError: As `apply` does where a file moved on, or may not be written.
    """
    return [Version(one.path, one.found, one.data) for one in _drafted(root, changes)[0]]


def _drafted(root: Path, changes: Sequence[Change]) -> tuple[list[_Draft], dict[str, bytes]]:
    """Return what becomes of each record, and the earlier versions that are kept."""
    drafts: dict[tuple[Path, bool], _Draft] = {}
    kept: dict[str, bytes] = {}
    lengthens = any(change.adds for change in changes)
    for change in changes:
        path = write_ahead.target(root, change.path)
        draft = drafts.get((path, change.alone))
        if draft is None:
            found = _found(root, path, change)
            draft = drafts[path, change.alone] = _Draft(change.path, found, found, change.alone)
            if not (change.adds or change.by_hash):
                _check(path, change, _digest(change, found), lengthens=lengthens)
        elif not (change.adds or change.by_hash) and change.read != _digest(change, draft.data):
            raise ValueError(f"two changes of {change.path} in one set, on the same reading")
        new = _added(draft.data, change.data or b"") if change.adds else change.data
        if change.keeps and draft.data is not None and new != draft.data:
            shown = companions.parted(change.path, draft.data)[0][1] or b""
            there = write_ahead.read(path) if draft.data == draft.found else None
            old, place = there or shown, PurePosixPath(change.path)
            name = f"{place.stem}.{disk.sha256(old)[:12]}{place.suffix}"
            kept[str(HISTORY / place.with_name(name))] = old
        draft.data = new
    return list(drafts.values()), kept


def _digest(change: Change, data: bytes | None) -> str | None:
    return write_ahead.digest(data) if change.alone else companions.digest(change.path, data)


def _found(root: Path, path: Path, change: Change) -> bytes | None:
    data, beside = write_ahead.read(path), companions.place(change.path)
    if change.alone or beside is None or data is None:
        return data
    there = companions.left_behind(root, change.path) or beside
    return companions.whole(change.path, data, write_ahead.read(write_ahead.target(root, there)))


def _steps(root: Path, draft: _Draft) -> list[tuple[IntentStep, bytes | None]]:
    """Return the files that a record comes to; one whose whole stays as it is, none."""
    beside = None if draft.alone else companions.place(draft.path)
    if draft.data == draft.found:
        return []
    if beside is None:  # one file, read already
        before, after = write_ahead.digest(draft.found), write_ahead.digest(draft.data)
        return [(IntentStep(draft.path, before, after, None), draft.data)]
    old = companions.left_behind(root, draft.path) if draft.found is not None else None
    places = (draft.path, old or beside)
    now = [write_ahead.read(write_ahead.target(root, path)) for path in places]
    files_now = companions.parted(draft.path, draft.data, *now)
    files_now += [(old, None)] if old else []
    return [_step(root, path, data) for path, data in files_now]


def _step(root: Path, path: str, data: bytes | None) -> tuple[IntentStep, bytes | None]:
    before = write_ahead.digest(write_ahead.read(disk.inside(root, path)))
    return IntentStep(path, before, write_ahead.digest(data), None), data


def _check(path: Path, change: Change, before: str | None, *, lengthens: bool) -> None:
    """Refuse a change whose file moved on; one that is as wanted already is no reason to.

    Unless the set also adds to a file: what two processes noted in the same second, in the same
    bytes, would be added twice.
    """
    if change.read == before:
        return
    there = change.data is not None and _digest(change, change.data) == before
    if there and not lengthens:
        return
    if change.read is None and not there:
        raise RecordExistsError(path)
    raise FileChangedError(path)


def _added(current: bytes | None, data: bytes) -> bytes:
    if not current:
        return data.lstrip(b"\n")  # with which it is set apart from what stands above
    newline = b"\r\n" if b"\r\n" in current else b"\n"
    # a hand edit may have left the last line without its end
    return current + newline * (not current.endswith(b"\n")) + data.replace(b"\n", newline)
