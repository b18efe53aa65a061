"""Which chunks lie near a vector, by one bit a dimension: the bits of many chunks are one row.

A row of `blocks` holds the ids and bits of up to BLOCK_CHUNKS chunks; `placed` says which row a
chunk is in. So all bits are read in a few large pieces and compared at once, where a row for each
chunk took most of a query's time. Knows nothing of texts, and of floats only their signs.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bumble.index.filters import Allowed
from bumble.models.embed.protocol import Bits, Floats

if TYPE_CHECKING:
    from bumble.index.database import Database
    from bumble.index.database_reader import DatabaseReader

BLOCK_CHUNKS = 1024
SCHEMA = """
create table if not exists placed (id integer primary key, block integer);
create table if not exists blocks (id integer primary key, ids blob, bits blob);
"""
_MOVED = 10_000  # rows of an older index that are moved at once
Ids = NDArray[np.int64]


def are_kept(database: DatabaseReader) -> bool:
    """Say whether an index holds bits in blocks; one from before it does has to be moved."""
    return database.has_table("placed")


def count(database: DatabaseReader) -> int:
    """Return how many chunks have bits, without looking at each."""
    return int(database.rows("select coalesce(sum(length(ids)), 0) / 8 from blocks")[0][0])


def move(database: Database) -> None:
    """Take the bits of an older index, which had a row for each chunk, into blocks."""
    database.run(SCHEMA)
    waiting = (
        f"select id, vector from vectors where id not in (select id from placed) limit {_MOVED}"
    )
    while rows := database.rows(waiting):
        put(database, [(key, np.frombuffer(vector, "<f4")) for key, vector in rows])
    database.run("drop table coarse")


def put(database: Database, vectors: Sequence[tuple[int, Floats]]) -> None:
    """Store the bits of chunks, in place of those they had."""
    drop(database, [key for key, _ in vectors])
    last = database.rows("select id, ids, bits from blocks order by id desc limit 1")
    number, rest = 0, list(vectors)
    if last:
        number, ids, bits = _parsed(last[0])
        if room := BLOCK_CHUNKS - len(ids):
            taken, rest = rest[:room], rest[room:]
            _write(database, number, ids, bits, taken)
    for some in (rest[n : n + BLOCK_CHUNKS] for n in range(0, len(rest), BLOCK_CHUNKS)):
        number += 1
        empty = np.zeros((0, len(some[0][1]) // 8), np.uint8)
        _write(database, number, np.zeros(0, np.int64), empty, some)


def drop(database: Database, ids: Iterable[int]) -> None:
    """Take chunks out of their blocks; those without bits don't matter."""
    wanted = json.dumps(list(ids))
    of_block: dict[int, list[int]] = {}
    for key, block in database.rows(
        "select id, block from placed where id in (select value from json_each(?))", (wanted,)
    ):
        of_block.setdefault(block, []).append(key)
    for block, gone in of_block.items():
        row = database.rows("select id, ids, bits from blocks where id = ?", (block,))[0]
        _, held, bits = _parsed(row)
        staying = ~np.isin(held, gone)
        _write(database, block, held[staying], bits[staying], ())
    database.run("delete from placed where id in (select value from json_each(?))", [(wanted,)])


def clear(database: Database) -> None:
    """Drop the bits of every chunk."""
    for table in ("placed", "blocks"):
        database.run(f"delete from {table}")


def nearest(
    database: DatabaseReader, query: Floats, count: int, allowed: Allowed | None
) -> list[int]:
    """Return the chunks with most bits in common with a vector, of those allowed; ties by id."""
    ids, distances = _distances(database, query)
    within = np.cumsum(np.bincount(distances, minlength=1))  # how many lie at most so far
    wanted = count
    while True:
        wanted = min(wanted, len(ids))
        near = np.flatnonzero(distances <= np.searchsorted(within, wanted))
        near = near[np.lexsort((ids[near], distances[near]))]
        ranked: list[int] = ids[near].tolist()
        passing = allowed(ranked) if allowed else None
        chosen = [key for key in ranked if passing is None or key in passing]
        if len(chosen) >= count or len(near) == len(ids):
            return chosen[:count]
        wanted *= 4


def _distances(database: DatabaseReader, query: Floats) -> tuple[Ids, NDArray[np.int64]]:
    """Return all chunks, and in how many bits each differs from a vector."""
    signs = np.packbits(query > 0)
    asked = signs.view("<u8" if len(signs) % 8 == 0 else "u1")
    ids, distances = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    # A block at a time stays in the cache of a core, and the bits of all never lie in memory.
    for held, bits in database.stream("select ids, bits from blocks"):
        words = np.frombuffer(bits, asked.dtype).reshape(-1, len(asked))
        ids.append(np.frombuffer(held, "<i8"))
        distances.append(np.bitwise_count(words ^ asked).sum(axis=1, dtype=np.int64))
    return np.concatenate(ids), np.concatenate(distances)


def _parsed(row: tuple[Any, ...]) -> tuple[int, Ids, Bits]:
    ids = np.frombuffer(row[1], "<i8")
    width = len(row[2]) // max(1, len(ids))
    return int(row[0]), ids, np.frombuffer(row[2], np.uint8).reshape(len(ids), width)


def _write(
    database: Database, block: int, ids: Ids, bits: Bits, more: Sequence[tuple[int, Floats]]
) -> None:
    """Write a block with what it held and more; an empty one is taken away."""
    if more:
        ids = np.concatenate([ids, np.array([key for key, _ in more], np.int64)])
        signs = np.packbits(np.stack([vector for _, vector in more]) > 0, axis=1)
        bits = np.concatenate([bits.reshape(-1, signs.shape[1]), signs])
    if not len(ids):
        database.run("delete from blocks where id = ?", [(block,)])
        return
    row = (block, ids.astype("<i8").tobytes(), bits.tobytes())
    database.run("insert or replace into blocks values (?, ?, ?)", [row])
    database.run("insert or replace into placed values (?, ?)", [(key, block) for key, _ in more])
