"""The index on a server, through the commands: who may name one, and what they say of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from tests.support import looking
from tests.support.postgres import Postgres, free_port, running
from tests.support.running import Run

pytest.importorskip("psycopg")
SECRET = "tr0ub4dor"


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada with an episode, on a machine without models."""
    looking.without_models(run)
    looking.episode(run, "tide", "The tide was low.")
    return run


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def own() -> Iterator[Postgres]:
    """A server that may be killed."""
    with running() as server:
        yield server


def nowhere() -> str:
    return f"postgresql://sam:{SECRET}@127.0.0.1:{free_port()}/life"


@pytest.mark.parametrize("key", ["url", "backend", "fallback"])
def test_a_folder_cannot_say_where_its_index_stands(ada: Run, key: str) -> None:
    value = {"url": nowhere(), "backend": "postgres", "fallback": "local"}[key]
    ada.write("entity.yaml", ada.text("entity.yaml") + f"\nindex:\n  {key}: {value}\n")
    ran = ada.ok("index", "--json")
    assert ran.data["database"].endswith("memory.db")
    assert any(f"`index.{key}` is ignored" in warning for warning in ran.json["warnings"])
    assert SECRET not in ran.out + ran.err


def test_what_is_not_installed_is_named_with_how_to_get_it(
    ada: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.environ["BUMBLE_INDEX_URL"] = nowhere()
    for name in [name for name in sys.modules if name.startswith("bumble.index.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    ran = ada("index")
    assert ran.code == 31
    assert "pip install 'bumble-entity[postgres]'" in ran.err
    assert "pip install" in ada.ok("status").out.replace("\n", " ")


def test_a_server_that_is_away_is_a_sentence_in_every_command(ada: Run) -> None:
    ada.environ["BUMBLE_INDEX_URL"] = nowhere()
    for argv in (["index"], ["index", "--rebuild"], ["recall", "tide"]):
        ran = ada(*argv)
        assert ran.code == 31
        assert "does not answer" in ran.err
        assert SECRET not in ran.out + ran.err
    assert "does not answer" in ada.ok("status").out
    found = ada("doctor", "--json")
    assert "index-server" in [finding["code"] for finding in found.data["findings"]]
    assert SECRET not in found.out + ada("config", "show", "--json").out


def test_the_folders_own_index_stands_in_for_a_server_that_is_away(ada: Run) -> None:
    ada.environ |= {"BUMBLE_INDEX_URL": nowhere(), "BUMBLE_INDEX_FALLBACK": "local"}
    ran = ada.ok("recall", "tide")
    assert "The tide was low." in ran.out
    assert "is used instead" in ran.err
    assert ada.ok("index", "--json").data["database"].endswith("memory.db")


def test_who_is_forgotten_leaves_no_row_and_what_stays_is_said(
    ada: Run, postgres: Postgres
) -> None:
    ada.environ["BUMBLE_INDEX_URL"] = postgres.url()
    looking.episode(
        ada, "kim", "Kim told me of the zanzibar.", by="stretch", people=["kim"], audience=["kim"]
    )
    ada.ok("index")
    ran = ada.ok("person", "forget", "kim", "--yes")
    assert "vacuum full" in ran.err
    rows = postgres.sql("select text from bumble.texts")
    assert not [row for row in rows if "zanzibar" in row[0]]


def test_who_is_forgotten_while_the_server_is_away_is_swept_from_it_later(
    ada: Run, own: Postgres
) -> None:
    ada.environ["BUMBLE_INDEX_URL"] = own.url()
    looking.episode(
        ada, "kim", "Kim told me of the zanzibar.", by="stretch", people=["kim"], audience=["kim"]
    )
    ada.ok("index")
    own.kill()
    ran = ada("person", "forget", "kim", "--yes")
    assert ran.code == 31
    assert "The files have forgotten" in ran.err
    assert "zanzibar" not in "".join(path.read_text() for path in ada.entity.root.rglob("*.md"))
    own.start()
    assert own.sql("select text from bumble.texts where text like '%zanzibar%'")
    assert "vacuum full" in ada.ok("index").err
    assert not own.sql("select text from bumble.texts where text like '%zanzibar%'")
    assert "vacuum full" not in ada.ok("index").err


def test_commands_speak_of_the_server_as_of_the_file(ada: Run, postgres: Postgres) -> None:
    ada.environ["BUMBLE_INDEX_URL"] = postgres.url()
    made = ada.ok("index", "--json").data
    assert (made["added"], made["database"]) == (2, f"postgresql://127.0.0.1:{postgres.port}/life")
    assert "The tide was low." in ada.ok("recall", "tide").out
    assert not ada.file("memory.db").exists()
    shown = ada.ok("status", "--json").data["index"]
    assert (shown["exists"], shown["stale"], shown["server"]["role"]) == (True, 0, "keeper")
    assert "pgvector" in ada.ok("status").out
    examined = ada("doctor", "--json").data
    assert not [each for each in examined["findings"] if each["code"].startswith("index")]
    assert (examined["index"]["orphans"], examined["index"]["server"]["role"]) == (0, "keeper")
    assert examined["index"]["server"]["bytes"] > 500
    assert re.search(r"PostgreSQL \d+.*pgvector \d.*MB\), with 0 orphaned rows", ada("doctor").out)
    assert ada.ok("index", "--rebuild", "--json").data["added"] == 2
    ada.environ["BUMBLE_INDEX_BACKEND"] = "sqlite"
    assert ada.ok("index", "--json").data["added"] == 2
    assert "The tide was low." in ada.ok("recall", "tide").out


def test_a_server_without_an_address_is_said(ada: Run) -> None:
    ada.environ["BUMBLE_INDEX_BACKEND"] = "postgres"
    ran = ada("index")
    assert ran.code != 0
    assert "BUMBLE_INDEX_URL" in ran.err
