"""Ranking candidates by their words, their tokens and what their conversation knows of them.

A small index is ranked whole. In a large one candidates are matched with the turns before them
first, and the best of these with all that stands around them. BM25 is the same whatever order files
were indexed in. Knows nothing of moods, prompts or of how candidates are found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import compress
from math import log
from operator import itemgetter
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bumble.index import form, late
from bumble.index.chunks import spoken_name
from bumble.index.rows import ALL_TEXTS, Period, unpacked
from bumble.index.store import Store
from bumble.models.embed.protocol import Floats, QueryTokens

Numbers = NDArray[np.float64]
K1 = 1.2
B = 0.4
B_LATE = 0.9  # beside late interaction
AROUND_WEIGHT = 0.4  # a term of the turns before counts as this much of one of the turn itself


class Lengths(Struct, frozen=True):
    """What BM25 has to know of all chunks."""

    chunks: int  # how many there are
    mean: Mapping[str, float]  # length of a chunk in terms, by kind

    def relative(self, kind: str, own_terms: int, around_terms: int) -> float:
        """Say how long a chunk is beside others of its kind."""
        # Counted in part, the terms around it would make a short "Go on!" after a long answer the
        # better match.
        return (own_terms + around_terms) / (self.mean.get(kind) or 1.0)


def frequencies(query: Collection[str], texts: Sequence[str]) -> Numbers:
    """Count the terms of a query in texts, each given by its terms with spaces between.

    Returns:
        Shape (terms, texts).
    """
    apart = [f" {text.replace(' ', '  ')} " for text in texts]  # a space can't end two terms
    wanted = [f" {term} " for term in query]
    counted = [[text.count(term) for text in apart] for term in wanted]
    return np.array(counted, np.float64).reshape(len(query), len(texts))


def bm25(
    query: Mapping[str, int],
    frequency: Numbers,
    relative: Numbers,
    counts: Mapping[str, int],
    chunks: int,
    *,
    b: float = B,
) -> Numbers:
    """Score chunks against the terms of a query.

    Args:
        query: Terms, and how often each is asked for: a long message says often what it is about.
        frequency: Of these in the chunks, shape (terms, chunks); those around counted in part.
        relative: Shape (chunks,): how long each is beside others of its kind; a belief is short
            beside beliefs, not beside transcripts.
        counts: In how many chunks each term stands.
        chunks: How many there are.
        b: How much the length of a chunk counts, in [0, 1].

    Returns:
        Scores >= 0, shape (chunks,).

    Source:
        Robertson, Zaragoza & Taylor, "Simple BM25 extension to multiple weighted fields" (2004).
    """
    score = np.zeros(len(relative))
    for (term, asked), times in zip(query.items(), frequency, strict=True):
        count = counts.get(term, 0)
        rarity = log(1 + (max(0.0, chunks - count) + 0.5) / (count + 0.5))
        weight = rarity * _saturated(asked, K1)
        score += weight * _saturated(times, K1 * (1 - b + b * relative))
    return score


def _saturated(times: Any, norm: Any) -> Any:
    """Count what stands so often: once is 1 at a norm of K1, more counts ever less."""
    return times * (K1 + 1) / (times + norm)


def scaled(scores: Sequence[float | None]) -> list[float]:
    """Scale scores so that the least is 0 and the greatest 1; a missing one counts as the least."""
    present = [score for score in scores if score is not None]
    if not present or max(present) <= min(present):
        return [0.0 if score is None or score <= 0 else 1.0 for score in scores]
    low, span = min(present), max(present) - min(present)
    return [0.0 if score is None else (score - low) / span for score in scores]


FEW = 300  # chunks: up to so many are all ranked
SURROUNDED = 40  # of these, and at least SURROUNDED_FACTOR for each hit wanted, with surroundings
SURROUNDED_FACTOR = 2
LEAST_RANKED, RANKED_FACTOR = 100, 5  # returned, and what relevance is scaled by
MATCH_WEIGHT, MOST_ASKED = 0.3, 3.0  # of the match by tokens in nearness, and how far it grows
NEARNESS_SCALE = 0.72
MATCHES = ("tokens", "before")  # the shares that say how well the texts themselves match


class RerankQuestion(Struct, frozen=True):
    """What is asked, and what has to be known of the whole index to answer it."""

    text: str
    tokens: QueryTokens
    terms: Mapping[str, int]  # and how often each is said
    counts: Mapping[str, int]  # in how many chunks each term stands
    verbatim: frozenset[int]  # chunks that hold a query of stop words alone, as it is
    lengths: Lengths
    asker: str  # as shown; empty: whoever is not the entity
    entity: str  # as shown
    asking: RerankTurn | None = (
        None  # the turn that asks, if it is indexed: it answers nothing itself
    )

    period: Period | None = None  # that it names

    def is_asked_in(self, row: Sequence[Any]) -> bool:
        """Whether a chunk is of the turn that asks."""
        return self.asking is not None and (row[13], row[3]) == (self.asking.path, self.asking.turn)


class RerankTurn(Struct, frozen=True):
    """A turn of a conversation."""

    path: str  # of the transcript, in the folder
    turn: int  # counted from 0


class Parts(Struct, frozen=True):
    """What a score is made of: relevance times factor.

    Relevance is the sum of the shares, or BM25 alone, on a scale from the worst of the candidates
    to the best.
    """

    bm25: float = 0.0
    bm25_scaled: float = 0.0  # in [0, 1], among the candidates of this query
    cosine: float | None = None  # None: no embedder, or no vector yet
    calibrated: float | None = None  # the cosine on a scale where unrelated texts lie at 0
    factor: float = 1.0  # what the caller multiplied in; 1 for plain retrieval
    matched: tuple[str, ...] = ()  # terms of the query in it, or in the turns before it
    complete: bool = False  # whether all words of the query are among them, in any language
    relevance: float = 0.0  # in [0, 1]
    # by `tokens`, `before`, or a field of `Shares`; empty by words alone
    shares: Mapping[str, float] = {}
    asked: float = 0.0  # how much the query says, counted in tokens that stand nowhere
    usual: float = 0.0  # the cosine of the query with any text of the index

    @property
    def nearness(self) -> float | None:
        """Say how near it is by itself, whatever else there is; None without a vector.

        A greeting is like other greetings, but says little: what little it says can't bring much
        to mind. What any text of the index is to the query counts as nothing: to a model of
        another language all that is in this one is alike. On the scale of calibrated cosines
        (docs/log.md).
        """
        if self.cosine is None or not self.shares:
            return self.calibrated
        match = sum(self.shares[name] for name in MATCHES)
        matching = MATCH_WEIGHT * match * min(self.asked, MOST_ASKED)
        above = (self.cosine - self.usual) / (1 - self.usual)
        return NEARNESS_SCALE * (above + matching)


Ranked = dict[int, tuple[float, Parts]]  # sum of shares, and parts as far as known here, by chunk


class _Loaded(Struct, frozen=True):
    """Chunks in order of file, turn and id, and how well each matches by itself."""

    rows: Sequence[tuple[Any, ...]]
    units: late.Units
    tokens: Floats  # shape (chunks,): of the query in each and of each in the query, by lengths
    before: Floats
    bm25: Floats
    stands: NDArray[np.bool_]  # shape (terms, chunks): which terms, in it or in the turns before

    def scaled_words(self, best: float) -> Floats:
        """Return BM25 as a share of the query's best."""
        return self.bm25 / np.float32(best) if best else self.bm25


