"""What bumble begins in git: noted before, forgotten after, and brought to an end after a kill.

While git works for us, a note in `.bumble/` says what was begun, and we and every git that we start
hold the note's file, which the system frees when the last of them dies. So a note that nobody holds
is of an operation that was cut off. Its locks go then, and a merge that had not become a commit is
taken back to where it began. What the owner began has no note, and is left alone.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.entity import installation
from bumble.entity.folder import PRIVATE
from bumble.errors import FolderUnwritableError, LockedError, UnsafePathError, UserError
from bumble.files import disk, git, gitdir

if sys.platform != "win32":
    import fcntl

NOTE = patterns.compile(r"git\.[0-9a-f]{16}\.json")  # below `.bumble/`
LOCKS = (
    *("index.lock", "HEAD.lock", "next-index-*.lock"),
    *("refs/heads/**/*.lock", "packed-refs.lock", "config.lock"),
)
# With those of what git does behind a commit, or where no commit has to wait for them.
ALL_LOCKS = (*LOCKS, "*.lock", "refs/**/*.lock", "objects/maintenance.lock")
SIDES = patterns.compile(r"\.merge_file_\w{6}")  # the files git gives a merge driver
WAIT_SECONDS = 0.1
SLACK_SECONDS = 2.0  # of the clock of a file system
MERGE, CONCLUDE = "merge", "end of a merge"  # ours; and what git began, which we go on with


class Operation(Struct, frozen=True):
    """Something that bumble began in git."""

    what: str  # "commit", "merge", "fetch", …
    began: float = 0.0
    head: str = ""  # of a merge or its end: the commit that it began at
    incoming: str = ""  # likewise: the commit that is merged
    edited: tuple[str, ...] = ()  # of a merge: files that differed from `head`, from the top


_ours: set[Path] = set()  # notes of this process


@contextmanager
def noted(root: Path, operation: Operation) -> Iterator[None]:
    """Have it noted what git does for us; the note stays if we are killed, or git had to be."""
    note = root / PRIVATE / f"git.{secrets.token_hex(8)}.json"
    text = msgspec.json.encode(replace(operation, began=time.time())).decode()
    with suppress(FolderUnwritableError):
        disk.write_atomic(note, installation.signed(note.name, text))
    _ours.add(note)
    try:
        with _held(note) as holding:
            try:
                yield
            except UserError:  # it came to an end, if not to a good one
                _forget(root, note, operation, holding)
                raise
            _forget(root, note, operation, holding)
    finally:
        _ours.discard(note)


@contextmanager
def _held(note: Path) -> Iterator[git.Holding]:
    """Hold a note, and have every git hold it that is started meanwhile."""
    try:
        descriptor = disk.open_descriptor(note, os.O_RDWR)
    except OSError:  # it could not be written
        yield git.Holding()
        return
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with git.holding(descriptor) as holding:
            yield holding
    finally:
        os.close(descriptor)


def _forget(root: Path, note: Path, operation: Operation, holding: git.Holding) -> None:
    """Remove a note, unless git had to be ended, or failed, and left something."""
    place = git.at(root) if holding.killed or operation.head else None
    if place is not None and _has_left(place, operation, killed=holding.killed):
        return
    with suppress(FolderUnwritableError):
        disk.remove(note)


def _has_left(place: git.Git, operation: Operation, *, killed: bool) -> bool:
    """Whether something lies there that is to be ended: a lock, or a merge that is no commit.

    What is in conflict is somebody's to settle.
    """
    if killed and (operation.what == MERGE or any(locks(place.repository, ALL_LOCKS))):
        return True
    head = place.call("rev-parse", "--verify", "--quiet", "HEAD").text.strip()
    is_open = bool(head) and head == operation.head
    return is_open and not place.call("ls-files", "--unmerged", "-z").out


def cut_off(root: Path) -> dict[Path, Operation]:
    """Return what this installation began and nobody is at any more, by its note, oldest first."""
    read = {note: _read(note) for note in _notes(root) if not disk.is_locked(note)}
    found = {note: operation for note, operation in read.items() if operation is not None}
    return dict(sorted(found.items(), key=lambda pair: pair[1].began))


def _notes(root: Path) -> list[Path]:
    try:
        names = os.listdir(root / PRIVATE)  # noqa: PTH208  (each command does it)
    except OSError:
        return []
    return [root / PRIVATE / name for name in names if NOTE.fullmatch(name)]


def _read(note: Path) -> Operation | None:
    with suppress(OSError, UnsafePathError, ValueError, RecursionError):
        return msgspec.json.decode(installation.note_in(note.name, disk.read(note)), type=Operation)
    return None


def warning(operations: Iterable[Operation]) -> str:
    """Say to who only reads what was cut off; empty if nothing was."""
    whats = sorted({operation.what for operation in operations})
    if not whats:
        return ""
    half = "; until then files may be half merged" if MERGE in whats else ""
    return (
        f"git was cut off in the middle of what bumble began ({', '.join(whats)}): the next "
        f"command that writes brings it to an end{half}."
    )


def settle(root: Path, place: git.Git) -> str:
    """Bring to an end what was cut off; call it with the entity's lock held.

    Returns:
        What its owner should know; empty if that is nothing.

    Raises:
        LockedError: If the git of a killed bumble goes on merging.
        FolderUnwritableError: If the system refuses: the next command tries it again.
    """
    _wait_for_merge(root)
    operations = cut_off(root)
    if not operations or place.unsafe:
        return ""
    undone, kept = False, list[str]()
    for note, operation in operations.items():
        _clear_locks(place, operation)
        if operation.what == CONCLUDE and place.repository.merging == operation.incoming:
            continue  # whoever makes commits does it
        if any(map(is_at_work, locks(place.repository))):
            continue  # somebody else's git: the next time
        if operation.what == MERGE:
            copies = _end_merge(root, place, operation)
            undone = undone or copies is not None
            kept += copies or ()
        disk.remove(note)
    if not undone:
        return ""
    edits = f"\nWhat was edited since is kept: {', '.join(kept)}" if kept else ""
    return f"A merge that was cut off was taken back; `bumble sync` does it again.{edits}"


def _wait_for_merge(root: Path) -> None:
    """Wait for the git of a bumble that was killed while it merged: it held the lock that we have.

    What is written meanwhile would be taken back with the merge.
    """
    until = time.monotonic() + git.TIMEOUT_SECONDS
    while any(
        operation is not None and operation.what == MERGE
        for note in _notes(root)
        if note not in _ours and disk.is_locked(note)
        for operation in (_read(note),)
    ):
        if time.monotonic() > until:
            raise LockedError(root, git.TIMEOUT_SECONDS)
        time.sleep(WAIT_SECONDS)


def _clear_locks(place: git.Git, operation: Operation) -> None:
    """Remove the locks that were made since an operation began and that nobody holds."""
    is_long = operation.what in (MERGE, "fetch", "push")
    # when git was ended, had it gone on
    ended = operation.began + (git.NETWORK_TIMEOUT_SECONDS if is_long else git.TIMEOUT_SECONDS)
    for lock in locks(place.repository, ALL_LOCKS):
        with suppress(OSError):
            is_ours = operation.began - SLACK_SECONDS <= lock.lstat().st_mtime <= ended
            if is_ours and not is_at_work(lock):
                _end_lock(lock, place, operation)


def _end_lock(lock: Path, place: git.Git, operation: Operation) -> None:
    """Remove a lock; an index in it whose commit is made already is put in its place first.

    Else the old index would say that the owner has staged the contrary, and keep all commits back.
    """
    index = place.repository.private / "index"
    if operation.what != MERGE and lock == index.with_name("index.lock"):
        there, new = _staged(place, index), _staged(place, lock)
        if there is not None and new is not None and new < there:
            lock.replace(index)
            return
    lock.unlink()


def _staged(place: git.Git, index: Path) -> frozenset[str] | None:
    """Return the paths in which an index differs from the last commit; None: it can't be read."""
    arguments = ("diff-index", "--cached", "--name-only", "-z", "HEAD")
    result = place.call(*arguments, environ={"GIT_INDEX_FILE": str(index)})
    return frozenset(filter(None, result.text.split("\0"))) if result.code == 0 else None


