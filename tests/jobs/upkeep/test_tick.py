from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from bumble.cli import registry
from bumble.entity.config import ReviewedCycle
from bumble.entity.folder import Entity
from bumble.errors import LockedError, RecordInvalidError
from bumble.jobs import tick
from bumble.jobs.tick import RunEvent, RunRecord
from bumble.llm.ledger import Budgeted, DaySpending, Limits
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.runtime.job import JobResult, Pass, Settled
from bumble.runtime.runtime import Runtime
from tests.support.small import small, wait, words
from tests.support.turns import runtime_of


@pytest.fixture
def runtime(ada: Entity) -> Runtime:
    model = ScriptedModel([Reply("Yes.", always=True)])
    return replace(runtime_of(ada, model), model=Budgeted(model, Limits(None, None, DaySpending)))


def test_while_somebody_talks_only_what_needs_no_model_is_done(runtime: Runtime) -> None:
    wait(runtime, "a 1", "b 1")
    passes = [small("a", thinks=True), small("b")]
    settled = list(tick.run(runtime, "tick", passes, held=lambda: "a turn goes on"))
    assert [job.name for job in settled if job.outcome] == ["b"]
    assert held(settled) == {"a": "a turn goes on"}


def held(settled: list[Settled]) -> dict[str, str]:
    return {job.name: job.held for job in settled if job.held}


def test_a_talk_that_begins_ends_it_after_the_pass_that_goes_on(runtime: Runtime) -> None:
    wait(runtime, "a 1", "a 2", "c 1")
    talking: list[str] = []
    passes = [small("a", lambda _: talking.append("x"), thinks=True), small("c", thinks=True)]
    settled = list(
        tick.run(runtime, "tick", passes, held=lambda: "a turn goes on" if talking else None)
    )
    assert (words(runtime, "a"), words(runtime, "c")) == (["2"], ["1"])
    assert set(held(settled)) == {"a", "c"}


def test_what_a_run_did_and_cost_is_a_line_of_its_ledger(runtime: Runtime) -> None:
    def refuse(_: str) -> None:
        raise RecordInvalidError(Path("x.md"), "no record")

    wait(runtime, "dream 1", "reflect 1")
    passes = [small("dream", thinks=True), small("reflect", refuse)]
    settled = list(tick.run(runtime, "tick", passes))
    (line,) = tick.read(runtime.entity.runs)
    assert [event.event for event in line.events] == [
        "dream_cycle_start",
        "dream_cycle_completed",
        "reflect_cycle_start",
        "reflect_cycle_left",
    ]
    assert line.events[1].title == "dream: 1"
    assert (line.command, line.calls, line.errors) == (
        "tick",
        1,
        ("reflect waits: x.md: no record",),
    )
    assert line.tokens > 0
    assert tick.exit_code(settled) == 12


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("the day's limit of calls is reached", ""),
        ("a waits: no key.", "since 2026-12-01 03:00 a waits: no key; `bumble tick` tries again"),
    ],
)
def test_limits_in_a_ledger_of_before_are_no_failure(
    runtime: Runtime, error: str, told: str
) -> None:
    at = datetime(2026, 12, 1, 3, tzinfo=UTC)
    events = (RunEvent(at, "a_cycle_start"), RunEvent(at, "a_cycle_left", error))
    tick.append(runtime.entity.runs, RunRecord(at, "tick", 1, 0, 0, events, (error,)))
    assert tick.failing(runtime.entity.runs, UTC) == told


def test_a_job_that_is_broken_off_has_begun_in_the_ledger(runtime: Runtime) -> None:
    def break_off(_: str) -> None:
        raise KeyboardInterrupt

    wait(runtime, "a 1")
    with pytest.raises(KeyboardInterrupt):
        list(tick.run(runtime, "tick", [small("a", break_off)]))
    (line,) = tick.read(runtime.entity.runs)
    assert [event.event for event in line.events] == ["a_cycle_start"]


def test_a_locked_entity_ends_the_run_and_is_no_error(runtime: Runtime) -> None:
    def locked(*_: object) -> JobResult:
        raise LockedError(Path("ada"), 1)

    wait(runtime, "a 1", "b 1")
    settled = list(tick.run(runtime, "tick", [small("a"), small("b")], None, locked))
    assert [job.name for job in settled if job.problem] == ["a"]
    assert tick.exit_code(settled) == 0


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


def test_what_may_wait_for_review_makes_commits_by_itself() -> None:
    assert set(get_args(ReviewedCycle)) <= set(registry.cycles())


@pytest.mark.parametrize("job", registry.everything(), ids=lambda job: job.name)
def test_a_job_that_may_wait_for_review_is_called_as_its_commits_are(job: Pass) -> None:
    assert job.name not in get_args(ReviewedCycle) or not job.written_as
