# ruff: noqa: S608
from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

pytest.importorskip("psycopg")

import psycopg

from bumble.cli import check_folder
from bumble.errors import IndexServerError, UsageError
from bumble.index import place, postgres_server
from bumble.index import postgres as postgres_index
from bumble.index.ingest import SyncReport
from bumble.index.memory import Memory
from bumble.index.postgres import MIGRATIONS, TABLES
from bumble.index.postgres_server import PostgresServer
from bumble.index.search import opened
from bumble.index.sync import INSTEAD, state, sync
from bumble.records import kinds
from tests.support.hashing import HashingEmbedder
from tests.support.notes import Notes
from tests.support.postgres import Postgres, free_port, running

QUERIES = (
    "tide and lantern",
    "who moved to Lisbon",
    "the harbour's edge",
    "was ist am Hafen",
    "of",
)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """An empty entity folder."""
    root = tmp_path / "ada"
    root.mkdir()
    (root / "entity.yaml").write_text("name: Ada\n")
    return Notes(root)


def fill(notes: Notes, count: int = 6) -> None:
    for n in range(count):
        notes.episode(f"{n}", f"The tide number {n} came with a lantern.", day=n)
    notes.session("a", [("sam", "I moved to Lisbon."), ("Ada", "How is the harbour's edge?")])
    notes.write("knowledge.md", "## Hafen\n\nDer Hafen liegt im Norden, wo die Schiffe warten.\n")


def another(notes: Notes, folder: Path, name: str = "other") -> Notes:
    root = folder / name
    root.mkdir()
    (root / "entity.yaml").write_text("name: Bea\n")
    return replace(notes, root=root)


def contents(notes: Notes) -> dict[str, bytes]:
    return {
        str(path.relative_to(notes.root)): path.read_bytes()
        for path in sorted(notes.root.rglob("*"))
        if path.is_file() and ".bumble" not in path.parts and "memory.db" not in path.name
    }


def test_both_stores_rank_alike_and_leave_the_files_alone(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres
) -> None:
    fill(notes, 320)  # more than are ranked whole
    notes.sync(embedder)
    here, before = [notes.ranking(query, embedder) for query in QUERIES], contents(notes)
    there = postgres.serving(notes)
    there.sync(embedder)
    assert [there.ranking(query, embedder) for query in QUERIES] == here
    assert there.sync(embedder).embedded == 0
    assert contents(notes) == before
    notes.throw_away()
    notes.sync(embedder)
    assert [notes.ranking(query, embedder) for query in QUERIES] == here


def test_no_entity_meets_what_is_anothers(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres, tmp_path: Path
) -> None:
    first = postgres.serving(notes)
    fill(first)
    first.sync(embedder)
    second = another(first, tmp_path, "x'; drop table bumble.chunks; --")
    second.episode("9", "Nobody's tide. '); delete from bumble.texts; --", people=["' or 1=1 --"])
    second.sync(embedder, name="'; reset role; --")
    assert {hit.id for hit in second.search("tide lantern Lisbon", embedder)} == {"ep_9"}
    assert second.search("tide", embedder, people=("x' or true --",)) == []
    assert second.search("tide ' | !'lantern", kinds=("') or true --",)) == []
    assert len(first.search("tide", embedder, kinds=("episode",))) == 6
    second.sync(embedder, rebuild=True)
    assert len(first.search("tide", embedder, kinds=("episode",))) == 6


def rows_seen(connection: psycopg.Connection[Any]) -> int:
    parts = " + ".join(f"(select count(*) from bumble.{table})" for table in TABLES)
    (count,) = connection.execute(f"select {parts}").fetchone() or (0,)
    return int(count)


