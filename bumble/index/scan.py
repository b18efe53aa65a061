"""Which files are indexed, and whether they changed, by their stamps; opens none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

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


class ScannedFile(
    NamedTuple
):  # ten thousand of them are made before each search: a tuple is quicker
    """A file of the folder that the index covers."""

    kind: str  # of the chunks in it
    mtime_ns: int
    ctime_ns: int
    size: int


def scan(entity: Entity) -> dict[str, ScannedFile]:
    """Return every file that is indexed, by its path in the folder. Links are not followed."""
    scanned: dict[str, ScannedFile] = {}
    for kind, path in (
        ("knowledge", entity.knowledge),
        ("journal", entity.journal),
        ("narrative", entity.narrative),
    ):
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                scanned[path.name] = _scanned_file(kind, path.stat())
    for kind, name, levels, file in _FOLDERS:
        for place, entry in _walk(entity.root / name, name, levels):
            if entry.name == file if file else _is_note(entry.name):
                with suppress(FileNotFoundError):  # gone since it was listed
                    scanned[f"{place}/{entry.name}"] = _scanned_file(
                        kind, entry.stat(follow_symlinks=False)
                    )
    return scanned


def _scanned_file(kind: str, stat: os.stat_result) -> ScannedFile:
    return ScannedFile(kind, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)


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
    files_inside = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            files_inside += _walk(Path(entry.path), f"{place}/{entry.name}", levels - 1)
    return files_inside
