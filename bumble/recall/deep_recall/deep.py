"""Deep recall: what is recalled where that is near enough, else a plan by the model.

Without a model that may write, and where its plan came to nothing, memory answers in quotes.

Knows nothing of who asks, nor of how the answer is shown or kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.fallback import sayings
from bumble.recall import memory_search
from bumble.recall.deep_recall import bounds, plan
from bumble.recall.deep_recall.bounds import (
    Budget,
    RecollectionSource,
    RecollectionSpending,
    Scope,
    SearchScope,
    source_of,
)
from bumble.recall.memory_search import Search
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

ENOUGH = 0.8  # likeness from which three memories are the answer, without a plan
ENOUGH_HITS = 3  # so many ordinary hits that are near are the answer
QUOTES = 10  # places of an answer in quotes
Way = Literal["recall", "plan"]


class Recollection(Struct, frozen=True):
    """What a deep recall came to."""

    question: str
    scope: Scope
    way: Way
    answer: str  # in a model's words, borne out by the sources; empty: the sources answer
    sources: tuple[RecollectionSource, ...]  # what it rests on; empty: a miss
    trail: tuple[str, ...]  # what was done, a line a step
    ended: str  # why it ended
    spent: RecollectionSpending = field(default_factory=RecollectionSpending)

    @property
    def is_miss(self) -> bool:
        """Whether nothing answers the question."""
        return not self.sources


def recall(
    runtime: Runtime,
    search: Search,
    question: str,
    scope: Scope = "all",
    *,
    current: str = "",
    calls: int | None = None,
    stopwatch: Callable[[], float] = time.monotonic,
) -> Recollection:
    """Look as deep as it takes, within what the settings allow.

    Args:
        runtime: Whose memory, and whose model.
        search: Who asks, and which conversation is in front of them anyway.
        question: What is asked.
        scope: How far to look.
        current: Id of the conversation that goes on; by default the newest.
        calls: Calls of the model at most; None: as the settings say.
        stopwatch: Counts seconds from anywhere.
    """
    around = bounds.of_scope(runtime, search, scope, current)
    ordinary = _ordinary(around, question)
    if ordinary:
        return Recollection(question, scope, "recall", "", ordinary, (), "near enough")
    if not sayings.may_write(runtime, question) or calls == 0:
        why = "no call was allowed" if calls == 0 else "the model may not write"
        return _in_quotes(around, question, scope, why)
    meter = _meter(runtime, calls, stopwatch)
    outcome = plan.run(around, meter, question)
    if outcome.ended == plan.FINAL:
        return Recollection(
            question,
            scope,
            "plan",
            outcome.answer,
            outcome.cited,
            outcome.trail,
            outcome.ended,
            meter.spent,
        )
    rest = _in_quotes(around, question, scope, outcome.ended)
    noted = [source for source in outcome.cited if source not in rest.sources]
    return replace(
        rest,
        sources=(*noted, *rest.sources)[:QUOTES],
        trail=outcome.trail,
        spent=meter.spent,
    )


def _meter(runtime: Runtime, calls: int | None, stopwatch: Callable[[], float]) -> Budget:
    """Return what counts the model's calls, and ends them at the limits."""
    config = runtime.config.recall.deep
    if calls is not None:
        config = replace(
            config, steps=min(config.steps, calls), sub_calls=min(config.sub_calls, calls)
        )
    return Budget(
        runtime.model,
        config,
        runtime.config.llm.prices,
        calls=calls,
        token_ratio=runtime.token_ratio,
        stopwatch=stopwatch,
    )


def _ordinary(around: SearchScope, question: str) -> tuple[RecollectionSource, ...]:
    """Return what plain recall finds, if enough of it is near; else nothing."""
    hits = around.search(question)
    near = [hit for hit in hits if (hit.parts.calibrated or 0.0) >= ENOUGH]
    return tuple(source_of(hit) for hit in near) if len(near) >= ENOUGH_HITS else ()


def _in_quotes(around: SearchScope, question: str, scope: Scope, why: str) -> Recollection:
    """Answer by what is recalled; what has nothing to do with the question is a miss."""
    hits = around.search(question, limit=QUOTES + 1)
    asked = len(set(stop_words.telling_words(question)))
    touched = any(memory_search.touches(hit, around.runtime.config, asked) for hit in hits)
    said = [hit for hit in hits if words.one_line(hit.text) != words.one_line(question)]
    sources = tuple(source_of(hit) for hit in said[:QUOTES]) if touched else ()
    return Recollection(question, scope, "recall", "", sources, (), why)
