"""Deep recall without a model: the same looks by rule, an answer in quoted lines.

The question is searched for whole, then each of its parts, then each name in it with the rest,
then the months it names. What the first finds name, and the words they share, are followed; a
question that was found brings what was answered. What several of these looks find comes first, but
each part, and each person who is asked about, has a line of its own: two answers in two places are
what a single ranking misses. Bounded: so many looks, whatever is asked.

Source:
    Cormack, Clarke & Buettcher, "Reciprocal rank fusion" (2009), for how looks are joined; Lavrenko
    & Croft, "Relevance-based language models" (2001), for following the words of the first finds;
    Trivedi et al., "Interleaving retrieval" (2023), for following their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from bumble.context.recalled import is_near
from bumble.grounding import claims
from bumble.index import form
from bumble.index.search import Hit
from bumble.recollection.reach import Reach, Source, source_of
from bumble.text import stop_words, words

QUOTES = 10  # lines of an answer
RANK_OFFSET = 10  # of reciprocal rank fusion: how much more the first of a look counts
PART_WEIGHT, NAME_WEIGHT, MONTH_WEIGHT, ANSWER_WEIGHT = 0.6, 0.5, 0.6, 0.7
FOLLOW_WEIGHT = 0.3
FIRST = 5  # finds whose names and words are followed
MOST_FOLLOWED = 3  # names of them
SHARED_BY = 2  # finds that a word has to stand in
MOST_SHARED = 3  # such words
MOST_LOOKS = 16
RESERVED = 0.5  # of the lines, for parts and people
LEAST_MATCHED = 0.5  # of the question's words in one place, from which it answers
LEAST_PART_WORDS = 1  # that a part of a question needs to be searched for by itself
ASKING = 0.5  # share of a message that is a question, from which the next one answers it
# What joins two questions in one sentence, in the languages whose stop words are known.
_JOINTS = re.compile(r"[;?,]\s|\s(?:and|or|und|oder|et|ou|y|e|o|en|of both)\s", re.IGNORECASE)
_YEAR = re.compile(r"\b(1\d{3}|2\d{3})\b")


@dataclass
class _Merits:
    """What the looks together say of each place."""

    sources: dict[tuple[str, str], Source] = field(default_factory=dict)
    scores: dict[tuple[str, str], float] = field(default_factory=dict)
    near: bool = False  # whether any of them is near enough to answer

    def add(self, source: Source, score: float) -> None:
        self.sources.setdefault(source.key, source)
        self.scores[source.key] = self.scores.get(source.key, 0.0) + score

    def add_hits(self, reach: Reach, hits: Sequence[Hit], weight: float, asked: int) -> None:
        for rank, hit in enumerate(hits):
            self.add(source_of(hit), weight * RANK_OFFSET / (RANK_OFFSET + rank))
        self.near = self.near or any(
            is_near(hit, reach.life.config) or len(hit.parts.matched) >= LEAST_MATCHED * asked
            for hit in hits
        )


@dataclass
class _Looks:
    """The looks of one question: each is counted, told, and adds to the merits."""

    reach: Reach
    question: str
    limit: int
    merits: _Merits = field(default_factory=_Merits)
    trail: list[str] = field(default_factory=list)
    wanted: list[list[Source]] = field(default_factory=list)  # of each part and person, best first

    def take(self, label: str, query: str, weight: float) -> list[Hit]:
        """Search, unless there were enough looks."""
        if len(self.trail) >= MOST_LOOKS:
            return []
        hits = self.reach.search(query, limit=2 * self.limit)
        self._add(f"{label}: {query}", hits, weight)
        return hits

    def take_time(self, after: datetime, before: datetime) -> None:
        """Search what was said in some time."""
        if len(self.trail) < MOST_LOOKS:
            hits = self.reach.search(self.question, after=after, before=before, limit=self.limit)
            self._add(f"time: {after:%Y-%m-%d} to {before:%Y-%m-%d}", hits, MONTH_WEIGHT)

    def _add(self, done: str, hits: Sequence[Hit], weight: float) -> None:
        self.trail.append(f"{done} ({len(hits)})")
        asked = len(set(stop_words.telling_words(self.question)))
        self.merits.add_hits(self.reach, hits, weight, asked)


def answer(reach: Reach, question: str, limit: int = QUOTES) -> tuple[list[Source], list[str]]:
    """Return the places that answer a question best, and what was done; none: a miss."""
    looks = _Looks(reach, question, limit)
    names = _names(question)
    first = looks.take("search", question, 1.0)
    for query in _parts(question, names):
        looks.wanted.append([source_of(hit) for hit in looks.take("part", query, PART_WEIGHT)])
    for name, query in _of_names(question, names):
        hits = looks.take("name", query, NAME_WEIGHT)
        looks.wanted.append([source_of(hit) for hit in hits if _is_of(hit, name)])
    for after, before in _windows(question, reach.base.at):
        looks.take_time(after, before)
    if not looks.merits.near:
        return [], looks.trail
    for query in _follow_ups(reach, question, names, first[:FIRST]):
        looks.take("follow", query, FOLLOW_WEIGHT)
    looks.trail += _answers_to_questions(reach, looks.merits, limit)
    return _chosen(looks, limit), looks.trail


def _parts(question: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the parts of a question that is several, each with whom it is about."""
    parts = [part.strip() for part in _JOINTS.split(question) if part and part.strip()]
    asked = [part for part in parts if len(stop_words.telling_words(part)) >= LEAST_PART_WORDS]
    for part in asked if len(asked) > 1 else ():
        missing = [name for name in names if name not in part][:1] if not _names(part) else []
        yield " ".join((*missing, part))


