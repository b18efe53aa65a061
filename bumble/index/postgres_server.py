"""A Postgres server on which the indexes of many entities stand: reaching it, its schema, its lock.

Whose index it is, is a random id in the entity's `.bumble/`: it moves with the folder, no clone
carries it, and nobody who sends a folder can guess another's. The server is asked for nothing but
rows; every error of it becomes one that names its address, without passwords.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import hashlib
import platform
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict

from bumble import patterns
from bumble.entity.folder import Entity
from bumble.errors import IndexServerError, IndexUnusableError, LockedError, UsageError
from bumble.files import disk
from bumble.index.postgres import MIGRATIONS, SCHEMA, TABLES, PostgresStore
from bumble.index.store import Store
from bumble.text import printable

ID_FILE = "index-id"  # in `.bumble/`
# How long a server that has gone silent is waited for; the address may say otherwise.
_PATIENCE: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
    "application_name": "bumble",
}
AWAY_SECONDS = 30.0  # a server that was away is not asked again for so long
POLL_SECONDS = 0.1
ID_SECONDS = 10.0  # to wait for another process that makes the id
SCHEMA_LOCK, SYNC_LOCK = 0x62756D62, 0x62756D63  # of Postgres' advisory locks: "bumb", "bumc"
LEAST_PGVECTOR = (0, 7)  # the first with halfvec
_ID = patterns.compile(r"[0-9a-f]{32}")
_URL = patterns.compile(r"postgres(?:ql)?://[^\s\0]+")
_GONE = (psycopg.OperationalError, psycopg.InterfaceError)


class PostgresServer:
    """A server, with a connection for each thread that asks it."""

    def __init__(self, url: str) -> None:
        """Set up without connecting.

        Raises:
            UsageError: If that is no address of a Postgres server; it is not repeated.
        """
        if not _URL.fullmatch(url):
            raise UsageError(
                "`index.url` is no address of a Postgres server: postgresql://USER@HOST/DATABASE"
            )
        self._url, self.shown = url, printable.shown_url(url)
        self._local = threading.local()
        self._away: tuple[float, IndexServerError] | None = None

    def reach(self) -> None:
        """Connect, if it is not yet; anew, where the server was started anew meanwhile."""
        connection = self._open()
        if connection is not None:
            with suppress(*_GONE):
                connection.execute("select 1")  # one that is gone is closed by asking it
        self.connection()

    def _open(self) -> Connection[Any] | None:
        """Return this thread's connection, as far as is known."""
        connection: Connection[Any] | None = getattr(self._local, "connection", None)
        return None if connection is None or connection.closed else connection

    def connection(self) -> Connection[Any]:
        """Return this thread's connection, opened where there is none that works."""
        if (connection := self._open()) is not None:
            return connection
        if self._away and time.monotonic() < self._away[0] + AWAY_SECONDS:
            raise self._away[1]
        try:
            with self.translated():
                self._local.connection = self._connect()
        except IndexServerError as error:
            self._away = (time.monotonic(), error)
            raise
        return cast("Connection[Any]", self._local.connection)

    def _connect(self) -> Connection[Any]:
        connection = psycopg.connect(
            "",
            autocommit=True,
            prepare_threshold=None,  # a pooler in between may hand each statement to another
            **{**_PATIENCE, **conninfo_to_dict(self._url)},
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection[Any]) -> None:
        """See that all that is needed is there, and set what every statement rests on."""
        at = self._extension(connection)
        if self._version(connection) != len(MIGRATIONS):
            with connection.transaction():
                connection.execute("select pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
                connection.execute("select set_config('search_path', %s, true)", (f'"{at}"',))
                self._migrate(connection, self._version(connection))
        connection.execute(
            "select set_config('search_path', %s, false), set_config('timezone', 'UTC', false),"
            " set_config('row_security', 'on', false)",
            (f'{SCHEMA}, "{at}"',),
        )

    def _extension(self, connection: Connection[Any]) -> str:
        """Return the schema that pgvector stands in."""
        find = (
            "select extversion, nspname from pg_extension join pg_namespace"
            " on pg_namespace.oid = extnamespace where extname = 'vector'"
        )
        row = connection.execute(find).fetchone()
        if row is None:
            try:
                connection.execute("create extension vector")
            except psycopg.Error as error:
                raise IndexServerError(
                    self.shown,
                    "the extension pgvector is not in this database",
                    "Install it on the server (Debian: postgresql-17-pgvector), then, as its"
                    " superuser, in this database: create extension vector",
                ) from error
            row = connection.execute(find).fetchone()
        version, schema = row or ("0", "")
        if tuple(map(int, version.split(".")[:2])) < LEAST_PGVECTOR:
            least = ".".join(map(str, LEAST_PGVECTOR))
            raise IndexServerError(
                self.shown,
                f"its pgvector is {version}; bumble needs {least} or newer",
                "Update it on the server, then: alter extension vector update",
            )
        return str(schema).replace('"', '""')

    def _version(self, connection: Connection[Any]) -> int | None:
        """Return how many migrations the tables have seen; None: there are none."""
        (there,) = connection.execute("select to_regclass('bumble.version')").fetchone() or (None,)
        if there is None:
            return None
        (number,) = connection.execute("select number from bumble.version").fetchone() or (0,)
        return int(number)

    def _migrate(self, connection: Connection[Any], number: int | None) -> None:
        """Bring the tables to the form that this bumble knows."""
        if number is None:
            number = 0
            connection.execute("create schema if not exists bumble")
            connection.execute("create table bumble.version (number integer not null)")
            connection.execute("insert into bumble.version values (0)")
        if number > len(MIGRATIONS):
            raise IndexServerError(
                self.shown,
                f"its tables were made by a newer bumble (number {number}; this one knows"
                f" {len(MIGRATIONS)})",
                "Update bumble on this machine.",
            )
        for migration in MIGRATIONS[number:]:
            connection.execute(migration)
        connection.execute("update bumble.version set number = %s", (len(MIGRATIONS),))

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Make errors that people can act on of those of the server."""
        try:
            yield
        except _GONE as error:
            refused = isinstance(error, psycopg.errors.InvalidPassword)
            raise IndexServerError(
                self.shown,
                f"the server of the index does not answer: {self._sentence(error)}",
                "Mend name or password in `index.url`." if refused else "",
            ) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise IndexServerError(
                self.shown,
                f"the role may not do that: {self._sentence(error)}",
                "docs/postgres.md has the lines that let a role use the index.",
            ) from error
        except psycopg.Error as error:
            raise IndexServerError(
                self.shown,
                f"the server of the index refused: {self._sentence(error)}",
                "The files are whole. `bumble index --rebuild` makes this entity's rows anew.",
            ) from error

    def _sentence(self, error: psycopg.Error) -> str:
        text = error.diag.message_primary or str(error) or type(error).__name__
        return str(printable.masked(" ".join(text.split())))

    def there(self, entity: Entity) -> Store | None:
        """Return the index of an entity; None: there is none."""
        key = read_id(entity)
        number = key and self._number(key, register=False)
        store = self._store(entity, number) if number else None
        return store if store and store.meta("token") else None

    def _number(self, key: str, *, register: bool) -> int | None:
        """Return the number of an entity on this server, and have the session see its rows."""
        connection = self.connection()
        with self.translated():
            connection.execute("select set_config('bumble.entity', %s, false)", (key,))
            (number,) = connection.execute("select bumble.me()").fetchone() or (None,)
            if number is None and register:
                connection.execute(
                    "insert into entities (key) values (%s) on conflict do nothing", (key,)
                )
                (number,) = connection.execute("select bumble.me()").fetchone() or (None,)
        return None if number is None else int(number)

    @contextmanager
    def held(self, entity: Entity, wait_seconds: float) -> Iterator[None]:
        """Let nobody else, on whatever machine, bring that index up to date meanwhile.

        Raises:
            LockedError: If somebody does, for longer than one may wait.
        """
        self.reach()
        number = self._number(make_id(entity), register=True)
        connection, until = self.connection(), time.monotonic() + wait_seconds
        # what this thread holds: Postgres would give its session the same lock again
        mine: set[int | None] = self._local.__dict__.setdefault("held", set())
        while number in mine or not self._locked(connection, number):
            if time.monotonic() >= until:
                raise LockedError(entity.root, wait_seconds)
            time.sleep(POLL_SECONDS)  # waiting inside Postgres would hold up its own upkeep
        mine.add(number)
        try:
            yield
        finally:
            mine.discard(number)
            if not connection.closed:
                with self.translated():
                    connection.execute("select pg_advisory_unlock(%s, %s)", (SYNC_LOCK, number))

    def _locked(self, connection: Connection[Any], number: int | None) -> bool:
        with self.translated():
            row = connection.execute("select pg_try_advisory_lock(%s, %s)", (SYNC_LOCK, number))
            return bool((row.fetchone() or (False,))[0])

    def to_read(self, entity: Entity) -> Store:
        """Open the index of an entity to search in.

        Raises:
            IndexUnusableError: If there is none.
        """
        store = self.there(entity)
        if store is None:
            raise IndexUnusableError(self.shown, "there is no index of this entity yet")
        return store

    def to_write(self, entity: Entity, *, anew: bool) -> Store:
        """Open the index of an entity to bring it up to date, or make an empty one."""
        number = self._number(make_id(entity), register=True)
        if number is None:
            raise IndexServerError(self.shown, "the entity could not be entered there")
        store = self._store(entity, number)
        if anew:
            store.empty()
        return store

    def _store(self, entity: Entity, number: int) -> PostgresStore:
        machine = f"{platform.node()}\0{entity.root}".encode("utf-8", "surrogateescape")
        place = hashlib.sha256(machine).hexdigest()[:16]
        return PostgresStore(self.connection(), self.translated, number, place)

    def facts(self, entity: Entity) -> dict[str, Any]:
        """Return what it is: versions, role, and how much of it the index of an entity takes."""
        connection, key = self.connection(), read_id(entity)
        number = self._number(key, register=False) if key else None
        with self.translated():
            row = connection.execute(
                "select current_setting('server_version'), extversion, session_user,"
                " rolsuper or rolbypassrls from pg_extension, pg_roles"
                " where extname = 'vector' and rolname = session_user"
            ).fetchone()
            sizes = " + ".join(
                f"(select coalesce(sum(pg_column_size(t.*)), 0) from bumble.{table} t"
                " where entity = %(entity)s)"
                for table in TABLES
            )
            (size,) = connection.execute(f"select {sizes}", {"entity": number or 0}).fetchone() or (
                0,
            )
        version, extension, role, sees_all = row or ("", "", "", False)
        return {
            "address": self.shown,
            "postgres": str(version).split(" ")[0],
            "pgvector": extension,
            "schema": len(MIGRATIONS),
            "role": role,
            "unwalled": bool(sees_all),
            "bytes": int(size),
        }


def _id_file(entity: Entity) -> Path:
    path = entity.private / ID_FILE
    disk.settled(path)
    return path


def read_id(entity: Entity) -> str | None:
    """Return the id by which servers know an entity; None: it has none yet, or what is no id."""
    data = disk.read_if_there(_id_file(entity)) or b""
    text = data.decode("ascii", "replace").strip()
    return text if _ID.fullmatch(text) else None


def make_id(entity: Entity) -> str:
    """Return that id, made where there is none.

    Raises:
        FolderUnwritableError: If it can't be written.
    """
    if made := read_id(entity):
        return made
    lock = entity.private / f"{ID_FILE}.lock"  # the folder's own index may be locked for long
    with disk.lock(lock, place=entity.root, timeout_seconds=ID_SECONDS):
        made = read_id(entity) or secrets.token_hex(16)
        disk.write_atomic(_id_file(entity), f"{made}\n".encode())
    return made
