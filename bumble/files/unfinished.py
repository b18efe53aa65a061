"""What is begun outside of any entity's folder, noted so that the next command can end it.

Below an entity's folder its lock tells whether a writer lives. Elsewhere, what is made beside its
place has a note in a folder of the user's own, under a lock that the system frees when the process
dies. Knows nothing of what is made.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from bumble.files import locking

SUFFIX = ".bumble-tmp"  # what is not whole yet is recognised by it
_NOTE, _LOCK, _NEXT = ".json", ".lock", ".next"


class PendingCreation(Struct, frozen=True):
    """Something that is made beside its place."""

    new: str  # where it is made
    dest: str = ""  # its place; empty: it has none, and goes with its maker
    old: str = ""  # where what was in that place lies meanwhile; empty: nothing had to move
    stays: tuple[str, ...] = ()  # names in the old folder that are not ours: the new one gets them
    last: str = ""  # `new` is whole, and what is in it goes into the folder `dest`, this at the end


class MakingNote:
    """The note of one making, as long as its maker lives."""

    def __init__(self, path: Path | None, making: PendingCreation) -> None:
        self._path = path
        self.making = making

    def amend(self, making: PendingCreation) -> None:
        """Note how far it is."""
        self.making = making
        if self._path is not None:
            following = self._path.with_suffix(_NEXT)
            with suppress(OSError):  # without a note it is made all the same
                following.write_bytes(msgspec.json.encode(making))
                following.replace(self._path)

    def remove(self) -> None:
        """Forget it: nothing of it is left."""
        if self._path is not None:
            self._path.with_suffix(_NEXT).unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)


_folder: Path | None = None  # of the notes; None: nobody has said


def begin(folder: Path) -> None:
    """Say where notes lie, and end what processes that died have left."""
    global _folder
    _folder = folder
    try:
        names = os.listdir(folder)  # noqa: PTH208  (each command does it)
    except OSError:
        return
    for stem in sorted({name.partition(".")[0] for name in names}):
        with suppress(OSError):  # a lock that is held is a TimeoutError
            _end(folder / f"{stem}{_NOTE}")


def _end(path: Path) -> None:
    """End what a note tells of, unless its maker lives."""
    with locking.held(path.with_suffix(_LOCK), timeout_seconds=0):
        making = _read(path)
        if making is not None:
            settle(making)
        if making is None or not any(map(os.path.lexists, filter(None, (making.new, making.old)))):
            MakingNote(path, PendingCreation("")).remove()
            with suppress(OSError):  # as long as it is ours: who waits for it makes another
                path.with_suffix(_LOCK).unlink(missing_ok=True)


def _read(path: Path) -> PendingCreation | None:
    """Read a note; one that is cut off was of something that had not begun."""
    try:
        making = msgspec.json.decode(path.read_bytes(), type=PendingCreation)
    except (OSError, ValueError, RecursionError):
        return None
    is_ours = all(name.endswith(SUFFIX) for name in (making.new, making.old) if name)
    return making if making.new and is_ours else None


@contextmanager
def noted(making: PendingCreation) -> Iterator[MakingNote]:
    """Have a note say what is made while the block runs."""
    stem = secrets.token_hex(8)
    path = None if _folder is None else _folder / f"{stem}{_NOTE}"
    lock = ExitStack()
    if path is not None:
        try:
            _make_folder(path.parent)
            lock.enter_context(locking.held(path.with_suffix(_LOCK)))
        except OSError:  # a home that may not be written
            path = None
    note = MakingNote(path, making)
    note.amend(making)
    try:
        yield note
    finally:
        with suppress(OSError):
            note.remove()
        lock.close()
        if path is not None:
            with suppress(OSError):
                path.with_suffix(_LOCK).unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    """Make a folder and what is missing above it, all their owner's alone."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        with suppress(FileExistsError):
            place.mkdir(0o700)


def settle(making: PendingCreation) -> None:
    """Bring a place to what it was or is to be, and remove what lies beside it.

    It may have been done in part, or whole.

    Raises:
        OSError: If the system refuses; it can be tried again.
    """
    new, old, dest = Path(making.new), Path(making.old), Path(making.dest)
    if making.last and new.is_dir():
        for path in sorted(new.iterdir(), key=lambda path: path.name == making.last):
            path.rename(dest / path.name)
    if making.old and os.path.lexists(old):
        if not os.path.lexists(dest):
            old.rename(dest)
        for name in making.stays:
            if os.path.lexists(old / name) and not os.path.lexists(dest / name):
                (old / name).rename(dest / name)
        remove(old)
    remove(new)


def remove(path: Path) -> None:
    """Remove whatever is at a path, all that is in a folder too, as far as the system lets us."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder that only this user reads, and that is gone when the block or process ends."""
    place = Path(tempfile.gettempdir()) / f".bumble.{secrets.token_hex(8)}{SUFFIX}"
    making = PendingCreation(str(place))
    with noted(making):
        try:
            place.mkdir(mode=0o700)
            yield place
        finally:
            settle(making)
