"""A folder as it was at some time: from the commit of that time, or from the records' own times.

A commit is written out without a checkout, from git's objects alone: no hook, filter or link of the
repository counts. Without a history the records' own times decide. What came later is left out;
what was changed or taken out since can't be known, and what holds only the present, the body above
all, is left out as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path, PurePosixPath

from msgspec import Struct

from bumble.entity import companions
from bumble.entity.folder import ENTITY_FILE, PRIVATE, Entity
from bumble.errors import (
    HistoryUnreadableError,
    PastMissingError,
    RecordInvalidError,
)
from bumble.files import disk, git
from bumble.history import log
from bumble.records import base, fields, jsonl, kinds, session_files
from bumble.records.kind import Kind, RecordView, rewritten
from bumble.text import tokens

MOST_BYTES = 1_000_000_000  # of the files of one tree
BATCH_BYTES = 32_000_000  # that are asked of git at once
PLAIN = ("100644", "100755")  # how git marks files; links and submodules are none
# Derived, or of one machine: where git keeps it all the same, it is not used.
PASSED_OVER = (PRIVATE, ".git", ".history", "memory.db")


class PastCommit(Struct, frozen=True):
    """The last commit before some time."""

    id: str
    at: datetime
    tree: str  # hash of the entity's folder in it


_Entry = tuple[PurePosixPath, str, int]  # a file of a tree: its path, its blob, its bytes


def find(root: Path, moment: datetime) -> PastCommit:
    """Return the last commit before a time, of those that the folder was at itself.

    Raises:
        HistoryMissingError: If there is no history.
        HistoryClosedError: If it belongs to somebody else.
        HistoryUnreadableError: If git gives up.
        PastMissingError: If the history begins later, or the entity came into it later.
    """
    log.require(root)
    asked = ("log", "-1", "--first-parent", "--format=%H %ct")
    until = int(moment.timestamp())
    row = git.answer(root, *asked, f"--min-age={until}", "HEAD").split() if until > 0 else []
    if not row:
        raise PastMissingError(root, _why_nothing(root))
    commit, at = row[0], datetime.fromtimestamp(int(row[1]), UTC)
    place = git.at(root)
    prefix = place.repository.prefix.rstrip("/") if place else ""
    tree = _tree(root, commit, prefix)
    if not tree:
        raise PastMissingError(root, f"{prefix}/ was not in the repository yet")
    return PastCommit(commit, at, tree)


def _why_nothing(root: Path) -> str:
    first = git.answer(root, "log", "--first-parent", "--format=%ct", "HEAD").split()[-1]
    begin = f"{datetime.fromtimestamp(int(first), UTC):%Y-%m-%d %H:%M} UTC"
    place = git.at(root)
    if place is not None and (place.repository.common / "shallow").exists():
        return (
            f"this clone was made without what lies before {begin}\n"
            "`git fetch --unshallow` there brings the rest."
        )
    return f"its history begins at {begin}"


def _tree(root: Path, commit: str, prefix: str) -> str:
    """Return the hash of the entity's folder in a commit; empty if there is none of that name."""
    if not prefix:
        return git.answer(root, "rev-parse", "--verify", f"{commit}^{{tree}}").strip()
    rows = git.answer(
        root, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", prefix
    )
    about = rows.partition("\t")[0].split(" ")
    return about[2] if about[1:2] == ["tree"] else ""


def write(root: Path, tree: str, folder: Path) -> None:
    """Write the plain files of a tree below a folder that is new and this user's alone.

    Raises:
        HistoryUnreadableError: If git can't give all of it.
        PastMissingError: If no entity was in it, or it is too large.
        FolderUnwritableError: If the system refuses a write.
    """
    entries = list(_entries(root, tree))
    if not any(path == PurePosixPath(ENTITY_FILE) for path, _, _ in entries):
        raise PastMissingError(root, f"there was no {ENTITY_FILE} in it yet")
    if sum(size for _, _, size in entries) > MOST_BYTES:
        raise PastMissingError(root, f"its files had more than {MOST_BYTES / 1e9:.0f} GB then")
    for batch in tokens.packed(entries, lambda entry: entry[2], BATCH_BYTES):
        contents = git.blobs(root, [blob for _, blob, _ in batch])
        for (path, _, _), data in zip(batch, contents, strict=True):
            if data is None:
                raise HistoryUnreadableError(root, f"{path} of then is missing")
            put(folder, path, data)


