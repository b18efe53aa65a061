"""Settling: what a turn left to be made of it, one pass after another, most urgent first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bumble.cycles import work
from bumble.cycles.life import Life
from bumble.cycles.work import Check, Outcome


@dataclass(frozen=True)
class Pass:
    """One kind of pass."""

    name: str
    check: Callable[[Life], Check[Any]]
    run: Callable[[Life, Any], Outcome]


@dataclass(frozen=True)
class Settled:
    """A pass that was made."""

    name: str
    outcome: Outcome


def settle(life: Life, passes: Sequence[Pass], limit: int | None) -> Iterator[Settled]:
    """Make passes while there is anything to do, at most so many, and yield each once written.

    A kind that is due is done to its end before the next kind begins. Stopping in the middle loses
    nothing: what was not written waits as before.
    """
    made = 0
    for each in passes:
        while (limit is None or made < limit) and (found := each.check(life)).due:
            outcome = each.run(life, found.jobs[0])
            work.apply(life, outcome)
            made += 1
            yield Settled(each.name, outcome)
            if each.check(life).jobs[:1] == found.jobs[:1]:  # it did not move: never loop on it
                break
