from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.index import ingest, place
from bumble.index.ingest import scan
from bumble.index.sqlite import open_to_read
from bumble.index.sync import state
from tests.support.hashing import HashingEmbedder
from tests.support.sweeps import examples, turns

if TYPE_CHECKING:
    from tests.support.notes import Notes

QUERIES = ("tide and lantern", "who moved to Lisbon", "harbour", "what did you say")
CHILD = """
import itertools, os, sys
from datetime import UTC
from pathlib import Path
import apsw
from tests.support.hashing import HashingEmbedder
from bumble.entity.folder import Entity
from bumble.index.sync import sync

def die(*ignored):
    os._exit(9)

progress = None
if sys.argv[2].isdigit():
    statements = itertools.count()
    trace = lambda *ignored: next(statements) < int(sys.argv[2]) or die()
    apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(trace))
elif sys.argv[2] != "never":
    progress = lambda stage, done, total: die() if stage == sys.argv[2] else None
sync(Entity(Path(sys.argv[1])), HashingEmbedder(64), name="Ada", zone=UTC, progress=progress)
"""


def child(root: Path, die_at: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CHILD, str(root), die_at])


def fill(notes: Notes, count: int = 6) -> None:
    for n in range(count):
        notes.episode(f"{n}", f"The tide number {n} came with a lantern.", day=n)
    notes.session("a", [("sam", "I moved to Lisbon."), ("Ada", "How is the harbour?")])
    notes.write("knowledge.md", "## Tides\n\nThe moon pulls the harbour water.\n")


def rankings(notes: Notes, embedder: HashingEmbedder) -> list[object]:
    return [notes.ranking(query, embedder) for query in QUERIES]


def rebuilt(notes: Notes, embedder: HashingEmbedder) -> list[object]:
    notes.throw_away()
    notes.sync(embedder)
    return rankings(notes, embedder)


def test_a_first_sync_reads_and_embeds_everything(notes: Notes, embedder: HashingEmbedder) -> None:
    fill(notes)
    report = notes.sync(embedder)
    assert (report.added, report.changed, report.embedded, report.waiting) == (8, 0, 9, 0)


def test_a_sync_with_nothing_changed_does_nothing(notes: Notes, embedder: HashingEmbedder) -> None:
    fill(notes)
    notes.sync(embedder)
    report = notes.sync(embedder)
    assert (report.added, report.changed, report.unchanged, report.embedded) == (0, 0, 8, 0)


def test_deleting_the_index_gives_the_same_ranking(notes: Notes, embedder: HashingEmbedder) -> None:
    fill(notes)
    notes.sync(embedder)
    notes.episode("9", "Nine lanterns at the harbour.", day=2)
    notes.sync(embedder)
    before = rankings(notes, embedder)
    assert before[0]
    assert rebuilt(notes, embedder) == before


