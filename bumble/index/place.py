"""Where an index stands, and the door to it: `memory.db` in the folder, or a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bumble.entity.folder import Entity
from bumble.errors import IndexServerError
from bumble.files import disk
from bumble.index import sqlite
from bumble.index.store import Store

if TYPE_CHECKING:
    from bumble.index.postgres_server import PostgresServer


class Place(Struct, frozen=True):
    """Where an index stands. Any folder will do, where the entity's own may not be written."""

    database: Path
    lock: Path
    server: PostgresServer | None = None  # where the index stands instead, if it does
    local: Place | None = None  # what is used while the server is away
    donors: tuple[Path, ...] = ()  # databases of the same texts elsewhere: what they have embedded

    @property
    def shown(self) -> str:
        """Say where it lies, without passwords."""
        return self.server.shown if self.server else str(self.database)

    def settled(self) -> Place:
        """Return where to look: in the folder, where the server is away and that is allowed.

        Raises:
            IndexServerError: If the server can't be reached, and nothing stands in for it.
        """
        if self.server is None:
            return self
        try:
            self.server.reach()
        except IndexServerError:
            if self.local is None:
                raise
            return self.local
        return self

    def exists(self, entity: Entity) -> bool:
        """Whether there is an index."""
        return bool(self.server.there(entity)) if self.server else self.database.exists()

    def to_read(self, entity: Entity) -> Store:
        """Open the index to search in.

        Raises:
            IndexUnusableError: If there is none, it is damaged, or of another version.
            IndexServerError: If the server does not answer.
        """
        return self.server.to_read(entity) if self.server else sqlite.open_to_read(self.database)

    def to_write(self, entity: Entity, *, anew: bool) -> Store:
        """Open the index to bring it up to date, or make an empty one.

        Raises:
            IndexUnusableError: If it is damaged, or of another version.
            IndexServerError: If the server does not answer.
            FolderUnwritableError: If the system refuses.
        """
        if self.server:
            return self.server.to_write(entity, anew=anew)
        return sqlite.create(self.database) if anew else sqlite.open_to_write(self.database)

    @contextmanager
    def held(self, entity: Entity, wait_seconds: float) -> Iterator[None]:
        """Let nobody else, on whatever machine, bring this index up to date meanwhile.

        Raises:
            LockedError: If another process is at it, for longer than one may wait.
        """
        if self.server:
            with self.server.held(entity, wait_seconds):
                yield
        else:
            with disk.lock(self.lock, place=entity.root, timeout_seconds=wait_seconds):
                yield


def of(entity: Entity) -> Place:
    """Return where an entity's index belongs.

    Raises:
        UnsafePathError: If a link leads out of the folder there.
    """
    disk.settled(entity.private)
    return Place(entity.vectors, entity.private / "index.lock")


def elsewhere(folder: Path) -> Place:
    """Return a place outside the entity's folder, for one that may not be written."""
    return Place(folder / "memory.db", folder / "index.lock")
