"""The loop that runs jobs one after another, most urgent first; a failure leaves one waiting.

Whatever goes wrong in one leaves that one waiting, and the others go on: a pass is all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bumble.errors import LockedError, UserError
from bumble.llm.budget import NO_MODEL
from bumble.runtime import job
from bumble.runtime.job import Due, JobResult
from bumble.runtime.runtime import Runtime

NOT_NOW = (LockedError, *NO_MODEL)  # the other jobs of a kind would meet the same

Apply = Callable[[Runtime, JobResult], Sequence[object]]


@dataclass(frozen=True)
class Pass:
    """One kind of pass: how its jobs are found, and how one is run."""

    name: str
    check: Callable[[Runtime], Due[Any]]
    run: Callable[[Runtime, Any], JobResult]
    thinks: bool = True  # whether it may ask the model


@dataclass(frozen=True)
class Settled:
    """One pass with its result, or with the problem for which it waits."""

    name: str
    outcome: JobResult | None
    problem: UserError | None = None  # why it waits; nothing of it was written


def settle(
    life: Runtime,
    passes: Sequence[Pass],
    limit: int | None,
    apply: Apply = job.apply,
) -> Iterator[Settled]:
    """Make passes while there is anything to do, at most so many, and yield each once written.

    A kind that is due is done to its end before the next kind begins. Stopping in the middle loses
    nothing: what was not written waits as before. Where another process keeps the entity's lock,
    all the rest waits.

    Args:
        life: Whose passes.
        passes: The kinds, most urgent first.
        limit: How many in all; None: all that are due.
        apply: Writes what a pass wants written, and returns what that was.
    """
    left = limit
    for kind in passes:
        for settled_pass in _settle_kind(life, kind, left, apply):
            yield settled_pass
            if left is not None and settled_pass.problem is None:
                left -= 1
            if isinstance(settled_pass.problem, LockedError):
                return


def _settle_kind(life: Runtime, kind: Pass, left: int | None, apply: Apply) -> Iterator[Settled]:
    """Make the passes of one kind; a job that failed, or changed nothing, is not tried again.

    Where nothing is written, what is due stays due: it is asked for once, or it would never end.
    """
    tried: list[Any] = []
    waiting: Due[Any] | None = None
    successes = failures = 0
    most = 1  # failures: one for each job, so that one that fails keeps no other from its turn
    while left is None or successes < left:
        try:
            waiting = waiting if waiting and not life.writes else kind.check(life)
        except UserError as error:
            yield Settled(kind.name, None, error)
            return
        job = next((candidate for candidate in waiting.jobs if candidate not in tried), None)
        most = max(most, len(waiting.jobs))
        if not waiting.due or job is None or failures >= most:
            return
        tried.append(job)
        try:
            outcome = kind.run(life, job)
            failures += not apply(life, outcome)
        except UserError as error:
            failures += 1
            yield Settled(kind.name, None, error)
            if isinstance(error, NOT_NOW):
                return
            continue
        successes += 1
        yield Settled(kind.name, outcome)
