"""Which files are indexed and changed, by their stamps; and changed files into the database."""

from __future__ import annotations

import marshal
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path

from msgspec import Struct

from bumble.entity import companions
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.files import disk
from bumble.index import chunks
from bumble.index.rows import FileRow, Stamp, passage_id
from bumble.index.store import Store
from bumble.records import kinds

_INDEXED = [kind for kind in kinds.KINDS if kind.passages]
_PATTERNS = [pattern for kind in _INDEXED for pattern in kind.patterns]
_BESIDE = [
    f"{companions.FOLDER}/{pattern.removesuffix('.md')}.yaml"
    for pattern in _PATTERNS
    if pattern.endswith(".md")
]
_KINDS = {kind.patterns[0].partition("/")[0]: kind.passages for kind in _INDEXED}  # by what is atop


def scan(entity: Entity) -> dict[str, Stamp]:
    """Return every file that is indexed, by its path in the folder. Links are not followed."""
    stamps = dict(_found(entity, _PATTERNS))
    for name, beside in _found(entity, _BESIDE):
        record = companions.record_of(name)
        if record in stamps:  # what differs if a file of the two does
            own = stamps[record]
            stamps[record] = (max(own[0], beside[0]), max(own[1], beside[1]), own[2] + beside[2])
    return stamps


def kind_of(path: str) -> str:
    """Return the kind of the chunks in a file that is indexed, by its path in the folder."""
    return _KINDS[path.partition("/")[0]]


def _found(entity: Entity, patterns: Sequence[str]) -> Iterator[tuple[str, Stamp]]:
    for top, *rest in (pattern.split("/") for pattern in patterns):
        try:
            place = disk.settled(entity.root / top)
        except UnsafePathError:  # it leads out of the folder: not ours; doctor says so
            if not rest:
                raise
            continue
        yield from _files(os.fspath(place if rest else entity.root / top), top, rest)


def _files(path: str, name: str, parts: Sequence[str]) -> Iterator[tuple[str, Stamp]]:
    """Yield the plain files that the parts of a pattern name below a path, by their own names."""
    if not parts:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                yield name, _stamp(status)
        return
    part, rest = parts[0], parts[1:]
    if "*" not in part:  # its folder need not be listed for it
        yield from _files(f"{path}/{part}", f"{name}/{part}", rest)
        return
    for entry in _entries(path):
        if rest and entry.is_dir(follow_symlinks=False) and disk.is_text(entry.name):
            yield from _files(entry.path, f"{name}/{entry.name}", rest)
        elif not rest and _is_named(entry.name, part) and entry.is_file(follow_symlinks=False):
            try:  # a hundred thousand times: `suppress` would take as long as the look
                yield f"{name}/{entry.name}", _stamp(entry.stat(follow_symlinks=False))
            except FileNotFoundError:  # gone since it was listed
                continue


def _is_named(name: str, pattern: str) -> bool:
    return name.endswith(pattern[1:]) and name[0] != "." and disk.is_text(name)


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    unlisted = suppress(FileNotFoundError, NotADirectoryError, PermissionError)  # doctor says so
    with unlisted, os.scandir(folder) as entries:
        yield from entries


Progress = Callable[[str, int, int], None]  # what is being done, how much is done, of what
# Committed together: the ids of chunks are hashes, so that a few of them touch as many pages of the
# database as thousands do, and each commit writes every page that it touched twice.
CHUNKS_AT_ONCE = 20_000
MANY_FILES = 5_000  # from which on one digest of all stamps spares a look at the row of each
FILES_TOLD = 500  # after so many it is told how far it is
SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system: a younger file may change unseen


class SyncReport(Struct, frozen=True):
    """What a sync did."""

    added: int = 0  # files
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0  # texts that went through the embedder
    waiting: int = 0  # chunks that have no vector yet: words alone find them
    problems: tuple[RecordInvalidError, ...] = ()  # files that can't be read; not in the index
    notes: tuple[str, ...] = ()  # what the user should hear
    complete: bool = True  # False: another process was at it, the index may be behind


class IngestReading(Struct, frozen=True):
    """All that decides what chunks a file gives, beside its bytes."""

    name: str  # what the entity is called
    zone: tzinfo
    now_ns: int  # as the file system tells it


def changes(scanned: dict[str, Stamp], indexed: dict[str, Stamp]) -> tuple[list[str], list[str]]:
    """Return the paths of files that have to be read, and of those that are gone."""
    if scanned == indexed:
        return [], []
    changed = [path for path, stamp in scanned.items() if indexed.get(path) != stamp]
    return sorted(changed), sorted(indexed.keys() - scanned.keys())


