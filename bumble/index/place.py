"""Where the files of an index lie: `memory.db` and, in `.bumble/`, what goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bumble import files
from bumble.entity.folder import Entity


@dataclass(frozen=True)
class Place:
    """The files of an index. Any folder will do, where the entity's own may not be written."""

    database: Path
    fulltext: Path
    lock: Path


def of(entity: Entity) -> Place:
    """Return where an entity's index belongs.

    Raises:
        UnsafePathError: If a link leads out of the folder there.
    """
    place = Place(entity.vectors, entity.private / "fulltext", entity.private / "index.lock")
    files.settled(place.fulltext)
    return place


def elsewhere(folder: Path) -> Place:
    """Return a place outside the entity's folder, for one that may not be written."""
    return Place(folder / "memory.db", folder / "fulltext", folder / "index.lock")
