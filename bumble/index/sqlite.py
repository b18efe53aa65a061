"""The index in the file `memory.db`: SQLite with sqlite-vec, its full-text search beside it.

A rollback journal rather than WAL: a reader leaves no trace in the folder, and needs no right to
write there. Derived from the files, so a damaged one is thrown away.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from bumble import patterns
from bumble.entity import installation
from bumble.entity.folder import INDEX_ENDINGS
from bumble.errors import FolderUnwritableError, IndexDamagedError, IndexUnusableError, UserError
from bumble.files import disk
from bumble.index.rows import Row
from bumble.index.store import Store, on_meeting
from bumble.models.embed.protocol import Floats
from bumble.text.languages import package_folder

VERSION = "6"
BUSY_MILLISECONDS = 10_000
PAGE_BYTES = 16_384  # of the usual 4,096 a row of 768 floats would waste a quarter
CACHE_KIBIBYTES = 131_072  # of pages; what a commit has touched is to fit
EXACT_ROWS = 20_000  # beyond, bits choose the candidates and floats score them
COARSE_FACTOR = 10  # candidates chosen by bits, for each that is wanted
POSTINGS = 100_000  # chunks that the words of a query may stand in: the rarest are looked up first
_SIGNS = patterns.compile(r"@own\b|@(?=\w)|in \?\?|moment\(")
_IN_SQLITE = {
    "@own": "true",
    "@": "",
    "in ??": "in (select value from json_each(?))",
    "moment(": "julianday(",
}
# The full text is read from `texts` where it is needed again: a row is taken out by its words.
_WORDS = """
create view spoken as select id, terms || ' ' || around as terms from texts;
create virtual table words using fts5(
  terms, content = 'spoken', content_rowid = 'id',
  tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);
