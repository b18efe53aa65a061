"""A lock of the system's on a file, which it frees when the process dies.

Knows nothing of what is locked. The library for this imports asyncio, which takes longer than all
that a short command does under its locks.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_AGAIN_SECONDS = 0.05


@contextmanager
def held(path: Path, *, timeout_seconds: float | None = None, mode: int = 0o600) -> Iterator[None]:
    """Hold the lock of a file, which is made where there is none.

    Args:
        path: The file; nobody reads or writes it.
        timeout_seconds: How long to wait for who else holds it; None: for ever.
        mode: What may be done with the file, once it is made.

    Raises:
        TimeoutError: If somebody else holds it for longer.
        OSError: If the system refuses.
    """
    end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    while (descriptor := _taken(path, mode)) is None:
        if end is not None and time.monotonic() >= end:
            raise TimeoutError(f"{path} is held by another process")
        time.sleep(_AGAIN_SECONDS)
    try:
        yield
    finally:
        _let_go(descriptor)


def _taken(path: Path, mode: int) -> int | None:
    """Return the open file, locked; None: another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), mode)
    try:
        _lock(descriptor)
        if os.fstat(descriptor).st_nlink:  # else its last holder has removed it meanwhile
            return descriptor
    except (BlockingIOError, PermissionError):  # the latter is what Windows calls it
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _let_go(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)

else:

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _let_go(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may hold the file open, too
        os.close(descriptor)
