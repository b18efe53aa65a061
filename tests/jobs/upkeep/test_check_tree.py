from __future__ import annotations

import multiprocessing
import unicodedata
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from bumble.cli import check_folder
from bumble.entity import changes
from bumble.entity.folder import Entity
from bumble.files import disk


def codes(entity: Entity) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in check_folder.check_tree(entity)]


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    (tmp_path / "workspace").mkdir()
    return Entity(tmp_path)


def test_two_forms_of_one_accent_clash(entity: Entity) -> None:
    for form in ("NFC", "NFD"):
        (entity.workspace / unicodedata.normalize(form, "café")).touch()
    assert [code for code, _ in codes(entity)] == ["name-clash"]


def test_links_are_followed_to_their_end_and_not_walked(entity: Entity, tmp_path: Path) -> None:
    outside = tmp_path.with_name(f"{tmp_path.name}-outside")
    outside.mkdir()
    (outside / "hop").symlink_to("/")
    (entity.workspace / "hop").symlink_to(outside)
    (entity.workspace / "link").symlink_to("hop")
    (entity.workspace / "lost").symlink_to("nowhere")
    assert codes(entity) == [
        ("link-out", "workspace/hop"),
        ("link-out", "workspace/link"),
        ("link-out", "workspace/lost"),
    ]


def test_what_git_keeps_is_not_looked_into(entity: Entity) -> None:
    for place in (".git", "workspace/.git"):
        (entity.root / place).mkdir()
        (entity.root / place / "out").symlink_to("/")
    assert codes(entity) == []


def hold(path: Path, taken: Event, done: Event) -> None:
    with disk.lock(path, place=path.parent, timeout_seconds=5):
        taken.set()
        done.wait(30)


def test_lock_of_another_process_is_seen_and_left_alone(entity: Entity) -> None:
    path = changes.lock_path(entity.root)
    assert not disk.is_locked(path)
    assert not path.exists()
    context = multiprocessing.get_context("spawn")
    taken, done = context.Event(), context.Event()
    other = context.Process(target=hold, args=(path, taken, done))
    other.start()
    assert taken.wait(30)
    before = path.stat()
    assert disk.is_locked(path)
    assert (path.stat().st_mtime_ns, path.stat().st_ctime_ns) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    done.set()
    other.join(30)
    assert not disk.is_locked(path)


def test_leftovers_of_a_writer_at_work_are_not_looked_at(entity: Entity) -> None:
    (entity.private / "intents" / "0123456789abcdef").mkdir(parents=True)
    (entity.root / ".x.1a2b.bumble-tmp").touch()
    path = changes.lock_path(entity.root)
    with disk.lock(path, place=entity.root, timeout_seconds=1):
        assert [one.code for one in check_folder.check_leftovers(entity)] == ["lock-held"]
    left = [one.code for one in check_folder.check_leftovers(entity)]
    assert left == ["change-unfinished", "file-stray"]
