from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from bumble.jobs import tick
from bumble.jobs.tick import RunEvent, RunRecord

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)


def test_a_run_is_read_back_as_it_was_written_newest_first(tmp_path: Path) -> None:
    events = (
        RunEvent(NOON, "dream_cycle_start"),
        RunEvent(NOON, "dream_cycle_completed", "dream: sea"),
    )
    first = RunRecord(NOON, "tick", 12, 1, 99, events, ("reflect: no",))
    second = RunRecord(NOON, "settle", 3, 0, 0, ())
    path = tmp_path / "log" / "runs.jsonl"
    assert list(tick.read(path)) == []
    tick.append(path, first)
    with path.open("a") as file:
        file.write('{"at": "2026')
    tick.append(path, second)
    assert list(tick.read(path)) == [second, first]
