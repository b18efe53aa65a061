"""The index of one entity in Postgres: the same questions and answers as `database`.

Every statement names the entity by its number, and the server's row security holds it to that.
Floats are kept in half precision; small sets are compared exactly, large ones by HNSW first.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection

from bumble.embed.protocol import DocumentTokens, Floats
from bumble.index.chunks import Chunk
from bumble.index.database import (
    ALL_TEXTS,
    CHUNK_COLUMNS,
    FileRow,
    Row,
    chunk_id,
    differences,
    packed,
    recipe_of,
    row_of,
    texts_of,
)
from bumble.index.filters import Filter
from bumble.index.postgres_schema import TABLES
from bumble.index.postgres_words import lexemes
from bumble.index.scan import Stamp
from bumble.text.tags import folded

HNSW_ROWS = 20_000  # vectors of an entity from which on the nearest are looked up in a graph
COARSE_FACTOR = 4  # candidates of the graph for each that is wanted
MOST_SEARCHED = 1_000  # candidates that pgvector takes at most
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
_OF_CHUNK = ("texts", "words", "vectors", "linked")  # tables with a row a chunk, beside `chunks`


class PostgresStore:
    """An open index on a server."""

    def __init__(
        self,
        connection: Connection[Any],
        translated: Callable[[], AbstractContextManager[None]],
        number: int,
        place: str,
    ) -> None:
        """Set up without asking anything.

        Args:
            connection: To the server; it sees this entity's rows alone.
            translated: Makes errors that people can act on of those of the server.
            number: The entity's on this server.
            place: Names this folder on this machine: stamps of files hold there alone.
        """
        self._connection, self._translated = connection, translated
        self._me, self._place = int(number), place
        self._new = 0  # chunks put since it was opened
        self._meta: dict[str, str] | None = None  # facts about the index itself, once read
        self._inside = False  # a transaction
        self._rows: list[tuple[int, Row, Row]] = []  # chunks that are put when it ends
        self._counts = Counter[str]()  # what it does to the counts of terms

    def close(self) -> None:
        """Leave the connection to who comes next."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a query, in which `:me` is the entity, and return all rows.

        Raises:
            IndexServerError: If the server does not answer, or refuses.
        """
        with self._translated():
            return self._connection.execute(self._sql(sql), values, binary=True).fetchall()

    def run(self, sql: str, rows: Iterable[Sequence[Any]] = ((),)) -> None:
        """Run a statement once for each row of values."""
        many = [tuple(map(_storable, row)) for row in rows]
        with self._translated():
            if len(many) == 1:
                self._connection.execute(self._sql(sql), many[0])
            elif many:
                self._connection.cursor().executemany(self._sql(sql), many)

    def _sql(self, text: str) -> LiteralString:
        return text.replace(":me", str(self._me))

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

    def _graph(self) -> bool:
        """Whether there is a graph over the vectors that can be used."""
        return bool(
            self.rows(
                "select 1 from pg_index where indexrelid = to_regclass(%s) and indisvalid",
                (f"bumble.vectors_graph_{self._me}",),
            )
        )

    def _drop_graph(self) -> None:
        there = self.rows("select to_regclass(%s)::text", (f"bumble.vectors_graph_{self._me}",))
        if there[0][0]:
            self.run(f"drop index bumble.vectors_graph_{self._me}")

    def _width(self) -> int:
        rows = self.rows("select vector_dims(vector) from vectors where entity = :me limit 1")
        return int(rows[0][0]) if rows else 0

    def _count(self, table: str) -> int:
        return int(self.rows(f"select count(*) from {table} where entity = :me")[0][0])

    def _ids(self, sql: str, values: Sequence[Any] = ()) -> list[int]:
        return [int(row[0]) for row in self.rows(sql, values)]

    # what is known of the index itself

    def meta(self, key: str) -> str:
        """Return a stored fact about the index itself, empty if there is none."""
        if self._meta is None:  # all at once: each question crosses over to the server
            rows = self.rows("select key, value from meta where entity = :me")
            self._meta = {str(name): str(value) for name, value in rows}
        return self._meta.get(key, "")

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

    # files

    def files(self) -> dict[str, FileRow]:
        """Return all indexed files by path."""
        return {str(row[0]): FileRow(*row[1:]) for row in self._file_rows()}

    def stamps(self) -> dict[str, Stamp]:
        """Return how each file was when it was last looked at from here, by path."""
        return {row[0]: (row[3], row[4], row[5]) for row in self._file_rows()}

    def seen(self) -> str:
        """Return nothing: what other machines put would have to be looked up all the same."""
        return ""

    def set_seen(self, digest: str) -> None:
        """Store nothing; see `seen`."""

    def file(self, path: str) -> FileRow | None:
        """Return what is known of a file."""
        rows = self._file_rows(" and f.path = %s", (path,))
        return FileRow(*rows[0][1:]) if rows else None

    def _file_rows(self, and_where: str = "", values: Sequence[Any] = ()) -> list[Row]:
        """Return files; what another machine has put since this one looked is to be looked at."""
        return self.rows(
            "select f.path, f.id, f.kind, coalesce(s.mtime_ns, -1), coalesce(s.ctime_ns, -1),"
            " coalesce(s.size, -1), f.sha256, f.problem, f.problem_line from files f"
            " left join stamps s on s.entity = f.entity and s.path = f.path and s.place = %s"
            f" and s.sha256 = f.sha256 where f.entity = :me{and_where}",
            (self._place, *values),
        )

    def digests(self) -> list[Row]:
        """Return path and hash of every file, by path."""
        return self.rows("select path, sha256 from files where entity = :me order by path")

    def problems(self) -> list[tuple[str, str, int | None]]:
        """Return the files that could not be read, and why and in which line, by path."""
        rows = self.rows(
            "select path, problem, problem_line from files where entity = :me and problem <> ''"
            " order by path"
        )
        return [(str(path), str(problem), line) for path, problem, line in rows]

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
            (path, row.kind, row.sha256, _storable(row.problem), row.problem_line),
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

    # chunks

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
            for table in ("chunks", *_OF_CHUNK):
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

    def size(self) -> int:
        """Return how many chunks there are."""
        return self._count("chunks")

    def waiting(self) -> int:
        """Return how many chunks have no vector yet."""
        return self.size() - self._count("vectors")

    def queued(self) -> int:
        """Return how many chunks' words have yet to be taken: they come with the chunk."""
        return 0

    def orphans(self) -> int:
        """Return how many rows belong to no file, or no chunk."""
        lost = [
            "select count(*) from chunks where entity = :me and file not in"
            " (select id from files where entity = :me)"
        ]
        lost += [
            f"select count(*) from {table} where entity = :me and id not in"
            " (select id from chunks where entity = :me)"
            for table in _OF_CHUNK
        ]
        lost += [
            f"select count(*) from {table} where entity = :me and hash not in"
            " (select hash from chunks where entity = :me)"
            " and hash not in (select hash from loose where entity = :me)"
            for table in ("embeddings", "tokens")
        ]
        rows = self.rows("select " + " + ".join(f"({sql})" for sql in lost))
        return int(rows[0][0])

    def lengths(self) -> list[Row]:
        """Return kind, language, count, terms and terms around of all chunks, by both."""
        return self.rows(
            "select kind, language, count(*), sum(own_terms), sum(around_terms) from chunks"
            " where entity = :me group by kind, language"
        )

    def conditions(self, only: Filter) -> tuple[str, list[Any]]:
        """Write a filter as SQL over chunks; empty if everything passes."""
        parts, values = ([] if only.dormant else ["active <> 0"]), list[Any]()
        if only.kinds:
            parts.append("kind = any(%s)")
            values.append(list(only.kinds))
        if only.people:
            parts.append("(" + " or ".join(["strpos(people, %s) > 0"] * len(only.people)) + ")")
            values += [packed((person,)) for person in only.people]
        if only.tags:
            parts.append("(" + " and ".join(["strpos(tags, %s) > 0"] * len(only.tags)) + ")")
            values += [packed((folded(tag),)) for tag in only.tags]
        if only.audience:
            allowed = " and ".join(["strpos(audience, %s) > 0"] * len(only.audience))
            parts.append(f"(audience = '' or ({allowed}))")
            values += [packed((person,)) for person in only.audience]
        if only.sessions:
            parts.append("session = any(%s)")
            values.append(list(only.sessions))
        if only.not_session:
            parts.append("(session <> %s or record = any(%s))")
            values += [only.not_session, list(only.unseen)]
        for limit, compared in ((only.after, ">="), (only.before, "<")):
            if limit is not None:
                missing = "at = '' or " if compared == "<" else ""
                parts.append(f"({missing}nullif(at, '')::timestamptz {compared} %s::timestamptz)")
                values.append(limit.isoformat())
        return " and ".join(parts), [_storable(value) for value in values]

    def passing(self, where: str = "", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that a condition lets through; empty: all."""
        return self._ids(f"select id from chunks where entity = :me{_and(where)}", values)

    def in_time(self, where: str = "", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that a condition lets through, oldest first."""
        order = "order by at, file, turn, ordinal"
        return self._ids(f"select id from chunks where entity = :me{_and(where)} {order}", values)

    def holding(self, text: str, depth: int, where: str, values: Sequence[Any]) -> list[int]:
        """Return chunks that hold a text as it is, whatever its case."""
        return self._ids(
            "select id from texts where entity = :me and strpos(lower(text), %s) > 0 and id in"
            f" (select id from chunks where entity = :me{_and(where)})"
            f" order by id limit {int(depth)}",
            (_storable(text.lower()), *values),
        )

    def hit_rows(self, ids: Sequence[int]) -> list[Row]:
        """Return chunks as hits show them, and their terms, by id."""
        return self.rows(
            "select c.id, c.kind, record, f.path, ordinal, line, text, at, people, audience, trust,"
            " session, speaker, terms, around, active from chunks c"
            " join texts t on t.entity = c.entity and t.id = c.id"
            " join files f on f.entity = c.entity and f.id = c.file"
            " where c.entity = :me and c.id = any(%s) order by c.id",
            (list(ids),),
        )

    def token_rows(self, ids: Sequence[int]) -> list[Row]:
        """Return chunks as `rerank` matches them, their tokens' signs among it."""
        return self.rows(
            "select c.id, c.kind, c.file, turn, own_terms, around_terms, asks, own, timed, speaker,"
            " people, terms, around, signs, f.path from chunks c"
            " join texts t on t.entity = c.entity and t.id = c.id"
            " join files f on f.entity = c.entity and f.id = c.file"
            " left join tokens k on k.entity = c.entity and k.hash = c.hash"
            " where c.entity = :me and c.id = any(%s)",
            (list(ids),),
        )

    def of_turns(self, turns: Sequence[tuple[int, int]]) -> list[int]:
        """Return the chunks of some turns of transcripts, given by file and turn."""
        return self._ids(
            "select c.id from unnest(%s::bigint[], %s::integer[]) as wanted (file, turn)"
            " join chunks c on c.entity = :me and c.file = wanted.file and c.turn = wanted.turn"
            " where kind = 'message'",
            ([file for file, _ in turns], [turn for _, turn in turns]),
        )

    def places(self, ids: Sequence[int]) -> list[Row]:
        """Return id, kind, file and turn of some chunks."""
        return self.rows(
            "select id, kind, file, turn from chunks where entity = :me and id = any(%s)",
            (list(ids),),
        )

    def records(self) -> list[Row]:
        """Return every record: kind, id, path, line, at, text, speaker, talk, who, trust, tags."""
        of_first = ", ".join(
            f"(array_agg({column} order by line, ordinal))[1] as {column}"
            for column in ("at", "speaker", "session", "audience", "trust", "tags")
        )
        return self.rows(
            "select kind, record, path, line, at, text, speaker, session, audience, trust, tags"
            " from ("
            " select c.kind, record, f.path, min(line) as line,"
            f" string_agg(text, ' ' order by ordinal) as text, {of_first} from chunks c"
            " join texts t on t.entity = c.entity and t.id = c.id"
            " join files f on f.entity = c.entity and f.id = c.file where c.entity = :me"
            " group by c.kind, record, f.path) as records order by at, path, line"
        )

    # texts by hash

    def recipes(self, ids: Sequence[int]) -> list[tuple[int, tuple[tuple[str, float], ...]]]:
        """Return how the vectors of some chunks are made, in the order given."""
        rows = self.rows(
            "select id, recipe from chunks where entity = :me and id = any(%s)", (list(ids),)
        )
        recipes = {int(key): recipe_of(recipe) for key, recipe in rows}
        return [(key, recipes[key]) for key in ids]

    def texts_by_hash(self, hashes: Sequence[str]) -> dict[str, str]:
        """Return the texts to embed, by hash."""
        rows = self.rows(
            "select hash, embedded from chunks join texts using (entity, id)"
            " where entity = :me and hash = any(%s)",
            (list(hashes),),
        )
        return {str(key): str(text) for key, text in rows}

    def rounded(self, vector: Floats) -> Floats:
        """Return an embedding as it is kept: in half precision."""
        return vector.astype(np.float16).astype(np.float32)

    def embeddings(self, hashes: Sequence[str]) -> dict[str, Floats]:
        """Return the stored embeddings of some texts, by hash; those not there are left out."""
        rows = self.rows(
            "select hash, vector from embeddings where entity = :me and hash = any(%s)",
            (list(hashes),),
        )
        return {str(key): np.frombuffer(row, "<f2").astype(np.float32) for key, row in rows}

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

    def piece_counts(self, pieces: Iterable[int]) -> dict[int, int]:
        """Return in how many texts each piece of the vocabulary stands, and how many there are."""
        rows = self.rows(
            "select piece, texts from pieces where entity = :me and piece = any(%s)",
            ([ALL_TEXTS, *pieces],),
        )
        return {int(piece): int(texts) for piece, texts in rows}

    def keeps_tokens(self) -> bool:
        """Whether the tokens of a text are kept wherever its vector is."""
        return bool(self.meta("tokens"))

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

    def has_loose(self) -> bool:
        """Whether a chunk has let go of a text since unused embeddings were dropped."""
        return bool(self.rows("select exists (select 1 from loose where entity = :me)")[0][0])

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

    # vectors of chunks

    def unembedded(self) -> list[int]:
        """Return the chunks that have no vector yet, newest first."""
        return self._ids(
            "select id from chunks c where entity = :me and not exists (select 1 from vectors v"
            " where v.entity = :me and v.id = c.id) order by at desc, id"
        )

    def put_vectors(self, vectors: Iterable[tuple[int, Floats]]) -> None:
        """Store the vectors of chunks, each of length 1."""
        self._upsert("vectors", ("id", "vector"), ((key, _halves(each)) for key, each in vectors))

    def vectors(self, ids: Sequence[int]) -> Floats:
        """Return the vectors of some chunks, each of length 1, in the order given."""
        rows = self.rows(
            "select id, halfvec_send(vector) from vectors where entity = :me and id = any(%s)",
            (list(ids),),
        )
        # two numbers of two bytes, the dimensions and nothing, stand before the floats
        vectors = {int(key): np.frombuffer(data, ">f2", offset=4) for key, data in rows}
        return np.stack([vectors[key].astype(np.float32) for key in ids])

    def sample(self, count: int) -> list[int]:
        """Return some chunks that have a vector: ids are hashes, so the first are any."""
        sql = f"select id from vectors where entity = :me order by id limit {count}"
        return self._ids(sql)

    def with_vector(self, where: str) -> list[int]:
        """Return the chunks that have a vector and meet a condition, by id."""
        return self._ids(
            "select id from vectors join chunks using (entity, id)"
            f" where entity = :me{_and(where)} order by id"
        )

    def nearest(
        self, query: Floats, depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[tuple[int, float]]:
        """Return the chunks nearest to a vector with their cosines, nearest first, ties by id."""
        halves = _halves(query)
        inside = "entity = :me"
        if where:
            inside += f" and id in (select id from chunks where entity = :me and {where})"
        exact = (
            "select id, round((1 - (vector <=> %s::halfvec))::numeric, 6)::float8 as cosine"
            " from {rows} order by cosine desc, id" + f" limit {int(depth)}"
        )
        if not self._graph():
            rows = self.rows(exact.format(rows=f"vectors where {inside}"), (halves, *values))
            return [(int(key), float(cosine)) for key, cosine in rows]
        wanted = min(depth * COARSE_FACTOR, MOST_SEARCHED)
        near = (
            f"(select id, vector from vectors where {inside} order by"
            f" vector::halfvec({len(query)}) <=> %s::halfvec limit {wanted}) as near"
        )
        with self.transaction():
            self.rows(
                "select set_config('hnsw.ef_search', %s, true),"
                " set_config('hnsw.iterative_scan', 'relaxed_order', true)",
                (str(wanted),),
            )
            rows = self.rows(exact.format(rows=near), (halves, *values, halves))
        return [(int(key), float(cosine)) for key, cosine in rows]

    def cosines(self, query: Floats, ids: Sequence[int]) -> dict[int, float]:
        """Return the cosines of some chunks; those without a vector are left out."""
        rows = self.rows(
            "select id, round((1 - (vector <=> %s::halfvec))::numeric, 6)::float8 from vectors"
            " where entity = :me and id = any(%s)",
            (_halves(query), list(ids)),
        )
        return {int(key): float(cosine) for key, cosine in rows}

    # what catalysts point to

    def has_links(self) -> bool:
        """Whether it can hold which texts catalysts point to."""
        return True

    def unlinked(self) -> set[int]:
        """Return the chunks that catalysts have not been compared with."""
        return set(
            self._ids(
                "select id from vectors where entity = :me"
                " except select id from linked where entity = :me"
            )
        )

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

    def pointed_to(
        self, catalysts: Sequence[int], where: str, values: Sequence[Any]
    ) -> dict[int, list[tuple[int, float]]]:
        """Return the texts that some catalysts point to with their likeness, by catalyst."""
        inside = f" and chunk in (select id from chunks where entity = :me and {where})"
        rows = self.rows(
            "select catalyst, chunk, similarity from links where entity = :me"
            " and catalyst = any(%s)"
            + (inside if where else "")
            + " order by catalyst, similarity desc, chunk",
            (list(catalysts), *values),
        )
        pointed: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for catalyst, chunk, similarity in rows:
            pointed[int(catalyst)].append((int(chunk), float(similarity)))
        return dict(pointed)


def _and(where: str) -> str:
    return f" and {where}" if where else ""


def _halves(vector: Floats) -> str:
    """Write a vector as Postgres reads it, in half precision."""
    numbers = vector.astype(np.float16).tolist()
    return f"[{','.join(map('{:.5g}'.format, numbers))}]"  # five digits hold all of a half


def _hex(data: bytes) -> str:
    """Write bytes as Postgres reads them."""
    return f"\\x{data.hex()}"


def _clean(row: Row) -> Row:
    return tuple(map(_storable, row))


def _storable(value: Any) -> Any:
    """Return a text without what Postgres can't hold: a NUL."""
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
