"""Where an index lies: `memory.db` and, in `.bumble/`, what goes with it; or on a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bumble.entity.folder import Entity
from bumble.files import disk

if TYPE_CHECKING:
    from bumble.index.store import Server


class Place(Struct, frozen=True):
    """The files of an index. Any folder will do, where the entity's own may not be written."""

    database: Path
    fulltext: Path
    lock: Path
    server: Server | None = None  # where the index stands instead, if it does
    local: Place | None = None  # what is used while the server is away

    @property
    def shown(self) -> str:
        """Say where it lies, without passwords."""
        return self.server.shown if self.server else str(self.database)


def of(entity: Entity) -> Place:
    """Return where an entity's index belongs.

    Raises:
        UnsafePathError: If a link leads out of the folder there.
    """
    place = Place(entity.vectors, entity.private / "fulltext", entity.private / "index.lock")
    disk.settled(place.fulltext)
    return place


def elsewhere(folder: Path) -> Place:
    """Return a place outside the entity's folder, for one that may not be written."""
    return Place(folder / "memory.db", folder / "fulltext", folder / "index.lock")
