"""Locks that a killed bumble's git left in `.git`: told from another's, and cleared.

While git writes for us, a note of it lies in `.bumble/git`: the process, and when it began. Who
finds that note with the entity's lock in hand finds it of a bumble that was killed, or that had to
kill its git. A lock in `.git` is that one's if it was made while that git can have run, and no
process has it open.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bumble import files, git
from bumble.entity import installation
from bumble.errors import FolderUnwritableError, UnsafePathError
from bumble.git import GitResult
from bumble.gitdir import Repository

NOTE = "git"  # below `.bumble/`
LOCKS = (
    *("index.lock", "HEAD.lock", "next-index-*.lock"),
    *("refs/heads/**/*.lock", "packed-refs.lock", "config.lock"),
)
SLACK_SECONDS = 2.0  # of the clock of a file system


@contextmanager
def noted(root: Path) -> Iterator[list[GitResult]]:
    """Have it noted that git writes for us; the note stays if we are killed, or git had to be.

    Yields:
        Where the result of git belongs.
    """
    results: list[GitResult] = []
    text = f"{os.getpid()} {time.time():.3f}"
    place = root / ".bumble" / NOTE
    note = json.dumps({"note": text, "mark": installation.mark(text)})
    with suppress(FolderUnwritableError):
        files.write_atomic(place, note.encode())
    yield results
    if not any(result.killed for result in results):
        files.remove(place)


def clear(root: Path, repository: Repository) -> list[Path]:
    """Remove the locks that a killed bumble's git left; call it with the entity's lock held.

    Returns:
        What was removed.
    """
    began = _killed_at(root)
    if began is None:
        return []
    cleared = []
    for lock in locks(repository):
        with suppress(OSError):
            made = lock.lstat().st_mtime
            ours = began - SLACK_SECONDS <= made <= began + git.TIMEOUT_SECONDS
            if ours and not _holds(lock):
                lock.unlink()
                cleared.append(lock)
    if not any(locks(repository)):
        files.remove(root / ".bumble" / NOTE)
    return cleared


def locks(repository: Repository) -> list[Path]:
    """Return the locks that lie in a repository, whosever they are."""
    tops = dict.fromkeys((repository.private, repository.common))
    return [
        path
        for top in tops
        for pattern in LOCKS
        for path in sorted(top.glob(pattern))
        if path.is_file() and not path.is_symlink()
    ]


def _killed_at(root: Path) -> float | None:
    """Return when a bumble began with git that was killed since; None if none was."""
    with suppress(OSError, UnsafePathError, ValueError, KeyError, TypeError, RecursionError):
        data = json.loads(files.read(root / ".bumble" / NOTE))
        pid, began = str(data["note"]).split(" ")
        if installation.is_own(data["note"], data["mark"]) and not _lives(int(pid)):
            return float(began)
    return None


def _lives(pid: int) -> bool:
    if pid == os.getpid():
        return False  # of a process before us that had this number
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _holds(lock: Path) -> bool:
    """Whether a process has a lock open, as git has its own; where that can't be seen, by age."""
    wanted = lock.stat()
    if not Path("/proc/self/fd").exists():
        return time.time() - wanted.st_mtime < git.TIMEOUT_SECONDS
    for process in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):
            for descriptor in process.iterdir():
                with suppress(OSError):
                    status = descriptor.stat()
                    if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino):
                        return True
    return False
