"""Searching the index by words and meaning: filters, candidates, fusion, best passages.

Both legs name their best; every candidate is then scored by both, and the two scores are summed.
The index is taken as it is: bringing it up to date is `sync`'s work. Knows nothing of moods or
prompts; what else is to count comes in as a factor.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bumble.embed.protocol import Embedder, Floats
from bumble.entity.folder import Entity
from bumble.errors import IndexUnusableError
from bumble.index import fulltext, place, ranking, terms
from bumble.index.database import Database, encoded, open_to_read, packed, unpacked
from bumble.index.fulltext import Fulltext
from bumble.index.place import Place
from bumble.index.ranking import Lengths, Weights

LEAST_DEPTH = 200  # candidates of each leg
DEPTH_FACTOR = 5  # and at least this many for each hit wanted


@dataclass(frozen=True)
class Filter:
    """Which chunks count. Empty fields let everything pass."""

    kinds: tuple[str, ...] = ()
    people: tuple[str, ...] = ()  # ids; about, or with, at least one of them
    audience: tuple[str, ...] = ()  # ids of all who will read it; each must be allowed to
    session: str = ""  # the messages of this session alone
    not_session: str = ""  # a session whose messages are known already
    unseen: tuple[str, ...] = ()  # ids of messages of that session that are not
    before: datetime | None = None  # what is older than that, and what has no time
    dormant: bool = False  # dormant and archived records too


@dataclass(frozen=True)
class Parts:
    """What a score is made of."""

    bm25: float
    bm25_scaled: float  # in [0, 1], among the candidates of this query
    cosine: float | None  # None: no embedder, or no vector yet
    cosine_scaled: float
    calibrated: float | None  # the cosine on a scale where unrelated texts lie at 0
    lexical_weight: float
    dense_weight: float
    factor: float  # what the caller multiplied in; 1 for plain retrieval
    matched: tuple[str, ...]  # terms of the query that stand in it, or in the turns before it


@dataclass(frozen=True)
class Hit:
    """A record that was found, by its best passage."""

    kind: str
    id: str  # the record's: `ep_…`, `msg_…`, a section's title
    path: str  # relative to the entity folder
    line: int
    text: str
    at: datetime | None
    people: tuple[str, ...]
    audience: tuple[str, ...]
    trust: str
    session: str
    speaker: str
    score: float
    parts: Parts


@dataclass(frozen=True)
class Factor:
    """Something else that counts, beside words and meaning."""

    of: Callable[[Hit], float]  # may read files: only those are asked that could get to the top
    most: float  # no hit gets more


class Index:
    """An open index, to search in."""

    def __init__(self, database: Database, words: Fulltext, at: Place) -> None:
        self.database, self.words, self.place = database, words, at
        counted = database.rows(
            "select kind, count(*), sum(own_terms), sum(around_terms) from chunks group by kind"
        )
        self.has_dormant = bool(
            database.rows("select exists (select 1 from chunks where not active)")[0][0]
        )
        self.lengths = Lengths(
            sum(int(row[1]) for row in counted),
            {str(kind): ranking.length(own, around) / n for kind, n, own, around in counted},
        )


@contextmanager
def opened(entity: Entity, where: Place | None = None) -> Iterator[Index]:
    """Open the index of an entity; reading it leaves no trace in the folder.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
    """
    at = where or place.of(entity)
    database = open_to_read(at.database)
    try:
        yield Index(database, fulltext.open_to_read(at.fulltext), at)
    finally:
        database.close()


def search(
    index: Index,
    query: str,
    embedder: Embedder | None,
    *,
    only: Filter | None = None,
    limit: int = 10,
    dense_weight: float = ranking.DENSE_WEIGHT,
    factor: Factor | None = None,
) -> list[Hit]:
    """Find the records that match a query best, best first.

    Args:
        index: An open index.
        query: What is looked for, in anyone's words.
        embedder: The one that made the vectors; None searches by words alone.
        only: Which chunks count.
        limit: How many records at most.
        dense_weight: What meaning counts beside words, in [0, 1]; 1: meaning alone, 0: words.
        factor: Multiplied into the relevance of each candidate before the best are taken.

    Raises:
        IndexUnusableError: If the vectors are another model's.
    """
    query = query.encode("utf-8", "replace").decode().strip()  # a lone surrogate is no text
    if limit < 1 or not query:
        return []
    depth = max(LEAST_DEPTH, limit * DEPTH_FACTOR)
    vector = _query_vector(index, embedder, query) if embedder and dense_weight > 0 else None
    where, values = _conditions(only or Filter(), index)
    asked = list(dict.fromkeys(terms.terms(query))) if dense_weight < 1 else []
    lexical = _lexical(index, query, asked, depth, where, values) if dense_weight < 1 else []
    dense = index.database.nearest(vector, depth, where, values) if vector is not None else []
    candidates = sorted({*lexical, *(chunk_key for chunk_key, _ in dense)})
    scored = _scored(index, candidates, asked, lexical, vector, dense_weight)
    mean = embedder.unrelated_cosine if embedder else 0.0
    factors = _factors(scored, factor, limit, mean)
    best = _best(scored, factors)[:limit]
    return [_hit(hit, mean, one_factor) for hit, one_factor in best]


def _query_vector(index: Index, embedder: Embedder, query: str) -> Floats | None:
    stored = index.database.meta("identity")
    if not stored:
        return None  # indexed without an embedder: words alone
    if stored != encoded(embedder.identity):
        made_by = json.loads(stored).get("model", "another model")
        raise IndexUnusableError(
            index.place.database,
            f"its vectors were made by {made_by}, not by {embedder.identity.model} as set now",
        )
    return embedder.embed_query(query)


def _conditions(only: Filter, index: Index) -> tuple[str, list[Any]]:
    """Write a filter as SQL over chunks; empty if everything passes."""
    parts = ["active"] if index.has_dormant and not only.dormant else []
    values = list[Any]()
    if only.kinds:
        parts.append(f"kind in ({', '.join('?' * len(only.kinds))})")
        values += only.kinds
    if only.people:
        parts.append("(" + " or ".join(["instr(people, ?)"] * len(only.people)) + ")")
        values += [packed((person,)) for person in only.people]
    if only.audience:
        allowed = " and ".join(["instr(audience, ?)"] * len(only.audience))
        parts.append(f"(audience = '' or ({allowed}))")
        values += [packed((person,)) for person in only.audience]
    if only.session:
        parts.append("session = ?")
        values.append(only.session)
    if only.not_session:
        parts.append("(session <> ? or record in (select value from json_each(?)))")
        values += [only.not_session, json.dumps(only.unseen)]
    if only.before is not None:
        parts.append("(at = '' or julianday(at) < julianday(?))")
        values.append(only.before.isoformat())
    return " and ".join(parts), values


def _lexical(
    index: Index, query: str, asked: list[str], depth: int, where: str, values: list[Any]
) -> list[int]:
    """Return the best chunks by words; for stop words alone, those that hold the query as it is."""
    if not asked:
        rows = index.database.rows(
            "select id from texts where instr(lower(text), ?)"
            f" and id in (select id from chunks where {where or 1}) order by id limit {depth}",
            (query.lower(), *values),
        )
        return [int(row[0]) for row in rows]
    allowed = None
    if where:
        rows = index.database.rows(f"select id from chunks where {where}", values)
        allowed = {int(row[0]) for row in rows}
    return index.words.best(asked, depth, allowed)


@dataclass(frozen=True)
class _Scored:
    row: tuple[Any, ...]
    bm25: float
    bm25_scaled: float
    cosine: float | None
    cosine_scaled: float
    weights: Weights
    matched: tuple[str, ...]

    def score(self, factor: float) -> float:
        share = self.weights
        relevance = share.lexical * self.bm25_scaled + share.dense * self.cosine_scaled
        return round(relevance * factor, 6)


def _scored(
    index: Index,
    candidates: list[int],
    asked: list[str],
    lexical: Sequence[int],
    vector: Floats | None,
    dense_weight: float,
) -> list[_Scored]:
    """Score every candidate by both legs."""
    rows = index.database.rows(
        "select chunks.id, chunks.kind, record, files.path, ordinal, line, text, at, people,"
        " audience, trust, session, speaker, terms, around from chunks join texts using (id)"
        " join files on files.id = chunks.file"
        " where chunks.id in (select value from json_each(?)) order by chunks.id",
        (json.dumps(candidates),),
    )
    counts = index.words.counts(asked)
    verbatim = set() if asked else set(lexical)
    words, matched = [], []
    for row in rows:
        own, around = str(row[13]).split(" "), str(row[14]).split()
        score = ranking.bm25(asked, own, around, str(row[1]), counts, index.lengths)
        words.append(round(score, 6) if asked else float(row[0] in verbatim))
        matched.append(tuple(term for term in asked if term in own or term in around))
    near = index.database.cosines(vector, candidates) if vector is not None else {}
    cosines = [near.get(int(row[0])) for row in rows]
    lexical_scaled, dense_scaled = ranking.scaled(words), ranking.scaled(cosines)
    share = ranking.weights(lexical_scaled, dense_scaled, dense_weight)
    return [
        _Scored(row, word, word_scaled, cosine, cosine_scaled, share, words_matched)
        for row, word, word_scaled, cosine, cosine_scaled, words_matched in zip(
            rows, words, lexical_scaled, cosines, dense_scaled, matched, strict=True
        )
    ]


def _factors(
    scored: Sequence[_Scored], factor: Factor | None, limit: int, unrelated: float
) -> list[float]:
    """Return the factor of each candidate; 1 for those that none could lift among the best."""
    factors = [1.0] * len(scored)
    if factor is None:
        return factors
    best: dict[tuple[Any, ...], float] = {}  # scores by record
    for n in sorted(range(len(scored)), key=lambda n: -scored[n].score(1.0)):
        candidate = scored[n]
        if len(best) >= limit and candidate.score(factor.most) < sorted(best.values())[-limit]:
            break
        factors[n] = factor.of(_hit(candidate, unrelated, 1.0))
        record = candidate.row[1:4]
        best[record] = max(best.get(record, 0.0), candidate.score(factors[n]))
    return factors


def _hit(scored: _Scored, unrelated: float, factor: float) -> Hit:
    row, share, cosine = scored.row, scored.weights, scored.cosine
    calibrated = None if cosine is None else (cosine - unrelated) / (1 - unrelated)
    return Hit(
        kind=str(row[1]),
        id=str(row[2]),
        path=str(row[3]),
        line=int(row[5]),
        text=str(row[6]),
        at=datetime.fromisoformat(row[7]) if row[7] else None,
        people=unpacked(row[8]),
        audience=unpacked(row[9]),
        trust=str(row[10]),
        session=str(row[11]),
        speaker=str(row[12]),
        score=scored.score(factor),
        parts=Parts(
            scored.bm25,
            scored.bm25_scaled,
            cosine,
            scored.cosine_scaled,
            calibrated,
            share.lexical,
            share.dense,
            factor,
            scored.matched,
        ),
    )


def _best(scored: Sequence[_Scored], factors: Sequence[float]) -> list[tuple[_Scored, float]]:
    """Rank the records by their best passages; of equals the newer first, then by path and line."""
    ranked = sorted(
        zip(scored, factors, strict=True),
        key=lambda pair: (-pair[0].score(pair[1]), -_seconds(pair[0].row[7]), pair[0].row[3:7]),
    )
    best: dict[tuple[str, str, str], tuple[_Scored, float]] = {}
    for candidate, factor in ranked:
        best.setdefault(candidate.row[1:4], (candidate, factor))  # kind, record, path
    return list(best.values())


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp() if at else 0.0
