"""The daily rhythm of the body: local hours, its factor on the bars, time that passes.

Knows time zones and nothing of bars. Two aware datetimes that share a zone are subtracted by
Python as wall clocks, an hour wrong across a DST change, so every duration in this room is taken
here.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, tzinfo

AMPLITUDE = 0.15  # by which decay is faster by day and slower by night
PHASE_HOUR = 8  # local, at which it is neither


def seconds_between(earlier: datetime, later: datetime) -> float:
    """Tell how many seconds really passed, negative if `later` comes first."""
    return (later.astimezone(UTC) - earlier.astimezone(UTC)).total_seconds()


def local_hour(at: datetime, tz: tzinfo) -> float:
    """Read the clock on the wall in `tz`, as a fraction of hours in [0, 24)."""
    local = at.astimezone(tz)
    return local.hour + local.minute / 60 + (local.second + local.microsecond / 1e6) / 3600


def factor(hour: float) -> float:
    """Weigh rates of decay by the local hour: above 1 by day, below 1 at night.

    Source:
        bumble's own choice; see docs/log.md.
    """
    return 1 + AMPLITUDE * math.sin((hour - PHASE_HOUR) * math.pi / 12)


def next_hour(at: datetime, tz: tzinfo) -> datetime:
    """Find where the next clock hour of `tz` begins, in UTC; always later than `at`."""
    local = at.astimezone(tz)
    into = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    return at.astimezone(UTC) + timedelta(hours=1) - into


def in_hours(at: datetime, tz: tzinfo, hours: Collection[int]) -> bool:
    """Tell whether the local clock shows one of these hours; a list may wrap midnight.

    An hour that DST skips never comes, one that it repeats comes twice.
    """
    return at.astimezone(tz).hour in hours
