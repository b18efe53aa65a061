"""Which texts each catalyst points to: their likeness, kept in `memory.db` beside the vectors.

A catalyst is a question in the file of a topic. Only what is new is compared, so a turn costs one
product of few rows. Knows nothing of queries.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bumble.embed.protocol import Floats
from bumble.index.database import Database
from bumble.records import kinds

DEPTH = 30  # texts that a catalyst points to
_CATALYST = f"kind = '{kinds.TOPIC.passages}'"


def refresh(database: Database) -> int:
    """Compare new texts with all catalysts, and new catalysts with all texts. Returns how many."""
    if not database.rows(f"select exists (select 1 from chunks where {_CATALYST})")[0][0]:
        return 0
    new = {
        int(row[0]) for row in database.rows("select id from vectors except select id from linked")
    }
    if not new:
        return 0
    catalysts = _ids(database, f"select id from vectors join chunks using (id) where {_CATALYST}")
    rows: list[tuple[int, int, float]] = []
    for catalyst in (key for key in catalysts if key in new):
        vector = _vectors(database, [catalyst])[0]
        nearest = database.nearest(vector, DEPTH, f"not ({_CATALYST})")
        rows += [(catalyst, chunk, cosine) for chunk, cosine in nearest]
    settled = [key for key in catalysts if key not in new]
    texts = sorted(new - set(catalysts))
    if settled and texts:
        likeness = _vectors(database, settled) @ _vectors(database, texts).T
        for place, catalyst in enumerate(settled):
            best = np.argsort(-likeness[place], kind="stable")[:DEPTH]
            rows += [(catalyst, texts[n], round(float(likeness[place][n]), 6)) for n in best]
    with database.transaction():
        database.run("insert or replace into links values (?, ?, ?)", rows)
        database.run("insert or ignore into linked values (?)", ((key,) for key in sorted(new)))
        for catalyst in settled:
            database.run(
                "delete from links where catalyst = ? and chunk not in (select chunk from links"
                f" where catalyst = ? order by similarity desc, chunk limit {DEPTH})",
                [(catalyst, catalyst)],
            )
    return len(new)


def pointed_to(
    database: Database, catalysts: Sequence[int], where: str, values: Sequence[object]
) -> dict[int, list[tuple[int, float]]]:
    """Return the texts that some catalysts point to with their likeness, by catalyst.

    Args:
        database: An open index.
        catalysts: Ids of their chunks.
        where: A condition on the chunks of the texts; empty: all.
        values: Of the condition.
    """
    rows = database.rows(
        "select catalyst, chunk, similarity from links where catalyst in"
        " (select value from json_each(?))"
        + (f" and chunk in (select id from chunks where {where})" if where else "")
        + " order by catalyst, similarity desc, chunk",
        (json.dumps(list(catalysts)), *values),
    )
    pointed: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for catalyst, chunk, similarity in rows:
        pointed[int(catalyst)].append((int(chunk), float(similarity)))
    return dict(pointed)


def _ids(database: Database, sql: str) -> list[int]:
    return sorted(int(row[0]) for row in database.rows(sql))


def _vectors(database: Database, ids: Sequence[int]) -> Floats:
    """Return the vectors of some chunks, each of length 1, in the order given."""
    rows = database.rows(
        "select vector from json_each(?) as wanted cross join vectors on vectors.id = wanted.value"
        " order by wanted.key",
        (json.dumps(list(ids)),),
    )
    return np.stack([np.frombuffer(row[0], "<f4") for row in rows])
