"""Deep recall as the entity and its owner use it: worded, its misses kept as questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from bumble.entity.changes import Change
from bumble.index.search import Hit
from bumble.recall import deep_recall as deep
from bumble.recall.memory_search import search_of
from bumble.recall.prompt_memories import QUOTED_FROM, RETOLD
from bumble.records import base, provenance, questions
from bumble.runtime import people
from bumble.runtime.runtime import Result, Runtime
from bumble.text import tokens, words

# What JSON says of a place that an answer rests on.
PLACE = (*("kind", "id", "path", "line", "text", "at", "speaker", "audience", "trust", "session"),)
QUOTE_TOKENS = 120  # of one line of an answer to the entity
NOTHING = "Nothing in memory answers that; the question stays open."
QUOTED = "No answer of its own: what memory says to it, word for word."


def ask(
    runtime: Runtime,
    question: str,
    readers: Sequence[str],
    scope: deep.Scope = "all",
    *,
    outside: str = "",
    unseen: Sequence[str] = (),
    calls: int | None = None,
) -> deep.Recollection:
    """Recall deeply, in memory as it is now.

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
    return deep.recall(runtime, search, question, scope, current=outside, calls=calls)


def answer(result: deep.Recollection) -> Result:
    """Word an answer for the entity."""
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
