"""What a deep recall may look at: its scope, who reads, and the two ways to look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bumble.errors import RecordInvalidError
from bumble.index import chunks
from bumble.index.search import Hit
from bumble.recall import memory_search, prompt_memories, whole_record
from bumble.recall.memory_search import Search
from bumble.records import base, session_files
from bumble.runtime.runtime import Runtime

Scope = Literal["current_session", "recent_sessions", "all_sessions", "all"]
RECENT = 5  # conversations
RESULTS = 10  # of a search
MOST_AROUND = 200  # messages on either side that are read


class RecollectionSource(Struct, frozen=True):
    """A place in memory that an answer may rest on."""

    kind: str
    id: str
    path: str
    line: int
    text: str
    at: datetime | None
    speaker: str
    audience: tuple[str, ...]
    trust: str
    session: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others."""
        return self.kind, self.id


def source_of(hit: Hit) -> RecollectionSource:
    """Return the place that a hit names, with the passage that was found."""
    return RecollectionSource(
        kind=hit.kind,
        id=hit.id,
        path=hit.path,
        line=hit.line,
        text=f"{hit.newer} {prompt_memories.content(hit)}".lstrip(),
        at=hit.at,
        speaker=hit.speaker,
        audience=hit.audience,
        trust=hit.trust,
        session=hit.session,
    )


class SearchScope(Struct, frozen=True):
    """What one deep recall may look at."""

    runtime: Runtime
    base: Search  # whoever asks, when, and outside of which conversation
    kinds: tuple[str, ...] = ()  # empty: all

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        people: Sequence[str] = (),
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = RESULTS,
    ) -> list[Hit]:
        """Find by words and meaning, best first; faded memories too."""
        wanted = self._kinds(kinds)
        if wanted is None:
            return []
        return memory_search.find(
            self.runtime.memory,
            self.runtime.config,
            replace(self.base, people=tuple(people), after=after, before=before),
            query,
            kinds=wanted,
            limit=limit,
            unasked=False,
            faded=True,
        )

    def read(self, source: RecollectionSource, around: int = 0) -> list[RecollectionSource]:
        """Read a record whole; of a conversation also so many messages on either side."""
        if source.kind == whole_record.MESSAGE and around:
            return self._around(source, min(around, MOST_AROUND))
        runtime = self.runtime
        view = whole_record.read(runtime.entity, runtime.zone, source.kind, source.id, source.path)
        if view is None or not base.may_read(view.origin.audience, self.base.readers):
            return []
        return [replace(source, text=view.text)]

    def _around(self, source: RecollectionSource, around: int) -> list[RecollectionSource]:
        try:
            session = session_files.load(self.runtime.entity.root / source.path)
        except RecordInvalidError:
            return []
        if not base.may_read(session.people, self.base.readers):
            return []
        views = list(whole_record.messages(session))
        place = next((n for n, view in enumerate(views) if view.id == source.id), None)
        if place is None:
            return []
        names = {message.id: message for message in session.messages}
        return [
            RecollectionSource(
                kind=source.kind,
                id=view.id,
                path=source.path,
                line=0,
                text=view.text,
                at=view.at,
                speaker=self._speaker(names[view.id].speaker),
                audience=view.origin.audience,
                trust=view.origin.trust,
                session=session.id,
            )
            for view in views[max(0, place - around) : place + around + 1]
        ]

    def _speaker(self, person_id: str) -> str:
        return chunks.spoken_name(person_id) if person_id else self.runtime.identity.name

    def _kinds(self, wanted: Sequence[str]) -> tuple[str, ...] | None:
        """Return the kinds to search; None if the scope has none of those that are wanted."""
        if not self.kinds or not wanted:
            return tuple(wanted) or self.kinds
        return tuple(kind for kind in wanted if kind in self.kinds) or None


def of_scope(runtime: Runtime, search: Search, scope: Scope, current: str = "") -> SearchScope:
    """Return what may be looked at in a scope.

    Args:
        runtime: Whose memory.
        search: Who asks.
        scope: How far.
        current: Id of the conversation that goes on; by default the newest.
    """
    if scope == "all":
        return SearchScope(runtime, search)
    messages = (whole_record.MESSAGE,)
    if scope == "all_sessions":
        return SearchScope(runtime, search, messages)
    newest = list(dict.fromkeys((*filter(None, (current,)), *_newest_sessions(runtime))))
    chosen = newest[: RECENT if scope == "recent_sessions" else 1]
    nowhere = ("-",)  # no conversation has this id
    return SearchScope(runtime, replace(search, sessions=tuple(chosen) or nowhere), messages)


def _newest_sessions(runtime: Runtime) -> list[str]:
    """Return the ids of all conversations, the newest first; broken ones are left out."""
    paths = session_files.paths(runtime.entity.sessions)
    infos, _ = base.load_all(paths, session_files.read_info)
    return [info.id for info in reversed(session_files.by_recency(infos, runtime.now()))]
