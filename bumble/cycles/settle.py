"""Settling: one pass after another, most urgent first, each written before the next begins.

Whatever goes wrong in one leaves that one waiting, and the others go on: a pass is all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bumble.cycles import work
from bumble.cycles.budget import NO_MODEL
from bumble.cycles.life import Life
from bumble.cycles.work import Check, Outcome
from bumble.errors import LockedError, UserError

NOT_NOW = (LockedError, *NO_MODEL)  # the other jobs of a kind would meet the same

Apply = Callable[[Life, Outcome], Sequence[object]]


@dataclass(frozen=True)
class Pass:
    """One kind of pass."""

    name: str
    check: Callable[[Life], Check[Any]]
    run: Callable[[Life, Any], Outcome]
    thinks: bool = True  # whether it may ask the model


@dataclass(frozen=True)
class Settled:
    """A pass that was made, or that has to wait."""

    name: str
    outcome: Outcome | None
    problem: UserError | None = None  # why it waits; nothing of it was written


def settle(
    life: Life,
    passes: Sequence[Pass],
    limit: int | None,
    apply: Apply = work.apply,
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
    for each in passes:
        for done in _kind(life, each, left, apply):
            yield done
            if left is not None and done.problem is None:
                left -= 1
            if isinstance(done.problem, LockedError):
                return


def _kind(life: Life, each: Pass, left: int | None, apply: Apply) -> Iterator[Settled]:
    """Make the passes of one kind; a job that failed, or changed nothing, is not tried again.

    Where nothing is written, what is due stays due: it is asked for once, or it would never end.
    """
    tried: list[Any] = []
    found: Check[Any] | None = None
    made = failed = 0
    most = 1  # failures: one for each job, so that one that fails keeps no other from its turn
    while left is None or made < left:
        try:
            found = found if found and not life.writes else each.check(life)
        except UserError as error:
            yield Settled(each.name, None, error)
            return
        job = next((one for one in found.jobs if one not in tried), None)
        most = max(most, len(found.jobs))
        if not found.due or job is None or failed >= most:
            return
        tried.append(job)
        try:
            outcome = each.run(life, job)
            failed += not apply(life, outcome)
        except UserError as error:
            failed += 1
            yield Settled(each.name, None, error)
            if isinstance(error, NOT_NOW):
                return
            continue
        made += 1
        yield Settled(each.name, outcome)
