"""Which store an index stands in, opened: `memory.db` with tantivy beside it, or a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from bumble.entity.folder import Entity
from bumble.errors import IndexServerError
from bumble.files import disk
from bumble.index import database, fulltext
from bumble.index.database_reader import DatabaseReader
from bumble.index.filters import Allowed
from bumble.index.place import Place
from bumble.index.store import Store, StoreReader, Words


def settled(at: Place) -> Place:
    """Return where to look: the folder's own index where the server is away and that is allowed.

    Raises:
        IndexServerError: If the server can't be reached, and nothing stands in for it.
    """
    if at.server is None:
        return at
    try:
        at.server.reach()
    except IndexServerError:
        if at.local is None:
            raise
        return at.local
    return at


def exists(entity: Entity, at: Place) -> bool:
    """Whether there is an index."""
    return at.server.holds(entity) if at.server else at.database.exists()


def to_read(entity: Entity, at: Place) -> StoreReader:
    """Open the index to search in.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
        IndexServerError: If the server does not answer.
    """
    return at.server.to_read(entity) if at.server else database.open_to_read(at.database)


def to_write(entity: Entity, at: Place, *, anew: bool) -> Store:
    """Open the index to bring it up to date, or make an empty one.

    Raises:
        IndexUnusableError: If it is damaged, or of another version.
        IndexServerError: If the server does not answer.
        FolderUnwritableError: If the system refuses.
    """
    if at.server:
        return at.server.to_write(entity, anew=anew)
    return database.create(at.database) if anew else database.open_to_write(at.database)


@contextmanager
def held(entity: Entity, at: Place, wait_seconds: float) -> Iterator[None]:
    """Let nobody else, on whatever machine, bring this index up to date meanwhile.

    Raises:
        LockedError: If another process is at it, for longer than one may wait.
    """
    if at.server:
        with at.server.held(entity, wait_seconds):
            yield
    else:
        with disk.lock(at.lock, place=entity.root, timeout_seconds=wait_seconds):
            yield


@contextmanager
def searched(entity: Entity, at: Place) -> Iterator[tuple[StoreReader, Words]]:
    """Open the index to search in, with what knows which chunks hold which terms."""
    if at.server:
        with closing(at.server.to_read(entity)) as store:
            yield store, at.server.words(store)
        return
    with closing(database.open_to_read(at.database)) as beside:
        yield beside, _Beside(beside, fulltext.open_to_read(at.fulltext))


class _Beside:
    """The full-text index beside a `memory.db`, which says what a condition lets through."""

    def __init__(self, store: DatabaseReader, index: fulltext.Fulltext) -> None:
        self._store, self._index = store, index

    @property
    def size(self) -> int:
        return self._index.size

    def counts(self, terms: Iterable[str]) -> dict[str, int]:
        return self._index.counts(terms)

    def best(
        self, terms: Sequence[str], depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[int]:
        allowed = Allowed(lambda ids: self._store.allowed(ids, where, values)) if where else None
        return self._index.best(terms, depth, allowed)
