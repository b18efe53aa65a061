"""Which files the index is made of, and whether they are as they were. Opens none of them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from bumble import files
from bumble.entity.folder import Entity
from bumble.errors import UnsafePathError
from bumble.records import sessions, skills

# kind, folder, levels of folders between it and the files, the file's name (empty: any `*.md`)
_FOLDERS = (
    ("belief", "beliefs", 0, ""),
    ("dream", "dreams", 0, ""),
    ("episode", "episodes", 2, ""),
    ("message", sessions.FOLDER, 1, sessions.FILE),
    ("person", "relationships", 0, ""),
    ("skill", skills.FOLDER, 0, ""),
    ("skill", skills.FOLDER, 1, skills.FOLDER_FILE),
)


# Of a file: when it was written, when it was changed in any way, both in ns, and its size. So many
# are made before each search that a plain tuple is worth its while.
Stamp = tuple[int, int, int]


def scan(entity: Entity) -> dict[str, Stamp]:
    """Return every file that is indexed, by its path in the folder. Links are not followed."""
    found: dict[str, Stamp] = {}
    for path in (entity.knowledge, entity.journal, entity.narrative):
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                found[path.name] = _stamp(path.stat())
    for _, name, levels, file in _FOLDERS:
        for place, entry in _walk(entity.root / name, name, levels):
            if entry.name == file if file else _is_note(entry.name):
                with suppress(FileNotFoundError):  # gone since it was listed
                    stat = entry.stat(follow_symlinks=False)
                    found[f"{place}/{entry.name}"] = _stamp(stat)
    return found


def kind(path: str) -> str:
    """Return the kind of the chunks in a file that is indexed, by its path in the folder."""
    top = path.split("/", 1)[0]
    return next((kind for kind, name, _, _ in _FOLDERS if name == top), top.removesuffix(".md"))


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
    found = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            found += _walk(Path(entry.path), f"{place}/{entry.name}", levels - 1)
    return found
