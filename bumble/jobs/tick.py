"""A run between turns: its jobs, and the line about it in the run ledger."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from bumble.errors import BudgetSpentError, FileChangedError, LockedError
from bumble.jobs import runs
from bumble.jobs.runs import RunEvent, RunRecord
from bumble.llm.ledger import Budgeted
from bumble.runtime import job, runner
from bumble.runtime.job import JobResult
from bumble.runtime.runner import Apply, Held, Pass, Settled
from bumble.runtime.runtime import Runtime

WAITS = (BudgetSpentError, FileChangedError, LockedError)  # nothing to be done about it now


def run(
    runtime: Runtime,
    command: str,
    passes: Sequence[Pass],
    limit: int | None = None,
    apply: Apply = job.apply,
    *,
    held: Held = runner.never,
) -> Iterator[Settled]:
    """Settle as the runner does, and write a line about it into the run ledger, however it ends.

    Args:
        runtime: Whose jobs; its model counts its calls.
        command: For the ledger.
        passes: In the order in which they come.
        limit: How many jobs in all; None: all that are due.
        apply: Writes what a job wants written.
        held: Says why no model may be asked right now; None: it may.
    """
    at, started = runtime.clock(), time.perf_counter()
    events: list[RunEvent] = []
    problems: list[str] = []
    noted = [_noted(kind, events) for kind in passes]
    try:
        for settled in runner.settle(runtime, noted, limit, apply, held=held):
            if not settled.held:
                events.append(_ended(runtime, settled))
            if settled.problem is not None:
                problems.append(_first_line(settled.problem))
            yield settled
    finally:
        model = runtime.model
        if not isinstance(model, Budgeted):
            raise TypeError("the model of a run counts its calls")
        record = RunRecord(
            at=at,
            command=command,
            ms=round((time.perf_counter() - started) * 1000),
            calls=model.calls,
            tokens=model.tokens,
            events=tuple(events),
            errors=tuple(dict.fromkeys(problems)),
        )
        with contextlib.suppress(OSError):  # a full disk must not undo what was done
            runs.append(runtime.entity.runs, record)


def exit_code(settled_jobs: Iterable[Settled]) -> int:
    """Return the code of the first thing a person has to see to; 0 where there is none."""
    for settled in settled_jobs:
        if settled.problem is not None and not isinstance(settled.problem, WAITS):
            return settled.problem.exit_code
    return 0


def _noted(kind: Pass, events: list[RunEvent]) -> Pass:
    """Return a pass that takes down when a job begins: it may never end."""

    def begin(runtime: Runtime, job: Any) -> JobResult:
        events.append(RunEvent(runtime.now(), f"{kind.name}_cycle_start"))
        return kind.run(runtime, job)

    return replace(kind, run=begin)


def _ended(runtime: Runtime, settled: Settled) -> RunEvent:
    at, outcome = runtime.now(), settled.outcome
    if outcome is None:
        return RunEvent(at, f"{settled.name}_cycle_left", _first_line(settled.problem))
    if outcome.late:
        return RunEvent(at, f"{settled.name}_cycle_left", outcome.late[0])
    return RunEvent(at, f"{settled.name}_cycle_completed", outcome.title, outcome.record)


def _first_line(problem: object) -> str:
    return str(problem).splitlines()[0]
