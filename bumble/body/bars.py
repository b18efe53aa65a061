"""The five bars (social, curiosity, tension…): drift to a resting point, events, impulses.

Each bar is a level in [0, 100]. Between two changes of regime (a clock hour ends, a coupling
begins or ends to act) every bar obeys two linear equations with constant coefficients, which
have a closed form:

    v' = -a (v - r) + u        r' = d (v - r)

with `a` the rate of decay times rhythm and couplings, `d` the drift of the resting point and `u`
what idling adds, all per hour. `advance` leaps from change to change, so how often it is called
makes no difference. Without a band for the resting points, idling would wear an entity out that
is left alone for weeks. The rhythm is taken at the middle of each clock hour.

Knows nothing of events' meaning, of models or of files.

Source:
    The law is exponential relaxation; the numbers are bumble's own choice; see docs/log.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from bumble.body.config import BAR_NAMES, Temperament
from bumble.text import moments

FULL = 100.0  # the top of every bar
AMPLITUDE = 0.15  # by which decay is faster by day and slower by night
PHASE_HOUR = 8  # local, at which it is neither
Level = Annotated[float, Meta(ge=0, le=FULL)]
CROSSING = timedelta(seconds=1)  # how exactly the moment is found at which couplings change
LONGEST = timedelta(days=120)  # a longer absence is lived as this: by then nothing changes any more
DRIFT_PER_HOUR = 0.005  # share of the gap by which a resting point follows its bar
BAND = 20  # points it may stray from where it began
IDLE_PER_HOUR = {"social": -0.9, "curiosity": -0.48}  # points, while time passes
# Points; what raises a bar counts less the fuller it is.
EVENTS: Mapping[str, Mapping[str, float]] = {
    "message_in": {"social": 2},
    "message_out": {"social": 1, "creative": 0.5},
    "tool": {"curiosity": 1},
}


class Coupling(Struct, frozen=True):
    """One bar, when high, hurries another."""

    source: str
    above: float
    target: str  # may be the source itself
    factor: float  # of its rate


class Impulse(Struct, frozen=True):
    """An urge that a full bar gives."""

    bar: str
    threshold: float
    cooldown_seconds: float
    cost: float  # points
    longs_for: tuple[str, ...]  # the events of which one lets it out


COUPLINGS = (
    Coupling("social", 80, "curiosity", 1.5),
    Coupling("tension", 70, "comfort", 2.0),
    Coupling("curiosity", 82, "curiosity", 1.25),
)
IMPULSES = {
    "reach_out": Impulse("social", 80, 1800, 25, ("message_out",)),
    "explore_something": Impulse("curiosity", 88, 1200, 22, ("tool", "tool_failed")),
}
CONFLICT_FROM = 70  # bars that pull apart when all of them are as high
CONFLICTS = {"settle_or_search": ("curiosity", "comfort")}


class Bar(Struct, frozen=True):
    """One bar at one moment."""

    value: Level
    rest: Level  # the resting point it moves toward


class Bars(Struct, frozen=True):
    """All five bars, at the time they were true."""

    at: datetime  # timezone-aware
    levels: Mapping[str, Bar]  # by the names of BAR_NAMES, in that order
    fired: Mapping[str, datetime]  # when each impulse last fired, by its name

    def value(self, name: str) -> float:
        """Read one bar, in [0, 100]."""
        return self.levels[name].value


def birth(at: datetime, temperament: Temperament) -> Bars:
    """Give a new body its first levels."""
    firsts = {name: temperament[name].initial for name in BAR_NAMES}
    return Bars(at, {name: Bar(first, first) for name, first in firsts.items()}, {})


def advance(bars: Bars, now: datetime, tz: tzinfo, temperament: Temperament) -> Bars:
    """Let time pass until `now`; levels that are ahead of it are those of now.

    Args:
        bars: The levels as last saved.
        now: Timezone-aware.
        tz: The entity's time zone, for the daily rhythm.
        temperament: Where each bar began, and how fast it relaxes.
    """
    if moments.seconds_between(bars.at, now) <= 0:
        return replace(bars, at=min(bars.at, now))
    levels, end = bars.levels, now.astimezone(UTC)
    moment = max(bars.at.astimezone(UTC), end - LONGEST)
    while moment < end:
        local = moment.astimezone(tz)
        into = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        stop = min(moment + timedelta(hours=1) - into, end)
        levels, moment = _leap(levels, moment, stop, rhythm(local.hour + 0.5), temperament)
    return replace(bars, at=now, levels=levels)


def rhythm(hour: float) -> float:
    """Weigh rates of decay by the local hour: above 1 by day, below 1 at night.

    Source:
        bumble's own choice; see docs/log.md.
    """
    return 1 + AMPLITUDE * math.sin((hour - PHASE_HOUR) * math.pi / 12)


def nudge(bars: Bars, deltas: Mapping[str, float]) -> Bars:
    """Move bars by points at once; what raises a bar counts less the fuller it is.

    Args:
        deltas: Points by bar, any sign; d > 0 adds d · (100 − value) / 100.
    """
    levels = dict(bars.levels)
    for name, delta in deltas.items():
        bar = levels[name]
        points = delta * (FULL - bar.value) / FULL if delta > 0 else delta
        levels[name] = replace(bar, value=_clamp(bar.value + points))
    return replace(bars, levels=levels)


def ready_impulses(bars: Bars) -> tuple[str, ...]:
    """Name the impulses whose bar is full enough and whose cooldown has passed by `bars.at`."""
    return tuple(
        name
        for name, impulse in IMPULSES.items()
        if bars.value(impulse.bar) >= impulse.threshold
        and (
            name not in bars.fired
            or moments.gap(bars.fired[name], bars.at).total_seconds() >= impulse.cooldown_seconds
        )
    )


def fire(bars: Bars, name: str) -> Bars:
    """Act on an impulse that is ready: pay its cost and start its cooldown."""
    impulse = IMPULSES[name]
    paid = nudge(bars, {impulse.bar: -impulse.cost})
    return replace(paid, fired={**bars.fired, name: bars.at})


def conflicts(bars: Bars) -> tuple[str, ...]:
    """Name the conflicts whose bars are all high."""
    return tuple(
        name
        for name, pair in CONFLICTS.items()
        if all(bars.value(bar) >= CONFLICT_FROM for bar in pair)
    )


def _leap(
    levels: Mapping[str, Bar],
    moment: datetime,
    stop: datetime,
    rhythm: float,
    temperament: Temperament,
) -> tuple[Mapping[str, Bar], datetime]:
    """Go to `stop`, or to where a coupling begins or ends to act if that comes first."""
    acting = _acting(levels)

    def after(time: timedelta) -> Mapping[str, Bar]:
        return _relax(levels, time / timedelta(hours=1), rhythm, acting, temperament)

    levels_then = after(stop - moment)
    if _acting(levels_then) == acting:
        return levels_then, stop
    steps = range(1, math.ceil((stop - moment) / CROSSING))
    first = bisect_left(steps, True, key=lambda n: _acting(after(n * CROSSING)) != acting) + 1
    crossing = min(stop, moment + first * CROSSING)
    return after(crossing - moment), crossing


def _acting(levels: Mapping[str, Bar]) -> tuple[Coupling, ...]:
    return tuple(link for link in COUPLINGS if levels[link.source].value > link.above)


def _relax(
    levels: Mapping[str, Bar],
    hours: float,
    rhythm: float,
    acting: tuple[Coupling, ...],
    temperament: Temperament,
) -> dict[str, Bar]:
    """Solve every bar for a time in which nothing about its equation changes."""
    relaxed = {}
    for name, bar in levels.items():
        rate = temperament[name].decay_percent_per_hour / 100 * rhythm
        for link in acting:
            if link.target == name:
                rate *= link.factor
        later = _solve(bar, hours, rate, IDLE_PER_HOUR.get(name, 0.0))
        # a resting point stays near its beginning; one already outside may only come back
        began = temperament[name].initial
        low, high = min(began - BAND, bar.rest), max(began + BAND, bar.rest)
        relaxed[name] = replace(later, rest=min(high, max(low, later.rest)))
    return relaxed


def _solve(bar: Bar, hours: float, rate: float, push: float) -> Bar:
    """Solve the two equations of one bar with constant coefficients.

    Args:
        bar: Where it stands.
        hours: Time to pass, >= 0.
        rate: Share of the gap that the value closes, per hour, >= 0.
        push: Points per hour that act on the value throughout.

    Returns:
        Value and resting point, each held in [0, 100].
    """
    gap, speed = bar.value - bar.rest, rate + DRIFT_PER_HOUR
    settled = push / speed  # the gap at which push and pull balance
    fallen = -math.expm1(-speed * hours)  # 1 - exp(-x), exact for small x
    gap_then = settled + (gap - settled) * (1 - fallen)
    gap_hours = settled * hours + (gap - settled) * fallen / speed
    rest = bar.rest + DRIFT_PER_HOUR * gap_hours
    return Bar(_clamp(rest + gap_then), _clamp(rest))


def _clamp(value: float) -> float:
    return min(FULL, max(0.0, value))
