"""A server that is killed for real while a command waits in the middle of what it asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

pytest.importorskip("psycopg")

import psycopg

from tests.support.notes import Notes
from tests.support.postgres import Postgres, running

pytestmark = pytest.mark.slow
DEADLINE_SECONDS = 60.0
WAITING = (
    "select count(*) from pg_stat_activity where application_name = 'bumble'"
    " and state = 'active' and wait_event_type in ('Lock', 'Timeout')"
)
# Whoever puts a row there sleeps in the middle of its transaction.
SLEEP = """
create function bumble.dawdle() returns trigger language plpgsql as
  $$ begin perform pg_sleep(600); return new; end $$;
create trigger dawdle before insert on bumble.words
  for each row execute function bumble.dawdle();
"""
WAKE = "drop function bumble.dawdle cascade"


@pytest.fixture
def own() -> Iterator[Postgres]:
    """A server that may be killed."""
    with running() as server:
        yield server


class Machine(Struct, frozen=True):
    """A folder, and bumble in processes of their own."""

    notes: Notes
    environ: dict[str, str]

    def start(self, *argv: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "bumble", "-e", str(self.notes.root), *argv]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.environ, stdout=pipe, stderr=pipe, text=True)

    def run(self, *argv: str) -> tuple[int, str, str]:
        process = self.start(*argv)
        out, err = process.communicate()
        return process.returncode, out, err

    def data(self, *argv: str) -> Any:
        code, out, err = self.run(*argv, "--json")
        assert code in (0, 12), err
        return json.loads(out)["data"]

    def recalled(self) -> list[str]:
        """Return what a search finds, best first."""
        return [hit["id"] for hit in self.data("recall", "tide and lantern")["hits"]]

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.notes.root)): path.read_bytes()
            for path in sorted(self.notes.root.rglob("*"))
            if path.is_file() and ".bumble" not in path.parts
        }


@pytest.fixture
def machine(tmp_path: Path, own: Postgres) -> Machine:
    root = tmp_path / "ada"
    root.mkdir()
    (root / "entity.yaml").write_text("schema_version: 3\nname: Ada\n")
    notes = Notes(root)
    for n in range(6):
        notes.episode(f"{n}", f"The tide number {n} came with a lantern.", day=n)
    environ = {
        **os.environ,
        "HOME": str(tmp_path),
        "BUMBLE_EMBEDDING_MODEL": "none",
        "BUMBLE_LLM_MODEL": "none",
        "BUMBLE_INDEX_URL": own.url(),
    }
    return Machine(notes, environ)


@contextmanager
def locked(own: Postgres) -> Iterator[None]:
    """Let nobody look at the words."""
    with psycopg.connect(own.url(user="admin")) as session:
        session.execute("lock table bumble.words in access exclusive mode")
        yield
        session.close()


def killed_while_it_waits(machine: Machine, own: Postgres, *argv: str) -> tuple[int, str]:
    """Kill the server with a command in the middle of it. Returns its exit code and its words."""
    process, until = machine.start(*argv), time.monotonic() + DEADLINE_SECONDS
    while own.sql(WAITING) != [(1,)]:
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.05)
    own.kill(signal.SIGKILL)
    _, err = process.communicate(timeout=DEADLINE_SECONDS)
    return process.returncode, err


@pytest.mark.parametrize("stage", ["sync", "rebuild", "recall"])
def test_a_server_killed_in_the_middle_is_a_sentence_and_leaves_nothing_to_mend(
    machine: Machine, own: Postgres, stage: str
) -> None:
    machine.data("index")
    before = machine.recalled()
    if stage != "rebuild":
        machine.notes.episode("7", "A lantern, and then no tide at all.", day=7)
    files = machine.files()
    argv = {"sync": ["index"], "rebuild": ["index", "--rebuild"], "recall": ["recall", "tide"]}
    if stage == "recall":
        machine.data("index")
        with locked(own):
            code, err = killed_while_it_waits(machine, own, *argv[stage])
    else:
        own.sql(SLEEP)
        code, err = killed_while_it_waits(machine, own, *argv[stage])
    assert code == 31, err
    assert "does not answer" in err and "The files are whole" in err
    assert "Traceback" not in err
    assert machine.run("recall", "tide")[0] == 31  # it is still away

    own.start()
    if stage != "recall":
        own.sql(WAKE)
    after = machine.recalled()  # nothing else was done
    assert after if stage != "rebuild" else after == before
    found = machine.data("doctor")
    assert not [each for each in found["findings"] if each["code"].startswith("index")]
    assert found["index"]["orphans"] == 0
    machine.data("index", "--rebuild")
    assert machine.recalled() == after
    assert machine.files() == files


def test_a_server_that_has_gone_silent_is_a_sentence(machine: Machine, own: Postgres) -> None:
    machine.data("index")
    assert own.process is not None
    with ExitStack() as woken:
        own.process.send_signal(signal.SIGSTOP)
        woken.callback(own.process.send_signal, signal.SIGCONT)
        code, _, err = machine.run("recall", "tide")
    assert (code, "does not answer" in err) == (31, True), err
    assert machine.recalled()


def test_who_outlives_the_server_asks_the_next_one(machine: Machine, own: Postgres) -> None:
    there = own.serving(machine.notes)
    there.sync()
    own.kill(signal.SIGKILL)
    own.start()
    assert len(there.search("tide")) == 6
    own.kill()
    own.start()
    assert there.sync().unchanged == 6
