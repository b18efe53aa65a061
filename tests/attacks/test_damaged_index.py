from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.support.looking import episode, without_models
from tests.support.running import Run

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "noise": lambda data: random.Random(3).randbytes(max(len(data), 64)),
    "zeros": lambda data: bytes(len(data)),
    "more": lambda data: data + random.Random(4).randbytes(500),
    "deep": lambda _: b"[" * 200_000,
    "turned": lambda data: bytes(255 - one for one in data),
}


@pytest.fixture
def searched(full: Run) -> Run:
    run = without_models(full)
    for n in range(20):
        episode(run, f"{n}", f"The owl of the mill, night {n}.")
    assert "owl" in run.ok("recall", "owl").out
    return run


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_corrupt_full_text_index_is_made_anew(searched: Run, damage: str) -> None:
    folder = searched.file(".bumble/fulltext")
    names = sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))
    said = ""
    for name in names:
        place = folder / name
        if not place.exists():  # its segment was made anew under another name
            continue
        place.write_bytes(DAMAGE[damage](place.read_bytes()))
        for words in (("status",), ("doctor",)):
            assert searched(*words).code in (0, 12, 30)
        ran = searched("recall", "owl")
        assert ran.code == 0, f"{name}: {ran.err}"
        assert "owl" in ran.out, f"{name}: {ran.err}"
        said += ran.err
    assert "was damaged and is made anew" in said


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_corrupt_database_is_made_anew(searched: Run, damage: str) -> None:
    place = searched.file("memory.db")
    place.write_bytes(DAMAGE[damage](place.read_bytes()))
    assert searched("status").code in (0, 30)
    ran = searched("recall", "owl")
    assert (ran.code, "owl" in ran.out) == (0, True), ran.err
    assert damage == "more" or "made anew" in ran.err
