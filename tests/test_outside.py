"""What is made outside of an entity's folder: whole or not there, whenever its maker dies."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.bridges.exports import bundle, destination
from bumble.entity.folder import ENTITY_FILE
from bumble.files import disk
from bumble.files.disk import TEMPORARY_SUFFIX
from tests.support.kills import every_call, forks, in_child
from tests.support.running import Run
from tests.support.sweeps import WHOLE, sampled, stride, turns

Work = Callable[[], object]


def dies_everywhere(work: Work, check: Callable[[bool], None], undo: Work) -> int:
    """Kill some work before its calls in turn."""
    first, step = stride(4)
    for number in range(first, 10_000, step):

        def act(n: int, done: bool, at: int = number) -> None:
            if n == at and not done:
                os._exit(9)

        def killed() -> None:
            with every_call(act):
                work()

        ended = in_child(killed) == 0
        check(ended)
        if ended:
            return number
        undo()
    raise AssertionError


def nothing() -> None:
    pass


def names(folder: Path) -> list[str]:
    """Return what lies in a folder, but for what nobody waits for."""
    found = sorted(path.name for path in folder.iterdir())
    return [name for name in found if not name.endswith(TEMPORARY_SUFFIX)]


@forks
@sampled
def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    dest = tmp_path / "card.json"
    dest.write_bytes(b"old")

    def check(ended: bool) -> None:
        assert dest.read_bytes() in ((b"new",) if ended else (b"old", b"new"))
        dest.write_bytes(b"old")

    assert dies_everywhere(lambda: destination.put_file(dest, b"new"), check, nothing) > 5


@forks
@sampled
def test_a_folder_is_an_export_with_what_a_reader_keeps_in_it(tmp_path: Path) -> None:
    dest = tmp_path / "copy"

    def set_up() -> None:
        disk.clear(dest)
        destination.put_folder(dest, {"a.md": "old"})
        (dest / ".obsidian").mkdir()
        (dest / ".obsidian" / "app.json").write_text("{}")

    def check(ended: bool) -> None:
        assert (dest / "a.md").read_text() in (("new",) if ended else ("old", "new"))
        assert (dest / ".obsidian" / "app.json").read_text() == "{}"
        destination.put_folder(dest, {"a.md": "newest"})
        assert not (dest / "b/c.md").exists()
        assert (dest / "a.md").read_text() == "newest"
        assert names(tmp_path) == ["copy"]

    set_up()
    work = lambda: destination.put_folder(dest, {"a.md": "new", "b/c.md": "more"})  # noqa: E731
    assert dies_everywhere(work, check, set_up) > 15


@forks
@sampled
@pytest.mark.parametrize("is_there", [False, True])
def test_a_restored_entity_is_all_there_or_not_at_all(tmp_path: Path, is_there: bool) -> None:
    members = {ENTITY_FILE: b"name: Bo\n", "a.md": b"a\n", "z/b.md": b"b\n"}
    archive = tmp_path / "bo.zip"
    archive.write_bytes(bundle.packed(bundle.Bundle(members=members)))
    root = tmp_path / "again"

    def set_up() -> None:
        disk.clear(root)
        if is_there:
            root.mkdir()

    def work() -> None:
        with destination.folder(root) as draft:
            bundle.unpack(archive, draft)

    def check(ended: bool) -> None:
        there = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        assert there == set(members) or not (ended or ENTITY_FILE in there)
        assert root.exists() or not is_there

    set_up()
    assert dies_everywhere(work, check, set_up) > 20


def test_what_a_process_left_goes_a_day_later(tmp_path: Path) -> None:
    dest = tmp_path / "card.json"
    left, lately, others = (
        tmp_path / f".{name}{TEMPORARY_SUFFIX}" for name in ("card.json.1", "card.json.2", "b.3")
    )
    for path in (left, lately, others):
        path.write_text("half")
    for path in (left, others):
        os.utime(path, (1e9, 1e9))
    destination.put_file(dest, b"new")
    assert [path.exists() for path in (left, lately, others)] == [False, True, True]


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
        if not (root / ENTITY_FILE).exists():
            run.ok("new", str(root), "--name", "Bo", "--owner", "Sam", "--no-git")
        assert run.ok("status", "-e", str(root)).out.startswith("Bo")
        if ended:
            break
    assert number > 11
