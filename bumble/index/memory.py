"""The index as a turn uses it: brought up to date before each search.

Knows nothing of moods or prompts; what else is to count comes in as a factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TypeVar
from zoneinfo import ZoneInfo

from bumble.entity.folder import Entity
from bumble.errors import (
    FolderUnwritableError,
    IndexDamagedError,
    IndexServerError,
    IndexUnusableError,
    UserError,
)
from bumble.index import search, sync
from bumble.index.ingest import Progress, SyncReport
from bumble.index.place import Place
from bumble.index.rerank import RerankTurn
from bumble.index.rows import Filter, Period
from bumble.index.search import Factor, Hit, Index
from bumble.models.embed import reader
from bumble.models.embed.protocol import Embedder
from bumble.models.embed.reader import MessageReader

T = TypeVar("T")
UNUSABLE = (FolderUnwritableError, IndexServerError, IndexUnusableError)


class Memory:
    """The index of an entity, brought up to date before the first search of a turn."""

    def __init__(
        self,
        entity: Entity,
        open_embedder: Callable[[], Embedder | None],
        *,
        name: str,
        zone: ZoneInfo,
        place: Place | None = None,
        syncs: bool = True,
        optional: bool = False,
        open_reader: Callable[[Embedder | None], MessageReader | None] = reader.over,
    ) -> None:
        """Set up without reading anything.

        Args:
            entity: Whose memory.
            open_embedder: Called before the first search; None searches by words alone.
            name: What the entity is called: the speaker of its own messages.
            zone: Its time zone.
            place: Where the index lies, if not in the folder.
            syncs: False leaves the index as it is.
            optional: Whether nothing is found where the index can't be used; else that is an error.
            open_reader: Called before the first message is read, with the embedder.
        """
        self.entity, self._open_embedder = entity, open_embedder
        self._open_reader = open_reader
        self.name, self.zone = name, zone
        self.place, self.syncs, self.optional = place, syncs, optional
        self.report: SyncReport | None = None
        self.unusable = ""  # why nothing is found until the next sync

    @cached_property
    def embedder(self) -> Embedder | None:
        """What turns text into vectors."""
        return self._open_embedder()

    @cached_property
    def reader(self) -> MessageReader | None:
        """What reads messages; None where there is none."""
        return self._open_reader(self.embedder)

    def sync(self, progress: Progress | None = None, *, rebuild: bool = False) -> None:
        """Bring the index up to date with the files.

        Raises:
            FolderUnwritableError, IndexServerError: If that can't be done, optional or not: what
                is written by what the index holds waits for it.
        """
        if self.syncs:
            self.report = sync.sync(
                self.entity,
                self.embedder,
                name=self.name,
                zone=self.zone,
                rebuild=rebuild,
                where=self.place,
                progress=progress,
            )
        self.unusable = ""

    def sync_or_go_without(self, progress: Progress | None = None) -> None:
        """Bring the index up to date; where it is optional and can't be, no search asks it."""
        try:
            self.sync(progress)
        except UNUSABLE as problem:
            self._go_without(problem)

    def _go_without(self, problem: UserError) -> None:
        if not self.optional:
            raise problem
        self.unusable = str(problem).splitlines()[0]

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str],
        limit: int,
        audience: Sequence[str] = (),
        people: Sequence[str] = (),
        tags: Sequence[str] = (),
        sessions: Sequence[str] = (),
        outside: str = "",
        unseen: Sequence[str] = (),
        asker: str = "",
        asking: RerankTurn | None = None,
        factor: Factor | None = None,
        faded: bool = False,
        after: datetime | None = None,
        before: datetime | None = None,
        fits: Callable[[Hit], bool] | None = None,
        period: Period | None = None,
    ) -> list[Hit]:
        """Find what fits a query, best first.

        Args:
            query: What was said, or asked.
            kinds: Kinds of record.
            limit: At most this many.
            audience: Ids of all who will read it: what others said in private is left out.
            people: Ids; what is about, or with, at least one of them. Empty: everybody.
            tags: What has all of these; empty: everything.
            sessions: Their messages alone; empty: everything.
            outside: A session that is in the prompt anyway.
            unseen: Ids of its messages that are not.
            asker: Who asks, as shown; empty: whoever is not the entity.
            asking: The turn that asks, where it is indexed already: it is no answer to itself.
            factor: Multiplied into each candidate's relevance; None is plain retrieval.
            faded: Whether dormant and archived records count too.
            after: Only what is from then or newer.
            before: Only what is older, or has no time.
            fits: What else a hit must be, asked before the best are taken; None: nothing.
            period: The time that the query names: what is from then counts more.
        """
        only = Filter(
            kinds=tuple(kinds),
            audience=tuple(audience),
            people=tuple(people),
            tags=tuple(tags),
            sessions=tuple(sessions),
            not_session=outside,
            unseen=tuple(unseen),
            dormant=faded,
            after=after,
            before=before,
        )
        return self._look(
            lambda index: search.search(
                index,
                query,
                self.embedder,
                only=only,
                limit=limit,
                factor=factor,
                asker=asker,
                asking=asking,
                fits=fits,
                period=period,
            )
        )

    def has_faded(self) -> bool:
        """Whether anything has faded at all."""
        return any(self._look(lambda index: [index.store.has_dormant()]))

    def keeps_from(self, readers: Sequence[str]) -> bool:
        """Whether there is anything that one of these people may not read."""
        return any(self._look(lambda index: [index.store.keeps_from(readers)]))

    def _look(self, ask: Callable[[Index], list[T]]) -> list[T]:
        """Ask the index, brought up to date if it may be."""
        if self.unusable:
            return []  # a server that is away is waited for once a turn
        try:
            return self._asked(ask)
        except UNUSABLE as problem:
            self._go_without(problem)
            return []

    def _asked(self, ask: Callable[[Index], list[T]]) -> list[T]:
        def look() -> list[T]:
            with search.opened(self.entity, self.place) as index:
                return ask(index)

        try:
            return look()
        except IndexDamagedError:
            if not self.syncs:
                raise
            self.sync(rebuild=True)
        except IndexServerError:
            if self.place is None or self.place.local is None:
                raise
            self.sync()  # to where the index stands while the server is away
        return look()
