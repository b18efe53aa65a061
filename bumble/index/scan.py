"""Which files are indexed, and whether they changed, by their stamps; opens none."""

from __future__ import annotations

import hashlib
import marshal
import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from bumble.entity import companions
from bumble.entity.folder import Entity
from bumble.errors import UnsafePathError
from bumble.files import disk
from bumble.index.rows import Stamp
from bumble.records import kinds

_NOTES = "*.md"
_INDEXED = [kind for kind in kinds.KINDS if kind.passages]
_FILES = [(kind.passages, kind.patterns[0]) for kind in _INDEXED if kind.is_file]
# kind of passages, folder, levels of folders between it and the files, the file's name or _NOTES
_FOLDERS = [
    (kind.passages, kind.folder, pattern.count("/") - 1, pattern.rpartition("/")[2])
    for kind in _INDEXED
    if not kind.is_file
    for pattern in kind.patterns
]

_PLACES = [*_FILES, *((kind, name) for kind, name, _, _ in _FOLDERS)]


def scan(entity: Entity) -> dict[str, Stamp]:
    """Return every file that is indexed, by its path in the folder. Links are not followed."""
    stamps: dict[str, Stamp] = {}
    for _, name in _FILES:
        path = entity.root / name
        disk.settled(path)
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                stamps[name] = _stamp(path.stat())
    for _, name, levels, file in _FOLDERS:
        with suppress(UnsafePathError):  # it leads out of the folder: not ours; doctor says so
            top = os.fspath(disk.settled(entity.root / name))
            for folder, place in _folders(top, name, levels):
                if file == _NOTES:
                    _add_notes(folder, place, stamps)
                else:
                    _add_named(folder, place, file, stamps)
    beside: dict[str, Stamp] = {}
    _add_companions(os.fspath(entity.root / companions.FOLDER), companions.FOLDER, beside)
    for name, stamp in beside.items():
        record = companions.record_of(name)
        if record in stamps:
            stamps[record] = _united(stamps[record], stamp)
    return stamps


def _united(stamp: Stamp, beside: Stamp) -> Stamp:
    """Return what differs if a file of the two does."""
    return max(stamp[0], beside[0]), max(stamp[1], beside[1]), stamp[2] + beside[2]


def _add_companions(folder: str, place: str, stamps: dict[str, Stamp]) -> None:
    for entry in _entries(folder):
        name = f"{place}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            _add_companions(entry.path, name, stamps)
        elif entry.name.endswith(".yaml") and entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                stamps[name] = _stamp(entry.stat(follow_symlinks=False))


def digest(stamps: dict[str, Stamp]) -> str:
    """Return what differs if any file, its stamp or their order does."""
    # of version 2, which says the same of equal values however often they are referred to
    return hashlib.blake2b(marshal.dumps(stamps, 2), digest_size=32).hexdigest()


def kind(path: str) -> str:
    """Return the kind of the chunks in a file that is indexed, by its path in the folder."""
    top = path.split("/", 1)[0]
    return next(kind for kind, name in _PLACES if name == top)


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _folders(folder: str, place: str, levels: int) -> Iterator[tuple[str, str]]:
    """Yield the folders so many levels below one, each with its path in the entity's."""
    if not levels:
        yield folder, place
        return
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False) and disk.is_text(entry.name):
            yield from _folders(entry.path, f"{place}/{entry.name}", levels - 1)


def _add_notes(folder: str, place: str, stamps: dict[str, Stamp]) -> None:
    for entry in _entries(folder):
        name = entry.name
        if not name.endswith(".md") or name[0] == "." or not disk.is_text(name):
            continue
        if entry.is_file(follow_symlinks=False):
            try:  # a hundred thousand times: `suppress` would take as long as the look
                stamps[f"{place}/{name}"] = _stamp(entry.stat(follow_symlinks=False))
            except FileNotFoundError:  # gone since it was listed
                continue


def _add_named(folder: str, place: str, name: str, stamps: dict[str, Stamp]) -> None:
    """Add a file whose name is known: its folder need not be listed for it."""
    try:
        status = os.lstat(f"{folder}/{name}")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    if stat.S_ISREG(status.st_mode):
        stamps[f"{place}/{name}"] = _stamp(status)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # doctor says so
        return