def test_equal_texts_rank_the_same_whatever_order_they_were_indexed_in(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    for n in reversed(range(300)):
        notes.episode(f"{n:03}", "The very same lantern.")
        if n % 100 == 0:
            notes.sync(embedder)
    before = rankings(notes, embedder)
    assert rebuilt(notes, embedder) == before


def test_only_a_changed_text_is_embedded_again(notes: Notes, embedder: HashingEmbedder) -> None:
    fill(notes)
    notes.sync(embedder)
    notes.write(
        "knowledge.md", "## New\n\nA line.\n\n## Tides\n\nThe moon pulls the harbour water.\n"
    )
    report = notes.sync(embedder)
    assert (report.changed, report.embedded) == (1, 1)
    assert [hit.line for hit in notes.search("moon", embedder)][:1] == [7]


def test_a_change_within_the_same_clock_tick_is_seen(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    path = notes.episode("1", "The tide.")
    notes.sync(embedder)
    stat = path.stat()
    path.write_text(path.read_text().replace("tide", "lamp"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    notes.sync(embedder)
    assert notes.search("lamp") and not notes.search("tide")


@pytest.mark.in_the_folder
def test_a_folder_of_many_files_is_known_by_one_digest(
    notes: Notes, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "MANY_FILES", 1)
    monkeypatch.setattr(ingest, "SETTLED_NS", 0)
    fill(notes)
    wait_for_the_clock(notes)
    notes.sync(embedder)
    with closing(open_to_read(notes.entity.vectors)) as database:
        assert database.seen()
    assert notes.sync(embedder).unchanged == 8
    # a file that came and went between two syncs leaves all others as they were
    more = notes.episode("9", "Nine herons at the weir.", day=2)
    notes.sync(embedder)
    assert notes.search("herons", embedder)[0].text == "Nine herons at the weir."
    more.unlink()
    assert notes.sync(embedder).removed == 1
    assert "herons" not in str(notes.search("herons", embedder))
    wait_for_the_clock(notes)
    assert notes.sync(embedder, name="Bea").changed == 1
    path = notes.episode("1", "Two herons at the weir.", day=1)
    assert notes.sync(embedder, name="Bea").changed == 1
    before = path.stat()
    path.write_text(path.read_text().replace("Two", "Ten"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert notes.sync(embedder, name="Bea").changed == 1
    assert rankings(notes, embedder)[0]


def wait_for_the_clock(notes: Notes) -> None:
    """Wait until the clock of the file system shows another time than the last file has."""
    newest = max(stamp[1] for stamp in scan(notes.entity).values())
    probe = notes.root / "clock"
    while probe.exists() is False or probe.stat().st_mtime_ns <= newest:
        probe.write_text("")


def test_a_broken_file_is_reported_each_time_and_its_old_rows_go(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    fill(notes)
    path = notes.episode("1", "The tide was blue.", day=1)
    notes.sync(embedder)
    path.write_text("---\nat: [\n---\n\nThe tide was blue.\n")
    for _ in range(2):
        report = notes.sync(embedder)
        assert [problem.path for problem in report.problems] == [path]
        assert report.problems[0].line is not None
    assert all(hit.id != "ep_1" for hit in notes.search("tide blue", embedder))
    notes.episode("1", "The tide was blue.", day=1)
    assert notes.sync(embedder).problems == ()


def test_without_an_embedder_words_are_indexed_and_vectors_follow(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    fill(notes)
    assert notes.sync(None).waiting == 9
    assert notes.search("lantern")[0].parts.cosine is None
    report = notes.sync(embedder)
    assert (report.changed, report.embedded, report.waiting) == (0, 9, 0)
    assert notes.search("lantern", embedder)[0].parts.cosine is not None


@pytest.mark.in_the_folder
@pytest.mark.parametrize(
    "die_at",
    [
        *turns(2, ("reading", "embedding", "30", "60", "90")),
        *(pytest.param(str(n), marks=pytest.mark.slow) for n in range(10, 120, 5)),
    ],
)
def test_a_kill_between_two_commits_is_mended_by_the_next_sync(
    notes: Notes, embedder: HashingEmbedder, die_at: str
) -> None:
    fill(notes)
    notes.sync(embedder)
    notes.episode("1", "The lantern went out at the harbour.", day=1)
    notes.episode("new", "Who moved the lantern?", day=1)
    next(notes.entity.episodes.glob("*/*/ep_3.md")).unlink()
    assert child(notes.root, die_at).wait() == 9
    notes.sync(embedder)
    after = rankings(notes, embedder)
    assert rebuilt(notes, embedder) == after


@pytest.mark.in_the_folder
def test_a_full_text_index_of_another_database_is_made_anew(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    fill(notes)
    notes.sync(embedder)
    before = rankings(notes, embedder)
    notes.entity.vectors.unlink()
    notes.sync(embedder)
    assert rankings(notes, embedder) == before
    shutil.rmtree(notes.entity.private)
    notes.sync(embedder)
    assert rankings(notes, embedder) == before


@pytest.mark.in_the_folder
@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "foreign"])
def test_a_damaged_database_is_made_anew(
    notes: Notes, embedder: HashingEmbedder, damage: str
) -> None:
    fill(notes)
    notes.sync(embedder)
    before, path = rankings(notes, embedder), notes.entity.vectors
    whole = path.read_bytes()
    damaged = {
        "garbage": b"not a database at all" * 500,
        "cut": whole[: len(whole) // 3],
        "empty": b"",
        "foreign": whole[:100] + b"\xff" * (len(whole) - 100),
    }
    path.write_bytes(damaged[damage])
    report = notes.sync(embedder)
    assert report.notes
    assert rankings(notes, embedder) == before


@pytest.mark.in_the_folder
def test_two_syncs_at_once_end_in_one_whole_index(notes: Notes, embedder: HashingEmbedder) -> None:
    fill(notes, 60)
    children = [child(notes.root, "never") for _ in range(2)]
    assert [one.wait() for one in children] == [0, 0]
    report = notes.sync(embedder)
    assert (report.added, report.changed, report.embedded, report.notes) == (0, 0, 0, ())
    after = rankings(notes, embedder)
    assert rebuilt(notes, embedder) == after


@pytest.mark.in_the_folder
def test_an_index_elsewhere_leaves_the_folder_alone(
    notes: Notes, embedder: HashingEmbedder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fill(notes)
    before = sorted(notes.root.rglob("*"))
    notes.sync(embedder, where=place.elsewhere(tmp_path_factory.mktemp("index")))
    assert sorted(notes.root.rglob("*")) == before


@pytest.mark.in_the_folder
def test_looking_counts_what_is_stale_and_writes_nothing(
    notes: Notes, embedder: HashingEmbedder
) -> None:
    fill(notes)
    assert state(notes.entity).stale == 8
    notes.sync(embedder)
    index = [notes.entity.vectors, notes.entity.private, *notes.entity.private.rglob("*")]
    before = {path: path.stat().st_mtime_ns for path in index}
    assert (state(notes.entity).stale, state(notes.entity, counts_orphans=True).orphans) == (0, 0)
    notes.episode("1", "Another tide.", day=1)
    notes.episode("8", "Another tide.", day=1)
    now = state(notes.entity)
    assert (now.stale, now.chunks, now.waiting, now.words) == (2, 9, 0, 9)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert sorted(notes.entity.private.rglob("*")) == sorted(index[2:])


TEXTS = st.sampled_from(
    [
        "The tide came in.",
        "A lantern at the harbour.",
        "Sam moved to Lisbon.",
        "",
        "潮が満ちた 🐝",
        "x\n\n" * 300,
    ]
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["write", "remove", "break", "say", "sync"]), st.integers(0, 5), TEXTS
    ),
    max_size=14,
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
def test_step_by_step_gives_the_same_index_as_all_at_once(
    edits: list[tuple[str, int, str]],
    tmp_path_factory: pytest.TempPathFactory,
    notes: Notes,
    embedder: HashingEmbedder,
) -> None:
    here = replace(notes, root=tmp_path_factory.mktemp("entity"))
    said: list[tuple[str, str]] = []
    for verb, n, text in edits:
        path = here.root / f"episodes/2026/05/ep_{n}.md"
        if verb == "write":
            here.episode(str(n), text)
        elif verb == "remove":
            path.unlink(missing_ok=True)
        elif verb == "break":
            here.write("episodes/2026/05/ep_9.md", f"---\nat: {n} [\n---\n{text}")
        elif verb == "say":
            said = [*said[-n - 1 :], ("sam", text)]
            here.session("a", said)
        else:
            here.sync(embedder)
    here.sync(embedder)
    step_by_step = rankings(here, embedder)
    assert rebuilt(here, embedder) == step_by_step
