"""The index of one entity in Postgres as a sync writes it: the same as `database` does.

Floats are kept in half precision; many vectors get a graph.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection

from bumble.index.chunks import Chunk
from bumble.index.postgres_reader import OF_CHUNK, PostgresReader, as_halves, storable
from bumble.index.postgres_schema import TABLES
from bumble.index.postgres_words import lexemes
from bumble.index.rows import (
    ALL_TEXTS,
    CHUNK_COLUMNS,
    FileRow,
    Row,
    chunk_id,
    differences,
    row_of,
    texts_of,
)
from bumble.models.embed.protocol import DocumentTokens, Floats

HNSW_ROWS = 20_000  # vectors of an entity from which on the nearest are looked up in a graph
ROWS_AT_ONCE = 1_000  # put by one statement
# New chunks after which Postgres is told to look at its tables again, of all entities at once.
ANALYZED_ROWS, ANALYZED_SHARE = 1_000, 0.1
REMAINS = (
    "The rows are deleted from the server of the index, and their space there is free again. Their"
    " bytes may stay in its free pages, write-ahead log and backups until these are used anew;"
    " whoever runs the server overwrites the pages with: vacuum full"
)
_UNSWEPT = (
    "The rows are deleted from the server of the index. Its vacuum, which frees their space, comes"
    " by itself; the owner of the tables may hurry it with: vacuum"
)
_COLUMNS = CHUNK_COLUMNS.split(", ")


class PostgresStore(PostgresReader):
    """An open index on a server, written."""

    def __init__(
        self,
        connection: Connection[Any],
        translated: Callable[[], AbstractContextManager[None]],
        number: int,
        place: str,
    ) -> None:
        """Set up without asking anything; see `PostgresReader`."""
        super().__init__(connection, translated, number, place)
        self._new = 0  # chunks put since it was opened
        self._inside = False  # a transaction
        self._rows: list[tuple[int, Row, Row]] = []  # chunks that are put when it ends
        self._counts = Counter[str]()  # what it does to the counts of terms

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept, or none of it."""
        if self._inside:
            yield
            return
        self._inside = True
        try:
            with self._translated(), self._connection.transaction():
                yield
                self._flush()
        finally:
            self._inside, self._meta = False, None
            self._rows.clear()
            self._counts.clear()

    def run(self, sql: str, rows: Iterable[Sequence[Any]] = ((),)) -> None:
        """Run a statement once for each row of values."""
        many = [tuple(map(storable, row)) for row in rows]
        with self._translated():
            if len(many) == 1:
                self._connection.execute(self._sql(sql), many[0])
            elif many:
                self._connection.cursor().executemany(self._sql(sql), many)

    def empty(self) -> None:
        """Throw away all there is of the entity."""
        with self.transaction():
            for table in TABLES:
                self.run(f"delete from {table} where entity = :me")
        self._drop_graph()

    def shred(self) -> str:
        """Have the server free what was taken out. Returns what may be left of it."""
        owned = self.rows(
            "select pg_has_role(current_user, relowner, 'usage') from pg_class"
            " where oid = to_regclass('bumble.chunks')"
        )
        if not owned or not owned[0][0]:
            return _UNSWEPT
        for table in TABLES:
            self.run(f"vacuum bumble.{table}")
        return REMAINS

    def settle(self) -> None:
        """Do what a sync ends with: a graph over many vectors, and a look at tables that grew."""
        owned = self.rows(
            "select pg_has_role(current_user, relowner, 'usage') from pg_class"
            " where oid = to_regclass('bumble.vectors')"
        )
        if not owned or not owned[0][0]:
            return
        ((rows,),) = self.rows(
            "select reltuples from pg_class where oid = 'bumble.chunks'::regclass"
        )
        if self._new >= max(ANALYZED_ROWS, ANALYZED_SHARE * rows):
            for table in ("chunks", "texts", "words", "vectors", "tokens", "files", "stamps"):
                self.run(f"analyze bumble.{table}")
        if self._count("vectors") >= HNSW_ROWS and not self._graph():
            self._drop_graph()  # one that was cut off half made
            width = self._width()
            self.run(
                f"create index concurrently vectors_graph_{self._me} on vectors using hnsw"
                f" ((vector::halfvec({width})) halfvec_cosine_ops) where entity = :me"
            )

    def _drop_graph(self) -> None:
        there = self.rows("select to_regclass(%s)::text", (f"bumble.vectors_graph_{self._me}",))
        if there[0][0]:
            self.run(f"drop index bumble.vectors_graph_{self._me}")

    def _width(self) -> int:
        rows = self.rows("select vector_dims(vector) from vectors where entity = :me limit 1")
        return int(rows[0][0]) if rows else 0

    def set_meta(self, key: str, value: str) -> None:
        """Store a fact about the index itself."""
        self._meta = None
        self.run(
            "insert into meta values (:me, %s, %s)"
            " on conflict (entity, key) do update set value = excluded.value",
            [(key, value)],
        )

    def advance(self) -> None:
        """Count a change of chunks, in the transaction that makes it."""
        self.set_meta("generation", str(int(self.meta("generation") or 0) + 1))

    def set_seen(self, digest: str) -> None:
        """Store nothing; see `seen`."""

    def put_file(self, path: str, row: FileRow) -> int:
        """Store what is known of a file; the row's own id does not matter. Returns its id."""
        self.run(
            "insert into stamps values (:me, %s, %s, %s, %s, %s, %s)"
            " on conflict (entity, place, path) do update set mtime_ns = excluded.mtime_ns,"
            " ctime_ns = excluded.ctime_ns, size = excluded.size, sha256 = excluded.sha256",
            [(self._place, path, row.mtime_ns, row.ctime_ns, row.size, row.sha256)],
        )
        rows = self.rows(
            "insert into files (entity, path, kind, sha256, problem, problem_line)"
            " values (:me, %s, %s, %s, %s, %s) on conflict (entity, path) do update set"
            " kind = excluded.kind, sha256 = excluded.sha256, problem = excluded.problem,"
            " problem_line = excluded.problem_line returning id",
            (path, row.kind, row.sha256, storable(row.problem), row.problem_line),
        )
        return int(rows[0][0])

    def drop_file(self, path: str) -> None:
        """Forget a file and its chunks."""
        if row := self.file(path):
            self.put_chunks(row.id, path, [])
            for table in ("stamps", "files"):
                self.run(f"delete from {table} where entity = :me and path = %s", [(path,)])

    def distrust_files(self, kind: str) -> None:
        """Have the files of a kind read again."""
        self.run("update files set sha256 = '' where entity = :me and kind = %s", [(kind,)])

    def put_chunks(
        self, file: int, path: str, chunks: Sequence[Chunk], *, is_new: bool = False
    ) -> None:
        """Make these the chunks of a file; what is as it was is not touched.

        In a transaction, what is new waits for its end: chunks of many files are put at once.
        """
        new = {
            chunk_id(path, chunk): (_clean(row_of(file, chunk)), _clean(texts_of(chunk)))
            for chunk in chunks
        }
        old: dict[int, tuple[Row, Row]] = {}
        if not is_new:
            columns = ", ".join(f"c.{column}" for column in _COLUMNS)
            rows = self.rows(
                f"select id, {columns}, text, embedded, terms, around from chunks c"
                " join texts t using (entity, id) where entity = :me and file = %s",
                (file,),
            )
            end = 1 + len(_COLUMNS)
            old = {int(row[0]): (tuple(row[1:end]), tuple(row[end:])) for row in rows}
        changed = differences(old, new)
        self._count_terms(
            [old[key][1] for key in {*changed.gone, *changed.reworded} if key in old],
            [new[key][1] for key in changed.reworded],
        )
        self._drop_chunks(changed.gone)
        self.run(
            "insert into loose values (:me, %s) on conflict do nothing",
            [(key,) for key in changed.loose],
        )
        self._drop_vectors(changed.remixed)
        self._rows += changed.put
        self._new += len(changed.put)
        if not self._inside:
            with self.transaction():
                pass

    def _flush(self) -> None:
        """Put the chunks that wait, and count their terms."""
        rows = self._rows
        moved = sorted((term, count) for term, count in self._counts.items() if count)
        if moved:
            terms, steps = zip(*moved, strict=True)
            self.run(
                "insert into terms select :me, * from unnest(%s::text[], %s::integer[])"
                " on conflict (entity, term) do update set"
                " chunks = terms.chunks + excluded.chunks",
                [(list(terms), list(steps))],
            )
        self._upsert("chunks", ("id", *_COLUMNS), [(key, *row) for key, row, _ in rows])
        columns = ("id", "text", "embedded", "terms", "around")
        self._upsert("texts", columns, [(key, *texts) for key, _, texts in rows])
        terms_of = ((key, [*texts[2].split(" "), *texts[3].split()]) for key, _, texts in rows)
        words = (
            (key, len(each), lexemes([term for term in each if term])) for key, each in terms_of
        )
        self._upsert("words", ("id", "length", "lexemes"), words)

    def _upsert(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Put rows in the place of those with the same key, which is the first of the columns."""
        names, rest = ", ".join(columns), iter(rows)
        updates = ", ".join(f"{column} = excluded.{column}" for column in columns[1:])
        while some := list(islice(rest, ROWS_AT_ONCE)):
            # One statement for many rows: planned once, and crossing over once.
            self.run(
                f"insert into {table} (entity, {names}) select :me, {names}"
                f" from json_populate_recordset(null::bumble.{table}, %s::json)"
                f" on conflict (entity, {columns[0]}) do update set {updates}",
                [(json.dumps([dict(zip(columns, row, strict=True)) for row in some]),)],
            )

    def _count_terms(self, gone: Iterable[Row], come: Iterable[Row]) -> None:
        """Count chunks, each given by its texts, out of and into those that hold each term."""
        for step, texts in ((-1, gone), (1, come)):
            for text in texts:
                for term in {*text[2].split(" "), *text[3].split()} - {""}:
                    self._counts[term] += step

    def _drop_chunks(self, ids: Sequence[int]) -> None:
        if ids:
            self._drop_vectors(ids)
            for table in ("chunks", *OF_CHUNK):
                self.run(f"delete from {table} where entity = :me and id = any(%s)", [(list(ids),)])

    def _drop_vectors(self, ids: Sequence[int]) -> None:
        if not ids:
            return
        for table, column in (
            *(("vectors", "id"), ("linked", "id")),
            *(("links", "catalyst"), ("links", "chunk")),
        ):
            sql = f"delete from {table} where entity = :me and {column} = any(%s)"
            self.run(sql, [(list(ids),)])

    def rounded(self, vector: Floats) -> Floats:
        """Return an embedding as it is kept: in half precision."""
        return vector.astype(np.float16).astype(np.float32)

    def put_embeddings(self, vectors: Iterable[tuple[str, Floats]]) -> None:
        """Store the embeddings of texts by hash."""
        rows = ((key, _hex(vector.astype("<f2").tobytes())) for key, vector in vectors)
        self._upsert("embeddings", ("hash", "vector"), rows)

    def put_tokens(self, tokens: Sequence[tuple[str, DocumentTokens]]) -> None:
        """Store the tokens of texts by hash, and count in how many texts each piece stands."""
        kinds = [np.unique(text_tokens.pieces).astype("<u4") for _, text_tokens in tokens]
        rows = (
            (key, _hex(pieces.tobytes()), _hex(text_tokens.signs.tobytes()))
            for (key, text_tokens), pieces in zip(tokens, kinds, strict=True)
        )
        self._upsert("tokens", ("hash", "pieces", "signs"), rows)
        self._count_pieces(kinds, 1)

    def _count_pieces(self, kinds: Sequence[NDArray[np.uint32]], step: int) -> None:
        """Count texts, each given by its different pieces, in or out."""
        pieces, texts = np.unique(np.concatenate([*kinds, []]), return_counts=True)
        self.run(
            "insert into pieces select :me, * from unnest(%s::bigint[], %s::integer[])"
            " on conflict (entity, piece) do update set texts = pieces.texts + excluded.texts",
            [
                (
                    [*pieces.astype(int).tolist(), ALL_TEXTS],
                    [*(step * texts).tolist(), step * len(kinds)],
                )
            ],
        )

    def forget_vectors(self) -> None:
        """Drop every vector: another model's can't be compared with them."""
        for table in ("vectors", "embeddings", "links", "linked"):
            self.run(f"delete from {table} where entity = :me")
        self.forget_tokens()
        self._drop_graph()

    def forget_tokens(self) -> None:
        """Drop the tokens of every text."""
        for table in ("tokens", "pieces"):
            self.run(f"delete from {table} where entity = :me")

    def drop_unused_embeddings(self) -> None:
        """Drop the embeddings and tokens of texts that no chunk holds any more."""
        unused = (
            "entity = :me and hash in (select hash from loose where entity = :me and not exists"
            " (select 1 from chunks c where c.entity = :me and c.hash = loose.hash))"
        )
        rows = self.rows(f"select pieces from tokens where {unused}")
        if rows:
            self._count_pieces([np.frombuffer(row[0], "<u4") for row in rows], -1)
        for table in ("tokens", "embeddings"):
            self.run(f"delete from {table} where {unused}")
        self.run("delete from loose where entity = :me")
        self.run("delete from terms where entity = :me and chunks <= 0")

    def put_vectors(self, vectors: Iterable[tuple[int, Floats]]) -> None:
        """Store the vectors of chunks, each of length 1."""
        self._upsert("vectors", ("id", "vector"), ((key, as_halves(each)) for key, each in vectors))

    def put_links(self, rows: Sequence[tuple[int, int, float]], compared: Sequence[int]) -> None:
        """Store catalyst, chunk and likeness, and which chunks were compared."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        if columns:
            self.run(
                "insert into links select :me, *"
                " from unnest(%s::bigint[], %s::bigint[], %s::float8[])"
                " on conflict (entity, catalyst, chunk) do update"
                " set similarity = excluded.similarity",
                [columns],
            )
        self.run(
            "insert into linked select :me, * from unnest(%s::bigint[]) on conflict do nothing",
            [(list(compared),)],
        )

    def trim_links(self, catalysts: Sequence[int], depth: int) -> None:
        """Leave the nearest texts of some catalysts."""
        self.run(
            "delete from links where entity = :me and catalyst = %s and chunk not in (select chunk"
            " from links where entity = :me and catalyst = %s order by similarity desc, chunk"
            f" limit {int(depth)})",
            [(catalyst, catalyst) for catalyst in catalysts],
        )


def _hex(data: bytes) -> str:
    """Write bytes as Postgres reads them."""
    return f"\\x{data.hex()}"


def _clean(row: Row) -> Row:
    return tuple(map(storable, row))
