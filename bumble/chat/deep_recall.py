"""Deep recall as the entity and its owner use it: cached, worded, its misses kept as questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
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
from bumble.recall.prompt_memories import QUOTED_FROM, UNSEARCHED
from bumble.records import base, provenance, questions
from bumble.runtime import people
from bumble.runtime.runtime import Result, Runtime
from bumble.text import tokens, words

FOLDER = "tools"
# What JSON says of a place that an answer rests on.
PLACE = (*("kind", "id", "path", "line", "text", "at", "speaker", "audience", "trust", "session"),)
MOST_ENTRIES, LIFE_SECONDS = 500, 300


class ToolCache(Struct, frozen=True):
    """The cache of one entity."""

    folder: Path  # below `.bumble/cache`
    writes: bool = True
    most_entries: int = MOST_ENTRIES
    life_seconds: float = LIFE_SECONDS  # of a result

    def get(
        self, tool: str, arguments: Mapping[str, Any], state: Sequence[int], now: datetime
    ) -> str | None:
        """Return what a call gave before, None if that is not known, too old, or of another state.

        Args:
            tool: Its name.
            arguments: Of the call.
            state: What must not have changed since: time and size of a file.
            now: The present.
        """
        raw = disk.read_cache(self._place(tool, arguments))
        try:
            entry = json.loads(raw) if raw else {}
            age = (now - datetime.fromisoformat(entry["at"])).total_seconds()
            fresh = 0 <= age <= self.life_seconds and entry["state"] == list(state)
            return str(entry["text"]) if fresh else None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None  # damaged: it is only a cache

    def put(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        state: Sequence[int],
        text: str,
        now: datetime,
    ) -> None:
        """Keep a result; the oldest go where there are too many."""
        if not self.writes:
            return
        data = json.dumps({"at": now.isoformat(), "state": list(state), "text": text})
        disk.write_cache(self._place(tool, arguments), data.encode())
        paths = sorted(self.folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
        for file in paths[: max(0, len(paths) - self.most_entries)]:
            disk.remove(file)

    def _place(self, tool: str, arguments: Mapping[str, Any]) -> Path:
        canonical = json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False)
        return self.folder / f"{disk.sha256(f'{tool} {canonical}'.encode())}.json"


ANSWERS_KEPT, ANSWER_LIFE_SECONDS = 50, 3600  # answers held, as long as nothing is remembered anew
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
    place = runtime.entity.private / "cache" / DEEP_RECALL
    cache = ToolCache(place, runtime.writes, ANSWERS_KEPT, ANSWER_LIFE_SECONDS)
    state = [runtime.memory.state()]
    if runtime.memory.unusable:  # else the miss would be kept as a question that nothing answers
        raise RefusedError(UNSEARCHED)
    asks = calls != 0 and sayings.may_write(runtime, question)
    arguments = {
        "question": words.one_line(question),
        "scope": scope,
        "readers": sorted(readers),
        "outside": [outside, *unseen],
        "model": runtime.model.name if asks else "",
        "calls": calls,
    }
    entry = _read(cache.get(DEEP_RECALL, arguments, state, search.at))
    result = entry or deep.recall(runtime, search, question, scope, current=outside, calls=calls)
    if entry is None:
        cache.put(DEEP_RECALL, arguments, state, msgspec.json.encode(result).decode(), search.at)
    return DeepRecallAnswer(result, entry is not None, lambda: plan(runtime, result, readers))


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
    foreign = f"not a memory, quoted from {origin}, " if origin else ""
    text = tokens.cut(words.one_line(source.text), limit_tokens)
    return f"> {foreign}{who}{when}{place}: “{text}”"


def plan(runtime: Runtime, result: deep.Recollection, readers: Sequence[str]) -> Change | None:
    """Plan to keep a miss as an open question, or to drop the question that has an answer now."""
    folder = runtime.entity.questions
    audience = tuple(readers)
    same = [
        entry
        for entry in questions.QUESTION.readable(folder)
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
    return questions.QUESTION.plan_new(
        questions.new(question_id, at, result.question, origin), "nothing in memory answers it"
    )


def data(result: deep.Recollection) -> dict[str, Any]:
    """Return an answer as JSON shows it."""
    sources = [
        {key: getattr(source, key) for key in PLACE}
        | {"at": source.at.isoformat() if source.at else None}
        for source in result.sources
    ]
    return {**asdict(result), "sources": sources, "spent": asdict(result.spent)}


def _read(text: str | None) -> deep.Recollection | None:
    """Read a kept answer; None if it is none."""
    try:
        return msgspec.json.decode(text, type=deep.Recollection) if text else None
    except (ValueError, RecursionError):
        return None  # damaged, or of another version: it is only a cache
