from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bumble.errors import FolderUnwritableError, IndexUnusableError
from bumble.index import rows, sqlite
from tests.support.kills import forks, in_child
from tests.support.notes import Notes

RNG = np.random.default_rng(3)


def unit(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    vector = np.array(values, np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def test_the_nearest_come_first_with_their_cosines(tmp_path: Path) -> None:
    with closing(sqlite.create(tmp_path / "memory.db")) as stored:
        near, far = unit(1, 1, *[0] * 6), unit(0, 1, *[0] * 6)
        stored.put_vectors([(1, far), (2, near)])
        found = stored.nearest(unit(1, *[0] * 7), 5)
    assert [one for one, _ in found] == [2, 1]
    assert found[0][1] == pytest.approx(0.5**0.5, abs=1e-6)


def test_among_many_rows_bits_choose_what_floats_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = RNG.standard_normal((600, 128)).astype(np.float32)
    query = rows[17] + np.float32(0.5) * rows[18]
    with closing(sqlite.create(tmp_path / "memory.db")) as stored:
        stored.put_vectors(enumerate(rows / np.linalg.norm(rows, axis=1, keepdims=True)))
        exact = stored.nearest(query, 10)
        monkeypatch.setattr(sqlite, "EXACT_ROWS", 100)
        coarse = stored.nearest(query, 10)
    assert coarse[:2] == exact[:2]
    assert len({one for one, _ in coarse} & {one for one, _ in exact}) >= 7


def test_the_id_of_a_passage_depends_on_its_file_record_and_place() -> None:
    places = [("a.md", "ep_1", 0), ("b.md", "ep_1", 0), ("a.md", "ep_2", 0), ("a.md", "ep_1", 1)]
    ids = {rows.passage_id(*place) for place in places}
    assert len(ids) == 4
    assert all(0 <= one < 2**63 for one in ids)


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite.create(path)) as stored:
        stored.set_meta("schema", "0")
    with pytest.raises(IndexUnusableError, match="another version") as caught:
        sqlite.open_to_read(path)
    assert caught.value.exit_code == 30


def test_a_folder_that_takes_no_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderUnwritableError, match="file"):
        sqlite.create(tmp_path / "file" / "memory.db")


@forks
def test_what_a_killed_writer_left_is_read_without_writing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite.create(path)) as stored, stored.transaction():
        stored.set_meta("name", "Ada")

    def half_written() -> None:
        written = sqlite.open_to_write(path)
        connection = written._db
        connection.execute("begin immediate")
        written.set_meta("name", "half")
        connection.cache_flush()
        os.kill(os.getpid(), signal.SIGKILL)

    in_child(half_written)
    names = (path, path.with_name("memory.db-journal"))
    before = [file.read_bytes() for file in names]
    with closing(sqlite.open_to_read(path)) as reader:
        assert reader.meta("name") == "Ada"
    assert [file.read_bytes() for file in names] == before
    with closing(sqlite.open_to_write(path)) as stored:
        assert stored.meta("name") == "Ada"
    assert not names[1].exists()


def test_words_are_counted_as_in_a_new_index_whatever_was_taken_out(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    (tmp_path / "entity.yaml").write_text("name: Ada\n")
    paths = [
        notes.episode(f"{n}", f"The tide number {n} came with a lantern.", day=n) for n in range(6)
    ]
    notes.sync()
    paths[0].unlink()
    notes.episode("1", "It was a lantern alone.", day=1)
    notes.sync()
    with closing(sqlite.open_to_read(notes.entity.vectors)) as stored:
        assert stored.counts(["tide", "lantern", "whale"]) == {"tide": 4, "lantern": 5, "whale": 0}
        assert stored.words_size() == stored.size() == 5
