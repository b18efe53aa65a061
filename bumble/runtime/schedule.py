"""Schedules of reminders and automations: cron expressions in the entity's time zone.

Weekdays are 0 to 7 or SUN to SAT, Sunday being 0 and 7. What cron does when clocks change is done
here too: a time that is skipped comes a little later, one that comes twice counts once.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

FIELDS = "minute hour day month weekday"


def check(expression: str) -> None:
    """See to it that an expression is one.

    Raises:
        ValueError: If it is not, or names a day that never comes.
    """
    following(expression, datetime(2024, 1, 1, tzinfo=ZoneInfo("UTC")), ZoneInfo("UTC"))


def following(expression: str, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the first time of a schedule that comes after another time.

    Raises:
        ValueError: If the expression is none, or names a day that never comes.
    """
    if len(expression.split()) != len(FIELDS.split()):
        raise ValueError(f"`{expression}` is no schedule: it takes five fields, {FIELDS}")
    try:
        return next(CronSim(expression, after.astimezone(zone)))
    except CronSimError as error:
        problem = str(error)[:1].lower() + str(error)[1:]
        raise ValueError(f"`{expression}` is no schedule: {problem} ({FIELDS})") from error
    except StopIteration:
        raise ValueError(f"`{expression}` is a schedule of days that never come") from None
