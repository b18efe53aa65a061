"""Words in Postgres: which chunks hold which terms, by its own text search.

Each chunk's terms are the lexemes of a `tsvector`: they were stemmed, and their stop words left
out, by the language of the text, where every other index gets them (`terms`). How often a term
stands in a chunk is its label, D for once to A for four times or more, which `ts_rank` gives
back (`saturated`, in `postgres_schema`).
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bumble.index.postgres_reader import PostgresReader

K1, B = 1.2, 0.75  # as tantivy's, which names the candidates elsewhere
MOST_TERMS = 32  # of a query: a long message is looked for by its rarest
_LABELS = "DCBA"  # of 1, 2, 3, 4 and more
_LABEL_WEIGHTS = "{0.1,0.2,0.3,0.4}"  # D, C, B, A


def lexemes(terms: Sequence[str]) -> str:
    """Write the terms of a chunk, own ones and those around, as a `tsvector`."""
    return " ".join(
        f"{quoted(term)}:1{_LABELS[min(count, len(_LABELS)) - 1]}"
        for term, count in Counter(terms).items()
    )


def quoted(term: str) -> str:
    """Write a term so that text search takes it as it is."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


class PostgresWords:
    """The words of one entity."""

    def __init__(self, store: PostgresReader) -> None:
        self._store = store
        self._counts: dict[str, int] = {}  # of terms that were asked for

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        rows = self._store.rows("select count(*) from words where entity = :me")
        return int(rows[0][0])

    def counts(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many chunks each term stands."""
        wanted = list(dict.fromkeys(terms))
        if new := [term for term in wanted if term not in self._counts]:
            rows = self._store.rows(
                "select term, chunks from terms where entity = :me and term = any(%s)", (new,)
            )
            self._counts |= dict.fromkeys(new, 0) | {str(term): int(n) for term, n in rows}
        return {term: self._counts[term] for term in wanted}

    def best(
        self, terms: Sequence[str], depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[int]:
        """Return the chunks that BM25 puts first, of those a condition lets through; ties by id."""
        counts = {term: count for term, count in self.counts(terms).items() if count > 0}
        rarest = sorted(counts, key=lambda term: (counts[term], term))[:MOST_TERMS]
        ((total, length),) = self._store.rows(
            "select count(*), coalesce(sum(own_terms + around_terms), 0) from chunks"
            " where entity = :me"
        )
        if not rarest:
            return []
        rank = f"ts_rank('{_LABEL_WEIGHTS}', lexemes, %s::tsquery)"
        score = " + ".join([f"%s::float8 * bumble.saturated({rank}, norm)"] * len(rarest))
        inside = f" and id in (select id from chunks where entity = :me and {where})"
        rows = self._store.rows(
            f"select id from (select id, lexemes, {K1} * ({1 - B} + {B} * length / %s::float8)"
            " as norm from words where entity = :me and lexemes @@ %s::tsquery"
            + (inside if where else "")
            + f") as met order by round(({score})::numeric, 6) desc, id limit {int(depth)}",
            (
                max(float(length), 1.0) / max(total, 1),
                " | ".join(map(quoted, rarest)),
                *values,
                *(
                    value
                    for term in rarest
                    for value in (
                        log(1 + (total - counts[term] + 0.5) / (counts[term] + 0.5)),
                        quoted(term),
                    )
                ),
            ),
        )
        return [int(row[0]) for row in rows]
