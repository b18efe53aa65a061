"""The entity in `examples/` is one that this version reads, and of which nothing is wrong."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from tests.support import looking
from tests.support.running import Run

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "ada"


def test_the_example_is_well_and_found_in(run: Run, tmp_path: Path) -> None:
    looking.without_models(run)
    run.now = datetime(2026, 12, 1, tzinfo=UTC)  # after all that it lived
    place = str(shutil.copytree(EXAMPLE, tmp_path / "example"))
    run.ok("config", "trust", place)  # it came from elsewhere
    report = run.ok("doctor", "-e", place, "--json").data
    assert report["clean"] is True
    assert {row["level"] for row in report["findings"]} <= {"note"}
    assert [row["code"] for row in report["findings"] if row["path"].endswith(".md")] == []
    assert "Biscuit" in run.ok("person", "show", "Sam", "-e", place).out
    assert run.ok("recall", "sea", "-e", place, "--json").data["hits"][0]["text"]
