from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.llm import prefix_cache
from bumble.llm.prefix_cache import PrefixFolder

KEY = prefix_cache.key("weights", "engine", "q8_0", "4096", "session-1")
HERS = "ada"  # a family


@pytest.fixture
def folder(tmp_path: Path) -> PrefixFolder:
    folder = PrefixFolder(tmp_path / "prefixes", limit_bytes=10_000)
    folder.prepare()
    return folder


def writing(folder: PrefixFolder, data: bytes) -> Callable[[str], bool]:
    def write(filename: str) -> bool:
        (folder.folder / filename).write_bytes(data)
        return True

    return write


def names(folder: PrefixFolder) -> set[str]:
    return {path.name for path in folder.folder.iterdir()}


def test_what_is_saved_is_found(folder: PrefixFolder) -> None:
    assert folder.find(HERS, KEY) is None
    assert folder.save(HERS, KEY, writing(folder, b"tokens"))
    assert folder.find(HERS, KEY) == f"{HERS}-{KEY}.kv"
    assert (folder.folder / f"{HERS}-{KEY}.kv").read_bytes().startswith(b"tokens")


def test_a_new_conversation_begins_with_the_last_of_its_family(folder: PrefixFolder) -> None:
    for family, name, at in ((HERS, "a", 1), (HERS, "b", 3), (HERS, "c", 2), ("bea", "d", 4)):
        folder.save(family, name, writing(folder, b"tokens"))
        os.utime(folder.folder / f"{family}-{name}.kv", (at, at))
    assert folder.find(HERS, KEY) == "ada-b.kv"
    assert folder.find(HERS, "a") == "ada-a.kv"
    assert folder.find("cleo", KEY) is None


def test_what_has_no_family_is_found_under_its_own_name_alone(folder: PrefixFolder) -> None:
    folder.save(None, "stretch", writing(folder, b"tokens"))
    assert folder.find(None, "stretch") == "stretch.kv"
    assert folder.find(None, "dream") is None


def test_a_file_that_is_gone_meanwhile_costs_no_other(folder: PrefixFolder) -> None:
    folder.save(HERS, "a", writing(folder, b"tokens"))
    (folder.folder / f"{HERS}-b.kv").symlink_to(folder.folder / "gone")
    assert folder.find(HERS, "a") == f"{HERS}-a.kv"
    assert folder.find(HERS, "new") == f"{HERS}-a.kv"


def test_files_and_folder_are_for_their_owner_alone(folder: PrefixFolder) -> None:
    folder.save(HERS, KEY, writing(folder, b"tokens"))
    assert stat.S_IMODE(folder.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder.folder / f"{HERS}-{KEY}.kv").stat().st_mode) == 0o600


def truncate(data: bytes) -> bytes:
    return data[:-1]


def flip(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def empty(_: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [truncate, flip, empty])
def test_a_damaged_file_is_discarded(
    folder: PrefixFolder, damage: Callable[[bytes], bytes]
) -> None:
    folder.save(HERS, KEY, writing(folder, b"tokens"))
    path = folder.folder / f"{HERS}-{KEY}.kv"
    path.write_bytes(damage(path.read_bytes()))
    assert folder.find(HERS, KEY) is None
    assert not path.exists()


def test_the_least_recently_used_is_evicted(folder: PrefixFolder) -> None:
    keys = [prefix_cache.key(str(number)) for number in range(3)]
    for used_at, key in zip((1000, 2000, 3000), keys, strict=True):
        folder.save(HERS, key, writing(folder, b"x" * 3000))
        os.utime(folder.folder / f"{HERS}-{key}.kv", (used_at, used_at))
    folder.find(HERS, keys[0])
    folder.save(HERS, KEY, writing(folder, b"x" * 3000))
    assert names(folder) == {f"{HERS}-{key}.kv" for key in (keys[0], keys[2], KEY)}


def test_many_writers_never_leave_a_broken_file(folder: PrefixFolder) -> None:
    found: list[str | None] = []

    def work(number: int) -> None:
        for _ in range(20):
            folder.save(HERS, KEY, writing(folder, bytes([number]) * 2000))
            found.append(folder.find(HERS, KEY))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [f"{HERS}-{KEY}.kv"] * 80
    assert names(folder) == {f"{HERS}-{KEY}.kv"}
