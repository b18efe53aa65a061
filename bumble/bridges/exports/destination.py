"""Where an export goes: never over what is there unasked, and all of it or nothing.

A folder is replaced only where all that lies in it is an export's, as the list in it says.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from bumble.errors import RefusedError
from bumble.files import disk, unfinished

MARK = ".bumble-export.json"  # lists the files of an export
READERS_OWN = (".obsidian",)  # what a program that shows a folder keeps in it


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
    if dest.exists():
        _refuse_others(dest)
    mark = {"files": sorted(texts)}
    whole = {**texts, MARK: json.dumps(mark, ensure_ascii=False, indent=1) + "\n"}
    with folder(dest, stays=READERS_OWN) as new:
        for name, text in whole.items():
            place = disk.inside(new, name)
            disk.make_folder(place.parent)
            disk.write_synced(place, text.encode("utf-8", "replace"), mode=0o600)


@contextmanager
def folder(dest: Path, *, stays: tuple[str, ...] = (), last: str = "") -> Iterator[Path]:
    """Give a folder to fill, that comes in the place of another when the block ends well.

    Whatever ends the process before that, the next command brings back what was there.

    Args:
        dest: The place.
        stays: Names in what lies there that the new folder takes over.
        last: Where a folder lies there, it stays, and gets what is in the new one, this at the end.

    Raises:
        FolderUnwritableError: If the system refuses.
    """
    pours = bool(last) and dest.is_dir()
    name = f".{dest.name[:60]}.{secrets.token_hex(6)}"
    near = dest / name if pours else dest.with_name(name)
    new = near.with_name(f"{name}{disk.TEMPORARY_SUFFIX}")
    old = near.with_name(f"{name}.old{disk.TEMPORARY_SUFFIX}")
    making = unfinished.PendingCreation(str(new), str(dest), "" if last else str(old), stays)
    with unfinished.noted(making) as note:
        try:
            with disk.translate_os_errors(dest):
                disk.make_folder(new)
            yield new
            with disk.translate_os_errors(dest):
                if pours:
                    note.amend(replace(making, last=last))
                else:
                    if making.old and dest.exists():
                        dest.rename(old)
                    new.rename(dest)
        finally:
            with disk.translate_os_errors(dest):
                unfinished.settle(note.making)
    with suppress(OSError):
        disk.sync_folder(dest.parent)


def _refuse_others(dest: Path) -> None:
    """Refuse to replace a folder in which something lies that no export put there."""
    if not dest.is_dir():
        raise RefusedError(f"{dest} is a file, and stays one\nName a folder; nothing was written.")
    ours = _listed(dest)
    for place, folders, names in os.walk(dest):
        here = Path(place).relative_to(dest)
        folders[:] = [name for name in folders if (here / name).as_posix() not in READERS_OWN]
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*names, *links):
            path = (here / name).as_posix()
            if path not in ours:
                raise RefusedError(
                    f"{dest / path} is no part of an export\n"
                    "`--force` replaces nothing else; nothing was written."
                )


def _listed(dest: Path) -> set[str]:
    try:
        data = json.loads(disk.read(dest / MARK))
        return {MARK, *map(str, data["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