def _of_names(question: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each name of a question that has several, and what is asked of all of them."""
    for name in names if len(names) > 1 else ():
        rest = (word for word in question.split() if not any(other in word for other in names))
        yield name, " ".join((name, *rest))


def _is_of(hit: Hit, name: str) -> bool:
    """Whether somebody said it, or is named in it."""
    plain, spoken = words.folded(name), words.folded(hit.speaker).split()
    return plain in spoken or plain in map(words.folded, stop_words.words(hit.text))


def _follow_ups(
    reach: Reach, question: str, names: Sequence[str], first: Sequence[Hit]
) -> Iterator[str]:
    """Yield what the first finds lead to: the names in them, and the words that several share."""
    telling = " ".join(stop_words.telling_words(question))
    code = words.language(question)
    speakers = {part for hit in first for part in words.folded(hit.speaker).split()}
    passed = speakers | {words.folded(name) for name in (*names, reach.life.identity.name)}
    named = [name for hit in first for name in _names(hit.text)]
    fresh = [name for name in dict.fromkeys(named) if words.folded(name) not in passed]
    for name in fresh[:MOST_FOLLOWED]:
        yield f"{name} {telling}"
    counts = Counter(word for hit in first for word in set(stop_words.telling_words(hit.text)))
    asked = words.stems(question, code)
    shared = [
        word
        for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if count >= SHARED_BY and words.stem(word, code) not in asked and word not in passed
    ]
    if shared:
        yield " ".join((telling, *shared[:MOST_SHARED]))


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


def _ranked(merits: _Merits) -> list[Source]:
    """Return the places, best first; of equals the earlier."""
    return sorted(
        merits.sources.values(), key=lambda source: (-merits.scores[source.key], source.key)
    )


def _chosen(looks: _Looks, limit: int) -> list[Source]:
    """Take the best place of each part and person, then the best of all, in order of merit.

    What says the same as one before, and the question itself, is no more.
    """
    ranked = _ranked(looks.merits)
    reserved: list[tuple[str, str]] = []
    for wanted in looks.wanted[: int(RESERVED * limit)]:
        own = (place.key for place in wanted if place.key not in reserved)
        reserved += list(islice(own, 1))
    texts = {words.folded(words.one_line(looks.question))}
    best: list[Source] = []
    for source in sorted(ranked, key=lambda place: place.key not in reserved):
        text = words.folded(words.one_line(source.text))
        if text in texts or len(best) == limit:
            continue
        texts.add(text)
        best.append(source)
    return sorted(best, key=ranked.index)
