"""Whether git brought something into a folder since it was last looked through, told by its log.

Looking means reading every file, so it is done only after git has moved the folder to commits that
were not made in it, or while it waits for somebody to settle what it could not merge.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from bumble.entity.folder import PRIVATE
from bumble.errors import FolderUnwritableError, UnsafePathError
from bumble.files import disk, gitdir
from bumble.files.gitdir import Repository

MAPPINGS = ("soma.yaml", "state.yaml")  # nothing works while these can't be read
MARK = b"<<<<<<< "
SEEN = f"{PRIVATE}/seen"  # how long git's log of HEAD was when all it brought was looked through
MOST_UNSEEN = 100_000  # bytes of that log that are read with every command
UNMERGED = "AUTO_MERGE"  # git leaves it until what conflicted is committed, after a stash too


def may_be_half_merged(root: Path, repository: Repository) -> bool:
    """Whether git has brought something since the last look, or is in the middle of that."""
    return (
        is_open(repository)
        or _has_moved(root, repository)
        or any(_has_marks(root / name) for name in MAPPINGS)
    )


def is_open(repository: Repository) -> bool:
    """Whether git waits for somebody to settle what it could not merge."""
    return bool(repository.under_way) or (repository.private / UNMERGED).exists()


def _has_moved(root: Path, repository: Repository) -> bool:
    """Whether git's log of HEAD has more since the last look than commits that were made here."""
    log = repository.private / "logs" / "HEAD"
    mark = (disk.read_cache(root / SEEN) or b"").strip()
    start = int(mark) if mark.isdigit() else 0
    new = gitdir.content(log, start=start)
    if new is None:
        return False
    moved = any(not _is_plain_commit(line) for line in new.splitlines())
    if not moved and len(new) > MOST_UNSEEN:
        note_look(root, repository)
    return moved


def _is_plain_commit(line: bytes) -> bool:
    """Whether a line of the log is of a commit that was made here, on what was here before."""
    message = line.partition(b"\t")[2]
    return message.startswith((b"commit:", b"commit (initial):"))


def note_look(root: Path, repository: Repository) -> None:
    """Remember that all that git has brought by now was looked through."""
    log = gitdir.content(repository.private / "logs" / "HEAD") or b""
    with suppress(FolderUnwritableError):
        disk.write_atomic(root / SEEN, str(len(log)).encode())


def _has_marks(path: Path) -> bool:
    """Whether a file holds the two sides of a merge; a link that leads out is not looked behind."""
    with suppress(UnsafePathError, OSError):
        return MARK in (disk.read_if_there(path) or b"")
    return False
