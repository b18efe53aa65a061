"""The file `memory.db`: its tables, a connection to it, and its errors in the user's words.

A rollback journal rather than WAL: a reader leaves no trace in the folder, and needs no right to
write there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import apsw

from bumble.errors import FolderUnwritableError, IndexDamagedError, IndexUnusableError
from bumble.index import bits

VERSION = "4"
BUSY_MILLISECONDS = 10_000
PAGE_BYTES = 16_384  # of the usual 4,096 a row of 768 floats would waste a quarter
CACHE_KIBIBYTES = 131_072  # of pages; what a commit has touched is to fit
_FIRST = """
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
LINKS = """
create table if not exists links (
  catalyst integer, chunk integer, similarity real, primary key (catalyst, chunk)
) without rowid;
create index if not exists links_chunk on links (chunk);
create table if not exists linked (id integer primary key);
"""
# How many chunks there are and how long, so that nobody counts a million rows to search them.
TOTALS = """
create table if not exists totals (
  kind text, language text, chunks integer, own_terms integer, around_terms integer,
  primary key (kind, language)
) without rowid;
"""
COUNTED = (
    "insert or replace into totals select kind, language, count(*), sum(own_terms),"
    " sum(around_terms) from chunks group by kind, language"
)
SCHEMA = _FIRST + LINKS + TOTALS + bits.SCHEMA


def connect(path: Path, flags: int) -> apsw.Connection:
    """Open the file as it is, with sqlite-vec in it."""
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
def writable(path: Path) -> Iterator[None]:
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
