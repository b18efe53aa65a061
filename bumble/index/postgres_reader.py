"""What a search asks of the index of one entity in Postgres: the same as of `database_reader`.

Every statement names the entity by its number, and the server's row security holds it to that.
Small sets of vectors are compared exactly, large ones by HNSW first.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, LiteralString

import numpy as np
from psycopg import Connection

from bumble.index.filters import Filter
from bumble.index.rows import ALL_TEXTS, FileRow, Row, packed, recipe_of
from bumble.index.scan import Stamp
from bumble.models.embed.protocol import Floats
from bumble.text.words import folded_tag

COARSE_FACTOR = 4  # candidates of the graph for each that is wanted
MOST_SEARCHED = 1_000  # candidates that pgvector takes at most
OF_CHUNK = ("texts", "words", "vectors", "linked")  # tables with a row a chunk, beside `chunks`


class PostgresReader:
    """An open index on a server, asked."""

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
        self._meta: dict[str, str] | None = None  # facts about the index itself, once read

    def close(self) -> None:
        """Leave the connection to who comes next."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a query, in which `:me` is the entity, and return all rows.

        Raises:
            IndexServerError: If the server does not answer, or refuses.
        """
        with self._translated():
            return self._connection.execute(self._sql(sql), values, binary=True).fetchall()

    def _sql(self, text: str) -> LiteralString:
        return text.replace(":me", str(self._me))

    def _ids(self, sql: str, values: Sequence[Any] = ()) -> list[int]:
        return [int(row[0]) for row in self.rows(sql, values)]

    def _count(self, table: str) -> int:
        return int(self.rows(f"select count(*) from {table} where entity = :me")[0][0])

    def _graph(self) -> bool:
        """Whether there is a graph over the vectors that can be used."""
        return bool(
            self.rows(
                "select 1 from pg_index where indexrelid = to_regclass(%s) and indisvalid",
                (f"bumble.vectors_graph_{self._me}",),
            )
        )

    def meta(self, key: str) -> str:
        """Return a stored fact about the index itself, empty if there is none."""
        if self._meta is None:  # all at once: each question crosses over to the server
            rows = self.rows("select key, value from meta where entity = :me")
            self._meta = {str(name): str(value) for name, value in rows}
        return self._meta.get(key, "")

    def files(self) -> dict[str, FileRow]:
        """Return all indexed files by path."""
        return {str(row[0]): FileRow(*row[1:]) for row in self._file_rows()}

    def stamps(self) -> dict[str, Stamp]:
        """Return how each file was when it was last looked at from here, by path."""
        return {row[0]: (row[3], row[4], row[5]) for row in self._file_rows()}

    def seen(self) -> str:
        """Return nothing: what other machines put would have to be looked up all the same."""
        return ""

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
            for table in OF_CHUNK
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
            values += [packed((folded_tag(tag),)) for tag in only.tags]
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
        return " and ".join(parts), [storable(value) for value in values]

    def has_dormant(self) -> bool:
        """Whether there are chunks of dormant or archived records."""
        sql = "select exists (select 1 from chunks where entity = :me and active = 0)"
        return bool(self.rows(sql)[0][0])

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
            (storable(text.lower()), *values),
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

    def embeddings(self, hashes: Sequence[str]) -> dict[str, Floats]:
        """Return the stored embeddings of some texts, by hash; those not there are left out."""
        rows = self.rows(
            "select hash, vector from embeddings where entity = :me and hash = any(%s)",
            (list(hashes),),
        )
        return {str(key): np.frombuffer(row, "<f2").astype(np.float32) for key, row in rows}

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

    def has_loose(self) -> bool:
        """Whether a chunk has let go of a text since unused embeddings were dropped."""
        return bool(self.rows("select exists (select 1 from loose where entity = :me)")[0][0])

    def unembedded(self) -> list[int]:
        """Return the chunks that have no vector yet, newest first."""
        return self._ids(
            "select id from chunks c where entity = :me and not exists (select 1 from vectors v"
            " where v.entity = :me and v.id = c.id) order by at desc, id"
        )

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
        halves = as_halves(query)
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
        with self._translated(), self._connection.transaction():
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
            (as_halves(query), list(ids)),
        )
        return {int(key): float(cosine) for key, cosine in rows}

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


def as_halves(vector: Floats) -> str:
    """Write a vector as Postgres reads it, in half precision."""
    numbers = vector.astype(np.float16).tolist()
    return f"[{','.join(map('{:.5g}'.format, numbers))}]"  # five digits hold all of a half


def storable(value: Any) -> Any:
    """Return a text without what Postgres can't hold: a NUL."""
    if isinstance(value, list):
        return [storable(item) for item in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
