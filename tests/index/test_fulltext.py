from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from bumble.errors import IndexUnusableError
from bumble.index import fulltext
from bumble.index.filters import Allowed
from bumble.index.fulltext import IndexedTerms, Stamp


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "fulltext"
    fulltext.create(place)
    fulltext.write(
        place,
        (),
        [IndexedTerms(1, "tide lamp"), IndexedTerms(2, "tide"), IndexedTerms(3, "harbour")],
    )
    return place


def test_chunks_are_found_by_their_terms(folder: Path) -> None:
    words = fulltext.open_to_read(folder)
    assert words.best(["lamp", "tide"], 10) == [1, 2]
    assert words.best(["kestrel"], 10) == []


def test_a_changed_chunk_is_found_by_its_new_terms_only(folder: Path) -> None:
    fulltext.write(folder, [1], [IndexedTerms(1, "kestrel")])
    words = fulltext.open_to_read(folder)
    assert (words.best(["lamp"], 10), words.best(["kestrel"], 10), words.size) == ([], [1], 3)


def test_removed_chunks_do_not_count(folder: Path) -> None:
    fulltext.write(folder, [1], [])
    assert fulltext.open_to_read(folder).counts(["tide", "lamp"]) == {"tide": 1, "lamp": 0}


def test_only_allowed_chunks_are_returned_however_far_behind(folder: Path) -> None:
    fulltext.write(folder, (), [IndexedTerms(n, "tide tide") for n in range(10, 400)])
    asked: list[int] = []

    def ask(ids: Sequence[int]) -> set[int]:
        asked.extend(ids)
        return {1, 2}.intersection(ids)

    assert fulltext.open_to_read(folder).best(["tide"], 2, Allowed(ask)) == [2, 1]
    assert len(asked) == len(set(asked)) > 300, "a chunk was asked for twice"


def test_a_tie_is_settled_by_id_wherever_it_is_cut(folder: Path) -> None:
    for start in (900, 500, 700):
        fulltext.write(folder, (), [IndexedTerms(start + n, "owl") for n in range(50)])
    assert fulltext.open_to_read(folder).best(["owl"], 3) == [500, 501, 502]


def test_taking_the_same_change_twice_changes_nothing(folder: Path) -> None:
    for _ in range(2):
        fulltext.write(folder, [1, 9], [IndexedTerms(9, "owl")])
    words = fulltext.open_to_read(folder)
    assert (words.size, words.best(["owl"], 5)) == (3, [9])


def test_a_stamp_comes_back_and_a_broken_one_is_none(folder: Path) -> None:
    assert fulltext.read_stamp(folder) is None
    fulltext.write_stamp(folder, Stamp("abc", 4))
    assert fulltext.read_stamp(folder) == Stamp("abc", 4)
    (folder / fulltext.STAMP).write_text('{"token": "abc"}')
    assert fulltext.read_stamp(folder) is None


def test_no_index_is_an_error_with_advice(tmp_path: Path) -> None:
    with pytest.raises(IndexUnusableError, match="--rebuild"):
        fulltext.open_to_read(tmp_path / "nowhere")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_among_its_files_keeps_nobody_waiting(tmp_path: Path) -> None:
    fulltext.create(tmp_path / "fulltext")
    (tmp_path / "fulltext" / "meta.json").unlink()
    os.mkfifo(tmp_path / "fulltext" / "meta.json")
    with pytest.raises(IndexUnusableError, match="no plain file"):
        fulltext.write(tmp_path / "fulltext", (), ())
