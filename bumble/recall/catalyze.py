"""Recall in two stages: a query meets catalysts first, then the texts they point to.

What both stages and plain search find is joined, then put in the order of a register: `explore`
spreads it over topics and times, `continuity` follows threads, `reference` puts knowledge and exact
words first. Without catalysts it is plain search, and says so. It finds fewer of the turns that
answer a question than plain recall (`bench/catalyze.py`), so nothing uses it unasked.

Source:
    Carbonell & Goldstein, "The use of MMR" (1998), for spreading what is found.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.config import Config
from bumble.index.memory import Memory
from bumble.index.rows import Filter
from bumble.index.search import Hit, Pointer
from bumble.recall import recalled
from bumble.recall.recalled import RecalledAnswer, Search
from bumble.records import kinds, topics
from bumble.records.sessions import Session
from bumble.runtime.runtime import Runtime
from bumble.text import words

Register = Literal["explore", "continuity", "reference"]
REGISTERS: tuple[str, ...] = get_args(Register)
GUIDANCE: dict[str, str] = {
    "explore": "Different sides of it, far apart in topic and time: say what connects them, and"
    " leave open what is open.",
    "continuity": "Threads, the one spoken of last first, each as it went on: take up where it was"
    " left.",
    "reference": "What is written down and the very words first: answer from them, and say where"
    " it stands.",
}
CATALYSTS = 8  # that a query meets
POOL = 40  # hits of plain search among which a register chooses
POINTED_WEIGHT = 0.3  # of what catalysts point to, beside plain search
FRESH = 0.6  # in `explore`: what fit counts, the rest is being unlike what is there already
NEAR_DAYS = 3.0  # in which the likeness of two times halves
EXACT_WEIGHT = 0.5  # in `reference`: of knowledge, and of a text with all words of the query


class Contribution(Struct, frozen=True):
    """A catalyst, and what it brought to an answer."""

    text: str
    topic: str
    count: int  # of the results that it points to
    relevance: float  # its likeness to the query, in [0, 1]


class Catalyzed(Struct, frozen=True):
    """What a query brought to mind, in the order of a register."""

    register: str
    hits: tuple[Hit, ...]
    contributions: tuple[Contribution, ...]  # those that brought most first
    note: str = ""  # why no catalyst had a part in it

    @property
    def guidance(self) -> str:
        """How it is best told."""
        return GUIDANCE[self.register]


def find(
    memory: Memory,
    config: Config,
    search: Search,
    query: str,
    *,
    register: str,
    limit: int,
) -> Catalyzed:
    """Find what a query brings to mind by way of catalysts.

    Args:
        memory: What is searched.
        config: How beliefs fade.
        search: Who meets it, in which mood.
        query: What was said, or asked.
        register: One of REGISTERS.
        limit: At most so many results.
    """
    pool = max(POOL, 2 * limit)
    plain = recalled.find(memory, config, search, query, limit=pool, unasked=False)
    only = Filter(
        kinds=kinds.RECALLED,
        audience=tuple(search.readers),
        people=tuple(search.people),
        tags=tuple(search.tags),
        sessions=tuple(search.sessions),
        not_session=search.outside,
        unseen=tuple(search.unseen),
    )
    met = memory.pointers(query, only, CATALYSTS)
    joined = joined_hits(plain, met)
    known = {_key(hit) for hit in plain}
    pointed = [hit for hit in joined if _key(hit) not in known]
    standing = recalled.standing(memory.entity, config, search, pointed)
    by_key = {_key(hit): hit for hit in standing}
    hits = [by_key.get(_key(hit), hit) for hit in joined if _key(hit) in known | by_key.keys()]
    chosen = tuple(ordered(hits, query, register, limit))
    return Catalyzed(
        register, chosen, tuple(_contributions(memory, met, chosen)), _note(memory, met)
    )


def _key(hit: Hit) -> tuple[str, str]:
    return hit.kind, hit.id


def joined_hits(plain: Sequence[Hit], met: Sequence[Pointer]) -> list[Hit]:
    """Join what plain search found and what catalysts point to, the best first."""
    brought: dict[tuple[str, str], float] = defaultdict(float)
    hits = {_key(hit): hit for hit in plain}
    for pointer in met:
        best: dict[tuple[str, str], float] = {}
        for hit, likeness in pointer.hits:
            hits.setdefault(_key(hit), hit)
            best[_key(hit)] = max(best.get(_key(hit), 0.0), likeness)
        for key, likeness in best.items():
            brought[key] += pointer.relevance * likeness
    most = max(brought.values(), default=0) or 1
    scored = [
        replace(hit, score=round(hit.score + POINTED_WEIGHT * brought.get(key, 0.0) / most, 6))
        for key, hit in hits.items()
    ]
    return sorted(scored, key=lambda hit: (-hit.score, hit.path, hit.line))


def ordered(hits: Sequence[Hit], query: str, register: str, limit: int) -> list[Hit]:
    """Choose and order hits, the best first, as a register has it."""
    if register == "explore":
        return _spread(hits, limit)
    if register == "reference":
        asked = words.stems(query, words.language(query))
        return sorted(hits, key=lambda hit: -_reference(hit, asked))[:limit]
    return _threads(hits[:limit])


def _spread(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Take the hit that fits and is unlike all that were taken, one after the other."""
    left, taken = list(hits), list[Hit]()
    stems = {_key(hit): words.stems(hit.text, words.language(hit.text)) for hit in hits}

    def gain(hit: Hit) -> float:
        likeness: float = max((_likeness(hit, other, stems) for other in taken), default=0.0)
        return FRESH * hit.score - (1 - FRESH) * likeness

    while left and len(taken) < limit:
        best = max(left, key=gain)
        left.remove(best)
        taken.append(best)
    return taken