def _end_merge(root: Path, place: git.Git, merge: Operation) -> list[str] | None:
    """Take back a merge that had not become a commit.

    Returns:
        Copies of what was written to its files since; None if there was nothing to take back.

    Raises:
        FolderUnwritableError: If git can't put it all back.
    """
    repository = place.repository
    for path in repository.top.glob(".merge_file_*"):
        if SIDES.fullmatch(path.name):
            disk.remove(path)
    merging = repository.merging
    if repository.under_way not in ("", "a merge") or merging not in ("", merge.incoming):
        return None  # the owner's own, begun since
    whole = gitdir.Repository(repository.top, repository.top, repository.private)
    top = git.Git(whole, place.trusted)
    head = top.call("rev-parse", "--verify", "--quiet", "HEAD").text.strip()
    if head != merge.head:  # it is a commit, and only its end is missing
        if merging and top.call("merge-base", "--is-ancestor", merging, "HEAD").code == 0:
            top.call("merge", "--quit")
        return None
    between = ("--name-only", "--no-renames", "-z", merge.head)
    brought = top.call("diff-tree", "-r", *between, merge.incoming).text.split("\0")
    staged = top.call("diff-index", "--cached", *between).text.split("\0")
    touched = {*brought, *staged} - {"", *merge.edited}
    kept, left = _keep_edits(root, top, merge, touched)
    _put_back(top, merge, touched - left)
    return kept


