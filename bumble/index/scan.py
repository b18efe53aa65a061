"""Which files are indexed, and whether they changed, by their stamps; opens none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

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

_PLACES = [*_FILES, *((kind, name) for kind, name, _, _ in _FOLDERS)]

# Of a file: when it was written, when it was changed in any way, both in ns, and its size. So many
# are made before each search that a plain tuple is worth its while.
Stamp = tuple[int, int, int]


def scan(entity: Entity) -> dict[str, Stamp]:
    """Return every file that is indexed, by its path in the folder. Links are not followed."""
    stamps: dict[str, Stamp] = {}
    for _, name in _FILES:
        path = entity.root / name
        files.settled(path)
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                stamps[name] = _stamp(path.stat())
    for _, name, levels, file in _FOLDERS:
        for place, entry in _walk(entity.root / name, name, levels):
            if _is_note(entry.name) if file == "*.md" else entry.name == file:
                with suppress(FileNotFoundError):  # gone since it was listed
                    stat = entry.stat(follow_symlinks=False)
                    stamps[f"{place}/{entry.name}"] = _stamp(stat)
    return stamps


def kind(path: str) -> str:
    """Return the kind of the chunks in a file that is indexed, by its path in the folder."""
    top = path.split("/", 1)[0]
    return next(kind for kind, name in _PLACES if name == top)


def _stamp(stat: os.stat_result) -> Stamp:
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size


def _is_note(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")


def _walk(folder: Path, place: str, levels: int) -> list[tuple[str, os.DirEntry[str]]]:
    try:
        there = os.scandir(files.settled(folder))
        entries = [entry for entry in there if files.is_text(entry.name)]
    # out of the folder: not ours; not ours to read: doctor says so
    except (FileNotFoundError, NotADirectoryError, PermissionError, UnsafePathError):
        return []
    if not levels:
        return [(place, entry) for entry in entries if entry.is_file(follow_symlinks=False)]
    files_inside = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            files_inside += _walk(Path(entry.path), f"{place}/{entry.name}", levels - 1)
    return files_inside
