"""Deep recall without a model: the same looks by rule, an answer in quoted lines.

The question is searched for whole, then each of its parts, then each name in it with the rest,
then the months it names; a question that was found brings what was answered. What several of
these looks find comes first, then what has words of the question that no line before it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field

from bumble.guard import claims
from bumble.index import form
from bumble.index.search import Hit
from bumble.recall.deep_recall.reach import Reach, RecollectionSource, source_of
from bumble.recall.recalled import is_near
from bumble.text import stop_words, words

QUOTES = 10  # lines of an answer
RANK_OFFSET = 10  # of reciprocal rank fusion: how much more the first of a look counts
PART_WEIGHT, NAME_WEIGHT, MONTH_WEIGHT, ANSWER_WEIGHT = 0.6, 0.5, 0.6, 0.7
LEAST_MATCHED = 0.5  # of the question's words in one place, from which it answers
LEAST_PART_WORDS = 1  # that a part of a question needs to be searched for by itself
ASKING = 0.5  # share of a message that is a question, from which the next one answers it
# What joins two questions in one sentence, in the languages whose stop words are known.
_JOINTS = re.compile(r"[;?,]\s|\s(?:and|or|und|oder|et|ou|y|e|o|en|of both)\s", re.IGNORECASE)
_YEAR = re.compile(r"\b(1\d{3}|2\d{3})\b")


class _Merits(Struct):
    """What the looks together say of each place."""

    sources: dict[tuple[str, str], RecollectionSource] = field(default_factory=dict)
    scores: dict[tuple[str, str], float] = field(default_factory=dict)
    near: bool = False  # whether any of them is near enough to answer

    def add(self, source: RecollectionSource, score: float) -> None:
        self.sources.setdefault(source.key, source)
        self.scores[source.key] = self.scores.get(source.key, 0.0) + score

    def add_hits(self, reach: Reach, hits: Sequence[Hit], weight: float, asked: int) -> None:
        for rank, hit in enumerate(hits):
            self.add(source_of(hit), weight * RANK_OFFSET / (RANK_OFFSET + rank))
        self.near = self.near or any(
            is_near(hit, reach.runtime.config) or len(hit.parts.matched) >= LEAST_MATCHED * asked
            for hit in hits
        )


def answer(
    reach: Reach, question: str, limit: int = QUOTES
) -> tuple[list[RecollectionSource], list[str]]:
    """Return the places that answer a question best, and what was done; none: a miss."""
    merits, trail = _Merits(), list[str]()
    asked = len(set(stop_words.telling_words(question)))
    for label, query, weight in _queries(question):
        hits = reach.search(query, limit=2 * limit)
        trail.append(f"{label}: {query} ({len(hits)})")
        merits.add_hits(reach, hits, weight, asked)
    for after, before in _windows(question, reach.base.at):
        hits = reach.search(question, after=after, before=before, limit=limit)
        trail.append(f"time: {after:%Y-%m-%d} to {before:%Y-%m-%d} ({len(hits)})")
        merits.add_hits(reach, hits, MONTH_WEIGHT, asked)
    if not merits.near:
        return [], trail
    trail += _answers_to_questions(reach, merits, limit)
    return _chosen(merits, question, limit), trail


def _queries(question: str) -> Iterator[tuple[str, str, float]]:
    """Yield what to search for: what it is, the words, what its finds count."""
    yield "search", question, 1.0
    names = _names(question)
    parts = [part.strip() for part in _JOINTS.split(question) if part and part.strip()]
    asked = [part for part in parts if len(stop_words.telling_words(part)) >= LEAST_PART_WORDS]
    for part in asked if len(asked) > 1 else ():
        missing = [name for name in names if name not in part][:1] if not _names(part) else []
        yield "part", " ".join((*missing, part)), PART_WEIGHT
    if len(names) > 1:
        for name in names:
            rest = " ".join(
                word for word in question.split() if not any(other in word for other in names)
            )
            yield "name", f"{name} {rest}", NAME_WEIGHT


def _names(text: str) -> list[str]:
    """Return the names in a question, each once; numbers are none."""
    found_names = [claim for claim in claims.claims(text) if claim[:1].isalpha()]
    return list(dict.fromkeys(name.removesuffix("'s").removesuffix("’s") for name in found_names))


def _windows(question: str, at: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the months, or else the years, that a question names; the newest past one of each."""
    plain = [words.folded(word) for word in stop_words.words(question)]
    years = [int(year) for year in _YEAR.findall(question)]
    months = [
        number
        for number, names in enumerate(words.MONTHS, 1)
        if any(name in plain for name in names.split() if len(name) > 3)
    ]
    for month in months:
        year = years[0] if years else at.year - (month > at.month)
        first = datetime(year, month, 1, tzinfo=at.tzinfo)
        yield first, (first + timedelta(days=32)).replace(day=1)
    for year in years if not months else ():
        yield datetime(year, 1, 1, tzinfo=at.tzinfo), datetime(year + 1, 1, 1, tzinfo=at.tzinfo)


def _answers_to_questions(reach: Reach, merits: _Merits, limit: int) -> list[str]:
    """Add what was said after the best questions that were found: the answer has other words."""
    trail = []
    for source in _ranked(merits)[:limit]:
        asks = form.form(source.text, form.language(source.text)).asks
        if source.kind != "message" or asks < ASKING:
            continue
        neighbours = reach.read(source, around=1)
        place = next((n for n, near in enumerate(neighbours) if near.id == source.id), None)
        for answer_source in neighbours[place + 1 :] if place is not None else ():
            merits.add(answer_source, ANSWER_WEIGHT * merits.scores[source.key])
            trail.append(f"read: what answers {source.id}")
    return trail


def _ranked(merits: _Merits) -> list[RecollectionSource]:
    """Return the places, best first; of equals the earlier."""
    return sorted(
        merits.sources.values(), key=lambda source: (-merits.scores[source.key], source.key)
    )


def _chosen(merits: _Merits, question: str, limit: int) -> list[RecollectionSource]:
    """Take the best places; what says the same as one before, and the question itself, is no more.

    In the order of time, as it happened.
    """
    texts = {words.folded(words.one_line(question))}
    best: list[RecollectionSource] = []
    for source in _ranked(merits):
        text = words.folded(words.one_line(source.text))
        if text in texts or len(best) == limit:
            continue
        texts.add(text)
        best.append(source)
    return best