def _keep_edits(
    root: Path, top: git.Git, merge: Operation, touched: Iterable[str]
) -> tuple[list[str], set[str]]:
    """Copy what somebody wrote since to the files of a merge: bytes that git has nowhere.

    Returns:
        The copies, and the files that stay as they are instead: they lie outside of the entity.
    """
    kept, left = [], set()
    for path in _unknown(top, sorted(touched)):
        data = disk.read_if_there(top.repository.top / path) or b""
        names = [f"{commit}:./{path}" for commit in (merge.head, merge.incoming)]
        versions = git.blobs(top.repository.top, names)
        if any(version is not None and version.startswith(data) for version in versions):
            continue  # half of what git was writing
        file = top.repository.top / path
        if versions[0] is None or not file.is_relative_to(os.path.realpath(root)):
            left.add(path)
            continue
        copy = f".history/{secrets.token_hex(8)}.{file.name}"
        disk.write_atomic(disk.inside(root, copy), data)
        kept.append(copy)
    return kept, left


def _unknown(top: git.Git, paths: Sequence[str]) -> list[str]:
    """Return those of some files whose bytes git has under no name."""
    files = {path: top.repository.top / path for path in paths if "\n" not in path}
    there = [path for path, file in files.items() if file.is_file() and not file.is_symlink()]
    hashed = top.call("hash-object", "--stdin-paths", stdin=git.listed(there, "\n"))
    rows = top.call("cat-file", "--batch-check", stdin=hashed.out).text.splitlines()
    if len(rows) != len(there):
        return there
    return [path for path, row in zip(there, rows, strict=True) if row.endswith(" missing")]


def _put_back(top: git.Git, merge: Operation, touched: Iterable[str]) -> None:
    """Bring some files, and what the index says of them, to what they were before a merge.

    Raises:
        FolderUnwritableError: If git can't; it can be tried again.
    """
    names = sorted(touched)
    there = set(names).intersection(
        top.call("ls-tree", "-r", "--name-only", "-z", merge.head).text.split("\0")
    )
    from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
    done = [top.call("merge", "--quit")]
    if names:
        reset = ("--literal-pathspecs", "reset", "-q", *from_stdin, merge.head)
        done.append(top.call(*reset, stdin=git.listed(names)))
    old = git.listed(sorted(there))
    done.append(top.call("checkout-index", "-f", "-q", "-z", "--stdin", stdin=old))
    for result in done:
        if result.code != 0:
            raise FolderUnwritableError(top.repository.top, result.why)
    for path in set(names) - there:
        _remove(top.repository.top, path)


def _remove(top: Path, path: str) -> None:
    """Remove a file that a merge brought, and the folders that it was alone in."""
    file = top / path
    with suppress(OSError, FolderUnwritableError):
        if not file.is_dir() or file.is_symlink():
            file.unlink()
        for folder in file.relative_to(top).parents[:-1]:
            (top / folder).rmdir()


def begun(place: git.Git) -> tuple[str, str]:
    """Return on which branch began what git is in the middle of, and where the way back leads."""
    head = place.call("rev-parse", "HEAD", "--symbolic-full-name", "HEAD").text.split() or [""]
    noted = [
        (gitdir.content(place.repository.private / folder / name) or b"")
        .decode(errors="replace")
        .split()
        for name in ("head-name", "orig-head", "head")
        for folder in ("rebase-merge", "rebase-apply", "sequencer")
    ]
    branch = next(filter(None, noted[:3]), head)[-1]  # "detached HEAD", say
    return branch, next(filter(None, noted[3:]), head)[0]


def locks(repository: gitdir.Repository, patterns: Sequence[str] = LOCKS) -> list[Path]:
    """Return the locks that lie in a repository, whosever they are."""
    tops = dict.fromkeys((repository.private, repository.common))
    found = dict.fromkeys(
        path for top in tops for pattern in patterns for path in sorted(top.glob(pattern))
    )
    return [path for path in found if path.is_file() and not path.is_symlink()]


def is_at_work(lock: Path) -> bool:
    """Whether a process has a lock open, as git has its own; where that can't be seen, by age."""
    try:
        wanted = lock.stat()
    except OSError:
        return False
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