def _likeness(hit: Hit, other: Hit, stems: dict[tuple[str, str], set[str]]) -> float:
    """Say how much two hits are of one topic and one time, in [0, 1]."""
    own, their = stems[_key(hit)], stems[_key(other)]
    shared = len(own & their) / len(own | their) if own | their else 0.0
    if hit.at is None or other.at is None:
        return shared
    days = abs((hit.at - other.at).total_seconds()) / 86_400
    return (shared + math.exp2(-days / NEAR_DAYS)) / 2


def _reference(hit: Hit, asked: set[str]) -> float:
    exact = len(asked & words.stems(hit.text, words.language(hit.text))) / max(len(asked), 1)
    is_fact = hit.kind == kinds.KNOWLEDGE.passages
    return hit.score + EXACT_WEIGHT * (exact + is_fact)


def _threads(hits: Sequence[Hit]) -> list[Hit]:
    """Put hits in threads, each a conversation or a record, the newest first, each in its order."""
    threads: dict[str, list[Hit]] = {}
    for hit in hits:
        threads.setdefault(hit.session or hit.path, []).append(hit)

    def newest(thread: Sequence[Hit]) -> float:
        return max(map(_seconds, thread))

    ranked = sorted(threads.values(), key=lambda thread: -newest(thread))
    return [hit for thread in ranked for hit in sorted(thread, key=_seconds)]


def _seconds(hit: Hit) -> float:
    at: datetime | None = hit.at
    return at.timestamp() if at else 0.0


def _contributions(
    memory: Memory, met: Sequence[Pointer], chosen: Sequence[Hit]
) -> list[Contribution]:
    shown = {_key(hit) for hit in chosen}
    names = {file.id: file.name for file in topics.read(memory.entity.topics)} if met else {}
    contributions = [
        Contribution(
            pointer.text,
            names.get(pointer.topic, pointer.topic),
            len({_key(hit) for hit, _ in pointer.hits} & shown),
            pointer.relevance,
        )
        for pointer in met
    ]
    brought = [contribution for contribution in contributions if contribution.count]
    return sorted(brought, key=lambda each: (-each.count * each.relevance, each.text))


def _note(memory: Memory, met: Sequence[Pointer]) -> str:
    if met:
        return ""
    if memory.embedder is None:
        return "Plain search: catalysts are met by meaning, and there is no embedding model."
    if not topics.paths(memory.entity.topics):
        return "Plain search: no topic has catalysts yet; `bumble catalysts` draws them."
    return "Plain search: no catalyst is near enough."


def answer(
    runtime: Runtime, query: str, session: Session, register: str, unseen: Sequence[str] = ()
) -> RecalledAnswer:
    """Answer the entity's own question in a register; without one it is plain recall."""
    if register not in REGISTERS:
        return recalled.answer(runtime, query, session, unseen)
    search = recalled.question_of(runtime, session, unseen)
    catalyzed = find(
        *(runtime.memory, runtime.config, search, query),
        register=register,
        limit=recalled.RESULTS,
    )
    reply = recalled.worded(runtime, catalyzed.hits)
    guided = replace(reply, text=f"{reply.text}\n{catalyzed.guidance}")
    return guided if reply.is_memory else reply