def test_the_server_itself_shows_a_session_its_own_entity_alone(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres, tmp_path: Path
) -> None:
    first = postgres.serving(notes)
    fill(first)
    first.sync(embedder)
    second = another(first, tmp_path)
    second.episode("9", "Nobody's tide.")
    second.sync(embedder)
    own = postgres_server.read_id(second.entity)
    with psycopg.connect(postgres.url(), autocommit=True) as session:
        assert rows_seen(session) == 0
        session.execute("select set_config('bumble.entity', %s, false)", (own,))
        assert session.execute("select count(*) from bumble.files").fetchone() == (1,)
        for claim in ("", "' or true --", "%", "1"):
            session.execute("select set_config('bumble.entity', %s, false)", (claim,))
            assert rows_seen(session) == 0
            assert session.execute("select count(*) from bumble.entities").fetchone() == (0,)


def test_a_role_of_its_own_keeps_an_entity_from_others_whatever_they_set(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres, tmp_path: Path
) -> None:
    first = postgres.serving(notes)
    fill(first)
    first.sync(embedder)
    postgres.role("bea")
    for line in (
        "grant usage on schema bumble to bea",
        "grant select, insert, update, delete on all tables in schema bumble to bea",
    ):
        postgres.sql(line)
    second = another(postgres.serving(notes, user="bea"), tmp_path)
    second.episode("9", "Nobody's tide.")
    second.sync(embedder)
    assert [hit.id for hit in second.search("tide", embedder)] == ["ep_9"]
    key = postgres_server.read_id(first.entity)
    with psycopg.connect(postgres.url(user="bea"), autocommit=True) as session:
        session.execute("create function pg_temp.pg_has_role(name, oid, text) returns boolean"
                        " language sql as 'select true'")  # fmt: skip
        session.execute("set search_path = pg_temp, pg_catalog")
        session.execute("select set_config('bumble.entity', %s, false)", (key,))
        assert rows_seen(session) == 0
        with pytest.raises(psycopg.Error):
            session.execute("insert into bumble.meta values (1, 'name', 'mine')")
        with pytest.raises(psycopg.Error):
            session.execute("set row_security = off; select * from bumble.chunks")
    # the same id, claimed by another role, is another entity
    thief = another(second, tmp_path, "thief")
    (thief.entity.private).mkdir()
    (thief.entity.private / postgres_server.ID_FILE).write_text(f"{key}\n")
    thief.sync(embedder)
    assert thief.search("tide", embedder) == []
    assert len(first.search("tide", embedder, kinds=("episode",))) == 6


def test_an_id_that_is_none_is_replaced_and_a_link_is_not_followed(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres, tmp_path: Path
) -> None:
    first = postgres.serving(notes)
    fill(first)
    first.sync(embedder)
    second = another(first, tmp_path)
    second.entity.private.mkdir()
    (second.entity.private / postgres_server.ID_FILE).write_text("' or true --")
    second.sync(embedder)
    assert second.search("tide", embedder) == []
    (second.entity.private / postgres_server.ID_FILE).unlink()
    elsewhere = first.entity.private / postgres_server.ID_FILE
    (second.entity.private / postgres_server.ID_FILE).symlink_to(elsewhere)
    with pytest.raises(Exception, match="out of"):
        second.search("tide", embedder)


def test_a_second_machine_reads_what_the_first_embedded(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres, tmp_path: Path
) -> None:
    first = postgres.serving(notes)
    fill(first)
    first.sync(embedder)
    second = another(first, tmp_path)
    for path, data in contents(first).items():
        second.write(path, data.decode())
    second.entity.private.mkdir()
    source = first.entity.private / postgres_server.ID_FILE
    (second.entity.private / postgres_server.ID_FILE).write_bytes(source.read_bytes())
    report = second.sync(embedder)
    assert (report.added, report.changed, report.embedded) == (0, 0, 0)
    second.episode("7", "A tide that the other machine wrote.", day=9)
    assert second.sync(embedder).added == 1
    assert second.search("machine", embedder)[0].id == "ep_7"


def test_what_is_forgotten_leaves_no_row(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres
) -> None:
    there = postgres.serving(notes)
    fill(there)
    there.episode("gone", "Quillfeather told me of the zanzibar.", day=2)
    there.sync(embedder)
    next(notes.entity.episodes.glob("*/*/ep_gone.md")).unlink()
    report = there.sync(None, shreds=True)
    assert report.notes == (postgres_index.REMAINS,)
    for table in TABLES:
        rows = postgres.sql(f"select t::text from bumble.{table} t")
        assert not [row for row in rows if "zanzibar" in row[0] or "quillfeather" in row[0].lower()]
    assert there.server is not None
    assert state(there.entity, there.at, counts_orphans=True).orphans == 0


