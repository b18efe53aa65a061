"""The entities in `examples/` are such as this version reads, and nothing is wrong with them."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support import looking
from tests.support.running import Run

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.mark.parametrize("name", ["ada", "bea"])
def test_an_example_is_well_and_found_in(run: Run, tmp_path: Path, name: str) -> None:
    looking.without_models(run)
    run.now = datetime(2026, 12, 1, tzinfo=UTC)  # after all that it lived
    place = str(shutil.copytree(EXAMPLES / name, tmp_path / "example"))
    run.ok("config", "trust", place)  # it came from elsewhere
    report = run.ok("doctor", "-e", place, "--json").data
    assert report["clean"] is True
    assert {row["level"] for row in report["findings"]} <= {"note"}
    assert [row["code"] for row in report["findings"] if row["path"].endswith(".md")] == []
    assert "piano" in run.ok("show", "Sam", "-e", place).out
    assert "piano" in run.ok("recall", "piano", "-e", place, "--json").data["hits"][0]["text"]
