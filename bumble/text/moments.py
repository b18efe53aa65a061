"""Times as text with their offset, within the years that can be calculated with.

Before the first and behind the last of them, a clock or a hand was wrong: one record of the year
9999 would stand in front of all that is written after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo

# A day less than the years 1000 to 2999, which a time then lies in at every offset.
FIRST, END = datetime(1000, 1, 2, tzinfo=UTC), datetime(2999, 12, 31, tzinfo=UTC)
AHEAD = timedelta(days=1)  # clocks of two machines differ, and so do people's time zones


# Of the entity that a command serves: what a hand wrote into a record without an offset is in it.
HOME: ContextVar[tzinfo | None] = ContextVar("HOME", default=None)


def read(value: object, name: str, zone: tzinfo | None = None) -> datetime:
    """Read a time with its UTC offset.

    Args:
        value: ISO 8601.
        name: Of the field, for errors.
        zone: What one without an offset is in; None: there has to be one.

    Raises:
        ValueError: If it is none, has no offset, or lies in no year that records may name.
    """
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(
            f"`{name}` should be a time like 2026-05-24T03:12:47+02:00, not `{str(value)[:60]}`"
        ) from None
    if at.tzinfo is None and zone is None:
        raise ValueError(
            f"`{name}` has no UTC offset: write it behind the time, as in 2026-05-24T03:12:47+02:00"
        )
    at = at if at.tzinfo else at.replace(tzinfo=zone)
    if not is_sane(at):
        raise ValueError(f"`{name}` is in the year {at.year}; {YEARS}")
    return at


def local(text: str, zone: tzinfo) -> datetime:
    """Read a day or a time that somebody wrote; one without an offset is in a zone.

    Raises:
        ValueError: If it is neither, or lies in no year that records may name.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text}: neither a day like 2026-05-24 nor a time like 2026-05-24T03:12"
        ) from None
    at = at if at.tzinfo else at.replace(tzinfo=zone)
    if not is_sane(at):
        raise ValueError(f"{text}: {YEARS}")
    return at


def gap(one: datetime, other: datetime) -> timedelta:
    """Return how much time lies between two, whichever comes first.

    So every wait is measured: what stands ahead of the clock was written by one that was wrong, and
    holds nothing up for longer than the wait itself. What is done then has the right time.
    """
    return abs(one.astimezone(UTC) - other.astimezone(UTC))


def seconds_between(earlier: datetime, later: datetime) -> float:
    """Tell how many seconds really passed, negative if `later` comes first.

    Python subtracts two that share a zone as wall clocks, an hour wrong across a DST change.
    """
    return (later.astimezone(UTC) - earlier.astimezone(UTC)).total_seconds()


def in_hours(at: datetime, zone: tzinfo, hours: Collection[int]) -> bool:
    """Tell whether the local clock shows one of these hours; a list may wrap midnight.

    An hour that DST skips never comes, one that it repeats comes twice.
    """
    return at.astimezone(zone).hour in hours


def day_text(at: datetime) -> str:
    """Write the day of a moment as prompts do, in its own zone: `Sunday 24 May 2026`."""
    return f"{at:%A} {at.day} {at:%B %Y}"


def by_day(rows: Iterable[tuple[datetime, str]], zone: tzinfo, day: str = "") -> list[str]:
    """Put before each line that is of another day than the one before it, or `day`, its day."""
    lines = []
    for at, line in rows:
        if (its := day_text(at.astimezone(zone))) != day:
            lines.append(f"({its})")
        lines.append(line)
        day = its
    return lines


def is_ahead(at: datetime, now: datetime) -> bool:
    """Whether a time is so far ahead that the clock it comes from was wrong."""
    return at - now > AHEAD


YEARS = f"times lie between the years {FIRST.year} and {END.year}, a day off either end"


def is_sane(at: datetime) -> bool:
    """Whether a time lies in a year that records may name, in whatever zone it is shown."""
    return FIRST <= (at if at.tzinfo else at.replace(tzinfo=UTC)) < END
