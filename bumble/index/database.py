"""`memory.db`: schema and queries of files, chunks and vectors in SQLite with sqlite-vec.

Derived from the files, so a damaged one is thrown away. A rollback journal rather than WAL: a
reader leaves no trace in the folder, and needs no right to write there. Chunk ids are hashes of
path, record and ordinal, the same in every index of the same files; ties are settled by them.
Knows nothing of tantivy or of ranking, but keeps the queue of what tantivy has yet to take.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from bumble import files
from bumble.embed.protocol import DocumentTokens, EmbedderIdentity, Floats
from bumble.errors import (
    FolderUnwritableError,
    IndexDamagedError,
    IndexUnusableError,
    RecordInvalidError,
    UserError,
)
from bumble.index import bits
from bumble.index.chunks import Chunk
from bumble.index.filters import Filter
from bumble.index.scan import Stamp
from bumble.text.tags import folded

SCHEMA_VERSION = "4"
BUSY_MILLISECONDS = 10_000
PAGE_BYTES = 16_384  # of the usual 4,096 a row of 768 floats would waste a quarter
CACHE_KIBIBYTES = 131_072  # of pages; what a commit has touched is to fit
EXACT_ROWS = 20_000  # beyond, bits choose the candidates and floats score them
COARSE_FACTOR = 10  # candidates chosen by bits, for each that is wanted
_SCHEMA = """
create table meta (key text primary key, value text) without rowid;
create table files (
  id integer primary key, path text unique, kind text, mtime_ns integer, ctime_ns integer,
  size integer, sha256 text, problem text, problem_line integer
);
create table chunks (
  id integer primary key, file integer, kind text, record text, ordinal integer, line integer,
  at text, people text, tags text, audience text, trust text, session text, speaker text,
  active integer,
  language text, own_terms integer, around_terms integer, turn integer, asks real, own integer,
  timed integer, hash text, recipe text
);
create index files_broken on files (path) where problem <> '';
create index chunks_file on chunks (file, turn);
create index chunks_length on chunks (kind, language, own_terms, around_terms);
create index chunks_hash on chunks (hash);
create index chunks_inactive on chunks (id) where not active;
create table texts (id integer primary key, text text, embedded text, terms text, around text);
create table embeddings (hash text primary key, vector blob) without rowid;
create table loose (hash text primary key) without rowid;
create table tokens (id integer primary key, hash text unique, pieces blob, signs blob);
create table pieces (piece integer primary key, texts integer);
create table vectors (id integer primary key, vector blob);
create table queue (id integer primary key);
"""
# Which texts the catalysts of topics point to; an index from before there were any gets it, too.
_LINKS = """
create table if not exists links (
  catalyst integer, chunk integer, similarity real, primary key (catalyst, chunk)
) without rowid;
create index if not exists links_chunk on links (chunk);
create table if not exists linked (id integer primary key);
"""
# How many chunks there are and how long, so that nobody counts a million rows to search them.
_TOTALS = """
create table if not exists totals (
  kind text, language text, chunks integer, own_terms integer, around_terms integer,
  primary key (kind, language)
) without rowid;
"""
_COUNTED = (
    "insert or replace into totals select kind, language, count(*), sum(own_terms),"
    " sum(around_terms) from chunks group by kind, language"
)
CHUNK_COLUMNS = (
    "file, kind, record, ordinal, line, at, people, tags, audience, trust, session, speaker,"
    " active, language, own_terms, around_terms, turn, asks, own, timed, hash, recipe"
)
_HASH = -2  # where a row of a chunk has its hash, counted from the end
_KIND, _LANGUAGE, _OWN_TERMS, _AROUND_TERMS = (
    CHUNK_COLUMNS.split(", ").index(name)
    for name in ("kind", "language", "own_terms", "around_terms")
)
ALL_TEXTS = -1  # the row of `pieces` that counts the texts themselves
Row = tuple[Any, ...]


class FileRow(NamedTuple):  # ten thousand of them are read before each search
    """What is known of an indexed file."""

    id: int
    kind: str
    mtime_ns: int  # -1: written too close to the sync to be told from a later write; read it again
    ctime_ns: int
    size: int
    sha256: str
    problem: str  # why it could not be read; empty if it could
    problem_line: int | None

    def with_problem(self, problem: RecordInvalidError | None) -> FileRow:
        """Return the row with what is wrong with the file now."""
        if problem is None:
            return self._replace(problem="", problem_line=None)
        return self._replace(problem=problem.problem, problem_line=problem.line)


def chunk_id(path: str, chunk: Chunk) -> int:
    """Return the id of a chunk: 63 bits that depend on the files alone."""
    key = f"{path}\0{chunk.record}\0{chunk.ordinal}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1


def packed(names: Sequence[str]) -> str:
    """Write names so that SQL can look one up: a line each, a line end before and after."""
    return "\n" + "\n".join(names) + "\n" if names else ""


def unpacked(text: str) -> tuple[str, ...]:
    """Read what `packed` wrote."""
    return tuple(text.strip("\n").split("\n")) if text else ()


def encoded(identity: EmbedderIdentity) -> str:
    """Write all that decides which vector a text gets."""
    return json.dumps(asdict(identity), sort_keys=True)


@dataclass(frozen=True)
class Differences:
    """What is other in the chunks of a file than it was."""

    gone: list[int]
    loose: list[str]  # hashes of texts that a chunk let go of
    remixed: list[int]  # whose vector is made of other texts
    reworded: list[int]  # new, or of other terms
    put: list[tuple[int, Row, Row]]  # new or changed, with its row and its texts


def differences(
    old: Mapping[int, tuple[Row, Row]], new: Mapping[int, tuple[Row, Row]]
) -> Differences:
    """Compare the chunks of a file, each by id with its row and its texts, with what they were."""
    stay = old.keys() & new.keys()
    changed = [key for key in new if old.get(key) != new[key]]
    return Differences(
        gone=sorted(old.keys() - stay),
        loose=[
            row[_HASH]
            for key, (row, _) in old.items()
            if key not in stay or row[_HASH] != new[key][0][_HASH]
        ],
        remixed=[key for key in changed if key in stay and old[key][0][-1] != new[key][0][-1]],
        reworded=[key for key in changed if key not in stay or old[key][1][2:] != new[key][1][2:]],
        put=[(key, *new[key]) for key in changed],
    )


class Database:
    """An open `memory.db`."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.path, self._db = path, connection

    def close(self) -> None:
        """Close it; safe to call twice."""
        self._db.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all rows.

        Raises:
            IndexUnusableError: If the database can't be read.
        """
        with _readable(self.path):
            return list(self._db.execute(sql, values))

    def stream(self, sql: str) -> Iterator[Row]:
        """Run a query and yield its rows one by one; nothing may be written meanwhile."""
        with _readable(self.path):
            yield from self._db.execute(sql)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept, or none of it."""
        with _writable(self.path):
            try:
                with self._db:
                    yield
            except apsw.SQLError as error:
                if isinstance(error.__context__, UserError):  # a full disk has rolled back already
                    raise error.__context__ from None
                raise

    def run(self, sql: str, rows: Iterable[Sequence[Any]] = ((),)) -> None:
        """Run a statement once for each row of values."""
        with _writable(self.path):
            self._db.executemany(sql, rows)

    def shred(self) -> str:
        """Write the file anew, so that no page holds what was taken out.

        Returns:
            What is left of it all the same; empty: nothing.
        """
        with _writable(self.path):
            self._db.execute("vacuum")
        return ""

    def settle(self) -> None:
        """Do what a sync ends with; a file needs nothing."""

    def rounded(self, vector: Floats) -> Floats:
        """Return an embedding as it is kept: every bit of it."""
        return vector

    def meta(self, key: str) -> str:
        """Return a stored fact about the index itself, empty if there is none."""
        rows = self.rows("select value from meta where key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    def set_meta(self, key: str, value: str) -> None:
        """Store a fact about the index itself."""
        self.run("insert or replace into meta values (?, ?)", [(key, value)])

    def generation(self) -> int:
        """Return how often chunks have changed."""
        return int(self.meta("generation") or 0)

    def fulltext_generation(self) -> int:
        """Return the generation that the full-text index had when its queue was last empty."""
        return int(self.meta("taken") or 0)

    def advance(self) -> None:
        """Count a change of chunks, in the transaction that makes it."""
        self.set_meta("generation", str(self.generation() + 1))

    def files(self) -> dict[str, FileRow]:
        """Return all indexed files by path."""
        rows = self.rows(
            "select path, id, kind, mtime_ns, ctime_ns, size, sha256, problem, problem_line"
            " from files"
        )
        return {str(row[0]): FileRow(*row[1:]) for row in rows}

    def stamps(self) -> dict[str, Stamp]:
        """Return how each file was when it was last looked at, by path."""
        rows = self.rows("select path, mtime_ns, ctime_ns, size from files")
        return {path: (mtime_ns, ctime_ns, size) for path, mtime_ns, ctime_ns, size in rows}

    def seen(self) -> str:
        """Return the digest of all stamps when each was as it is stored; empty: that is unknown."""
        return self.meta("seen")

    def set_seen(self, digest: str) -> None:
        """Store the digest of all stamps; empty, as soon as one of them is to change."""
        self.set_meta("seen", digest)

    def file(self, path: str) -> FileRow | None:
        """Return what is known of a file."""
        rows = self.rows(
            "select id, kind, mtime_ns, ctime_ns, size, sha256, problem, problem_line"
            " from files where path = ?",
            (path,),
        )
        return FileRow(*rows[0]) if rows else None

    def problems(self) -> list[tuple[str, str, int | None]]:
        """Return the files that could not be read, and why and in which line, by path."""
        rows = self.rows(
            "select path, problem, problem_line from files where problem <> '' order by path"
        )
        return [(str(path), str(problem), line) for path, problem, line in rows]

    def put_file(self, path: str, row: FileRow) -> int:
        """Store what is known of a file; the row's own id does not matter. Returns its id."""
        values = (
            path,
            row.kind,
            row.mtime_ns,
            row.ctime_ns,
            row.size,
            row.sha256,
            row.problem,
            row.problem_line,
        )
        columns = ("kind", "mtime_ns", "ctime_ns", "size", "sha256", "problem", "problem_line")
        sql = (
            f"insert into files (path, {', '.join(columns)}) values (?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict (path) do update set "
            + ", ".join(f"{column} = excluded.{column}" for column in columns)
            + " returning id"
        )
        with _writable(self.path):
            [(file_id,)] = list(self._db.execute(sql, values))
        return int(file_id)

    def drop_file(self, path: str) -> None:
        """Forget a file and its chunks."""
        if row := self.file(path):
            self.put_chunks(row.id, path, [])
            self.run("delete from files where id = ?", [(row.id,)])

    def put_chunks(
        self, file: int, path: str, chunks: Sequence[Chunk], *, is_new: bool = False
    ) -> None:
        """Make these the chunks of a file; what is as it was is not touched."""
        new = {chunk_id(path, chunk): (row_of(file, chunk), texts_of(chunk)) for chunk in chunks}
        if is_new:
            self._count((row for row, _ in new.values()), 1)
            self._put_rows([(key, row, texts) for key, (row, texts) in new.items()])
            self._queue(new)
            return
        rows = self.rows(f"select id, {CHUNK_COLUMNS} from chunks where file = ?", (file,))
        texts = self.rows(
            "select texts.* from texts join chunks using (id) where file = ?", (file,)
        )
        old_texts = {int(row[0]): row[1:] for row in texts}
        old = {int(row[0]): (row[1:], old_texts.get(int(row[0]), ())) for row in rows}
        changed = differences(old, new)
        self._count((row for row, _ in old.values()), -1)
        self._count((row for row, _ in new.values()), 1)
        self._drop_chunks(changed.gone)
        self._loosen(changed.loose)
        self._drop_vectors(changed.remixed)
        self._queue(changed.reworded)
        self._put_rows(changed.put)

    def _put_rows(self, rows: Sequence[tuple[int, Row, Row]]) -> None:
        marks = ", ".join("?" * (CHUNK_COLUMNS.count(",") + 2))
        self.run(
            f"insert or replace into chunks values ({marks})",
            ((chunk_key, *row) for chunk_key, row, _ in rows),
        )
        self.run(
            "insert or replace into texts values (?, ?, ?, ?, ?)",
            ((chunk_key, *texts) for chunk_key, _, texts in rows),
        )

    def _count(self, rows: Iterable[Row], step: int) -> None:
        """Count chunks in or out of the totals."""
        totals: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        for row in rows:
            total = totals[row[_KIND], row[_LANGUAGE]]
            total[0] += step
            total[1] += step * row[_OWN_TERMS]
            total[2] += step * row[_AROUND_TERMS]
        self.run(
            "insert into totals values (?, ?, ?, ?, ?) on conflict (kind, language) do update set"
            " chunks = chunks + excluded.chunks, own_terms = own_terms + excluded.own_terms,"
            " around_terms = around_terms + excluded.around_terms",
            [(*key, *total) for key, total in totals.items()],
        )

    def _queue(self, ids: Iterable[int]) -> None:
        self.run("insert or ignore into queue values (?)", ((chunk_key,) for chunk_key in ids))

    def _drop_chunks(self, ids: Sequence[int]) -> None:
        if not ids:
            return
        self._drop_vectors(ids)
        for table in ("chunks", "texts"):
            self.run(f"delete from {table} where id = ?", [(chunk_key,) for chunk_key in ids])
        self._queue(ids)

    def _drop_vectors(self, ids: Sequence[int]) -> None:
        bits.drop(self, ids)
        for table in ("vectors", "linked"):
            self.run(f"delete from {table} where id = ?", [(chunk_key,) for chunk_key in ids])
        for end in ("catalyst", "chunk"):
            self.run(f"delete from links where {end} = ?", [(chunk_key,) for chunk_key in ids])

    def _loosen(self, hashes: Iterable[str]) -> None:
        """Remember texts that a chunk holds no more; another may."""
        self.run("insert or ignore into loose values (?)", [(key,) for key in hashes])

    def forget_vectors(self) -> None:
        """Drop every vector: another model's can't be compared with them."""
        bits.clear(self)
        for table in ("vectors", "embeddings", "links", "linked"):
            self.run(f"delete from {table}")
        self.forget_tokens()

    def forget_tokens(self) -> None:
        """Drop the tokens of every text."""
        for table in ("tokens", "pieces"):
            self.run(f"delete from {table}")

    def drop_unused_embeddings(self) -> None:
        """Drop the embeddings and tokens of texts that no chunk holds any more."""
        unused = "hash in (select hash from loose where hash not in (select hash from chunks))"
        rows = self.rows(f"select pieces from tokens where {unused}")
        if rows:
            self._count_pieces((np.frombuffer(row[0], "<u4") for row in rows), -1)
        for table in ("tokens", "embeddings"):
            self.run(f"delete from {table} where {unused}")
        self.run("delete from loose")

    def has_loose(self) -> bool:
        """Whether a chunk has let go of a text since unused embeddings were dropped."""
        return bool(self.rows("select exists (select 1 from loose)")[0][0])

    def has_links(self) -> bool:
        """Whether it can hold which texts catalysts point to."""
        return self.has_table("linked")

    def has_table(self, name: str) -> bool:
        """Whether it has a table; an index from an earlier version may lack one."""
        return bool(self.rows("select count(*) from sqlite_master where name = ?", (name,))[0][0])

    def keeps_tokens(self) -> bool:
        """Whether the tokens of a text are kept wherever its vector is."""
        return bool(self.meta("tokens"))

    def put_tokens(self, tokens: Sequence[tuple[str, DocumentTokens]]) -> None:
        """Store the tokens of texts by hash, and count in how many texts each piece stands."""
        kinds = [np.unique(text_tokens.pieces).astype("<u4") for _, text_tokens in tokens]
        rows = [
            (key, pieces.tobytes(), text_tokens.signs.tobytes())
            for (key, text_tokens), pieces in zip(tokens, kinds, strict=True)
        ]
        self.run("insert into tokens (hash, pieces, signs) values (?, ?, ?)", rows)
        self._count_pieces(kinds, 1)

    def stored_tokens(self, hashes: Sequence[str]) -> list[tuple[str, bytes, bytes]]:
        """Return the tokens of some texts as they are stored: hash, pieces, signs."""
        rows = self.rows(
            "select hash, pieces, signs from tokens where hash in (select value from json_each(?))",
            (json.dumps(hashes),),
        )
        return [(str(key), bytes(pieces), bytes(signs)) for key, pieces, signs in rows]

    def _count_pieces(self, kinds: Iterable[NDArray[np.uint32]], step: int) -> None:
        """Count texts, each given by its different pieces, in or out."""
        counted = list(kinds)
        pieces, texts = np.unique(np.concatenate([*counted, []]), return_counts=True)
        rows = [(int(piece), step * int(n)) for piece, n in zip(pieces, texts, strict=True)]
        rows.append((ALL_TEXTS, step * len(counted)))
        self.run(
            "insert into pieces values (?, ?)"
            " on conflict (piece) do update set texts = texts + excluded.texts",
            rows,
        )

    def piece_counts(self, pieces: Iterable[int]) -> dict[int, int]:
        """Return in how many texts each piece of the vocabulary stands, and how many there are."""
        rows = self.rows(
            "select piece, texts from pieces where piece in (select value from json_each(?))",
            (json.dumps([ALL_TEXTS, *pieces]),),
        )
        return {int(piece): int(texts) for piece, texts in rows}

    def unembedded(self) -> list[int]:
        """Return the chunks that have no vector yet, newest first."""
        rows = self.rows(
            "select id from chunks where id not in (select id from placed) order by at desc, id"
        )
        return [int(row[0]) for row in rows]

    def recipes(self, ids: Sequence[int]) -> list[tuple[int, tuple[tuple[str, float], ...]]]:
        """Return how the vectors of some chunks are made, in the order given."""
        rows = self.rows(
            "select chunks.id, recipe from json_each(?) as wanted"
            " cross join chunks on chunks.id = wanted.value order by wanted.key",
            (json.dumps(ids),),
        )
        return [(int(chunk_key), recipe_of(recipe)) for chunk_key, recipe in rows]

    def embeddings(self, hashes: Sequence[str]) -> dict[str, Floats]:
        """Return the stored embeddings of some texts, by hash; those not there are left out."""
        rows = self.rows(
            "select hash, vector from embeddings where hash in (select value from json_each(?))",
            (json.dumps(hashes),),
        )
        return {str(key): np.frombuffer(blob, np.float32) for key, blob in rows}

    def put_embeddings(self, vectors: Iterable[tuple[str, Floats]]) -> None:
        """Store the embeddings of texts by hash."""
        rows = ((key, vector.astype("<f4").tobytes()) for key, vector in vectors)
        self.run("insert or replace into embeddings values (?, ?)", rows)

    def put_vectors(self, vectors: Iterable[tuple[int, Floats]]) -> None:
        """Store the vectors of chunks, each of length 1."""
        listed = list(vectors)
        rows = [(chunk_key, vector.astype("<f4").tobytes()) for chunk_key, vector in listed]
        self.run("insert or replace into vectors values (?, ?)", rows)
        bits.put(self, listed)

    def texts_by_hash(self, hashes: Sequence[str]) -> dict[str, str]:
        """Return the texts to embed, by hash."""
        rows = self.rows(
            "select hash, embedded from chunks join texts using (id)"
            " where hash in (select value from json_each(?))",
            (json.dumps(hashes),),
        )
        return {str(key): str(text) for key, text in rows}

    def nearest(
        self, query: Floats, depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[tuple[int, float]]:
        """Return the chunks nearest to a vector with their cosines, nearest first, ties by id."""
        blob = query.astype("<f4").tobytes()
        inside = f"id in (select id from chunks where {where})" if where else "1"
        if bits.count(self) > EXACT_ROWS:
            passing = (
                f"select id from chunks where id in (select value from json_each(?)) and {where}"
            )

            def allowed(ids: Sequence[int]) -> set[int]:
                return {int(row[0]) for row in self.rows(passing, (json.dumps(ids), *values))}

            likely = bits.nearest(self, query, depth * COARSE_FACTOR, allowed if where else None)
            inside, values = "id in (select value from json_each(?))", (json.dumps(likely),)
        rows = self.rows(
            f"select id, round(1 - vec_distance_cosine(vector, ?), 6) as cosine from vectors"
            f" where {inside} order by cosine desc, id limit {depth}",
            (blob, *values),
        )
        return [(int(chunk_key), float(cosine)) for chunk_key, cosine in rows]

    def cosines(self, query: Floats, ids: Sequence[int]) -> dict[int, float]:
        """Return the cosines of some chunks; those without a vector are left out."""
        rows = self.rows(
            "select id, round(1 - vec_distance_cosine(vector, ?), 6) from vectors"
            " where id in (select value from json_each(?))",
            (query.astype("<f4").tobytes(), json.dumps(list(ids))),
        )
        return {int(chunk_key): float(cosine) for chunk_key, cosine in rows}

    def conditions(self, only: Filter) -> tuple[str, list[Any]]:
        """Write a filter as SQL over chunks; empty if everything passes."""
        parts = ["active"] if not only.dormant and self._has_dormant() else []
        values = list[Any]()
        if only.kinds:
            parts.append(f"kind in ({', '.join('?' * len(only.kinds))})")
            values += only.kinds
        if only.people:
            parts.append("(" + " or ".join(["instr(people, ?)"] * len(only.people)) + ")")
            values += [packed((person,)) for person in only.people]
        if only.tags:
            parts.append("(" + " and ".join(["instr(tags, ?)"] * len(only.tags)) + ")")
            values += [packed((folded(tag),)) for tag in only.tags]
        if only.audience:
            allowed = " and ".join(["instr(audience, ?)"] * len(only.audience))
            parts.append(f"(audience = '' or ({allowed}))")
            values += [packed((person,)) for person in only.audience]
        if only.sessions:
            parts.append(f"session in ({', '.join('?' * len(only.sessions))})")
            values += only.sessions
        if only.not_session:
            parts.append("(session <> ? or record in (select value from json_each(?)))")
            values += [only.not_session, json.dumps(only.unseen)]
        if only.after is not None:
            parts.append("(at <> '' and julianday(at) >= julianday(?))")
            values.append(only.after.isoformat())
        if only.before is not None:
            parts.append("(at = '' or julianday(at) < julianday(?))")
            values.append(only.before.isoformat())
        return " and ".join(parts), values

    def _has_dormant(self) -> bool:
        return bool(self.rows("select exists (select 1 from chunks where not active)")[0][0])

    def lengths(self) -> list[Row]:
        """Return kind, language, count, terms and terms around of all chunks, by both."""
        return self.rows(
            "select kind, language, chunks, own_terms, around_terms from totals where chunks > 0"
        )

    def passing(self, where: str = "", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that a condition lets through; empty: all."""
        return self._ids(f"select id from chunks where {where or 1}", values)

    def allowed(self, ids: Sequence[int], where: str, values: Sequence[Any]) -> set[int]:
        """Return those of some chunks that a condition lets through."""
        sql = f"select id from chunks where id in (select value from json_each(?)) and {where}"
        return set(self._ids(sql, (json.dumps(ids), *values)))

    def in_time(self, where: str = "", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that a condition lets through, oldest first."""
        sql = f"select id from chunks where {where or 1} order by at, file, turn, ordinal"
        return self._ids(sql, values)

    def holding(self, text: str, depth: int, where: str, values: Sequence[Any]) -> list[int]:
        """Return chunks that hold a text as it is, whatever its case."""
        return self._ids(
            "select id from texts where instr(lower(text), ?)"
            f" and id in (select id from chunks where {where or 1}) order by id limit {depth}",
            (text.lower(), *values),
        )

    def _ids(self, sql: str, values: Sequence[Any] = ()) -> list[int]:
        return [int(row[0]) for row in self.rows(sql, values)]

    def hit_rows(self, ids: Sequence[int]) -> list[Row]:
        """Return chunks as hits show them, and their terms, by id."""
        return self.rows(
            "select chunks.id, chunks.kind, record, files.path, ordinal, line, text, at, people,"
            " audience, trust, session, speaker, terms, around, active from chunks"
            " join texts using (id)"
            " join files on files.id = chunks.file"
            " where chunks.id in (select value from json_each(?)) order by chunks.id",
            (json.dumps(ids),),
        )

    def token_rows(self, ids: Sequence[int]) -> list[Row]:
        """Return chunks as `rerank` matches them, their tokens' signs among it."""
        return self.rows(
            "select chunks.id, chunks.kind, chunks.file, turn, own_terms, around_terms, asks, own,"
            " timed, speaker, people, terms, around, signs, files.path"
            " from json_each(?) as wanted cross join chunks on chunks.id = wanted.value"
            " join texts on texts.id = chunks.id join files on files.id = chunks.file"
            " left join tokens on tokens.hash = chunks.hash",
            (json.dumps(ids),),
        )

    def of_turns(self, turns: Sequence[tuple[int, int]]) -> list[int]:
        """Return the chunks of some turns of transcripts, given by file and turn."""
        return self._ids(
            "select chunks.id from json_each(?) as wanted cross join chunks"
            " where file = wanted.value ->> 0 and turn = wanted.value ->> 1 and kind = 'message'",
            (json.dumps(turns),),
        )

    def places(self, ids: Sequence[int]) -> list[Row]:
        """Return id, kind, file and turn of some chunks."""
        return self.rows(
            "select id, kind, file, turn from chunks where id in (select value from json_each(?))",
            (json.dumps(ids),),
        )

    def records(self) -> list[Row]:
        """Return every record: kind, id, path, line, at, text, speaker, talk, who, trust, tags."""
        return self.rows(
            "select chunks.kind, record, files.path, min(line), at, group_concat(text, ' '),"
            " speaker, session, audience, trust, tags from chunks join texts using (id)"
            " join files on files.id = chunks.file"
            " group by chunks.kind, record, files.path order by at, files.path, min(line)"
        )

    def digests(self) -> list[Row]:
        """Return path and hash of every file, by path."""
        return self.rows("select path, sha256 from files order by path")

    def distrust_files(self, kind: str) -> None:
        """Have the files of a kind read again."""
        self.run("update files set mtime_ns = -1, sha256 = '' where kind = ?", [(kind,)])

    def size(self) -> int:
        """Return how many chunks there are, counted anew: the totals may be damaged."""
        return int(self.rows("select count(*) from chunks")[0][0])

    def waiting(self) -> int:
        """Return how many chunks have no vector yet."""
        total = int(self.rows("select coalesce(sum(chunks), 0) from totals")[0][0])
        return total - bits.count(self)

    def queued(self) -> int:
        """Return how many chunks the full-text index has yet to take."""
        return int(self.rows("select count(*) from queue")[0][0])

    def orphans(self) -> int:
        """Return how many rows belong to no file, or no chunk."""
        counted = self.rows(
            "select (select count(*) from chunks where file not in (select id from files))"
            " + (select count(*) from vectors where id not in (select id from chunks))"
            " + (select count(*) from texts where id not in (select id from chunks))"
        )
        return int(counted[0][0])

    def vectors(self, ids: Sequence[int]) -> Floats:
        """Return the vectors of some chunks, each of length 1, in the order given."""
        rows = self.rows(
            "select vector from json_each(?) as wanted cross join vectors"
            " on vectors.id = wanted.value order by wanted.key",
            (json.dumps(ids),),
        )
        return np.stack([np.frombuffer(row[0], "<f4") for row in rows])

    def sample(self, count: int) -> list[int]:
        """Return some chunks that have a vector: ids are hashes, so the first are any."""
        return self._ids(f"select id from vectors order by id limit {count}")

    def with_vector(self, where: str) -> list[int]:
        """Return the chunks that have a vector and meet a condition, by id."""
        sql = f"select id from vectors join chunks using (id) where {where} order by id"
        return self._ids(sql)

    def unlinked(self) -> set[int]:
        """Return the chunks that catalysts have not been compared with."""
        return set(self._ids("select id from vectors except select id from linked"))

    def put_links(self, rows: Sequence[tuple[int, int, float]], compared: Sequence[int]) -> None:
        """Store catalyst, chunk and likeness, and which chunks were compared."""
        self.run("insert or replace into links values (?, ?, ?)", rows)
        self.run("insert or ignore into linked values (?)", [(key,) for key in compared])

    def trim_links(self, catalysts: Sequence[int], depth: int) -> None:
        """Leave the nearest texts of some catalysts."""
        self.run(
            "delete from links where catalyst = ? and chunk not in (select chunk from links"
            f" where catalyst = ? order by similarity desc, chunk limit {depth})",
            [(catalyst, catalyst) for catalyst in catalysts],
        )

    def pointed_to(
        self, catalysts: Sequence[int], where: str, values: Sequence[Any]
    ) -> dict[int, list[tuple[int, float]]]:
        """Return the texts that some catalysts point to with their likeness, by catalyst.

        Args:
            catalysts: Ids of their chunks.
            where: A condition on the chunks of the texts; empty: all.
            values: Of the condition.
        """
        rows = self.rows(
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


def row_of(file: int, chunk: Chunk) -> Row:
    """Return a chunk as its row, in the order of CHUNK_COLUMNS."""
    values = (
        file,
        chunk.kind,
        chunk.record,
        chunk.ordinal,
        chunk.line,
        chunk.at,
        packed(chunk.people),
        packed(chunk.tags),
        packed(chunk.audience),
        chunk.trust,
        chunk.session,
        chunk.speaker,
        int(chunk.active),
        chunk.language,
        len(chunk.terms),
        len(chunk.around),
        chunk.turn,
        chunk.form.asks,
        int(chunk.form.own),
        int(chunk.form.timed),
        chunk.hash,
        json.dumps(chunk.recipe),
    )
    return tuple(_text(value) if isinstance(value, str) else value for value in values)


def texts_of(chunk: Chunk) -> Row:
    """Return the texts of a chunk: as shown, as embedded, its terms and those around it."""
    parts = (chunk.text, chunk.embedded, " ".join(chunk.terms), " ".join(chunk.around))
    return tuple(_text(part) for part in parts)


def _text(value: str) -> str:
    """Return a text without lone surrogates, which JSON can hold and SQLite can't."""
    return value.encode("utf-8", "replace").decode()


def recipe_of(text: str) -> tuple[tuple[str, float], ...]:
    """Read of which texts, by hash, a vector is made, and how much each counts."""
    return tuple((str(key), float(weight)) for key, weight in json.loads(text))


def create(path: Path) -> Database:
    """Make an empty database; what is there is thrown away."""
    with _writable(path):
        for ending in ("", "-journal", "-wal", "-shm"):
            files.remove(path.with_name(path.name + ending))
        files.make_folder(path.parent)
        files.write_synced(path, b"", mode=None)  # so that it is its owner's; the rest follow it
        connection = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        connection.execute(f"pragma page_size = {PAGE_BYTES}")
        with connection:
            connection.execute(_SCHEMA + _LINKS + _TOTALS + bits.SCHEMA)
        database = Database(path, connection)
        database.set_meta("schema", SCHEMA_VERSION)
        return database


def open_to_write(path: Path) -> Database:
    """Open the database of the index.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
        FolderUnwritableError: If the system refuses.
    """
    with _writable(path):
        files.detach(path)
    database = _opened(path, apsw.SQLITE_OPEN_READWRITE)
    if not database.has_links():
        with database.transaction():
            database.run(_LINKS)
    if not bits.are_kept(database):
        with database.transaction():
            bits.move(database)
    if not database.has_table("totals"):
        with database.transaction():
            database.run(_TOTALS)
            database.run(_COUNTED)
    return database


def open_to_read(path: Path) -> Database:
    """Open the database without writing, also where nothing may be written.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
    """
    database = _opened(path, apsw.SQLITE_OPEN_READONLY)
    if not (bits.are_kept(database) and database.has_table("totals")):
        database.close()
        raise IndexUnusableError(path, "it was made by another version of bumble")
    return database


def _opened(path: Path, flags: int) -> Database:
    path = files.settled(path)
    if not path.is_file():
        raise IndexUnusableError(path, "there is no index yet")
    with _readable(path):
        database = Database(path, _connect(path, flags))
        try:
            version = database.meta("schema")
        except IndexUnusableError:
            database.close()
            raise
    if version != SCHEMA_VERSION:
        database.close()
        raise IndexUnusableError(path, "it was made by another version of bumble")
    return database


def _connect(path: Path, flags: int) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.enable_load_extension(True)
    connection.load_extension(_extension())
    connection.enable_load_extension(False)
    connection.execute("pragma synchronous = normal")
    connection.execute("pragma secure_delete = on")  # what is taken out is overwritten
    connection.execute(f"pragma cache_size = -{CACHE_KIBIBYTES}")
    return connection


def _extension() -> str:
    """Return where sqlite-vec's library lies; importing the package costs more than loading it."""
    spec = find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("sqlite_vec")
    return os.path.join(next(iter(spec.submodule_search_locations)), "vec0")  # noqa: PTH118


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise IndexDamagedError(path, f"can't be read: {error}") from error
    except apsw.FullError as error:  # of what SQLite keeps beside it while it looks
        raise FolderUnwritableError(path, str(error)) from error
    except apsw.Error as error:
        raise IndexUnusableError(path, f"can't be read: {error}") from error


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError, apsw.SchemaChangeError) as error:
        raise IndexUnusableError(path, f"it is damaged: {error}") from error
    except (
        apsw.ReadOnlyError,
        apsw.CantOpenError,
        apsw.FullError,
        apsw.IOError,
        apsw.PermissionsError,
        apsw.BusyError,
    ) as error:
        raise FolderUnwritableError(path, str(error)) from error
    except apsw.Error as error:
        raise IndexUnusableError(path, f"can't be written: {error}") from error
    except OSError as error:
        raise FolderUnwritableError(path, error.strerror or str(error)) from error
