"""What is made outside of an entity's folder: whole or not there, whenever its maker dies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bumble.bridges.exports import bundle, destination
from bumble.entity.folder import ENTITY_FILE
from bumble.files import disk, unfinished
from bumble.files.unfinished import SUFFIX, PendingCreation
from tests.support.kills import every_call, forks, in_child
from tests.support.running import Run
from tests.support.sweeps import WHOLE, sampled, stride, turns

Work = Callable[[], object]


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Path]:
    """Where the notes of makers lie."""
    folder = tmp_path / "state" / "unfinished"
    unfinished.begin(folder)
    yield folder
    unfinished.begin(tmp_path / "no-such-folder")


def dies_everywhere(notes: Path, work: Work, check: Callable[[bool], None], undo: Work) -> int:
    """Kill some work before its calls in turn, and let a next command begin behind it."""
    first, step = stride(4)
    for number in range(first, 10_000, step):

        def act(n: int, done: bool, at: int = number) -> None:
            if n == at and not done:
                os._exit(9)

        def killed() -> None:
            with every_call(act):
                work()

        ended = in_child(killed) == 0
        unfinished.begin(notes)
        assert not list(notes.glob("*")), number
        assert not list(notes.parents[1].rglob(f".*{SUFFIX}")), number
        check(ended)
        if ended:
            return number
        undo()
    raise AssertionError


def nothing() -> None:
    pass


@forks
@sampled
def test_a_file_is_the_old_one_or_the_new_one_and_nothing_lies_beside_it(
    notes: Path, tmp_path: Path
) -> None:
    dest = tmp_path / "card.json"
    dest.write_bytes(b"old")

    def check(ended: bool) -> None:
        assert dest.read_bytes() in ((b"new",) if ended else (b"old", b"new"))
        dest.write_bytes(b"old")

    assert dies_everywhere(notes, lambda: destination.put_file(dest, b"new"), check, nothing) > 5


@forks
@sampled
def test_a_folder_is_the_old_one_or_the_new_one_with_what_a_reader_keeps_in_it(
    notes: Path, tmp_path: Path
) -> None:
    dest = tmp_path / "copy"

    def set_up() -> None:
        disk.clear(dest)
        destination.put_folder(dest, {"a.md": "old"})
        (dest / ".obsidian").mkdir()
        (dest / ".obsidian" / "app.json").write_text("{}")

    def check(ended: bool) -> None:
        assert (dest / "a.md").read_text() in (("new",) if ended else ("old", "new"))
        assert (dest / ".obsidian" / "app.json").read_text() == "{}"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "state"]

    set_up()
    work = lambda: destination.put_folder(dest, {"a.md": "new", "b/c.md": "more"})  # noqa: E731
    assert dies_everywhere(notes, work, check, set_up) > 15


@forks
@sampled
@pytest.mark.parametrize("is_there", [False, True])
def test_a_restored_entity_is_all_there_or_not_at_all(
    notes: Path, tmp_path: Path, is_there: bool
) -> None:
    members = {ENTITY_FILE: b"name: Bo\n", "a.md": b"a\n", "z/b.md": b"b\n"}
    archive = tmp_path / "bo.zip"
    archive.write_bytes(bundle.packed(bundle.Bundle(members=members)))
    root = tmp_path / "again"

    def set_up() -> None:
        disk.clear(root)
        if is_there:
            root.mkdir()

    def work() -> None:
        with destination.folder(root, last=ENTITY_FILE) as draft:
            bundle.unpack(archive, draft)

    def check(ended: bool) -> None:
        names = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        assert names == set(members) or not (names or ended)
        assert root.exists() or not is_there

    set_up()
    assert dies_everywhere(notes, work, check, set_up) > 20


def test_what_is_being_made_is_left_to_its_maker(notes: Path, tmp_path: Path) -> None:
    new = tmp_path / f".x{SUFFIX}"
    with unfinished.noted(PendingCreation(str(new))):
        new.write_text("half")
        assert in_child(lambda: unfinished.begin(notes)) == 0
        assert new.read_text() == "half"
    assert not list(notes.glob("*"))


def test_a_note_that_names_another_file_removes_nothing(notes: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("mine")
    notes.mkdir(parents=True)
    (notes / "a.json").write_text(f'{{"new": "{mine}", "stays": []}}')
    (notes / "b.json").write_text("{")
    (notes / "c.lock").touch()
    unfinished.begin(notes)
    assert mine.read_text() == "mine"
    assert not list(notes.glob("*"))


@forks
@sampled
@pytest.mark.parametrize("there", turns(3, [None, [], ["notes.txt"]]))
def test_a_newborn_that_died_is_whole_or_can_be_made(
    run: Run, tmp_path: Path, there: list[str] | None
) -> None:
    root = tmp_path / "bo"
    for number in range(1, 10_000, 1 if WHOLE else 11):
        disk.clear(root)
        for name in there or ():
            root.mkdir()
            (root / name).write_text("mine")
        if there == []:
            root.mkdir()

        def act(n: int, done: bool, at: int = number) -> None:
            if n == at and not done:
                os._exit(9)

        def killed() -> None:
            with every_call(act):
                run("new", str(root), "--name", "Bo", "--owner", "Sam", "--no-git")

        ended = in_child(killed) == 0
        run.ok("status")
        assert not list(tmp_path.glob(f".*{SUFFIX}")), number
        assert not list(root.glob(f".*{SUFFIX}")), number
        if not (root / ENTITY_FILE).exists():
            run.ok("new", str(root), "--name", "Bo", "--owner", "Sam", "--no-git")
        assert run.ok("status", "-e", str(root)).out.startswith("Bo")
        if ended:
            break
    assert number > 11
