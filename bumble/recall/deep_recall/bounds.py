"""What a deep recall may look at, and what it may spend."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.config import DeepRecallConfig, PricesConfig
from bumble.errors import RecordInvalidError
from bumble.index import chunks
from bumble.index.search import Hit
from bumble.llm.protocol import EnoughError, Model, Request
from bumble.recall import memory_search, prompt_memories, whole_record
from bumble.records import base, session_files
from bumble.runtime.runtime import Runtime
from bumble.text import tokens

Scope = Literal["current_session", "recent_sessions", "all_sessions", "all"]
RECENT = 5  # conversations
RESULTS = 10  # of a search
MOST_AROUND = 200  # messages on either side that are read


def source_of(hit: Hit) -> Hit:
    """Return a hit as a place that an answer may rest on: with all that its passage says."""
    return replace(hit, text=f"{hit.newer} {prompt_memories.content(hit)}".lstrip())


class SearchScope(Struct, frozen=True):
    """What one deep recall may look at."""

    runtime: Runtime
    base: memory_search.Search  # whoever asks, when, and outside of which conversation
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

    def read(self, source: Hit, around: int = 0) -> list[Hit]:
        """Read a record whole; of a conversation also so many messages on either side."""
        if source.kind == whole_record.MESSAGE and around:
            return self._around(source, min(around, MOST_AROUND))
        runtime = self.runtime
        view = whole_record.read(runtime.entity, runtime.zone, source.kind, source.id, source.path)
        if view is None or not base.may_read(view.origin.audience, self.base.readers):
            return []
        return [replace(source, text=view.text)]

    def _around(self, source: Hit, around: int) -> list[Hit]:
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
            replace(
                source,
                id=view.id,
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


def of_scope(
    runtime: Runtime, search: memory_search.Search, scope: Scope, current: str = ""
) -> SearchScope:
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


LEAST_ANSWER_TOKENS = 32
MARGIN = 1.25  # on what a prompt is estimated to take: no estimate may break a limit
MILLION = 1_000_000


class SpentError(Exception):
    """A limit is reached: what was found by now has to do."""


class RecollectionSpending(Struct, frozen=True):
    """What a deep recall has spent."""

    steps: int = 0
    sub_calls: int = 0
    tokens: int = 0
    dollars: float | None = None  # None: prices are not known
    longest_step_seconds: float = 0.0


class Budget:
    """Asks a model within limits, and counts."""

    def __init__(
        self,
        model: Model,
        config: DeepRecallConfig,
        prices: PricesConfig,
        *,
        calls: int | None = None,
        token_ratio: float = 1.0,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set up without asking anything.

        Args:
            model: Who is asked.
            config: The limits.
            prices: What its tokens cost, where that is known.
            calls: Steps and sub-calls together at most; None: no further limit.
            token_ratio: How many tokens the model counts for one that is estimated.
            stopwatch: Counts seconds from anywhere.
        """
        self.model, self.config, self.prices = model, config, prices
        self.calls, self.made = calls, 0
        self.token_ratio, self._stopwatch = token_ratio, stopwatch
        known = prices.prompt is not None or prices.completion is not None
        self.spent = RecollectionSpending(dollars=0.0 if known else None)
        self._began = stopwatch()

    def begin_step(self) -> None:
        """Begin a step.

        Raises:
            SpentError: If there were as many as there may be.
        """
        if self.spent.steps >= self.config.steps:
            raise SpentError(f"{self.config.steps} steps were taken")
        self.spent = replace(self.spent, steps=self.spent.steps + 1)
        self._began = self._stopwatch()

    def ask(self, request: Request, *, sub_call: bool = False) -> str:
        """Return what the model answers.

        Raises:
            SpentError: If a limit is reached, before or while it answers.
            UserError: If the model fails.
        """
        if sub_call:
            if self.spent.sub_calls >= self.config.sub_calls:
                raise SpentError(f"{self.config.sub_calls} sub-calls were made")
            self.spent = replace(self.spent, sub_calls=self.spent.sub_calls + 1)
        if self.calls is not None and self.made >= self.calls:
            raise SpentError(f"{self.calls} calls were made")
        self.made += 1
        self._hold_time()
        prompt = self.prompt_tokens(request)
        most = min(request.max_tokens, self._affordable(prompt))
        if most < LEAST_ANSWER_TOKENS:
            raise SpentError(self._poor())
        heard: list[str] = []

        def listen(piece: str) -> None:
            heard.append(piece)
            if self._seconds() >= self.config.step_seconds:
                raise EnoughError
            if sum(map(len, heard)) // 4 >= most:  # not every backend keeps to its limit
                raise EnoughError

        try:
            left = max(0.0, self.config.step_seconds - self._seconds())
            bounded = replace(request, max_tokens=most, seconds=left)
            completion = self.model.complete(bounded, listen)
        except EnoughError:
            self._count(prompt, min(most, sum(map(len, heard)) // 4))
            self._hold_time()
            if not heard:  # silent to the end of its time
                raise SpentError(self._late()) from None
            return "".join(heard)
        counted = completion.usage.prompt_tokens, completion.usage.completion_tokens
        written = len(completion.text) // 4 + 1
        cost = completion.usage.dollars
        self._count(counted[0] or prompt, min(most, counted[1] or written), cost)
        self._hold_time()
        return completion.text

    def prompt_tokens(self, request: Request) -> int:
        """Estimate what a prompt takes, rather too much than too little."""
        texts = sum(tokens.estimate_message(message.content) for message in request.messages)
        return int((texts + tokens.estimate(request.schema_text)) * self.token_ratio * MARGIN) + 1

    def _affordable(self, prompt: int) -> int:
        """Return how many tokens an answer to a prompt may have at most."""
        left = self.config.max_tokens - self.spent.tokens - prompt
        if self.spent.dollars is None:
            return left
        dollars = self.config.max_dollars - self.spent.dollars - self._cost(prompt, 0)
        if dollars < 0:
            return 0
        a_token = (self.prices.completion or 0.0) / MILLION
        return min(left, int(dollars / a_token)) if a_token else left

    def _poor(self) -> str:
        if self.spent.dollars is not None and self.spent.dollars > 0:
            return f"{self.spent.tokens} tokens, ${self.spent.dollars:.2f}: too little is left"
        return f"{self.spent.tokens} tokens: too little is left"

    def _count(self, prompt: int, completion: int, cost: float | None = None) -> None:
        dollars = self.spent.dollars
        if cost is not None:
            dollars = (dollars or 0.0) + cost
        elif dollars is not None:
            dollars += self._cost(prompt, completion)
        total = self.spent.tokens + prompt + completion
        self.spent = replace(self.spent, tokens=total, dollars=dollars)

    def _cost(self, prompt: int, completion: int) -> float:
        prices = self.prices
        return (prompt * (prices.prompt or 0) + completion * (prices.completion or 0)) / MILLION

    def _seconds(self) -> float:
        return self._stopwatch() - self._began

    def _hold_time(self) -> None:
        """End what takes too long.

        Raises:
            SpentError: If this step has taken its time.
        """
        seconds = self._seconds()
        longest = max(self.spent.longest_step_seconds, seconds)
        self.spent = replace(self.spent, longest_step_seconds=round(longest, 3))
        if seconds >= self.config.step_seconds:
            raise SpentError(self._late())

    def _late(self) -> str:
        return f"a step took {self.config.step_seconds:g} s"
