"""Ranking candidates by their tokens and by what their conversation knows of them.

A small index is ranked whole. In a large one candidates are matched with the turns before them
first, and the best of these with all that stands around them. Knows how chunks are stored; knows
nothing of moods, prompts or of how candidates are found.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from bumble.embed.protocol import Floats, QueryTokens
from bumble.index import conversation, form, fusion, late, vectors
from bumble.index.chunks import spoken_name
from bumble.index.conversation import AROUND, BEFORE, Shares, Units
from bumble.index.fusion import Lengths
from bumble.index.vectors import Database

FEW = 1_000  # chunks: up to so many are all ranked
LEG = 64  # candidates of each leg that are matched, where there are more
SURROUNDED = 40  # of these, and at least SURROUNDED_FACTOR for each hit wanted, with surroundings
SURROUNDED_FACTOR = 2
LEAST_RANKED, RANKED_FACTOR = 100, 5  # returned, and what relevance is scaled by
MATCHES = ("tokens", "before")  # the shares that say how well the texts themselves match
_COLUMNS = (
    "chunks.id, chunks.kind, chunks.file, turn, own_terms, around_terms, asks, own, timed, speaker,"
    " people, terms, around, signs"
)
_JOINED = (
    "chunks join texts on texts.id = chunks.id join files on files.id = chunks.file"
    " left join tokens on tokens.hash = chunks.hash"
)
_ORDER = "order by files.path, turn, chunks.id"


@dataclass(frozen=True)
class Question:
    """What is asked, and what has to be known of the whole index to answer it."""

    text: str
    tokens: QueryTokens
    terms: Sequence[str]
    counts: Mapping[str, int]  # in how many chunks each term stands
    verbatim: frozenset[int]  # chunks that hold a query of stop words alone, as it is
    lengths: Lengths
    asker: str  # as shown; empty: whoever is not the entity
    entity: str  # as shown


@dataclass(frozen=True)
class Share:
    """A part of a score."""

    name: str  # `tokens`, `before`, or a field of `Shares`
    value: float


@dataclass(frozen=True)
class Ranked:
    """A chunk and what it scores."""

    id: int
    total: float  # the sum of its shares
    shares: tuple[Share, ...]
    bm25: float
    bm25_scaled: float
    matched: tuple[str, ...]  # terms of the query that stand in it, or in the turns before it


@dataclass(frozen=True)
class _Loaded:
    """Chunks in order of file, turn and id, and how well each matches by itself."""

    rows: Sequence[tuple[Any, ...]]
    units: Units
    tokens: Floats  # shape (chunks,)
    before: Floats
    bm25: Floats


def rank(
    database: Database,
    question: Question,
    allowed: Collection[int] | None,
    limit: int,
    shares: Shares,
) -> list[Ranked]:
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
    if question.lengths.chunks <= FEW:
        loaded = _load(database, question, shares, "1", ())
        ranked = _ranked(question, shares, loaded, allowed, float(loaded.bm25.max(initial=0)))
        return ranked[: max(LEAST_RANKED, RANKED_FACTOR * limit)]
    places = database.rows(
        "select id, kind, file, turn from chunks where id in (select value from json_each(?))",
        (json.dumps(sorted(set(allowed or ()))),),
    )
    first = _load_around(database, question, shares, places, range(-BEFORE, 1))
    best_words = float(first.bm25.max(initial=0))
    count = max(SURROUNDED, SURROUNDED_FACTOR * limit)
    likely = {one.id for one in _ranked(question, shares, first, allowed, best_words)[:count]}
    near = range(-AROUND - BEFORE, AROUND + 1)
    chosen = [place for place in places if place[0] in likely]
    loaded = _load_around(database, question, shares, chosen, near)
    return _ranked(question, shares, loaded, likely, best_words)


def _load_around(
    database: Database,
    question: Question,
    shares: Shares,
    places: Iterable[Sequence[Any]],
    steps: Iterable[int],
) -> _Loaded:
    """Load chunks given by id, kind, file and turn with the turns some steps from them."""
    places, steps = list(places), list(steps)
    turns = {
        (int(file), int(turn) + step)
        for _, kind, file, turn in places
        if kind == "message"
        for step in steps
    }
    others = [int(one) for one, kind, _, _ in places if kind != "message"]
    where = (
        "chunks.id in (select c.id from json_each(?) as wanted join chunks as c"
        " on c.file = wanted.value ->> 0 and c.turn = wanted.value ->> 1 where c.kind = 'message')"
        " or chunks.id in (select value from json_each(?))"
    )
    values = (json.dumps(sorted(turns)), json.dumps(others))
    return _load(database, question, shares, where, values)


def _load(
    database: Database, question: Question, shares: Shares, where: str, values: Sequence[Any]
) -> _Loaded:
    rows = database.rows(f"select {_COLUMNS} from {_JOINED} where {where} {_ORDER}", values)
    tokens = question.tokens
    counts = database.piece_counts(tokens.pieces.tolist())
    weights = late.weights(question.text, tokens, counts, counts.get(vectors.ALL_TEXTS, 0))
    used = np.flatnonzero(weights)
    width = tokens.vectors.shape[1] // 8
    signs = [np.frombuffer(row[13] or b"", np.uint8).reshape(-1, width) for row in rows]
    matched = late.matches(tokens.vectors[used], signs)
    files = np.array([row[2] for row in rows], np.int64)
    turns = np.array([row[3] if row[1] == "message" else -1 for row in rows], np.int64)
    each = conversation.units(files, turns)
    lengths = np.array([row[4] for row in rows], np.int64)
    own = weights[used] @ matched
    with_before = weights[used] @ conversation.with_before(matched, lengths, each, shares.before)
    bm25 = np.array([_bm25(question, row) for row in rows], np.float32)
    return _Loaded(rows, each, own, with_before - own, bm25)


def _bm25(question: Question, row: Sequence[Any]) -> float:
    if not question.terms:
        return float(row[0] in question.verbatim)
    own, around = str(row[11]), str(row[12])
    if not any(term in own or term in around for term in question.terms):
        return 0.0
    reach = conversation.reach(np.array([row[4]]), np.array([row[5]]))
    return fusion.bm25(
        question.terms,
        own.split(" "),
        around.split(),
        str(row[1]),
        question.counts,
        question.lengths,
        around_weight=fusion.AROUND_WEIGHT * float(reach[0]),
        b=fusion.B_LATE,
    )


def _ranked(
    question: Question,
    shares: Shares,
    loaded: _Loaded,
    allowed: Collection[int] | None,
    best_words: float,
) -> list[Ranked]:
    """Add up the shares of the chunks that are allowed, best first; ties by id."""
    words = loaded.bm25 / best_words if best_words else loaded.bm25
    base = loaded.tokens + loaded.before + np.float32(shares.words) * words
    columns = {
        "tokens": loaded.tokens,
        "before": loaded.before,
        "words": shares.words * words,
        "around": shares.around * conversation.surroundings(base, loaded.units),
        **_formed(question, loaded.rows, shares),
    }
    totals = np.round(np.sum(list(columns.values()), axis=0), 6)
    permitted = None if allowed is None else set(allowed)
    found = [
        Ranked(
            int(row[0]),
            float(totals[n]),
            tuple(Share(name, float(column[n])) for name, column in columns.items()),
            float(loaded.bm25[n]),
            float(words[n]),
            _terms_in(question, row),
        )
        for n, row in enumerate(loaded.rows)
        if permitted is None or row[0] in permitted
    ]
    return sorted(found, key=lambda one: (-one.total, one.id))


def _formed(question: Question, rows: Sequence[Sequence[Any]], shares: Shares) -> dict[str, Floats]:
    """Weigh how the chunks are put, and whom they are of."""
    asks = np.array([row[6] for row in rows], np.float32)
    own = np.array([row[7] or row[1] != "message" for row in rows], np.float32)
    timed = np.array([row[8] for row in rows], np.float32)
    named = np.array(_named(question, rows), np.float32)
    asked_when = shares.asked_when if form.asks_when(question.text) else 0.0
    return {
        "asks": shares.asks * asks,
        "own": shares.own * own,
        "timed": shares.timed * timed,
        "asked_when": asked_when * timed,
        "named": shares.named * named,
    }


def _named(question: Question, rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Say of which chunks the speaker, or one of the people they are about, is asked for."""
    own = form.is_own(question.text)

    @cache
    def is_named(name: str) -> bool:
        return conversation.asked_about(question.text, name)

    def is_asker(name: str) -> bool:
        return name == question.asker if question.asker else name != question.entity

    return [
        is_named(str(row[9])) or (own and is_asker(str(row[9])))
        if row[1] == "message"
        else any(is_named(spoken_name(person)) for person in vectors.unpacked(row[10]))
        for row in rows
    ]


def _terms_in(question: Question, row: Sequence[Any]) -> tuple[str, ...]:
    own, around = f" {row[11]} ", f" {row[12]} "
    return tuple(term for term in question.terms if f" {term} " in own or f" {term} " in around)
