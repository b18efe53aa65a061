"""The five conditions of a dream: enabled, silence, cooldown, hours of the night, cap a night."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bumble.body.circadian import in_hours
from bumble.entity.changes import Change
from bumble.errors import RecordInvalidError
from bumble.records import base, state
from bumble.records.mapping_files import MappingFile
from bumble.runtime import last_activity
from bumble.runtime.job import Condition
from bumble.runtime.runtime import Runtime
from bumble.text import moments

EMPTY_BACKOFF_SECONDS = 1800  # after a night without an eligible pair
SECTION = "dream"


class DreamHistory(Struct, frozen=True):
    """The last dreams, as `state.yaml` keeps them."""

    file: MappingFile
    last_at: datetime | None  # of the last dream
    empty_at: datetime | None  # when there was nothing to dream of
    day: str  # of the last dream, in the entity's time zone
    count: int  # dreams on that day

    def count_on(self, day: str) -> int:
        """Return how many dreams there were on a day."""
        return self.count if self.day == day else 0


def conditions(runtime: Runtime, at: datetime) -> tuple[Condition, ...]:
    """Return the five conditions as they are at a time."""
    config = runtime.config.soma.dreams
    hours = ", ".join(map(str, config.dream_hours)) or "none"
    past = read(runtime)
    return (
        Condition(
            "enabled", "on" if config.enabled else "off", "soma.dreams.enabled", config.enabled
        ),
        _silence(runtime, at),
        _cooldown(runtime, past, at),
        Condition(
            "hours",
            f"{at.astimezone(runtime.zone):%H:%M}",
            f"one of the hours {hours}",
            in_hours(at, runtime.zone, config.dream_hours),
        ),
        _cap(runtime, past, at),
    )


def read(runtime: Runtime) -> DreamHistory:
    """Read when the last dreams were.

    Raises:
        RecordInvalidError: If the file does not hold it.
    """
    file = state.read(runtime.entity.state)
    values = file.get(SECTION, default={})
    try:
        if not isinstance(values, dict):
            raise ValueError(f"`{SECTION}` should be a mapping")
        times = [
            None if values.get(name) is None else base.field(values, name, datetime)
            for name in ("last_at", "empty_at")
        ]
        count = base.field(values, "count", int, 0)
    except ValueError as error:
        raise RecordInvalidError(runtime.entity.state, str(error)) from error
    return DreamHistory(file, times[0], times[1], str(values.get("day", "")), count)


def _silence(runtime: Runtime, at: datetime) -> Condition:
    wanted = runtime.config.soma.dreams.min_silence_seconds
    silence = last_activity.silence(runtime.entity, at)
    quiet = None if silence is None else silence.total_seconds()
    return Condition(
        "silence",
        "nobody has spoken yet" if quiet is None else f"{round(quiet)} s",
        f"at least {wanted:g} s",
        quiet is None or quiet >= wanted,
    )


def _cooldown(runtime: Runtime, past: DreamHistory, at: datetime) -> Condition:
    """Time since the last dream, and since a night in which there was nothing to dream of."""
    config = runtime.config.soma.dreams
    times = [
        (past.last_at, config.min_gap_seconds, "the last dream"),
        (past.empty_at, EMPTY_BACKOFF_SECONDS, "there was nothing to dream of"),
    ]
    waits = [
        (moments.gap(moment, at).total_seconds(), least, what)
        for moment, least, what in times
        if moment
    ]
    if not waits:
        return Condition("cooldown", "no dream yet", f"at least {config.min_gap_seconds:g} s", True)
    since, wanted, what = min(waits, key=lambda wait: wait[0] - wait[1])
    return Condition(
        "cooldown", f"{since:.0f} s since {what}", f"at least {wanted:g} s", since >= wanted
    )


def _cap(runtime: Runtime, past: DreamHistory, at: datetime) -> Condition:
    most, count = runtime.config.soma.dreams.max_cycles_per_day, past.count_on(_day(runtime, at))
    return Condition("daily cap", f"{count} today", f"fewer than {most}", count < most)


def _day(runtime: Runtime, at: datetime) -> str:
    return at.astimezone(runtime.zone).date().isoformat()


def plan_counted(runtime: Runtime, past: DreamHistory, at: datetime) -> Change | None:
    """Plan to remember a dream."""
    day = _day(runtime, at)
    values = {"last_at": base.stamp(at), "day": day, "count": past.count_on(day) + 1}
    gone = [(SECTION, "empty_at")] if past.empty_at else []
    return state.plan_write(past.file, {SECTION: values}, "count the dream", remove=gone)


def plan_empty(runtime: Runtime, at: datetime, why: str) -> Change | None:
    """Plan to remember that there was nothing to dream of, so that it is not tried at once."""
    values = {SECTION: {"empty_at": base.stamp(at)}}
    return state.plan_write(state.read(runtime.entity.state), values, f"no dream: {why}")


def closed(runtime: Runtime, past: DreamHistory, at: datetime) -> list[Condition]:
    """Return the conditions that fail since a dream began, where others talk and dream too."""
    still = (
        _silence(runtime, runtime.now()),
        _cooldown(runtime, past, at),
        _cap(runtime, past, at),
    )
    return [condition for condition in still if not condition.passes]
