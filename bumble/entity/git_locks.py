"""Locks that a killed bumble's git left in `.git`: told from another's, and cleared.

While git writes for us, a note of it lies in `.bumble/git`: the process, and when it began. Who
finds that note with the entity's lock in hand finds it of a bumble that was killed, or that had to
kill its git. A lock in `.git` is that one's if it was made while that git can have run, and no
process has it open. The index that it held may be that of a commit which was made.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bumble import files, git
from bumble.entity import installation
from bumble.errors import FolderUnwritableError, UnsafePathError
from bumble.git import Git, GitResult
from bumble.gitdir import Repository

NOTE = "git"  # below `.bumble/`
LOCKS = (
    *("index.lock", "HEAD.lock", "next-index-*.lock"),
    *("refs/heads/**/*.lock", "packed-refs.lock", "config.lock"),
)
UNASKED = ("objects/maintenance.lock", "gc.pid.lock")  # of what git does behind a commit
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


def clear(root: Path, place: Git) -> list[Path]:
    """Remove the locks that a killed bumble's git left; call it with the entity's lock held.

    Returns:
        What was removed.
    """
    began = _killed_at(root)
    if began is None:
        return []
    cleared = []
    for lock in locks(place.repository, (*LOCKS, *UNASKED)):
        with suppress(OSError):
            made = lock.lstat().st_mtime
            ours = began - SLACK_SECONDS <= made <= began + git.TIMEOUT_SECONDS
            if ours and not _holds(lock):
                _end(lock, place)
                cleared.append(lock)
    if not any(locks(place.repository)):
        files.remove(root / ".bumble" / NOTE)
    return cleared


def _end(lock: Path, place: Git) -> None:
    """Remove a lock; an index in it whose commit is made already is put in its place first.

    Else the old index would say that the owner has staged the contrary, and keep all commits back.
    """
    index = place.repository.private / "index"
    if lock == index.with_name("index.lock"):
        there, new = _staged(place, index), _staged(place, lock)
        if there is not None and new is not None and new < there:
            lock.replace(index)
            return
    lock.unlink()


def _staged(place: Git, index: Path) -> frozenset[str] | None:
    """Return the paths in which an index differs from the last commit; None: it can't be read."""
    arguments = ("diff-index", "--cached", "--name-only", "-z", "HEAD")
    result = place.call(*arguments, environ={"GIT_INDEX_FILE": str(index)})
    return frozenset(filter(None, result.text.split("\0"))) if result.code == 0 else None


def locks(repository: Repository, patterns: Sequence[str] = LOCKS) -> list[Path]:
    """Return the locks that lie in a repository, whosever they are."""
    tops = dict.fromkeys((repository.private, repository.common))
    return [
        path
        for top in tops
        for pattern in patterns
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
