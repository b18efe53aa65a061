"""Files that are whole or absent: atomic writes, the lock, names and paths that stay in a folder.

Every system call that changes a file goes through here, so that a test can kill the process at
each. Knows nothing of entities or records.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from bumble.errors import FolderUnwritableError, LockedError, UnsafePathError

TEMPORARY_SUFFIX = ".bumble-tmp"  # git-ignored; what a kill leaves behind is recognised by it
MAX_NAME_BYTES = 80  # leaves room for a suffix under every common limit of 255
RESERVED_NAMES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read_if_there(path: Path) -> bytes | None:
    """Read a file; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put `data` at `path` so that a reader, or a kill, finds the old bytes or the new ones.

    Args:
        path: Where to write; its folder is made if need be.
        data: The whole file.
        mode: Permissions of a new file; one that is replaced keeps its own unless given.

    Raises:
        FolderUnwritableError: If the system refuses; the old file is untouched then.
    """
    temporary = path.with_name(f".{path.name[:60]}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")
    with refusing(path):
        try:
            make_folder(path.parent)
            write_synced(temporary, data, mode=mode_of(path) if mode is None else mode)
            os.replace(temporary, path)  # noqa: PTH105  (one name for the fault-injection test)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    # from here on readers see the new file; a power cut may still bring the old one back, whole
    with suppress(OSError):
        sync_folder(path.parent)


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn a refusal of the system into the error that names the file."""
    try:
        yield
    except OSError as error:
        raise FolderUnwritableError(path, error.strerror or str(error)) from error


def write_synced(path: Path, data: bytes, *, mode: int | None) -> None:
    """Make a new file and have it on the disk; not atomic.

    Args:
        path: Where there is no file yet.
        data: The whole file.
        mode: Its permissions; None leaves them to the user's umask.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666 if mode is None else mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if mode is not None:
        path.chmod(mode)  # the umask narrowed what `open` was asked for


def mode_of(path: Path) -> int | None:
    """Return the permissions of a file; None where there is none."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return None


def move(staged: Path, path: Path) -> None:
    """Put a file that is on the disk already in the place of another, or write it there."""
    with refusing(path):
        make_folder(path.parent)
        mode = mode_of(path)
        if mode is not None:
            staged.chmod(mode)
        try:
            os.replace(staged, path)  # noqa: PTH105  (one name for the fault-injection test)
            return
        except OSError as error:
            if error.errno != errno.EXDEV:  # `.bumble/` lies on another disk
                raise
    write_atomic(path, staged.read_bytes())


def make_folder(path: Path) -> None:
    """Make a folder and its parents, each entry synced into the one above it."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir()
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the entries of a folder survive a power cut, where the system has such a call."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file; one that is gone already is no error.

    Raises:
        FolderUnwritableError: If the system refuses; the file is there still.
    """
    with refusing(path):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # or the whole folder is gone
        sync_folder(path.parent)


@contextmanager
def lock(path: Path, *, place: Path, timeout_seconds: float) -> Iterator[None]:
    """Hold the advisory lock at `path`; the system frees it when the process dies.

    Raises:
        LockedError: If another process still holds it after `timeout_seconds`.
    """
    with refusing(path):
        try:
            make_folder(path.parent)
            held = FileLock(path, timeout=timeout_seconds)
            held.acquire()
        except Timeout as error:
            raise LockedError(place, timeout_seconds) from error
    try:
        yield
    finally:
        held.release()


def inside(root: Path, relative: str) -> Path:
    """Return the path of `relative` below `root`, links followed.

    Raises:
        UnsafePathError: If it is absolute, leads out of `root`, or holds a NUL.
    """
    if "\0" in relative or Path(relative).is_absolute() or re.match(r"^[A-Za-z]:|^[\\/]", relative):
        raise UnsafePathError(relative)
    path = Path(os.path.realpath(root / relative))
    if not path.is_relative_to(os.path.realpath(root)):
        raise UnsafePathError(relative)
    return path


def same_name(name: str) -> str:
    """Return what two spellings of one name have in common.

    Case, spaces, hyphens, invisible characters and typographic variants do not count.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace())
    return " ".join(re.split(r"[\s\-_]+", unicodedata.normalize("NFC", seen))).strip()


def file_name(title: str) -> str:
    """Turn a title into a file name (no ending) that is safe on every system.

    Titles that are the same by `same_name` get the same file name; all others different ones: where
    a letter had to go, eight hexadecimal digits of the title's hash tell it apart.
    """
    name = same_name(title)
    kept = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in name)
    stem = "-".join(kept.split())
    while len(stem.encode()) > MAX_NAME_BYTES:
        stem = stem[:-1]
    exact = stem == name.replace(" ", "-") and stem.split(".")[0] not in RESERVED_NAMES
    if exact and stem:
        return stem
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{stem.strip('-')}-{digest}" if stem else f"x-{digest}"


def common_prefix(one: bytes, other: bytes) -> bytes:
    """Return the bytes that two texts begin with alike."""
    length = next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None
    )
    return one[: min(len(one), len(other)) if length is None else length]
