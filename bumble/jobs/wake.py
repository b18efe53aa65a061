"""Waking by itself: one decision a tick, at most one session, each with its reason.

A decision not to wake is a line of the run ledger every time, and an entry of the history whenever
its reason is another than before.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.jobs import wake_gates, wake_session
from bumble.jobs.wake_gates import WakeDecision
from bumble.jobs.wake_session import Deed, Wake
from bumble.runtime import body_state
from bumble.runtime.job import Condition, Due, JobResult, traced
from bumble.runtime.runtime import Runtime


class WakeJob(Struct, frozen=True):
    """One decision; all of one tick are the same: it decides once."""

    decision: WakeDecision

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WakeJob)

    def __hash__(self) -> int:
        return hash(WakeJob)


def check(runtime: Runtime) -> Due[WakeJob]:
    """Return every gate, and the decision; due only where it wakes."""
    decision = wake_gates.decide(runtime, runtime.now())
    return Due(decision.conditions, (WakeJob(decision),))


def check_tick(runtime: Runtime) -> Due[WakeJob]:
    """Return the decision of a tick, which is made, and has its line, whether it wakes or not."""
    if not runtime.config.wake.enabled:
        return Due((Condition("enabled", "off", "wake.enabled", False),), ())
    decision = wake_gates.decide(runtime, runtime.now())
    return Due(decision.conditions[:1], (WakeJob(decision),))


def run(runtime: Runtime, job: WakeJob) -> JobResult:
    """Wake and do one thing, or stay asleep."""
    decision = job.decision
    closed = decision.closed
    if closed is not None or decision.cause is None:
        return _asleep(runtime, decision)
    wake = wake_session.begin(runtime, decision)
    return _awake(runtime, wake, wake_session.act(runtime, wake))


def _asleep(runtime: Runtime, decision: WakeDecision) -> JobResult:
    gate = decision.closed or decision.conditions[-1]
    reason = f"{gate.name}: {gate.value}, wants {gate.wants}"
    return JobResult(
        title=f"wake: stays asleep, {reason}",
        plan=lambda: (wake_gates.plan_asleep(runtime, gate),),
        lines=(f"Stays asleep: {reason}.",),
        data={"woke": False, "reason": reason},
        ran=False,
    )


def _awake(runtime: Runtime, wake: Wake, deed: Deed) -> JobResult:
    cause = wake.decision.cause.detail if wake.decision.cause else ""
    barred = sorted(wake.decision.barred)

    def plan() -> Sequence[Change | None]:
        if wake_gates.read_past(runtime) != wake.decision.past:
            return ()  # another process was faster
        changes = [plan() for plan in deed.plans]
        woke = wake_gates.plan_woke(runtime, wake.decision, deed.intent)
        moved = None
        if deed.events:
            move = body_state.events(runtime, deed.events)
            moved = body_state.plan(runtime, wake.decision.at, move, "it was awake for a while")
        return (*changes, moved, woke)

    why = f" ({deed.why})" if deed.why else ""
    shut = f" Barred: {', '.join(barred)}." if barred else ""
    return JobResult(
        title=f"wake: {deed.intent}, because of {cause}",
        plan=plan,
        lines=(f"Woke because of {cause}: {deed.intent}{why}.{shut}", *deed.lines),
        data={
            "woke": True,
            "intent": deed.intent,
            "cause": wake.decision.cause.key if wake.decision.cause else "",
            "why": deed.why,
            "barred": barred,
            "person": wake.person,
            "messages": deed.messages,
            "steps": deed.steps,
            "by": deed.model or "rule",
        },
        trailers=traced((), deed.model),
    )
