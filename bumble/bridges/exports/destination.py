"""Where an export goes: never over what is there unasked; a new one is whole or not there.

A folder is replaced only where all that lies in it is an export's, as the list in it says; then
file by file, so that what ends the process leaves an export still, and what a reader keeps there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath

from bumble.entity.folder import ENTITY_FILE
from bumble.errors import RefusedError
from bumble.files import disk

MARK = ".bumble-export.json"  # lists the files of an export
HASHES = "sha256"  # and of each what was written into it, so that an import knows it again


def check(dest: Path, root: Path, *, force: bool) -> None:
    """Refuse a place that is taken, or that is the entity's own.

    Raises:
        RefusedError: If it is.
    """
    inner = Path(os.path.realpath(dest.parent)) / dest.name
    home = Path(os.path.realpath(root))
    if inner == home or home in inner.parents or inner in home.parents:
        raise RefusedError(
            f"{dest}: the entity lives there\n"
            f"Choose a place outside of {root}; nothing was written."
        )
    if dest.is_symlink():
        raise RefusedError(f"{dest} is a link\nName the place itself; nothing was written.")
    if dest.exists() and not force:
        raise RefusedError(f"{dest} is there already\n`--force` replaces it; nothing was written.")


def put_file(dest: Path, data: bytes) -> None:
    """Write an export that is a file; only its owner may read it.

    Raises:
        RefusedError: If a folder is there.
    """
    if dest.is_dir():
        raise RefusedError(f"{dest} is a folder, and stays one\nName a file; nothing was written.")
    disk.write_atomic(dest, data, mode=0o600)


def put_folder(dest: Path, texts: Mapping[str, str]) -> None:
    """Write an export that is a folder, beside its place first.

    Raises:
        RefusedError: If something of somebody else's lies there.
    """
    before = _replaceable(dest) if dest.exists() else set()
    encoded = {name: text.encode("utf-8", "replace") for name, text in texts.items()}
    whole = {MARK: _mark({*texts, *before} - {MARK}, encoded), **encoded}
    with folder(dest) as new:
        for name, data in whole.items():
            place = disk.inside(new, name)
            disk.make_folder(place.parent)
            disk.write_synced(place, data, mode=0o600)
        if dest.exists():  # what comes is listed before it is there
            disk.move(new / MARK, dest / MARK)
    gone = before.difference(whole)
    for name in gone:
        disk.remove(disk.inside(dest, name))
    if gone:  # whoever puts a file of their own in the place of one keeps it
        disk.write_atomic(disk.inside(dest, MARK), _mark(encoded, encoded), mode=0o600)


@contextmanager
def folder(dest: Path) -> Iterator[Path]:
    """Give a folder to fill, that comes to a place when the block ends well.

    Where a folder lies there, it stays, and gets what is in the new one, at the end what makes it
    an entity.

    Raises:
        FolderUnwritableError: If the system refuses.
    """
    # within it, where it may be a place of its own that nothing can be moved into
    with disk.folder_beside(dest / dest.name if dest.is_dir() else dest) as new:
        yield new
        with disk.translate_os_errors(dest):
            if dest.exists():
                _pour(new, dest)
            else:
                new.rename(dest)
                disk.sync_folder(dest.parent)


def _pour(new: Path, dest: Path) -> None:
    """Put what is in a folder into another, in the place of what is called the same there."""
    for path in sorted(new.iterdir(), key=lambda path: path.name == ENTITY_FILE):
        there = dest / path.name
        if path.is_dir() and there.is_dir():
            _pour(path, there)
        else:
            path.replace(there)


def _is_exports(dest: Path, inner: PurePosixPath) -> bool:
    """Whether something should be an export's: no folder of a reader's own, or that a kill left."""
    is_left = inner.name.startswith(".") and inner.name.endswith(disk.TEMPORARY_SUFFIX)
    may_stay = is_left or str(inner) == ".obsidian"  # how Obsidian shows the notes beside it
    return not (may_stay and os.path.isdir(dest / inner))  # noqa: PTH112  (Path's may raise)


def _mark(names: Iterable[str], written: Mapping[str, bytes]) -> bytes:
    mark = {"files": sorted(names), HASHES: sorted(map(disk.sha256, written.values()))}
    return json.dumps(mark, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"


def _replaceable(dest: Path) -> set[str]:
    """Return what lies in an export's folder; refuse one in which something of others lies."""
    if not dest.is_dir():
        raise RefusedError(f"{dest} is a file, and stays one\nName a folder; nothing was written.")
    ours = {MARK, *listed(disk.read_cache(dest / MARK) or b"")}
    found = set(map(str, disk.walked(dest, partial(_is_exports, dest))))
    for path in sorted(found):
        if path not in ours or (dest / path).is_symlink():  # what is listed may lead elsewhere
            raise RefusedError(
                f"{dest / path} is no part of an export\n"
                "`--force` replaces nothing else; nothing was written."
            )
    return found


def listed(mark: bytes, key: str = "files") -> set[str]:
    """Return the paths of an export's files, or their hashes, as its list has them; else none."""
    try:
        return set(map(str, json.loads(mark)[key]))
    except (ValueError, KeyError, TypeError):
        return set()