create virtual table vocabulary using fts5vocab(words, row);
insert into words (words, rank) values ('secure-delete', 1);
"""
SCHEMA = (
    """
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
  hash text, recipe text
);
create index files_broken on files (path) where problem <> '';
create index chunks_file on chunks (file, turn);
create index chunks_length on chunks (kind, language, own_terms, around_terms);
create index chunks_hash on chunks (hash);
create index chunks_inactive on chunks (id) where active = 0;
create table texts (id integer primary key, text text, embedded text, terms text, around text);
create table embeddings (hash text primary key, vector blob) without rowid;
create table loose (hash text primary key) without rowid;
create table tokens (id integer primary key, hash text unique, pieces blob, signs blob);
create table pieces (piece integer primary key, texts integer);
create table vectors (id integer primary key, vector blob);
-- a bit for each dimension of a vector, by which many are compared at once
create table placed (id integer primary key, bits blob);
"""
    + _WORDS
)


class SqliteStore(Store):
    """An open `memory.db`; one that was opened to read can't be written."""

    FLOAT = "<f4"
    VECTORS = ("vectors", "placed")
    SCANNED = "+"
    WORDS, WORD = "words_docsize", "rowid"
    COSINE = "round(1 - vec_distance_cosine(vector, ?), 6)"
    DISTRUSTED = "mtime_ns = -1, sha256 = ''"

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        super().__init__()
        self.path, self._db = path, connection

    def close(self) -> None:
        self._db.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with readable(self.path):
            return list(self._db.execute(_in_sqlite(sql), _bound(values)))

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        with _writable(self.path):
            self._db.execute(_in_sqlite(sql), _bound(values))

    def put(
        self, table: str, columns: Sequence[str], rows: Iterable[Row], *, adds: bool = False
    ) -> None:
        sql = (
            f"insert into {table} ({', '.join(columns)}) values ({', '.join('?' * len(columns))})"
            f" on conflict ({columns[0]}) do {on_meeting(table, columns, adds=adds)}"
        )
        with _writable(self.path):
            self._db.executemany(sql, rows)

    @contextmanager
    def atomic(self) -> Iterator[None]:
        with _writable(self.path):
            try:
                with self._db:
                    yield
            except apsw.SQLError as error:
                if isinstance(error.__context__, UserError):  # a full disk has rolled back already
                    raise error.__context__ from None
                raise

    def shred(self) -> str:
        """Write the file anew, so that no page holds what was taken out."""
        self.run("insert into words (words) values ('optimize')")
        self.run("vacuum")
        return ""

    def vector(self, vector: Floats) -> Any:
        """Return a vector as it is stored."""
        return vector.astype(self.FLOAT).tobytes()

    def put_vectors(self, vectors: Iterable[tuple[int, Floats]]) -> None:
        """Store the vectors of chunks, each of length 1, and a bit a dimension of each."""
        listed = list(vectors)
        super().put_vectors(listed)
        self.put("placed", ("id", "bits"), [(key, _bits(vector)) for key, vector in listed])

    def nearest(
        self, query: Floats, depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[tuple[int, float]]:
        if not self.rows(f"select 1 from placed limit 1 offset {EXACT_ROWS}"):
            return super().nearest(query, depth, where, values)
        inside = f"id in (select id from @chunks where {where})" if where else "true"
        likely = self.ids(
            f"select id from placed where {inside}"
            " order by vec_distance_hamming(vec_bit(bits), vec_bit(?)), id"
            f" limit {int(depth) * COARSE_FACTOR}",
            (*values, _bits(query)),
        )
        return self._scored(query, depth, "id in ??", (likely,))

    def put_words(self, rows: Sequence[tuple[int, Row]]) -> None:
        with _writable(self.path):
            self._db.executemany(
                "insert into words (rowid, terms) values (?, ?)",
                ((key, f"{texts[2]} {texts[3]}") for key, texts in rows),
            )

    def counts(self, terms: Iterable[str]) -> dict[str, int]:
        wanted = list(dict.fromkeys(terms))
        rows = self.rows("select term, doc from vocabulary where term in ??", (wanted,))
        return dict.fromkeys(wanted, 0) | {str(term): int(count) for term, count in rows}

    def best(
        self, terms: Iterable[str], depth: int, where: str = "", values: Sequence[Any] = ()
    ) -> list[int]:
        counts = sorted((count, term) for term, count in self.counts(terms).items() if count)
        asked, met = list[str](), 0
        for count, term in counts:  # the rarest first; what stands everywhere tells little
            if asked and met + count > POSTINGS:
                break
            asked, met = [*asked, '"' + term.replace('"', '""') + '"'], met + count
        if not asked:
            return []
        # The sign keeps SQLite from asking the full text anew for each of these ids.
        inside = f" and +rowid in (select id from @chunks where {where})" if where else ""
        return self.ids(
            f"select rowid from words where words match ?{inside}"
            f" order by round(rank, 6), rowid limit {int(depth)}",
            (" OR ".join(asked), *values),
        )


def _in_sqlite(sql: str) -> str:
    return _SIGNS.sub(lambda sign: _IN_SQLITE[sign[0]], sql)


def _bound(values: Sequence[Any]) -> list[Any]:
    return [json.dumps(value) if isinstance(value, list) else value for value in values]


def _bits(vector: Floats) -> bytes:
    import numpy as np

    return np.packbits(vector > 0, bitorder="little").tobytes()  # as sqlite-vec does


def create(path: Path) -> SqliteStore:
    """Make an empty database; what is there is thrown away."""
    with _writable(path):
        for ending in INDEX_ENDINGS:
            disk.remove(path.with_name(path.name + ending))
        disk.make_folder(path.parent)
        disk.write_synced(path, b"", mode=None)  # so that it is its owner's; the rest follow it
        connection = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        connection.execute(f"pragma page_size = {PAGE_BYTES}")
        with connection:
            connection.execute(SCHEMA)
        store = SqliteStore(path, connection)
        token = secrets.token_hex(8)
        store.set_meta("schema", VERSION)
        store.set_meta("token", token)
        store.set_meta("mark", installation.mark(_marked(token)))
        disk.take_over(path)
        return store


def open_to_write(path: Path) -> SqliteStore:
    """Open the database of the index, in the form that this version has.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
        FolderUnwritableError: If the system refuses.
    """
    with _writable(path):
        disk.detach(path)
    return _opened(path, apsw.SQLITE_OPEN_READWRITE)


def open_to_read(path: Path) -> SqliteStore:
    """Open the database without writing, also where nothing may be written.

    Raises:
        IndexUnusableError: If there is none, it is damaged, or of another version.
    """
    try:
        return _opened(path, apsw.SQLITE_OPEN_READONLY)
    except IndexUnusableError as error:
        if not isinstance(error.__cause__, apsw.ReadOnlyError):
            raise
    # SQLite takes back in a copy what a killed writer began: that needs writing.
    with disk.temporary_folder() as place, readable(path):
        for ending in INDEX_ENDINGS:
            data = disk.read_if_there(path.with_name(path.name + ending))
            if data is not None:
                disk.write_synced(place / (path.name + ending), data, mode=None)
        return _opened(place / path.name, apsw.SQLITE_OPEN_READWRITE)


def _opened(path: Path, flags: int) -> SqliteStore:
    if disk.is_passed_over(path):
        raise IndexUnusableError(path, "git brought it")
    path = disk.settled(path)
    if not path.is_file():
        raise IndexUnusableError(path, "there is no index yet")
    with readable(path):
        store = SqliteStore(path, _connect(path, flags))
        try:
            if not installation.is_own(_marked(store.meta("token")), store.meta("mark")):
                raise IndexUnusableError(path, "it was not made here")
            if store.meta("schema") != VERSION:
                raise IndexUnusableError(path, "it was made by another version of bumble")
        except (IndexUnusableError, FolderUnwritableError):
            store.close()
            raise
    return store


def _marked(token: str) -> str:
    return f"index {token}"


def _connect(path: Path, flags: int) -> apsw.Connection:
    """Open the file as it is, with sqlite-vec in it."""
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.enable_load_extension(True)
    # the package's import costs more than loading its library
    connection.load_extension(str(package_folder("sqlite_vec") / "vec0"))
    connection.enable_load_extension(False)
    connection.execute("pragma synchronous = normal")
    connection.execute("pragma secure_delete = on")  # what is taken out is overwritten
    connection.execute(f"pragma cache_size = -{CACHE_KIBIBYTES}")
    return connection


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Make errors that people can act on of those that come while it is read."""
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
    """Make errors that people can act on of those that come while it is written."""
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
