"""Pulse: the body brought to the present and written down.

Nothing needs it, because the present is computed on reading; it makes the file say how the body is
now, for whoever reads it without bumble.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bumble.body import ebb
from bumble.body.circadian import seconds_between
from bumble.cycles import feeling
from bumble.cycles.life import Life
from bumble.cycles.work import Check, Gate, Outcome
from bumble.stores import soma as store


@dataclass(frozen=True)
class Job:
    """The time to bring the body to."""

    at: datetime


def check(life: Life) -> Check[Job]:
    """Tell whether time has passed since the values of the file were true."""
    at = life.now()
    soma = feeling.stored(life.entity.soma, store.read(life.entity.soma))
    passed = seconds_between(soma.at, at) if soma else None
    value = "not written yet" if passed is None else f"{max(0.0, passed):.0f} s old"
    gate = Gate("stored values", value, "older than the present", passed is None or passed > 0)
    return Check((gate,), (Job(at),))


def run(life: Life, job: Job) -> Outcome:
    """Let the time pass; no model is asked."""
    soma = feeling.read(life, job.at)
    return Outcome(
        title="soma: time passed",
        plan=lambda: (feeling.plan(life, job.at, lambda soma: soma, "time passed"),),
        lines=(ebb.reflection_line(soma, life.body.soma),),
        data={"at": job.at.isoformat()},
    )