class _Matcher:
    """What one question needs of the index; no chunk is matched twice."""

    def __init__(self, database: Store, question: RerankQuestion, shares: late.Shares) -> None:
        self.database, self.question, self.shares = database, question, shares
        tokens = question.tokens
        counts = database.piece_counts(tokens.pieces.tolist())
        rarities = late.rarities(question.text, tokens, counts, counts.get(ALL_TEXTS, 0))
        used = np.flatnonzero(rarities)
        self.asked = float(rarities.sum())
        self.weights, self.query = rarities[used] / rarities.sum(), tokens.vectors[used]
        self.rows: list[tuple[Any, ...]] = []
        self.at: dict[int, int] = {}  # which of them a chunk is
        self.matched = np.zeros((len(used), 0), np.float32)  # of each row
        self.covered = np.zeros(0, np.float32)
        self.turned = 0.0  # how much counts how well a text is matched in the query
        self.bm25 = np.zeros(0, np.float32)
        self.stands = np.zeros((len(question.terms), 0), bool)  # each term, in each row or before

    def load(self, ids: Iterable[int]) -> _Loaded:
        """Load chunks, and match those that are new."""
        wanted = set(ids)
        self._match(self.database.token_rows(sorted(wanted - self.at.keys())))
        # by path, turn and id: the same order in every index of the same files
        rows = sorted((self.rows[self.at[key]] for key in wanted), key=itemgetter(13, 3, 0))
        chosen = [self.at[row[0]] for row in rows]
        matched = self.matched[:, chosen]
        files = np.array([row[2] for row in rows], np.int64)
        turns = np.array([row[3] if row[1] == "message" else -1 for row in rows], np.int64)
        each = late.units(files, turns)
        lengths = np.array([row[4] for row in rows], np.int64)
        own = self.weights @ matched
        total = self.weights @ late.with_before(matched, lengths, each, self.shares.before)
        straight = np.float32(1 - self.turned)
        tokens = straight * own + np.float32(self.turned) * self.covered[chosen]
        before = straight * (total - own)
        return _Loaded(rows, each, tokens, before, self.bm25[chosen], self.stands[:, chosen])

    def around(self, places: Iterable[Sequence[Any]], steps: Sequence[int]) -> _Loaded:
        """Load chunks given by id, kind, file and turn with the turns some steps from them."""
        turns, ids = set[tuple[int, int]](), set[int]()
        for chunk_id, kind, file, turn in places:
            ids.add(chunk_id)
            if kind == "message":
                turns |= {(file, turn + step) for step in steps}
        return self.load(ids.union(self.database.of_turns(sorted(turns))))

    def _match(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take in rows that are new."""
        width = self.query.shape[1] // 8
        signs = np.frombuffer(b"".join(row[12] or b"" for row in rows), np.uint8)
        self.at |= {row[0]: n for n, row in enumerate(rows, len(self.rows))}
        self.rows += rows
        pieces = np.frombuffer(b"".join(row[15] or b"" for row in rows), "<u4")
        distinct, at = late.distinct(pieces)
        counts = self.database.piece_counts(distinct.tolist())
        weights = late.rarity_of(distinct, counts, counts.get(ALL_TEXTS, 0))[at]
        lengths = np.array([len(row[12] or b"") // width for row in rows], np.int64)
        matched, covered = late.matches(self.query, signs.reshape(-1, width), weights, lengths)
        if len(pieces) and not self.turned:  # the first that are loaded say how long texts are
            asked = self.shares.covered * len(self.query)
            self.turned = asked / (asked + len(pieces) / np.count_nonzero(lengths))
        question = self.question
        in_own = frequencies(question.terms, [row[10] for row in rows])
        in_around = frequencies(question.terms, [row[11] for row in rows])
        own, around = (np.array([row[at] for row in rows], np.int64) for at in (4, 5))
        relative = [question.lengths.relative(row[1], row[4], row[5]) for row in rows]
        scores = bm25(
            question.terms,
            in_own + AROUND_WEIGHT * late.reach(own, around) * in_around,
            np.array(relative, np.float64),
            question.counts,
            question.lengths.chunks,
            b=B_LATE,
        )
        if not question.terms:
            scores = np.array([row[0] in question.verbatim for row in rows], np.float64)
        asked_in = [n for n, row in enumerate(rows) if question.is_asked_in(row)]
        # what repeats the question says nothing of the turns around it
        matched[:, asked_in], covered[asked_in], scores[asked_in] = 0, 0, 0
        self.matched = np.hstack([self.matched, matched])
        self.covered = np.concatenate([self.covered, covered])
        self.bm25 = np.concatenate([self.bm25, scores.astype(np.float32)])
        self.stands = np.hstack([self.stands, (in_own + in_around) > 0])


def rank(
    database: Store,
    question: RerankQuestion,
    allowed: Collection[int] | None,
    limit: int,
    shares: late.Shares,
) -> Ranked:
    """Rank chunks by their tokens, best first.

    Args:
        database: Where they lie.
        question: What is asked.
        allowed: Ids; None: all chunks there are.
        limit: How many hits are wanted; a few times as many chunks are returned. They are what
            relevance is scaled by: were the worst of all among them, the best would stand so close
            that any feeling could turn them over.
        shares: What counts how much.
    """
    matcher = _Matcher(database, question, shares)
    most = max(LEAST_RANKED, RANKED_FACTOR * limit)
    if question.lengths.chunks <= FEW:
        loaded = matcher.load(database.passing())
        return _ranked(matcher, loaded, allowed, float(loaded.bm25.max(initial=0)), most)
    places = database.places(sorted(set(allowed or ())))
    first = matcher.around(places, range(-late.BEFORE, 1))
    best_words = float(first.bm25.max(initial=0))
    count = max(SURROUNDED, SURROUNDED_FACTOR * limit)
    totals, _ = _summed(matcher, first, best_words)
    likely = {first.rows[n][0] for n in _ordered(first, totals, allowed)[:count]}
    chosen = [place for place in places if place[0] in likely]
    loaded = matcher.around(chosen, range(-late.AROUND, late.AROUND + 1))
    return _ranked(matcher, loaded, likely, best_words, most)


def _ranked(
    matcher: _Matcher,
    loaded: _Loaded,
    allowed: Collection[int] | None,
    best_words: float,
    most: int,
) -> Ranked:
    """Rank the chunks that are allowed, best first."""
    totals, columns = _summed(matcher, loaded, best_words)
    words = loaded.scaled_words(best_words)
    return {
        int(loaded.rows[n][0]): (
            totals[n],
            Parts(
                bm25=float(loaded.bm25[n]),
                bm25_scaled=float(words[n]),
                matched=tuple(compress(matcher.question.terms, loaded.stands[:, n])),
                shares={name: float(column[n]) for name, column in columns.items()},
                asked=matcher.asked,
            ),
        )
        for n in _ordered(loaded, totals, allowed)[:most]
        if not matcher.question.is_asked_in(loaded.rows[n])
    }


def _summed(
    matcher: _Matcher, loaded: _Loaded, best_words: float
) -> tuple[list[float], dict[str, Floats]]:
    """Weigh what counts for each chunk, and add it up. Returns sums, and shares by name."""
    shares, words = matcher.shares, loaded.scaled_words(best_words)
    base = loaded.tokens + loaded.before + np.float32(shares.words) * words
    columns = {
        "tokens": loaded.tokens,
        "before": loaded.before,
        "words": shares.words * words,
        "around": shares.around * late.surroundings(base, loaded.units),
        **_formed(matcher.question, loaded.rows, shares),
    }
    return np.round(np.sum(list(columns.values()), axis=0), 6).tolist(), columns


def _ordered(
    loaded: _Loaded, totals: Sequence[float], allowed: Collection[int] | None
) -> list[int]:
    """Return the places of the chunks that are allowed, best first; ties by id."""
    permitted = None if allowed is None else set(allowed)
    places = [n for n, row in enumerate(loaded.rows) if permitted is None or row[0] in permitted]
    return sorted(places, key=lambda n: (-totals[n], loaded.rows[n][0]))


def _formed(
    question: RerankQuestion, rows: Sequence[Sequence[Any]], shares: late.Shares
) -> dict[str, Floats]:
    """Weigh how the chunks are put, and whom they are of."""
    asks = np.array([row[6] for row in rows], np.float32)
    own = np.array([row[7] or row[1] != "message" for row in rows], np.float32)
    named = np.array(_named(question, rows), np.float32)
    period = np.array([period_weight(question.period, row[14]) for row in rows], np.float32)
    return {
        "asks": shares.asks * asks,
        "own": shares.own * own,
        "named": shares.named * named,
        "period": shares.period * period,
    }


def period_weight(period: Period | None, at: str) -> float:
    """Say how much a time, as it is stored, counts for a period; 0 without one."""
    return period.weight(datetime.fromisoformat(at)) if period and at else 0.0


def _named(question: RerankQuestion, rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Say which chunks are by or about somebody who is asked for.

    Who speaks of themselves, or names nobody, asks for their own.
    """
    people = [
        {str(row[8])} if row[1] == "message" else {*map(spoken_name, unpacked(row[9]))}
        for row in rows
    ]
    everyone = set[str]().union(*people)
    asked_for = {name for name in everyone if late.asked_about(question.text, name)}
    if not asked_for or form.form(question.text, form.language(question.text)).own:
        asked_for |= {question.asker} if question.asker else everyone - {question.entity}
    return [not asked_for.isdisjoint(names) for names in people]
