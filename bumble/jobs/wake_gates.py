"""Whether an entity wakes by itself now: its gates, what would wake it, and what it did before.

Asks no model and writes nothing. Each decision has its reason, also the one not to wake.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bumble.body import bars, noise
from bumble.body.circadian import in_hours
from bumble.body.noise import Fragment
from bumble.body.soma import Soma
from bumble.entity.changes import Change
from bumble.jobs import locks
from bumble.llm import ledger
from bumble.records import base, state
from bumble.records.base import Provenance
from bumble.records.provenance import ITSELF
from bumble.runtime import body_state, last_activity
from bumble.runtime.job import Condition
from bumble.runtime.runtime import Runtime
from bumble.text import moments

WAKE = ITSELF  # the section of `state.yaml`, and who writes what comes of it
JOURNAL, NOTE, LOOK_UP, MESSAGE, REST = "journal", "note", "look_up", "message", "rest"
PROJECT = "project"
INTENTS = (JOURNAL, NOTE, LOOK_UP, PROJECT, MESSAGE, REST)
RUT_WINDOW, RUT_TIMES = 14, 3  # so many of the last wakes with one intent bar it
SALIENCE, AGE_SECONDS = 0.44, 90  # of a stray thought that wakes it
DREAM_WEIGHT = 1.25  # a dream's fragments count for more
AGAIN_HOURS = 3  # before the same cause wakes it again
STRETCH_MINUTES, STRETCH_HOURS = 45, 3  # of the timer, after wakes that came close together


class Cause(Struct, frozen=True):
    """What wakes it."""

    kind: str  # `impulse`, `conflict`, `thought`, `dream` or `timer`
    detail: str  # for people
    key: str  # the same in one word: it does not wake it again at once
    thought: Fragment | None = None


class PastWake(Struct, frozen=True):
    """One earlier wake."""

    at: datetime
    intent: str
    key: str  # of its cause


class WakeDecision(Struct, frozen=True):
    """Whether it wakes now, and why."""

    at: datetime
    conditions: tuple[Condition, ...]
    cause: Cause | None
    past: tuple[PastWake, ...]  # oldest first

    @property
    def closed(self) -> Condition | None:
        """The first gate that is closed; None if none is."""
        return next((gate for gate in self.conditions if not gate.passes), None)

    @property
    def barred(self) -> frozenset[str]:
        """The intents it has followed too often of late; resting is always open to it."""
        counts = Counter(wake.intent for wake in self.past[-RUT_WINDOW:])
        return frozenset(
            intent for intent in INTENTS if intent != REST and counts[intent] >= RUT_TIMES
        )


def decide(runtime: Runtime, at: datetime) -> WakeDecision:
    """Decide whether to wake."""
    past = read_past(runtime)
    soma = body_state.read(runtime, at)
    cause = next(_causes(runtime, soma, past, at), None)
    reason = Condition(
        "reason",
        cause.detail if cause else _until_timer(runtime, past, at),
        "an impulse, a conflict, a stray thought or the timer",
        cause is not None,
    )
    return WakeDecision(at, (*_gates(runtime, past, at), reason), cause, past)


def is_quiet(runtime: Runtime, at: datetime) -> bool:
    """Whether nobody is to be addressed at that time."""
    return in_hours(at, runtime.zone, runtime.config.wake.quiet_hours)


def _gates(runtime: Runtime, past: Sequence[PastWake], at: datetime) -> Iterator[Condition]:
    config = runtime.config.wake
    yield Condition("enabled", "on" if config.enabled else "off", "wake.enabled", config.enabled)
    since = None if not past else moments.gap(past[-1].at, at).total_seconds()
    yield Condition(
        "gap",
        "never woken" if since is None else f"{since:.0f} s since the last wake",
        f"at least {config.min_gap_seconds:g} s",
        since is None or since >= config.min_gap_seconds,
    )
    quiet = last_activity.silence(runtime.entity, at)
    silence = None if quiet is None else quiet.total_seconds()
    talking = locks.is_turn_running(runtime.entity)
    yield Condition(
        "silence",
        "a turn goes on"
        if talking
        else "nobody has spoken yet"
        if silence is None
        else f"{round(silence)} s",
        f"at least {config.min_silence_seconds:g} s",
        not talking and (silence is None or silence >= config.min_silence_seconds),
    )
    hours = ", ".join(map(str, config.quiet_hours)) or "none"
    yield Condition(
        "quiet hours",
        f"{at.astimezone(runtime.zone):%H:%M}",
        f"none of the hours {hours}",
        not is_quiet(runtime, at),
    )
    yield _budget(runtime, past, at)


def _budget(runtime: Runtime, past: Sequence[PastWake], at: datetime) -> Condition:
    today = at.astimezone(runtime.zone).date()
    count = sum(wake.at.astimezone(runtime.zone).date() == today for wake in past)
    most, tokens = runtime.config.wake.max_per_day, runtime.config.limits.tokens_per_day
    value, wants = f"{count} wakes today", f"fewer than {most}"
    passes = count < most
    if tokens is not None:
        spent = ledger.today(runtime.entity.ledger, at, runtime.zone).tokens
        value, wants = f"{value}, {spent} tokens", f"{wants}, fewer than {tokens}"
        passes = passes and spent < tokens
    return Condition("budget of the day", value, wants, passes)


def _causes(
    runtime: Runtime, soma: Soma, past: Sequence[PastWake], at: datetime
) -> Iterator[Cause]:
    """Yield what would wake it, most urgent first; the same not again within a few hours."""
    again = timedelta(hours=AGAIN_HOURS)
    recent = {wake.key for wake in past if moments.gap(wake.at, at) < again}
    for name in bars.ready_impulses(soma.bars):
        cause = Cause("impulse", f"the impulse {name.replace('_', ' ')}", f"impulse:{name}")
        if cause.key not in recent:
            yield cause
    for name in bars.conflicts(soma.bars):
        pair = " against ".join(bars.CONFLICTS[name])
        if f"conflict:{name}" not in recent:
            yield Cause("conflict", f"torn: {pair}", f"conflict:{name}")
    used = {wake.key for wake in past}
    yield from (cause for cause in _thoughts(soma, at) if cause.key not in used)
    wait = _timer(runtime, past)
    if wait is None or moments.gap(past[-1].at, at) >= wait:
        yield Cause("timer", "the timer", "timer")


def _thoughts(soma: Soma, at: datetime) -> list[Cause]:
    """Return the stray thoughts that stand out and are not of this minute, the loudest first."""
    ripe = [
        (weight, fragment)
        for fragment in soma.noise
        if (weight := _weight(fragment)) >= SALIENCE
        and moments.gap(fragment.at, at).total_seconds() >= AGE_SECONDS
    ]
    ripe.sort(key=lambda pair: -pair[0])
    causes = []
    for _, fragment in ripe:
        is_dream = fragment.kind == noise.DREAM
        mark = hashlib.sha256(fragment.text.encode("utf-8", "replace")).hexdigest()[:8]
        words = "a dream that lingers" if is_dream else "a stray thought"
        kind = "dream" if is_dream else "thought"
        causes.append(Cause(kind, words, f"{kind}:{mark}", fragment))
    return causes


def _weight(fragment: Fragment) -> float:
    return fragment.salience * (DREAM_WEIGHT if fragment.kind == noise.DREAM else 1)


def _timer(runtime: Runtime, past: Sequence[PastWake]) -> timedelta | None:
    """Return how long after the last wake the timer wakes it, always the same; None: at once."""
    if not past:
        return None
    last = past[-1].at
    least, most = runtime.config.wake.timer_minutes
    minutes = random.Random(base.stamp(last)).uniform(least, most)
    if len(past) > 1:
        hours = moments.gap(past[-2].at, last) / timedelta(hours=1)
        minutes += STRETCH_MINUTES * math.exp(-hours / STRETCH_HOURS)
    return timedelta(minutes=minutes)


def _until_timer(runtime: Runtime, past: Sequence[PastWake], at: datetime) -> str:
    wait = _timer(runtime, past)
    if wait is None:
        return "none"
    return f"none; the timer at {(past[-1].at + wait).astimezone(runtime.zone):%H:%M}"


def read_past(runtime: Runtime) -> tuple[PastWake, ...]:
    """Return the last wakes, as they came; what can't be read is passed over."""
    values = state.read(runtime.entity.state).get(WAKE, default={})
    rows = [str(row).split(" ", 2) for row in values.get("recent") or ()]
    past = []
    for row in rows:
        try:
            at, intent, key = row
            past.append(PastWake(datetime.fromisoformat(at), intent, key))
        except ValueError:
            continue
    return tuple(wake for wake in past if wake.at.tzinfo)


def plan_woke(runtime: Runtime, decision: WakeDecision, intent: str) -> Change | None:
    """Plan to remember a wake."""
    cause = decision.cause
    now = PastWake(decision.at, intent, cause.key if cause else "timer")
    held = [*read_past(runtime), now][-max(RUT_WINDOW, runtime.config.wake.max_per_day) :]
    rows = [f"{base.stamp(wake.at)} {wake.intent} {wake.key}" for wake in held]
    return _plan(runtime, {"recent": rows, "reason": "woke"}, f"wake: {intent}")


def plan_asleep(runtime: Runtime, gate: Condition) -> Change | None:
    """Plan to remember why it stays asleep, once for as long as that is the reason."""
    return _plan(runtime, {"reason": gate.name}, f"stays asleep: {gate.name}")


def _plan(runtime: Runtime, values: Mapping[str, object], why: str) -> Change | None:
    file = state.read(runtime.entity.state)
    return state.plan_write(file, {WAKE: dict(values)}, why)


def is_of_wake(origin: Provenance) -> bool:
    """Whether something was written by the entity when it woke by itself."""
    return origin.by == WAKE
