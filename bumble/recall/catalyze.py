"""Recall by way of the questions that topics keep raising: what a query and they bring to mind.

Put in the order of a register: `explore` spreads it over conversations, `continuity` follows
threads, `reference` puts knowledge first. Without such questions it is plain recall, and says so.
It finds fewer of the turns that answer a question than plain recall (docs/log.md), so nothing uses
it unasked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.config import Config
from bumble.index.memory import Memory
from bumble.index.search import Hit
from bumble.recall import memory_search, prompt_memories
from bumble.records import knowledge, topics
from bumble.records.sessions import Session
from bumble.runtime.runtime import Result, Runtime

GUIDANCE: dict[str, str] = {
    "explore": "Different sides of it, from conversations far apart: say what connects them, and"
    " leave open what is open.",
    "continuity": "Threads, the one spoken of last first, each as it went on: take up where it was"
    " left.",
    "reference": "What is written down first: answer from it, and say where it stands.",
}
QUESTIONS, OF_QUESTION = 6, 10  # that a query meets, and memories each of them brings
POOL = 40  # hits of plain recall among which a register chooses
QUESTION_WEIGHT = 0.3  # of what questions bring, beside plain recall


class Contribution(Struct, frozen=True):
    """A question of a topic, and what it brought to an answer."""

    text: str
    topic: str
    relevance: float  # its likeness to the query, in [0, 1]
    hits: tuple[Hit, ...]  # what it brings to mind
    count: int = 0  # of the results that are among these


class Catalyzed(Struct, frozen=True):
    """What a query brought to mind, in the order of a register."""

    register: str
    hits: tuple[Hit, ...]
    contributions: tuple[Contribution, ...]  # those that brought most first
    note: str = ""  # why no question had a part in it

    @property
    def guidance(self) -> str:
        """How it is best told."""
        return GUIDANCE[self.register]


def find(
    memory: Memory,
    config: Config,
    search: memory_search.Search,
    query: str,
    *,
    register: str,
    limit: int,
) -> Catalyzed:
    """Find what a query brings to mind by way of the topics' questions.

    Args:
        memory: What is searched.
        config: How beliefs fade.
        search: Who meets it, in which mood.
        query: What was said, or asked.
        register: One of `topics.REGISTERS`.
        limit: At most so many results.
    """
    plain = memory_search.find(
        memory, config, search, query, limit=max(POOL, 2 * limit), unasked=False
    )
    met = list(_met(memory, config, search, query)) if memory.embedder else []
    chosen = tuple(ordered(joined(plain, met), register, limit))
    shown = {_key(hit) for hit in chosen}
    counted = [replace(each, count=len(shown & {_key(hit) for hit in each.hits})) for each in met]
    brought = sorted(counted, key=lambda each: (-each.count * each.relevance, each.text))
    return Catalyzed(
        register, chosen, tuple(each for each in brought if each.count), _note(memory, met)
    )


def _met(
    memory: Memory, config: Config, search: memory_search.Search, query: str
) -> list[Contribution]:
    """Return the topics' questions that are near a query, with what each brings to mind."""
    asked = memory.search(
        query, kinds=(topics.TOPIC.passages,), limit=QUESTIONS, audience=search.readers
    )
    files = topics.TOPIC.readable(memory.entity.topics) if asked else ()
    names = {file.id: file.name for file in files}
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


def ordered(hits: Sequence[Hit], register: str, limit: int) -> list[Hit]:
    """Choose and order hits, the best first, as a register has it."""
    if register == "explore":
        return _spread(hits)[:limit]
    if register == "reference":
        return sorted(hits, key=lambda hit: hit.kind != knowledge.KNOWLEDGE.passages)[:limit]
    return _threads(hits[:limit])


def _spread(hits: Sequence[Hit]) -> list[Hit]:
    """Take the best of each conversation or record, then the second best of each, and so on."""
    seen = Counter[str]()
    turns = list[int]()
    for hit in hits:
        turns.append(seen[hit.session or hit.path])
        seen[hit.session or hit.path] += 1
    return [hit for _, hit in sorted(zip(turns, hits, strict=True), key=lambda pair: pair[0])]


def _threads(hits: Sequence[Hit]) -> list[Hit]:
    """Put hits in threads, each a conversation or a record, the newest first, each in its order."""
    threads: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=_seconds):
        threads.setdefault(hit.session or hit.path, []).append(hit)
    ranked = sorted(threads.values(), key=lambda thread: -_seconds(thread[-1]))
    return [hit for thread in ranked for hit in thread]


def _seconds(hit: Hit) -> float:
    return hit.at.timestamp() if hit.at else 0.0


def _note(memory: Memory, met: Sequence[Contribution]) -> str:
    if met:
        return ""
    if memory.embedder is None:
        return "Plain search: catalysts are met by meaning, and there is no embedding model."
    if not topics.TOPIC.files(memory.entity.topics):
        return "Plain search: no topic has catalysts yet; `bumble catalysts` draws them."
    return "Plain search: no catalyst is near enough."


def answer(
    runtime: Runtime, query: str, session: Session, register: str, unseen: Sequence[str] = ()
) -> Result:
    """Answer the entity's own question in a register; without one it is plain recall."""
    if register not in topics.REGISTERS:
        return prompt_memories.answer(runtime, query, session, unseen)
    search = prompt_memories.question_of(runtime, session, unseen)
    catalyzed = find(
        *(runtime.memory, runtime.config, search, query),
        register=register,
        limit=prompt_memories.RESULTS,
    )
    reply = prompt_memories.worded(runtime, catalyzed.hits, session.people)
    return replace(reply, text=f"{reply.text}\n{catalyzed.guidance}") if reply.found else reply
