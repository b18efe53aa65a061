"""Which files the index is made of, and whether they are as they were. Opens none of them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bumble import files
from bumble.entity.folder import Entity
from bumble.errors import UnsafePathError
from bumble.records import kinds

_INDEXED = [kind for kind in kinds.KINDS if kind.passages]
_FILES = [(kind.passages, kind.patterns[0]) for kind in _INDEXED if kind.is_file]
# kind of passages, folder, levels of folders between it and the files, the file's name or `*.md`
_FOLDERS = [
    (kind.passages, kind.folder, pattern.count("/") - 1, pattern.rpartition("/")[2])
    for kind in _INDEXED
    if not kind.is_file
    for pattern in kind.patterns
]


class Found(NamedTuple):  # ten thousand of them are made before each search: a tuple is quicker
    """A file of the folder that the index covers."""

    kind: str  # of the chunks in it
    mtime_ns: int
    ctime_ns: int
    size: int


def scan(entity: Entity) -> dict[str, Found]:
    """Return every file that is indexed, by its path in the folder. Links are not followed."""
    scanned: dict[str, Found] = {}
    for kind, name in _FILES:
        path = entity.root / name
        files.settled(path)
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                scanned[name] = _scanned(kind, path.stat())
    for kind, name, levels, file in _FOLDERS:
        for place, entry in _walk(entity.root / name, name, levels):
            if _is_note(entry.name) if file == "*.md" else entry.name == file:
                with suppress(FileNotFoundError):  # gone since it was listed
                    stat = entry.stat(follow_symlinks=False)
                    scanned[f"{place}/{entry.name}"] = _scanned(kind, stat)
    return scanned


def _scanned(kind: str, stat: os.stat_result) -> Found:
    return Found(kind, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)


def _is_note(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")


def _walk(folder: Path, place: str, levels: int) -> list[tuple[str, os.DirEntry[str]]]:
    try:
        entries = list(os.scandir(files.settled(folder)))
    # out of the folder: not ours; not ours to read: doctor says so
    except (FileNotFoundError, NotADirectoryError, PermissionError, UnsafePathError):
        return []
    if not levels:
        return [(place, entry) for entry in entries if entry.is_file(follow_symlinks=False)]
    below = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            below += _walk(Path(entry.path), f"{place}/{entry.name}", levels - 1)
    return below
