"""Recall by way of the questions that topics keep raising: what a query and they bring to mind.

Without such questions it is plain recall, and says so. It finds fewer of the turns that answer a
question than plain recall (docs/log.md), so nothing uses it unasked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.config import Config
from bumble.index.memory import Memory
from bumble.index.search import Hit
from bumble.recall import memory_search
from bumble.records import kinds, topics

QUESTIONS, OF_QUESTION = 6, 10  # that a query meets, and memories each of them brings
POOL = 40  # hits of plain recall that questions may bring up
QUESTION_WEIGHT = 0.3  # of what questions bring, beside plain recall


class Contribution(Struct, frozen=True):
    """A question of a topic, and what it brought to an answer."""

    text: str
    topic: str
    relevance: float  # its likeness to the query, in [0, 1]
    hits: tuple[Hit, ...]  # what it brings to mind
    count: int = 0  # of the results that are among these


class Catalyzed(Struct, frozen=True):
    """What a query brought to mind, the best first."""

    hits: tuple[Hit, ...]
    contributions: tuple[Contribution, ...]  # those that brought most first
    note: str = ""  # why no question had a part in it


def find(
    memory: Memory,
    config: Config,
    search: memory_search.Search,
    query: str,
    *,
    limit: int,
) -> Catalyzed:
    """Find what a query brings to mind by way of the topics' questions.

    Args:
        memory: What is searched.
        config: How beliefs fade.
        search: Who meets it, in which mood.
        query: What was said, or asked.
        limit: At most so many results.
    """
    pool = max(POOL, 2 * limit)
    plain = memory_search.find(memory, config, search, query, limit=pool, unasked=False)
    met = list(_met(memory, config, search, query)) if memory.embedder else []
    chosen = tuple(joined(plain, met)[:limit])
    shown = {_key(hit) for hit in chosen}
    counted = [replace(each, count=len(shown & {_key(hit) for hit in each.hits})) for each in met]
    brought = sorted(counted, key=lambda each: (-each.count * each.relevance, each.text))
    return Catalyzed(chosen, tuple(each for each in brought if each.count), _note(memory, met))


def _met(
    memory: Memory, config: Config, search: memory_search.Search, query: str
) -> list[Contribution]:
    """Return the topics' questions that are near a query, with what each brings to mind."""
    kind = (kinds.TOPIC.passages,)
    asked = memory.search(query, kinds=kind, limit=QUESTIONS, audience=search.readers)
    names = {file.id: file.name for file in topics.read(memory.entity.topics)} if asked else {}
    return [
        Contribution(
            hit.text,
            names.get(hit.id, hit.id),
            round(hit.parts.calibrated, 6),
            tuple(
                memory_search.find(
                    memory, config, search, hit.text, limit=OF_QUESTION, unasked=False
                )
            ),
        )
        for hit in asked
        if hit.parts.calibrated and hit.parts.calibrated > 0
    ]


def _key(hit: Hit) -> tuple[str, str]:
    return hit.kind, hit.id


def joined(plain: Sequence[Hit], met: Sequence[Contribution]) -> list[Hit]:
    """Join what a query and what questions bring to mind, the best first."""
    brought: dict[tuple[str, str], float] = defaultdict(float)
    hits = {_key(hit): hit for hit in plain}
    bare = {_key(hit): replace(hit, score=0.0) for each in met for hit in each.hits}
    for each in met:
        for hit in each.hits:
            brought[_key(hit)] += each.relevance * hit.score
    most = max(brought.values(), default=0) or 1
    scored = [
        replace(hit, score=round(hit.score + QUESTION_WEIGHT * brought.get(key, 0.0) / most, 6))
        for key, hit in (bare | hits).items()
    ]
    return sorted(scored, key=lambda hit: (-hit.score, hit.path, hit.line))


def _note(memory: Memory, met: Sequence[Contribution]) -> str:
    if met:
        return ""
    if memory.embedder is None:
        return "Plain search: catalysts are met by meaning, and there is no embedding model."
    if not topics.paths(memory.entity.topics):
        return "Plain search: no topic has catalysts yet; `bumble catalysts` draws them."
    return "Plain search: no catalyst is near enough."
