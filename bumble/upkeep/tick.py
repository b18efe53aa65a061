"""A tick: which jobs run between turns, one after another, and its entry in the run ledger.

Never while somebody talks: what needs no model is done all the same, the rest waits.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bumble.errors import BudgetSpentError, FileChangedError, LockedError
from bumble.llm.budget import Budgeted
from bumble.runtime import job, runner
from bumble.runtime.job import JobResult
from bumble.runtime.runner import Apply, Pass, Settled
from bumble.runtime.runtime import Runtime
from bumble.upkeep import runs
from bumble.upkeep.runs import RunEvent, RunRecord

WAITS = (BudgetSpentError, FileChangedError, LockedError)  # nothing to be done about it now


@dataclass
class Work:
    """What a run did, while it goes on and afterwards."""

    done: list[Settled] = field(default_factory=list)
    waiting: list[Settled] = field(default_factory=list)  # with what they wait for
    held: dict[str, str] = field(default_factory=dict)  # passes that were not begun, and why
    events: list[RunEvent] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """The code of the first thing a person has to see to; 0 where there is none."""
        for one in self.waiting:
            if one.problem is not None and not isinstance(one.problem, WAITS):
                return one.problem.exit_code
        return 0


def run(
    life: Runtime,
    passes: Sequence[Pass],
    into: Work,
    *,
    limit: int | None,
    held: Callable[[], str | None],
    apply: Apply = job.apply,
) -> Iterator[Settled]:
    """Make all passes that are due, in order, and yield each once it is written.

    Args:
        life: Whose passes.
        passes: In the order in which they come.
        into: Takes down what happens.
        limit: How many in all; None: all that are due.
        held: Says why no model may be asked right now; None: it may.
        apply: Writes what a pass wants written, and returns what that was.
    """
    for each in passes:
        reason = held() if each.thinks else None
        left = None if limit is None else limit - len(into.done)
        if reason is not None:
            into.held[each.name] = reason
            continue
        for one in runner.settle(life, [_noted(life, each, into)], left, apply):
            note(life, one, into)
            yield one
            reason = held() if each.thinks else None
            if reason is not None:
                into.held[each.name] = reason
                break
        if any(isinstance(one.problem, LockedError) for one in into.waiting):
            return


def _noted(life: Runtime, each: Pass, into: Work) -> Pass:
    """Return a pass that takes down when it begins."""

    def begin(life: Runtime, job: Any) -> JobResult:
        begun(life, each.name, into)
        return each.run(life, job)

    return replace(each, run=begin)


def begun(life: Runtime, name: str, into: Work) -> None:
    """Take down that a pass has begun."""
    into.events.append(RunEvent(life.now(), f"{name}_cycle_start"))


def note(life: Runtime, one: Settled, into: Work) -> None:
    """Take down what came of a pass."""
    at: datetime = life.now()
    if one.outcome is not None:
        into.done.append(one)
        if one.outcome.late:
            into.events.append(RunEvent(at, f"{one.name}_cycle_left", one.outcome.late[0]))
            return
        made = str(one.outcome.data.get("id", ""))
        into.events.append(RunEvent(at, f"{one.name}_cycle_completed", one.outcome.title, made))
        return
    into.waiting.append(one)
    problem = str(one.problem).splitlines()[0]
    into.events.append(RunEvent(at, f"{one.name}_cycle_left", problem))


@contextlib.contextmanager
def recorded(life: Runtime, command: str, model: Budgeted, into: Work) -> Iterator[None]:
    """Write a line about a run into the run ledger, however it ends."""
    at, started = life.clock(), time.perf_counter()
    try:
        yield
    finally:
        line = RunRecord(
            at=at,
            command=command,
            ms=round((time.perf_counter() - started) * 1000),
            calls=model.calls,
            tokens=model.tokens,
            events=tuple(into.events),
            errors=tuple(dict.fromkeys(str(one.problem).splitlines()[0] for one in into.waiting)),
        )
        with contextlib.suppress(OSError):  # a full disk must not undo what was done
            runs.append(life.entity.runs, line)
