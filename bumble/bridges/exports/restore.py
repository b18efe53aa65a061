"""An entity made of its archive: every file as it was, in a folder where nothing lies."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from bumble.bridges.exports import bundle
from bumble.bridges.imports import source
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import BundleInvalidError, RefusedError
from bumble.files import disk


def check(root: Path) -> None:
    """Refuse a place where something lies.

    Raises:
        RefusedError: If it does.
    """
    if root.exists() and any(root.iterdir()):
        raise RefusedError(f"{root} is not empty\nName a new folder; nothing was written.")


def unpack(archive: Path, root: Path) -> list[str]:
    """Write the files of an archive into an empty folder; return their names.

    What is derived, such as an index, is made of the others and not taken.

    Raises:
        BundleInvalidError: If it is no archive of an entity.
    """
    disk.enclose(root)
    with source.opened(archive) as members:
        if ENTITY_FILE not in members.members:
            raise BundleInvalidError(archive, f"it holds no {ENTITY_FILE}")
        if members.left_out:
            item = members.left_out[0]
            raise BundleInvalidError(archive, f"{item.what}: {item.why}")
        names = [name for name in members.names if not bundle.is_derived(PurePosixPath(name))]
        for name in names:
            try:
                data = members.read(name, source.MAX_FILE_BYTES)
            except ValueError as error:
                raise BundleInvalidError(archive, f"{name}: {error}") from error
            disk.write_atomic(disk.inside(root, name), data)
        return names
