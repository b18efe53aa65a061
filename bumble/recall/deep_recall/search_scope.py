"""What a deep recall may look at: its scope, who reads, and the three ways to look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bumble.errors import RecordInvalidError, UsageError
from bumble.index import chunks
from bumble.index.search import Hit
from bumble.recall import memory_search, prompt_memories, whole_record
from bumble.recall.memory_search import Search
from bumble.records import base, session_files
from bumble.runtime.runtime import Runtime
from bumble.text import words
from bumble.text.stop_words import words as words_of

MAX_CHARS = 200
ANY, OR = "*", "|"
Glob = tuple[str, ...]  # the parts of a word between its `*`


class Pattern(Struct, frozen=True):
    """What is looked for, word by word."""

    phrases: tuple[tuple[Glob, ...], ...]  # one of them has to stand in a text

    def matches(self, text: str) -> bool:
        """Tell whether a text holds one of the phrases."""
        text_words = [words.folded(word) for word in words_of(text)]
        return any(_holds(text_words, phrase) for phrase in self.phrases)


def parse(source: str) -> Pattern:
    """Read a pattern.

    Raises:
        UsageError: If it is too long, or has no word to look for.
    """
    if len(source) > MAX_CHARS:
        raise UsageError(f"A pattern has at most {MAX_CHARS} characters.")
    phrases = tuple(filter(None, (_phrase(part) for part in source.split(OR))))
    if not phrases:
        raise UsageError(
            "A pattern needs a word: `*` stands for letters, `|` between alternatives."
        )
    return Pattern(phrases)


def _phrase(source: str) -> tuple[Glob, ...]:
    globs = list[Glob]()
    for token in source.split():
        parts = [[words.folded(word) for word in words_of(part)] for part in token.split(ANY)]
        if len(parts) == 1:
            globs += [(word,) for word in parts[0]]
        elif any(parts):
            globs.append(tuple("".join(part) for part in parts))
    return tuple(globs)


def _holds(text_words: Sequence[str], phrase: Sequence[Glob]) -> bool:
    """Tell whether the words of a phrase follow each other in a text; both are short or linear."""
    return any(
        all(_fits(text_words[start + n], glob) for n, glob in enumerate(phrase))
        for start in range(len(text_words) - len(phrase) + 1)
    )


def _fits(word: str, glob: Glob) -> bool:
    """Tell whether a word is as a glob says: its parts in their order, the leftmost place of each.

    The leftmost is enough, so nothing is ever tried again.
    """
    first, *middle = glob
    if not middle:
        return word == first
    *middle, last = middle
    if len(word) < len(first) + len(last) or not word.startswith(first) or not word.endswith(last):
        return False
    at, end = len(first), len(word) - len(last)
    for part in middle:
        at = word.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


Scope = Literal["current_session", "recent_sessions", "all_sessions", "all"]
RECENT = 5  # conversations
RESULTS = 10  # of a search
MATCHES = 30  # of a pattern
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

    def find(self, source: str, *, limit: int = MATCHES) -> list[Hit]:
        """Find the first passages that match a pattern, oldest first.

        Raises:
            UsageError: If it is no pattern.
        """
        looked_for = parse(source)
        return memory_search.scan(
            self.runtime.memory,
            self.runtime.config,
            self.base,
            lambda hit: looked_for.matches(hit.text),
            kinds=self.kinds,
            limit=limit,
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
