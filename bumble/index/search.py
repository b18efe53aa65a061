"""Searching the index by words and meaning: filters, candidates, shares, best passages.

Words and vectors name their best. These candidates are matched token by token and weighed by what
their conversation knows of them (`rerank`); without an embedding model BM25 alone scores them.
What is shown has to stand in its file now: an index that is behind it shows less, and one that says
it knows the file as it is, and quotes what does not stand there, is damaged.
The index is taken as it is: bringing it up to date is `sync`'s work. Knows nothing of moods or
prompts; what else is to count comes in as a factor.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.errors import (
    IndexDamagedError,
    IndexUnusableError,
    RecordInvalidError,
    UnsafePathError,
)
from bumble.index import chunks, ingest, late, place, rerank, terms
from bumble.index.rows import (
    Filter,
    IndexedText,
    Period,
    encoded,
    packed,
    passage_id,
    storable,
    unpacked,
)
from bumble.index.store import Store
from bumble.models.embed.protocol import Embedder, Floats, QueryTokens
from bumble.records import journal, knowledge, session_files

LEAST_DEPTH = 200  # candidates of each leg
DEPTH_FACTOR = 5  # and at least this many for each hit wanted
SAMPLE = 128  # texts that say how near any text of an index is to a query
UNSEEN = 4  # unrelated texts that are counted with them, for an index that is all about one thing
_SHARES = late.Shares()


class Hit(IndexedText, frozen=True):
    """A record that was found, by its best passage."""

    people: tuple[str, ...]
    score: float
    parts: rerank.Parts
    faded: bool = False  # dormant or archived
    ordinal: int = 0  # of the passage among those of its record
    goes_on: bool = False  # whether the record says more after it
    newer: str = ""  # what was said since that puts it right, quoted, as it leads over to it

    @property
    def statement(self) -> str:
        """What it says, and who says it; before that what was said since."""
        spoken = f"{self.speaker}: {self.text}" if self.speaker else self.text
        return f"{self.newer} {spoken}" if self.newer else spoken

    def data(self, rank: int) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "rank": rank,
            "score": self.score,
            "kind": self.kind,
            "id": self.id,
            "path": self.path,
            "line": self.line,
            "at": self.at.isoformat() if self.at else None,
            "text": self.text,
            "newer": self.newer or None,
            "speaker": self.speaker or None,
            "people": list(self.people),
            "trust": self.trust or None,
            "session": self.session or None,
        }


class Factor(Struct, frozen=True):
    """Something else that counts, beside words and meaning."""

    of: Callable[[Hit], float]  # may read files: only those are asked that could get to the top
    most: float  # no hit gets more


class Index:
    """An open index, to search in."""

    def __init__(self, entity: Entity, store: Store, at: place.Place) -> None:
        self.store, self.place = store, at
        self.standing = Standing(entity, store, at)
        self.languages = Counter[str]()  # how many chunks are in each
        counts, terms_of_kind = Counter[str](), Counter[str]()
        for kind, language, count, own, around in store.lengths():
            self.languages[language] += count
            counts[kind] += count
            terms_of_kind[kind] += own + around
        self.lengths = rerank.Lengths(
            counts.total(), {kind: terms_of_kind[kind] / count for kind, count in counts.items()}
        )


@contextmanager
def opened(entity: Entity, where: place.Place | None = None) -> Iterator[Index]:
    """Open the index of an entity; reading it leaves no trace in the folder.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
    """
    at = (where or place.of(entity)).settled()
    with closing(at.to_read(entity)) as store:
        yield Index(entity, store, at)


def search(
    index: Index,
    query: str,
    embedder: Embedder | None,
    *,
    only: Filter | None = None,
    limit: int = 10,
    factor: Factor | None = None,
    shares: late.Shares = _SHARES,
    asker: str = "",
    asking: rerank.RerankTurn | None = None,
    fits: Callable[[Hit], bool] | None = None,
    period: Period | None = None,
) -> list[Hit]:
    """Find the records that match a query best, best first.

    Args:
        index: An open index.
        query: What is looked for, in anyone's words.
        embedder: The one that made the vectors; None searches by words alone.
        only: Which chunks count.
        limit: How many records at most.
        factor: Multiplied into the relevance of each candidate before the best are taken.
        shares: What counts beside the match of tokens.
        asker: Who asks, as shown: "I" in the query is theirs. Empty: whoever is not the entity.
        asking: The turn that asks, where it is indexed already: it is no answer to itself.
        fits: What else a hit must be, asked before the best are taken; None: nothing.
        period: The time that the query names: what is from then counts more.

    Raises:
        IndexUnusableError: If the vectors are another model's.
    """
    query = query.encode("utf-8", "replace").decode().strip()  # a lone surrogate is no text
    limit = min(limit, index.lengths.chunks)  # engines make room for as many as they are asked for
    if limit < 1 or not query:
        return []
    search_query = _Query(index, query, limit, only or Filter(), period)
    mean = embedder.unrelated_cosine if embedder else 0.0
    asked = _embedded(index, query, embedder) if embedder else None
    if asked:
        scored = _by_token(search_query, asked, mean, limit, shares, (asker, asking))
    else:
        scored = _by_words(search_query, shares)
    if fits:
        scored = [candidate for candidate in scored if fits(_hit(candidate, mean, 1.0))]
    factors = _factors(scored, factor, limit, mean)
    best = (_hit(candidate, mean, weight) for candidate, weight in _best(scored, factors))
    standing = filter(index.standing.holds, best)  # no text is shown that its file doesn't say
    return _with_ends(index, list(islice(standing, limit)))


def _embedded(index: Index, query: str, embedder: Embedder) -> tuple[Floats, QueryTokens] | None:
    """Embed a query; None where words alone tell. An index of another model is an error."""
    stored = index.store.meta("identity")
    if not stored:
        return None  # indexed without an embedder
    if stored != encoded(embedder.identity):
        made_by = json.loads(stored).get("model", "another model")
        raise IndexUnusableError(
            index.place.shown,
            f"its vectors were made by {made_by}, not by {embedder.identity.model} as set now",
        )
    vector, tokens = embedder.embed_query(query)
    return (vector, tokens) if len(tokens.pieces) else None


class _Query:
    """A query, and what each leg says to it."""

    def __init__(
        self, index: Index, text: str, limit: int, only: Filter, period: Period | None
    ) -> None:
        self.index, self.text, self.period = index, text, period
        self.depth = depth = max(LEAST_DEPTH, limit * DEPTH_FACTOR)
        self.where, self.values = index.store.conditions(only)
        self.filters = [(self.where, self.values)]  # each leg is asked with all of them
        if period:
            within = replace(
                only,
                after=max(filter(None, (only.after, period.start))),
                before=min(filter(None, (only.before, period.end))),
            )
            self.filters.append(index.store.conditions(within))
        self.asked = terms.of_query(text, index.languages)
        self.wordings = terms.wordings(text, index.languages)
        if self.asked:
            legs = [index.store.best(self.asked, depth, *each) for each in self.filters]
        else:  # stop words alone: those that hold the query as it is
            legs = [index.store.holding(text, depth, self.where, self.values)]
        self.lexical = _joined(legs)  # the best chunks by words

    def all_in(self, matched: Collection[str], language: str) -> bool:
        """Whether each of its words is among terms of a text of some language.

        In another language a word is only as it stands: of Paula the French stem is Paul's.
        """
        return bool(self.wordings) and all(
            any(
                said and set(said) <= set(matched) and (code == language or said == [word])
                for code, said in of.items()
            )
            for word, of in self.wordings
        )

    def dense(self, vector: Floats) -> list[int]:
        """Return the best chunks by meaning."""
        legs = [self.index.store.nearest(vector, self.depth, *each) for each in self.filters]
        return _joined([chunk_key for chunk_key, _ in leg] for leg in legs)


def _usual(store: Store, vector: Floats, unrelated: float) -> float:
    """Return the cosine of a query with any text of the index; at least that of any texts."""
    cosines = list(store.cosines(vector, store.sample(SAMPLE)).values())
    if not cosines:
        return unrelated
    count, middle = len(cosines), late.median(np.array(cosines, np.float64))
    usual = (count * middle + UNSEEN * unrelated) / (count + UNSEEN)
    return max(unrelated, round(usual, 6))


def _joined(legs: Iterable[Iterable[int]]) -> list[int]:
    return list(dict.fromkeys(chain.from_iterable(legs)))


class _Scored(Struct, frozen=True):
    row: tuple[Any, ...]
    parts: rerank.Parts  # without its factor

    def score(self, factor: float) -> float:
        return round(self.parts.relevance * factor, 6)


def _by_words(search_query: _Query, shares: late.Shares) -> list[_Scored]:
    """Score the best candidates by BM25 alone, and by whether they are of the period asked for."""
    index, asked = search_query.index, search_query.asked
    rows = index.store.hit_rows(search_query.lexical)
    own, around = [str(row[13]) for row in rows], [str(row[14]) for row in rows]
    in_own, in_around = rerank.frequencies(asked, own), rerank.frequencies(asked, around)
    lengths = [
        index.lengths.relative(str(row[1]), len(terms_of.split()), len(near.split()))
        for row, terms_of, near in zip(rows, own, around, strict=True)
    ]
    scores = rerank.bm25(
        asked,
        in_own + rerank.AROUND_WEIGHT * in_around,
        np.array(lengths, np.float64),
        index.store.counts(asked),
        index.lengths.chunks,
    )
    words = np.round(scores, 6).tolist() if asked else [1.0] * len(rows)
    within = [rerank.period_weight(search_query.period, str(row[7])) for row in rows]
    relevance = [
        word + shares.period * max(words) * inside
        for word, inside in zip(words, within, strict=True)
    ]
    matched = [
        tuple(term for term, stands in zip(asked, column, strict=True) if stands)
        for column in (in_own + in_around).T.tolist()
    ]
    parts = zip(words, rerank.scaled(words), rerank.scaled(relevance), matched, strict=True)
    return [
        _Scored(
            row,
            rerank.Parts(
                bm25=word,
                bm25_scaled=scaled,
                relevance=whole,
                matched=of,
                complete=search_query.all_in(of, str(row[16])),
            ),
        )
        for row, (word, scaled, whole, of) in zip(rows, parts, strict=True)
    ]


def _by_token(
    search_query: _Query,
    asked: tuple[Floats, QueryTokens],
    unrelated: float,
    limit: int,
    shares: late.Shares,
    who: tuple[str, rerank.RerankTurn | None],
) -> list[_Scored]:
    """Score the best candidates of both legs by their tokens."""
    index, (vector, tokens) = search_query.index, asked
    usual = _usual(index.store, vector, unrelated)
    question = rerank.RerankQuestion(
        search_query.text,
        tokens,
        search_query.asked,
        index.store.counts(search_query.asked),
        frozenset(() if search_query.asked else search_query.lexical),
        index.lengths,
        who[0],
        index.store.meta("name"),
        who[1],
        search_query.period,
    )
    allowed = None
    if index.lengths.chunks > rerank.FEW:
        allowed = [*search_query.lexical, *search_query.dense(vector)]
    elif search_query.where:
        allowed = index.store.passing(search_query.where, search_query.values)
    ranked = rerank.rank(index.store, question, allowed, limit, shares)
    rows = {int(row[0]): row for row in index.store.hit_rows(list(ranked))}
    near = index.store.cosines(vector, list(rows))
    relevance = rerank.scaled([total for total, _ in ranked.values()])
    return [
        _Scored(
            rows[key],
            replace(
                parts,
                cosine=near.get(key),
                relevance=scaled,
                usual=usual,
                complete=search_query.all_in(parts.matched, str(rows[key][16])),
            ),
        )
        for (key, (_, parts)), scaled in zip(ranked.items(), relevance, strict=True)
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
        hit = scored[n]
        if len(best) >= limit and hit.score(factor.most) < sorted(best.values())[-limit]:
            break
        factors[n] = factor.of(_hit(hit, unrelated, 1.0))
        record = hit.row[1:4]
        best[record] = max(best.get(record, 0.0), hit.score(factors[n]))
    return factors


def _hit(scored: _Scored, unrelated: float, factor: float) -> Hit:
    row, cosine = scored.row, scored.parts.cosine
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
        parts=replace(scored.parts, calibrated=calibrated, factor=factor),
        faded=not row[15],
        ordinal=int(row[4]),
    )


def _with_ends(index: Index, hits: Sequence[Hit]) -> list[Hit]:
    """Say of each hit whether its record goes on behind the passage."""
    nexts = [passage_id(hit.path, hit.id, hit.ordinal + 1) for hit in hits]
    there = {int(row[0]) for row in index.store.places(nexts)}
    return [replace(hit, goes_on=key in there) for hit, key in zip(hits, nexts, strict=True)]


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


HEADING = "## "


class Standing:
    """The files of an entity, as far as they were asked for; each is read once."""

    def __init__(self, entity: Entity, store: Store, at: place.Place) -> None:
        self._entity, self._store, self._place = entity, store, at
        self._lines: dict[str, list[str]] = {}
        self._wholes: dict[str, list[chunks.RecordText]] = {}

    def holds(self, hit: Hit) -> bool:
        """Whether a passage stands in its file, for those who may meet it.

        Raises:
            IndexDamagedError: If it does not, though the index knows the file as it is.
        """
        with suppress(RecordInvalidError, UnsafePathError, StopIteration):  # no file that is read
            if self._is_near(hit) or _says(self._whole(hit.path), hit):
                return True
        known = self._store.file(hit.path)
        if known and known.sha256 and known.sha256 == ingest.digest(self._entity.root, hit.path):
            raise IndexDamagedError(self._place.shown, f"quotes what {hit.path} does not say")
        return False

    def _is_near(self, hit: Hit) -> bool:
        """Whether it stands where it should in a file of many records, most of them not read."""
        kind, path = ingest.kind_of(hit.path), self._entity.root / hit.path
        if kind not in _NEAR:
            return False
        if hit.path not in self._lines:
            self._lines[hit.path] = chunks.source(kind, path).split("\n")
        part = _NEAR[kind](self._lines[hit.path], hit)
        with suppress(RecordInvalidError):  # it is no whole record
            return _says(chunks.texts(kind, path, zone=UTC, part=part), hit)
        return False

    def _whole(self, path: str) -> list[chunks.RecordText]:
        if path not in self._wholes:
            texts = chunks.texts(ingest.kind_of(path), self._entity.root / path, zone=UTC)
            self._wholes[path] = list(texts)
        return self._wholes[path]


def _says(texts: Iterable[chunks.RecordText], hit: Hit) -> bool:
    record, text, audience = storable(hit.id), storable(hit.text), frozenset(hit.audience)
    return any(
        storable(part.record) == record
        and frozenset(unpacked(packed(part.origin.audience))) == audience
        and any(storable(part.shown(piece)) == text for piece in part.passages)
        for part in texts
    )


def _section(lines: Sequence[str], hit: Hit) -> str:
    """Return the section that holds a passage."""
    at = min(hit.line, len(lines))
    start = next((n for n in range(at - 1, 0, -1) if lines[n].startswith(HEADING)), 0)
    end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith(HEADING)), None)
    return "\n".join(lines[start:end]) + "\n"


def _talk(lines: Sequence[str], hit: Hit) -> str:
    """Return the lines of a transcript that say a passage, and that those who may meet it spoke."""
    wanted = {0, min(hit.line, len(lines)) - 1}
    for person in hit.audience:
        named = json.dumps(person, ensure_ascii=False)
        wanted |= {next((n for n, line in enumerate(lines) if named in line), 0)}
    return "\n".join(lines[n] for n in sorted(wanted)) + "\n"


_NEAR = {
    knowledge.KNOWLEDGE.passages: _section,
    journal.JOURNAL.passages: _section,
    session_files.SESSION.passages: _talk,
}
