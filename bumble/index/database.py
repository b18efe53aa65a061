"""`memory.db` as a sync writes it: files, chunks, texts and vectors, made anew where it is damaged.

Derived from the files, so a damaged one is thrown away. Knows nothing of tantivy or of ranking, but
keeps the queue of what tantivy has yet to take.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from bumble.entity import installation
from bumble.entity.folder import INDEX_ENDINGS
from bumble.errors import IndexUnusableError, UserError
from bumble.files import disk, unfinished
from bumble.index import bits, database_file
from bumble.index.chunks import Chunk
from bumble.index.database_file import readable, writable
from bumble.index.database_reader import DatabaseReader
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

_KIND, _LANGUAGE, _OWN_TERMS, _AROUND_TERMS = (
    CHUNK_COLUMNS.split(", ").index(name)
    for name in ("kind", "language", "own_terms", "around_terms")
)
Opened = TypeVar("Opened", bound=DatabaseReader)


class Database(DatabaseReader):
    """An open `memory.db`, written."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept, or none of it."""
        with writable(self.path):
            try:
                with self._db:
                    yield
            except apsw.SQLError as error:
                if isinstance(error.__context__, UserError):  # a full disk has rolled back already
                    raise error.__context__ from None
                raise

    def run(self, sql: str, rows: Iterable[Sequence[Any]] = ((),)) -> None:
        """Run a statement once for each row of values."""
        with writable(self.path):
            self._db.executemany(sql, rows)

    def shred(self) -> str:
        """Write the file anew, so that no page holds what was taken out.

        Returns:
            What is left of it all the same; empty: nothing.
        """
        with writable(self.path):
            self._db.execute("vacuum")
        return ""

    def settle(self) -> None:
        """Do what a sync ends with; a file needs nothing."""

    def set_meta(self, key: str, value: str) -> None:
        """Store a fact about the index itself."""
        self.run("insert or replace into meta values (?, ?)", [(key, value)])

    def advance(self) -> None:
        """Count a change of chunks, in the transaction that makes it."""
        self.set_meta("generation", str(self.generation() + 1))

    def set_seen(self, digest: str) -> None:
        """Store the digest of all stamps; empty, as soon as one of them is to change."""
        self.set_meta("seen", digest)

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
        with writable(self.path):
            [(file_id,)] = list(self._db.execute(sql, values))
        return int(file_id)

    def drop_file(self, path: str) -> None:
        """Forget a file and its chunks."""
        if row := self.file(path):
            self.put_chunks(row.id, path, [])
            self.run("delete from files where id = ?", [(row.id,)])

    def distrust_files(self, kind: str) -> None:
        """Have the files of a kind read again."""
        self.run("update files set mtime_ns = -1, sha256 = '' where kind = ?", [(kind,)])

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

    def rounded(self, vector: Floats) -> Floats:
        """Return an embedding as it is kept: every bit of it."""
        return vector

    def put_embeddings(self, vectors: Iterable[tuple[str, Floats]]) -> None:
        """Store the embeddings of texts by hash."""
        rows = ((key, vector.astype("<f4").tobytes()) for key, vector in vectors)
        self.run("insert or replace into embeddings values (?, ?)", rows)

    def put_tokens(self, tokens: Sequence[tuple[str, DocumentTokens]]) -> None:
        """Store the tokens of texts by hash, and count in how many texts each piece stands."""
        kinds = [np.unique(text_tokens.pieces).astype("<u4") for _, text_tokens in tokens]
        rows = [
            (key, pieces.tobytes(), text_tokens.signs.tobytes())
            for (key, text_tokens), pieces in zip(tokens, kinds, strict=True)
        ]
        self.run("insert into tokens (hash, pieces, signs) values (?, ?, ?)", rows)
        self._count_pieces(kinds, 1)

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

    def put_vectors(self, vectors: Iterable[tuple[int, Floats]]) -> None:
        """Store the vectors of chunks, each of length 1."""
        listed = list(vectors)
        rows = [(chunk_key, vector.astype("<f4").tobytes()) for chunk_key, vector in listed]
        self.run("insert or replace into vectors values (?, ?)", rows)
        bits.put(self, listed)

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


def create(path: Path) -> Database:
    """Make an empty database; what is there is thrown away."""
    with writable(path):
        for ending in INDEX_ENDINGS:
            disk.remove(path.with_name(path.name + ending))
        disk.make_folder(path.parent)
        disk.write_synced(path, b"", mode=None)  # so that it is its owner's; the rest follow it
        connection = database_file.connect(
            path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        )
        connection.execute(f"pragma page_size = {database_file.PAGE_BYTES}")
        with connection:
            connection.execute(database_file.SCHEMA)
        database = Database(path, connection)
        token = secrets.token_hex(8)
        database.set_meta("schema", database_file.VERSION)
        database.set_meta("token", token)
        database.set_meta("mark", installation.mark(_marked(token)))
        disk.take_over(path)
        return database


def open_to_write(path: Path) -> Database:
    """Open the database of the index.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
        FolderUnwritableError: If the system refuses.
    """
    with writable(path):
        disk.detach(path)
    database = _opened(Database, path, apsw.SQLITE_OPEN_READWRITE)
    if not database.has_links():
        with database.transaction():
            database.run(database_file.LINKS)
    if not bits.are_kept(database):
        with database.transaction():
            bits.move(database)
    if not database.has_table("totals"):
        with database.transaction():
            database.run(database_file.TOTALS)
            database.run(database_file.COUNTED)
    return database


def open_to_read(path: Path) -> DatabaseReader:
    """Open the database without writing, also where nothing may be written.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
    """
    try:
        database = _opened(DatabaseReader, path, apsw.SQLITE_OPEN_READONLY)
    except IndexUnusableError as error:
        if not isinstance(error.__cause__, apsw.ReadOnlyError):
            raise
        database = _settled_copy(path)
    if not (bits.are_kept(database) and database.has_table("totals")):
        database.close()
        raise IndexUnusableError(path, "it was made by another version of bumble")
    return database


def _settled_copy(path: Path) -> DatabaseReader:
    """Open a copy, in which SQLite takes back what a killed writer began: that needs writing."""
    with unfinished.temporary_folder() as place, readable(path):
        for ending in INDEX_ENDINGS:
            data = disk.read_if_there(path.with_name(path.name + ending))
            if data is not None:
                disk.write_synced(place / (path.name + ending), data, mode=None)
        return _opened(DatabaseReader, place / path.name, apsw.SQLITE_OPEN_READWRITE)


def _opened(kind: Callable[[Path, apsw.Connection], Opened], path: Path, flags: int) -> Opened:
    if disk.is_passed_over(path):
        raise IndexUnusableError(path, "git brought it")
    path = disk.settled(path)
    if not path.is_file():
        raise IndexUnusableError(path, "there is no index yet")
    with readable(path):
        database = kind(path, database_file.connect(path, flags))
        try:
            problem = _problem(database)
        except IndexUnusableError:
            database.close()
            raise
    if problem:
        database.close()
        raise IndexUnusableError(path, problem)
    return database


def _marked(token: str) -> str:
    return f"index {token}"


def _problem(database: DatabaseReader) -> str:
    """Say why an index is not used: another version of bumble made it, or another installation."""
    if database.meta("schema") != database_file.VERSION:
        return "it was made by another version of bumble"
    if not installation.is_own(_marked(database.meta("token")), database.meta("mark")):
        return "it was not made here"
    return ""
