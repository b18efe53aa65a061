"""A run between turns: its jobs, and the line about it in the run ledger."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from bumble.llm import ledger
from bumble.runtime import job
from bumble.runtime.job import Apply, Held, JobResult, Pass, Settled
from bumble.runtime.runtime import Runtime

Count = Annotated[int, Meta(ge=0)]
Moment = Annotated[datetime, Meta(tz=True)]


DECISIONS = frozenset(("wake_cycle_start", "wake_cycle_completed"))
WAITS = " waits: "  # between the name of a job and what it failed at


class RunEvent(Struct, frozen=True, omit_defaults=True):
    """A step of a run: `dream_cycle_start`, then `dream_cycle_completed` or `…_left`."""

    at: Moment
    event: str
    title: str = ""  # of the change set, or the first line of what went wrong
    id: str = ""  # of what was made: `drm_…`


class RunRecord(Struct, frozen=True):
    """What one run between turns did, and what it cost."""

    at: Moment  # when it began
    command: str  # "tick", "settle"
    ms: Count
    calls: Count  # to the model
    tokens: Count  # of prompts and answers
    events: tuple[RunEvent, ...]  # in order
    errors: tuple[str, ...] = ()  # what a person has to see to, a line each


def append(path: Path, run: RunRecord) -> None:
    """Add a run to the ledger.

    Raises:
        OSError: If it cannot be written.
    """
    ledger.append_line(path, msgspec.to_builtins(run))


def read(path: Path) -> Iterator[RunRecord]:
    """Yield the runs of a ledger, newest first; lines that were torn are left out."""
    for line in ledger.newest_lines(path):
        with contextlib.suppress(ValueError, RecursionError):  # no JSON, or no UTF-8
            yield msgspec.json.decode(line, type=RunRecord)


def failing(path: Path, zone: tzinfo) -> str:
    """Say what runs fail at since when; empty: the last that had anything to do did it."""
    # whether to wake is decided at each tick
    had_work = (run for run in read(path) if {one.event for one in run.events} - DECISIONS)
    failed = list(takewhile(_failures, had_work))
    if not failed:
        return ""
    since = failed[-1].at.astimezone(zone)
    why = _failures(failed[0])[0].rstrip(".")
    return f"since {since:%Y-%m-%d %H:%M} {why}; `bumble tick` tries again"


def _failures(run: RunRecord) -> list[str]:
    """Return what jobs failed at; ledgers of before tell of limits and locks, too."""
    return [error for error in run.errors if WAITS in error]


def run(
    runtime: Runtime,
    command: str,
    passes: Sequence[Pass],
    limit: int | None = None,
    apply: Apply = job.apply,
    *,
    held: Held = job.never,
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
        for settled in job.settle(runtime, noted, limit, apply, held=held):
            if not settled.held:
                events.append(_ended(runtime, settled))
            if settled.failure is not None:
                problems.append(f"{settled.name}{WAITS}{_first_line(settled.failure)}")
            yield settled
    finally:
        model = runtime.model
        if not isinstance(model, ledger.Budgeted):
            raise TypeError("the model of a run counts its calls")
        record = RunRecord(
            at=at,
            command=command,
            ms=round((time.perf_counter() - started) * 1000),
            calls=model.tally.calls,
            tokens=model.tally.tokens,
            events=tuple(events),
            errors=tuple(dict.fromkeys(problems)),
        )
        with contextlib.suppress(OSError):  # a full disk must not undo what was done
            append(runtime.entity.runs, record)


def worked(settled: Settled) -> bool:
    """Whether there was something to do; to stay asleep is only decided."""
    outcome = settled.outcome
    stayed_asleep = settled.name == "wake" and outcome is not None and not outcome.ran
    return not (settled.held or stayed_asleep)


def exit_code(settled_jobs: Iterable[Settled]) -> int:
    """Return the code of the first thing a person has to see to; 0 where there is none."""
    return next((each.failure.exit_code for each in settled_jobs if each.failure), 0)


def _noted(kind: Pass, events: list[RunEvent]) -> Pass:
    """Return a pass that takes down when a job begins: it may never end."""

    def begin(runtime: Runtime, job: Any) -> JobResult:
        events.append(RunEvent(runtime.now(), f"{kind.name}_cycle_start"))
        return kind.run(runtime, job)

    return structs.replace(kind, run=begin)


def _ended(runtime: Runtime, settled: Settled) -> RunEvent:
    at, outcome = runtime.now(), settled.outcome
    if outcome is None:
        return RunEvent(at, f"{settled.name}_cycle_left", _first_line(settled.problem))
    if outcome.late:
        return RunEvent(at, f"{settled.name}_cycle_left", outcome.late[0])
    return RunEvent(at, f"{settled.name}_cycle_completed", outcome.title, outcome.record)


def _first_line(problem: object) -> str:
    return str(problem).splitlines()[0]
