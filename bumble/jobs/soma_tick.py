"""The body brought to the present and written to `soma.yaml`, while nobody talks.

Nothing needs it, because the present is computed on reading; it makes the file say how the body is
now, for whoever reads it without bumble.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bumble.body import ebb
from bumble.body.circadian import seconds_between
from bumble.records import soma as store
from bumble.runtime import body_state
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime


class SomaTickJob(Struct, frozen=True):
    """A tick of the body: the time to bring it to."""

    at: datetime


def check(runtime: Runtime) -> Due[SomaTickJob]:
    """Tell whether time has passed since the values of the file were true."""
    at = runtime.now()
    soma = body_state.stored(runtime.entity.soma, store.read(runtime.entity.soma))
    passed = seconds_between(soma.at, at) if soma else None
    value = "not written yet" if passed is None else f"{max(0.0, passed):.0f} s old"
    condition = Condition(
        "stored values", value, "older than the present", passed is None or passed != 0
    )
    return Due((condition,), (SomaTickJob(at),))


def run(runtime: Runtime, job: SomaTickJob) -> JobResult:
    """Let the time pass; no model is asked."""
    soma = body_state.read(runtime, job.at)
    return JobResult(
        title="soma: time passed",
        plan=lambda: (body_state.plan(runtime, job.at, lambda soma: soma, "time passed"),),
        lines=(ebb.reflection_line(soma),),
        data={"at": job.at.isoformat()},
    )