def update(entity: Entity, database: Store, reading: IngestReading, tell: Progress) -> SyncReport:
    """Bring files and chunks of the database up to date with the folder."""
    _forget_if_renamed(database, reading)
    scanned = scan(entity)
    # of version 2, which says the same of equal values however often they are referred to
    whole = disk.sha256(marshal.dumps(scanned, 2)) if len(scanned) >= MANY_FILES else ""
    if whole and database.seen() == whole:
        return SyncReport(unchanged=len(scanned), problems=_problems(entity, database))
    indexed = database.stamps()
    changed, removed = changes(scanned, indexed)
    if removed:
        with database.transaction():
            database.set_seen("")
            for gone in removed:
                database.drop_file(gone)
    added, really, read_count = 0, 0, 0
    rest = iter(changed)
    while read_count < len(changed):
        with database.transaction():
            database.set_seen("")
            put = 0
            while put < CHUNKS_AT_ONCE and (path := next(rest, None)) is not None:
                row = database.file(path) if path in indexed else None
                count = _update_file(entity.root, path, scanned[path], row, database, reading)
                really += count is not None
                added += count is not None and row is None
                put, read_count = put + (count or 0), read_count + 1
                if read_count % FILES_TOLD == 0:
                    tell("reading", read_count, len(changed))
        tell("reading", read_count, len(changed))
    if whole and all(_is_settled(stamp, reading) for stamp in scanned.values()):
        with database.transaction():
            database.set_seen(whole)
    problems = _problems(entity, database)
    unchanged = len(scanned) - really
    return SyncReport(added, really - added, len(removed), unchanged, problems=problems)


def _problems(entity: Entity, database: Store) -> tuple[RecordInvalidError, ...]:
    return tuple(
        RecordInvalidError(entity.root / path, row.problem, row.problem_line)
        for path, row in database.files("problem <> ''").items()
    )


def _is_settled(stamp: Stamp, reading: IngestReading) -> bool:
    """Whether a file is so old that a later write shows in its stamp."""
    return max(stamp[0], stamp[1]) < reading.now_ns - SETTLED_NS


def _forget_if_renamed(database: Store, reading: IngestReading) -> None:
    """Have files read again whose chunks depend on a name or a time zone that changed."""
    for key, value, where in (
        ("name", reading.name, "kind = ?"),
        ("zone", str(reading.zone), "kind <> ?"),  # of a hand, they have times of no zone
    ):
        if database.meta(key) != value:
            with database.transaction():
                database.distrust_files(where, ("message",))
                database.set_meta(key, value)


def _update_file(
    root: Path,
    path: str,
    stamp: Stamp,
    row: FileRow | None,
    database: Store,
    reading: IngestReading,
) -> int | None:
    """Bring one file up to date, of which `row` is known.

    Returns:
        How many chunks it has; None if its bytes are as they were.
    """
    (mtime_ns, ctime_ns, size), of_kind = stamp, kind_of(path)
    settled = _is_settled(stamp, reading)
    new = FileRow(
        row.id if row else passage_id(path),
        of_kind,
        mtime_ns if settled else -1,
        ctime_ns,
        size,
        digest(root, path),
        row.problem if row else "",
        row.problem_line if row else None,
    )
    if row and new.sha256 and row.sha256 == new.sha256:
        database.put_file(path, new)
        return None
    read, problem = _read(root / path, of_kind, reading)
    told = (problem.problem, problem.line) if problem else ("", None)
    database.put_file(path, new._replace(problem=told[0], problem_line=told[1]))
    database.put_chunks(new.id, path, read, is_new=row is None)
    return len(read)


def digest(root: Path, path: str) -> str:
    """Identify what a file says, its companion included; empty where it can't be read."""
    try:
        data = companions.read(root, path)
        return "" if data is None else disk.sha256(data)
    except (OSError, UnsafePathError):  # gone again, or not ours to read: `_read` says which
        return ""


def _read(
    path: Path, of_kind: str, reading: IngestReading
) -> tuple[list[chunks.Chunk], RecordInvalidError | None]:
    try:
        return chunks.read(of_kind, path, name=reading.name, zone=reading.zone), None
    except RecordInvalidError as error:
        return [], error
    except UnsafePathError as error:
        return [], RecordInvalidError(path, str(error).splitlines()[0])
