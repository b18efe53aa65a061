"""Deep recall as the entity and its owner use it: cached, worded, its misses kept as questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from bumble.chat.tool_list import DEEP_RECALL
from bumble.entity.changes import Change
from bumble.errors import RefusedError
from bumble.fallback import sayings
from bumble.files import disk
from bumble.index.search import Hit
from bumble.recall import deep_recall as deep
from bumble.recall.memory_search import search_of
from bumble.recall.prompt_memories import QUOTED_FROM, RETOLD, UNSEARCHED
from bumble.records import base, provenance, questions
from bumble.runtime import people
from bumble.runtime.runtime import Result, Runtime
from bumble.text import tokens, words

# What JSON says of a place that an answer rests on.
PLACE = (*("kind", "id", "path", "line", "text", "at", "speaker", "audience", "trust", "session"),)
ANSWERS_KEPT, ANSWER_LIFE_SECONDS = 50, 3600  # as long as nothing is remembered anew
QUOTE_TOKENS = 120  # of one line of an answer to the entity
NOTHING = "Nothing in memory answers that; the question stays open."
QUOTED = "No answer of its own: what memory says to it, word for word."


class DeepRecallAnswer(Struct, frozen=True):
    """An answer, and whether it was cached."""

    recollection: deep.Recollection
    cached: bool
    plan: Callable[[], Change | None]  # keeps a miss as a question, drops one that is answered


def ask(
    runtime: Runtime,
    question: str,
    readers: Sequence[str],
    scope: deep.Scope = "all",
    *,
    outside: str = "",
    unseen: Sequence[str] = (),
    calls: int | None = None,
) -> DeepRecallAnswer:
    """Recall deeply, or give the answer that stands in the cache.

    Args:
        runtime: Whose memory.
        question: What is asked.
        readers: Ids of all who will read the answer.
        scope: How far to look.
        outside: A conversation that is in front of them anyway.
        unseen: Ids of its messages that are not.
        calls: Calls of the model at most; None: as the settings say.
    """
    if runtime.memory.syncs:
        runtime.memory.sync()
    search = search_of(runtime, tuple(readers), outside=outside, unseen=tuple(unseen))
    state = runtime.memory.state()
    if runtime.memory.unusable:  # else the miss would be kept as a question that nothing answers
        raise RefusedError(UNSEARCHED)
    arguments = {
        "question": words.one_line(question),
        "scope": scope,
        "readers": sorted(readers),
        "outside": [outside, *unseen],
        "model": runtime.model.name if calls != 0 and sayings.may_write(runtime, question) else "",
        "calls": calls,
    }
    name = disk.sha256(json.dumps(arguments, sort_keys=True, ensure_ascii=False).encode())
    place = runtime.entity.private / "cache" / DEEP_RECALL / f"{name}.json"
    at = search.at.timestamp()
    kept = read_kept(place, state, at)
    result = kept or deep.recall(runtime, search, question, scope, current=outside, calls=calls)
    if kept is None and runtime.writes:
        keep(place, KeptAnswer(at, state, result))
    return DeepRecallAnswer(result, kept is not None, lambda: plan(runtime, result, readers))


class KeptAnswer(Struct, frozen=True):
    """An answer in the cache."""

    at: float  # seconds since 1970
    state: int  # of memory
    answer: deep.Recollection


def read_kept(place: Path, state: int, now: float) -> deep.Recollection | None:
    """Return a kept answer; None if there is none, or it is old, or memory has changed since."""
    try:
        kept = msgspec.json.decode(disk.read_cache(place) or b"", type=KeptAnswer)
    except (ValueError, RecursionError):
        return None  # damaged, or of another version: it is only a cache
    is_young = 0 <= now - kept.at <= ANSWER_LIFE_SECONDS
    return kept.answer if is_young and kept.state == state else None


def keep(place: Path, answer: KeptAnswer) -> None:
    """Keep an answer; the oldest go where there are too many."""
    disk.write_cache(place, msgspec.json.encode(answer))
    paths = sorted(place.parent.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
    for path in paths[:-ANSWERS_KEPT]:
        disk.remove(path)


def answer(asked: DeepRecallAnswer) -> Result:
    """Word an answer for the entity."""
    result = asked.recollection
    if result.is_miss:
        return Result(NOTHING)
    lines = [result.answer or QUOTED, *(quote(source) for source in result.sources)]
    trust = provenance.lowest_untrusted(source.trust for source in result.sources)
    return Result("\n".join(lines), found=True, trust=trust)


def quote(source: Hit, limit_tokens: int = QUOTE_TOKENS) -> str:
    """Word a place as a quoted line that names it; what nobody said, by its kind."""
    when = f"{source.at:%Y-%m-%d}, " if source.at else ""
    who = f"{source.speaker}, " if source.speaker else ""
    place = source.id if source.speaker else f"{source.kind} {source.id}"
    origin = QUOTED_FROM.get(source.trust, "")
    read = "of" if source.kind in RETOLD else "not a memory, quoted from"
    foreign = f"{read} {origin}, " if origin else ""
    text = tokens.cut(words.one_line(source.text), limit_tokens)
    return f"> {foreign}{who}{when}{place}: “{text}”"


def plan(runtime: Runtime, result: deep.Recollection, readers: Sequence[str]) -> Change | None:
    """Plan to keep a miss as an open question, or to drop the question that has an answer now."""
    audience = tuple(readers)
    same = [
        entry
        for entry in questions.QUESTION.readable(runtime.entity.questions)
        if entry.asks(result.question, audience)
    ]
    if result.is_miss == bool(same):
        return None
    if same:
        return questions.QUESTION.plan_forget(same[0], "it has an answer now")
    at = runtime.now()
    trust = (
        "owner" if set(readers) <= {people.owner_id(runtime.entity, runtime.identity)} else "person"
    )
    origin = base.Provenance(by="deep-recall", trust=trust, audience=audience)
    question_id = base.new_id(questions.QUESTION.prefix, at, runtime.rng)
    asked = words.one_line(result.question)
    question = questions.QUESTION.new(question_id, asked, origin, at=at)
    return questions.QUESTION.plan_new(question, "nothing in memory answers it")


def data(result: deep.Recollection) -> dict[str, Any]:
    """Return an answer as JSON shows it."""
    sources = [
        {key: getattr(source, key) for key in PLACE}
        | {"at": source.at.isoformat() if source.at else None}
        for source in result.sources
    ]
    return {**asdict(result), "sources": sources, "spent": asdict(result.spent)}