def put(folder: Path, path: PurePosixPath, data: bytes) -> None:
    """Write a file below a folder that nobody else writes in; it can be made again, so not synced.

    Raises:
        FolderUnwritableError: If the system refuses.
    """
    target = folder / path
    with disk.translate_os_errors(target):
        for above in reversed(PurePosixPath(path).parents):
            (folder / above).mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(target, flags, 0o600), "wb") as stream:
            stream.write(data)


def is_used(path: PurePosixPath) -> bool:
    """Whether a file of a folder is one of the entity's, under a name that leads nowhere else."""
    parts = path.parts
    return (
        bool(parts)
        and not path.is_absolute()
        and not any(part == ".." or part.casefold() == ".git" for part in parts)
        and not parts[0].startswith(PASSED_OVER)
        and all(map(disk.is_text, parts))
    )


def _entries(root: Path, tree: str) -> Iterator[_Entry]:
    for row in git.answer(root, "ls-tree", "-r", "-l", "-z", "--full-tree", tree).split("\0"):
        about, _, name = row.partition("\t")
        fields = about.split()
        path = PurePosixPath(name)
        if len(fields) == 4 and fields[0] in PLAIN and is_used(path):
            if not fields[3].isdigit():
                raise HistoryUnreadableError(root, f"{name} of then is missing")
            yield path, fields[2], int(fields[3])


MOST_PLAIN_BYTES = 4_000_000  # of a file that no kind of record reads
BEGINNINGS = ("first_met", "formed", "at")  # times of a record, that of its beginning first


def copy_by_times(entity: Entity, folder: Path, moment: datetime, zone: tzinfo) -> None:
    """Write what was there at a time, as far as its own times tell, below a new folder.

    Raises:
        FolderUnwritableError: If the system refuses a write.
    """
    of_records: set[Path] = set()
    for kind in kinds.KINDS:
        for path in kind.paths(entity):
            of_records.add(path)
            data = None if kind.of_now else _then(entity, kind, path, moment, zone)
            if data:
                for name, part in companions.parted(entity.relative(path), data):
                    if part is not None:
                        put(folder, PurePosixPath(name), part)
    for path in _plain_files(entity.root):
        if companions.record_of(entity.relative(path)) is not None:
            continue
        if path not in of_records and path.stat().st_size <= MOST_PLAIN_BYTES:
            data = disk.read_if_there(path)
            if data is not None:
                put(folder, PurePosixPath(entity.relative(path)), data)


def listing_by_times(entity: Entity) -> str:
    """Return what changes with any file that `copy` reads."""
    stats = ((entity.relative(path), path.stat()) for path in _plain_files(entity.root))
    return "\n".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)


def _plain_files(root: Path) -> Iterator[Path]:
    """Yield the files of a folder that are its own; no link is followed."""
    for inner in disk.walked(root, lambda inner: is_used(inner) and inner.parts[0] != "workspace"):
        path = root / inner
        if path.is_file() and not path.is_symlink():
            yield path


def _then(entity: Entity, kind: Kind, path: Path, moment: datetime, zone: tzinfo) -> bytes | None:
    """Return the whole of a file of records without what is later; None if nothing was there."""
    data = companions.read(entity.root, entity.relative(path))
    if data is None:
        return None
    if kind is session_files.SESSION:
        return _transcript(data, moment)
    try:
        views = kind.read(path, zone)
    except RecordInvalidError:
        return data  # whoever reads it says what is wrong with it
    if kind.forgetting == "parts":
        text = base.read_text(path)
        return rewritten(text, views, lambda v: "" if _is_later(v, moment) else v.source).encode()
    return None if any(_is_later(view, moment) for view in views) else data


def _is_later(view: RecordView, moment: datetime) -> bool:
    """Whether something began after a time, by its own times, its id, or all that it rests on."""
    begun = next((view.times[key] for key in BEGINNINGS if key in view.times), None)
    begun = begun or min(filter(None, (base.time_of(view.id), view.at)), default=None)
    if begun is not None:
        return begun > moment
    known_times = [at for at in map(base.time_of, view.sources) if at is not None]
    return bool(known_times) and min(known_times) > moment


def _transcript(data: bytes, moment: datetime) -> bytes | None:
    """Return the lines of a conversation up to a time; what is about a later message goes too."""
    lines, later = list[bytes](), set[str]()
    for line in data.splitlines(keepends=True):
        entry = jsonl.loose(line)
        at = fields.moment(entry.get("at"))
        about = {str(entry.get(key, "")) for key in ("message", "first", "last")} - {""}
        if not entry or (at is not None and at > moment) or about & later:
            later.add(str(entry.get("id", "")))
            continue
        lines.append(line)
    return b"".join(lines) if lines and jsonl.loose(lines[0]).get("type") == "session" else None