def test_the_state_tells_what_stands_where(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres
) -> None:
    there = postgres.serving(notes)
    fill(there)
    assert not state(there.entity, there.at).exists
    there.sync(embedder)
    now = state(there.entity, there.at, counts_orphans=True)
    assert (now.exists, now.chunks, now.waiting, now.orphans, now.stale) == (True, 9, 0, 0, 0)
    assert now.server is not None
    assert now.server["pgvector"] and now.server["bytes"] > 5_000
    assert not now.server["unwalled"]
    assert check_folder.check_index(there.entity, None, lambda: there.at) == (now, [])
    admin = postgres.serving(notes, user="admin")
    admin.sync(embedder)
    _, findings = check_folder.check_index(admin.entity, None, lambda: admin.at)
    assert [finding.code for finding in findings] == ["index-role"]


def test_a_server_that_is_away_is_named_without_its_password(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    url = f"postgresql://sam:s3cret@127.0.0.1:{free_port()}/life?password=s3cret"
    away = replace(notes, server=PostgresServer(url))
    fill(away)
    for act in (
        lambda: away.sync(embedder),
        lambda: away.search("tide"),
        lambda: state(away.entity, away.at),
    ):
        with pytest.raises(IndexServerError, match="does not answer") as caught:
            act()
        assert "s3cret" not in str(caught.value)
        assert "index.fallback" in str(caught.value)
    _, (finding,) = check_folder.check_index(away.entity, None, lambda: away.at)
    assert finding.code == "index-server"
    with pytest.raises(UsageError) as refused:
        PostgresServer("host=localhost password=s3cret")
    assert "s3cret" not in str(refused.value)


def test_the_folders_own_index_stands_in_where_that_is_wanted(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    fill(notes)
    local = place.of(notes.entity)
    server = PostgresServer(f"postgresql://sam@127.0.0.1:{free_port()}/life")
    at = replace(local, server=server, local=local)
    report = sync(notes.entity, embedder, name="Ada", zone=UTC, where=at)
    assert report.added == 8
    assert INSTEAD in report.notes[0]
    with opened(notes.entity, at) as index:
        assert index.lengths.chunks == 9


class Leaving(PostgresServer):
    """A server that is there when it is reached first, and gone when it is asked."""

    times = 0

    def reach(self) -> None:
        self.times += 1
        if self.times > 1:
            super().reach()


def test_the_folders_own_index_stands_in_for_a_server_that_goes_while_it_is_asked(
    notes: Notes,
) -> None:
    fill(notes)
    postgres_server.make_id(notes.entity)
    local, url = place.of(notes.entity), f"postgresql://sam@127.0.0.1:{free_port()}/life"
    for stands_in, found in ((local, 1), (None, 0)):
        at = replace(local, server=Leaving(url), local=stands_in)
        memory = Memory(
            notes.entity, lambda: None, name="Ada", zone=ZoneInfo("UTC"), place=at, optional=True
        )
        assert len(memory.search("lantern", kinds=kinds.RECALLED, limit=1)) == found
        assert ("does not answer" in memory.unusable) == (not found)


def test_a_database_without_pgvector_is_named_with_what_to_do(
    notes: Notes, postgres: Postgres
) -> None:
    postgres.role("plain")
    postgres.sql("create database plain owner plain", database="postgres")
    postgres.sql("alter database plain owner to admin", database="postgres")
    server = PostgresServer(postgres.url("plain", "plain"))
    with pytest.raises(IndexServerError, match="pgvector"):
        replace(notes, server=server).sync()


@pytest.mark.slow
def test_several_machines_that_sync_at_once_end_in_one_whole_index(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres
) -> None:
    there = postgres.serving(notes)
    fill(there, 60)
    postgres_server.make_id(there.entity)

    def machine(number: int) -> SyncReport:
        rebuild = number == 2
        return postgres.serving(notes).sync(HashingEmbedder(64), rebuild=rebuild)

    with ThreadPoolExecutor(4) as machines:
        reports = list(machines.map(machine, range(4)))
    assert all(report.complete for report in reports)
    assert sum(report.added for report in reports) in (62, 124)  # one started anew
    now = state(there.entity, there.at, counts_orphans=True)
    assert (now.chunks, now.waiting, now.orphans, now.stale) == (63, 0, 0, 0)
    ranking = there.ranking("tide lantern", embedder)
    there.sync(embedder, rebuild=True)
    assert there.ranking("tide lantern", embedder) == ranking


@pytest.fixture
def own() -> Iterator[Postgres]:
    """A server that may be killed."""
    with running() as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["reading", "embedding"])
@pytest.mark.parametrize("rebuild", [False, True])
def test_a_server_killed_in_the_middle_leaves_nothing_to_mend(
    notes: Notes,
    embedder: HashingEmbedder,
    own: Postgres,
    stage: str,
    rebuild: bool,
) -> None:
    there = own.serving(notes)
    fill(there)
    there.sync(embedder)
    there.episode("1", "The lantern went out at the harbour.", day=1)
    before = contents(notes)

    def cut(now: str, done: int, total: int) -> None:
        if now == stage:
            own.kill()

    with pytest.raises(IndexServerError, match="does not answer"):
        there.sync(embedder, progress=cut, rebuild=rebuild)
    with pytest.raises(IndexServerError, match="does not answer"):
        there.search("tide", embedder)
    own.start()
    again = own.serving(notes)
    again.sync(embedder)
    after = [again.ranking(query, embedder) for query in QUERIES]
    assert state(again.entity, again.at, counts_orphans=True).orphans == 0
    again.throw_away()
    again.sync(embedder)
    assert [again.ranking(query, embedder) for query in QUERIES] == after
    assert contents(notes) == before


@pytest.mark.slow
def test_a_server_killed_in_a_recall_is_said_and_the_next_recall_finds(
    notes: Notes, embedder: HashingEmbedder, own: Postgres
) -> None:
    there = own.serving(notes)
    fill(there)
    there.sync(embedder)
    with (
        pytest.raises(IndexServerError, match="does not answer"),
        opened(there.entity, there.at) as index,
    ):
        own.kill()
        index.store.passing()
    own.start()
    assert own.serving(notes).search("tide", embedder)


@pytest.mark.slow
def test_tables_of_an_older_bumble_are_brought_up_to_date(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.fresh()
    with monkeypatch.context() as older:
        older.setattr(postgres_server, "MIGRATIONS", MIGRATIONS[:1])
        there = replace(notes, server=PostgresServer(url))
        fill(there)
        there.sync(embedder)
    now = replace(notes, server=PostgresServer(url))
    assert now.sync(embedder).unchanged == 8
    database = url.rpartition("/")[2]
    assert postgres.sql("select number from bumble.version", database=database) == [
        (len(MIGRATIONS),)
    ]
    assert now.search("tide", embedder)


def test_what_postgres_expects_of_an_entity_does_not_rest_on_samples(
    notes: Notes, embedder: HashingEmbedder, postgres: Postgres
) -> None:
    """Of one that is new to them it would expect no row, and look through all it has."""
    there = postgres.serving(notes)
    fill(there)
    there.sync(embedder)
    postgres.sql("analyze")
    sampled = "select attname from pg_stats where schemaname = 'bumble' and tablename = 'chunks'"
    columns = {column for (column,) in postgres.sql(sampled)}
    assert "hash" in columns
    assert "entity" not in columns


def test_tables_of_a_newer_bumble_are_refused(notes: Notes, postgres: Postgres) -> None:
    url = postgres.fresh()
    there = replace(notes, server=PostgresServer(url))
    there.sync()
    postgres.sql("update bumble.version set number = 99", database=url.rpartition("/")[2])
    with pytest.raises(IndexServerError, match=f"newer bumble.*{len(MIGRATIONS)}"):
        replace(notes, server=PostgresServer(url)).sync()
