"""The one loop that runs jobs: for tick, what a turn left, the cycles' commands and the flush.

One job after another, most urgent first, each written before the next begins. Whatever goes wrong
in one leaves that one waiting, and the others go on: a job is all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.errors import LockedError, UserError
from bumble.llm.ledger import NO_MODEL
from bumble.runtime import job
from bumble.runtime.job import Due, JobResult
from bumble.runtime.runtime import Runtime

NOT_NOW = (LockedError, *NO_MODEL)  # the other jobs of a kind would meet the same

Apply = Callable[[Runtime, JobResult], JobResult]  # writes it, and returns it as it was written
Held = Callable[[], str | None]


class Pass(Struct, frozen=True):
    """One kind of job: how its jobs are found, and how one is run."""

    name: str
    check: Callable[[Runtime], Due[Any]]
    run: Callable[[Runtime, Any], JobResult]
    thinks: bool = True  # whether it may ask the model
    at_once: bool = False  # whether it does what was due at its beginning, and no more
    reviewed: bool = False  # whether `git.review` may hold it back
    written_as: str | None = None  # what its commits are called; None: as it; empty: it makes none


class Settled(Struct, frozen=True):
    """One job with its result, or with what it waits for; then nothing of it was written."""

    name: str  # of its pass
    outcome: JobResult | None = None
    problem: UserError | None = None  # why it waits
    held: str = ""  # why the pass was not begun, or not gone on with


def never() -> None:
    """Hold nothing back."""


def settle(
    runtime: Runtime,
    passes: Sequence[Pass],
    limit: int | None = None,
    apply: Apply = job.apply,
    *,
    held: Held = never,
) -> Iterator[Settled]:
    """Run jobs while there is anything to do, at most so many, and yield each once written.

    A pass that is due is done to its end before the next begins. Stopping in the middle loses
    nothing: what was not written waits as before. Where another process keeps the entity's lock,
    all the rest waits.

    Args:
        runtime: Whose jobs.
        passes: The kinds, most urgent first.
        limit: How many in all that ask a model; None: all that are due.
        apply: Writes what a job wants written.
        held: Says why no model may be asked right now; None: it may.
    """
    left = limit
    for kind in passes:
        for settled in _settle_kind(runtime, kind, left, apply, held if kind.thinks else never):
            yield settled
            if left is not None and settled.outcome is not None and settled.outcome.asked:
                left -= 1
            if isinstance(settled.problem, LockedError):
                return


def _settle_kind(
    runtime: Runtime, kind: Pass, left: int | None, apply: Apply, held: Held
) -> Iterator[Settled]:
    """Run the jobs of one kind; a job that failed, or changed nothing, is not tried again.

    Where nothing is written, what is due stays due: it is asked for once, or it would never end.
    So it is of a pass that bounds by itself how much it does at once.
    """
    tried: list[Any] = []
    waiting: Due[Any] | None = None
    successes = failures = 0
    most = 1  # failures: one for each job, so that one that fails keeps no other from its turn
    while True:
        reason = held()
        if reason is not None:
            yield Settled(kind.name, held=reason)
            return
        if left is not None and successes >= left:
            return
        try:
            is_asked_again = runtime.writes and not kind.at_once
            waiting = kind.check(runtime) if waiting is None or is_asked_again else waiting
        except UserError as error:
            yield Settled(kind.name, problem=error)
            return
        job = next((candidate for candidate in waiting.jobs if candidate not in tried), None)
        most = max(most, len(waiting.jobs))
        if not waiting.due or job is None or failures >= most:
            return
        tried.append(job)
        try:
            runtime.check_review(kind.name)
            result = kind.run(runtime, job)
            outcome = apply(runtime, replace(result, about=_about(job)))
        except UserError as error:
            failures += 1
            yield Settled(kind.name, problem=error)
            if isinstance(error, NOT_NOW):
                return
            continue
        failures += not outcome.written
        successes += outcome.asked
        yield Settled(kind.name, outcome)


def _about(job: Any) -> str:
    """Return the id of the conversation, or the person, that a job deals with; empty: of none."""
    names = ("session_id", "session", "person", "episode")
    found = next(filter(None, (getattr(job, name, None) for name in names)), "")
    return found if isinstance(found, str) else getattr(found, "session", "") or found.id
