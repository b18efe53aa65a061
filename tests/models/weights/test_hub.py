from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bumble.models.weights import hub as source_hub
from bumble.models.weights.catalog import Hub
from bumble.models.weights.store import PullOptions, SourceRefusedError
from tests.support.serving import FakeHub, hub

CONTENT = random.Random(1).randbytes(300_000)
MODEL = Hub("me/model", "abc123", "onnx/model.onnx")
URL = "/me/model/resolve/abc123/onnx/model.onnx"


@pytest.fixture
def fake() -> Iterator[FakeHub]:
    with hub({URL: CONTENT}) as served:
        yield served


def fetch(fake: FakeHub, part: Path) -> list[int]:
    seen: list[int] = []
    means = PullOptions(endpoint=fake.endpoint)
    source_hub.fetch(MODEL, part, len(CONTENT), means, seen.append)
    return seen


def test_a_file_comes_whole_and_its_progress_is_told(fake: FakeHub, tmp_path: Path) -> None:
    seen = fetch(fake, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT
    assert seen == sorted(seen)
    assert seen[-1] == len(CONTENT)


def test_a_pull_goes_on_where_the_last_one_stopped(fake: FakeHub, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(CONTENT[:100_000])
    fetch(fake, part)
    assert part.read_bytes() == CONTENT
    assert fake.asked == ["bytes=100000-"]


def test_a_line_that_drops_is_taken_up_again(fake: FakeHub, tmp_path: Path) -> None:
    fake.cut_after = [70_000, 70_000]
    fetch(fake, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT
    assert fake.asked == [None, "bytes=70000-", "bytes=140000-"]


def test_a_file_that_is_larger_than_it_should_be_is_a_refusal(tmp_path: Path) -> None:
    with hub({URL: CONTENT * 20}) as fake, pytest.raises(SourceRefusedError, match="sends more"):
        fetch(fake, tmp_path / "part")


def test_a_hub_that_never_answers_says_no_within_seconds(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_hub, "_ANSWER_SECONDS", 0.5)
    fake.silent = True
    began = time.monotonic()
    assert (
        source_hub.refusal(MODEL, PullOptions(endpoint=fake.endpoint))
        == "did not answer within 0.5 s"
    )
    assert time.monotonic() - began < 3


def test_a_hub_that_never_answers_is_waited_for_once(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_hub, "_ANSWER_SECONDS", 0.2)
    fake.silent = True
    means = PullOptions(endpoint=fake.endpoint)
    other = Hub("me/other", "main", "model.gguf")
    assert source_hub.refusal(MODEL, means) == source_hub.refusal(other, means)
    assert len(fake.heads) == 1
