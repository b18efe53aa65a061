from __future__ import annotations

import os
from pathlib import Path

import pytest

from bumble.errors import FolderUnwritableError, WeightsMissingError
from bumble.files import disk
from bumble.models.weights import store
from bumble.models.weights.catalog import CatalogEntry, Hub, Local
from bumble.models.weights.pull import pull
from bumble.models.weights.store import PullOptions
from tests.support.serving import entry

CONTENT = b"weights" * 100


@pytest.fixture
def tiny(tmp_path: Path) -> CatalogEntry:
    original = tmp_path / "original.gguf"
    original.write_bytes(CONTENT)
    return entry(("model.gguf", CONTENT, (Local(original),)))


@pytest.fixture
def folder(tmp_path: Path, tiny: CatalogEntry) -> Path:
    folder = tmp_path / "weights"
    pull(tiny, folder, PullOptions())
    return folder


def test_what_was_pulled_is_found(folder: Path, tiny: CatalogEntry) -> None:
    found = store.find(folder, tiny)
    assert found is not None
    assert found.weights.read_bytes() == CONTENT
    assert found.source.endswith("original.gguf")


def test_a_file_that_stands_still_is_not_hashed_again(folder: Path, tiny: CatalogEntry) -> None:
    path = folder / "tiny/model.gguf"
    before = path.stat()
    path.write_bytes(CONTENT.swapcase())  # the same size, and soon the same time
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert store.find(folder, tiny) is not None


def test_a_changed_file_is_an_error_that_says_what_to_do(folder: Path, tiny: CatalogEntry) -> None:
    path = folder / "tiny/model.gguf"
    path.write_bytes(CONTENT.swapcase())
    os.utime(path, ns=(1, 1))
    with pytest.raises(WeightsMissingError, match="bumble model pull tiny") as caught:
        store.find(folder, tiny)
    assert str(path) in str(caught.value)


def test_missing_weights_say_how_large_they_are_and_how_to_get_them(tmp_path: Path) -> None:
    wanted = entry(("model.gguf", b"x" * 2_500_000, (Hub("a/b", "main", "c"),)))
    with pytest.raises(WeightsMissingError) as caught:
        store.require(tmp_path, wanted)
    for fact in ("tiny", "2 MB", "hub a/b", "bumble model pull tiny"):
        assert fact in str(caught.value)


def test_removing_frees_the_disk_and_what_a_pull_has_left(folder: Path, tiny: CatalogEntry) -> None:
    (folder / "tiny.part").mkdir()
    (folder / "tiny.part/model.gguf.hub-123").write_bytes(b"half")
    listed = [(kept.name, kept.complete) for kept in store.stored(folder)]
    assert listed == [("tiny", True), ("tiny", False)]
    assert store.remove(folder, "tiny") >= len(CONTENT) + len(b"half")
    assert store.find(folder, tiny) is None
    assert list(store.stored(folder)) == []


def test_weights_that_nothing_may_be_written_beside_are_used(
    folder: Path, tiny: CatalogEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(place: Path, data: bytes, *, mode: int | None = None) -> None:
        raise FolderUnwritableError(place, "Read-only file system")

    path = folder / "tiny/model.gguf"
    os.utime(path, ns=(1, 1))  # copied since: its hash is looked at
    before = (folder / "tiny/manifest.json").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(disk, "write_atomic", refused)
        found = store.find(folder, tiny)
        assert found is not None
        assert "Read-only file system" in found.unkept
        measured = store.record(found, {"mean": 0.5})
        assert measured.facts["mean"] == 0.5
        assert measured.unkept
    assert (folder / "tiny/manifest.json").read_bytes() == before
    assert not store.record(found, {"mean": 0.5}).unkept


def test_a_file_that_is_gone_is_an_error(folder: Path, tiny: CatalogEntry) -> None:
    (folder / "tiny/model.gguf").unlink()
    with pytest.raises(WeightsMissingError, match="is gone"):
        store.find(folder, tiny)
