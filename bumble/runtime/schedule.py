"""What is set for a time: reminders, automations by cron expressions, and what of them is due.

Weekdays are 0 to 7 or SUN to SAT, Sunday being 0 and 7. What cron does when clocks change is done
here too: a time that is skipped comes a little later, one that comes twice counts once. Saying the
ones and doing the others is for `chat`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from bumble.entity.config import Config, Identity
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.records import automations, base, provenance, reminders
from bumble.runtime import people, rules
from bumble.text import moments

FIELDS = "minute hour day month weekday"


def check(expression: str) -> None:
    """See to it that an expression is one.

    Raises:
        ValueError: If it is not, or names a day that never comes.
    """
    following(expression, datetime(2024, 1, 1, tzinfo=ZoneInfo("UTC")), ZoneInfo("UTC"))


def newest(expression: str, at: datetime, zone: ZoneInfo) -> datetime:
    """Return the last time of a schedule that has come; otherwise as `following`."""
    return following(expression, at + timedelta(seconds=1), zone, reverse=True)


def following(
    expression: str, after: datetime, zone: ZoneInfo, *, reverse: bool = False
) -> datetime:
    """Return the first time of a schedule that comes after another time, or the last before.

    Raises:
        ValueError: If the expression is none, or names a day that never comes.
    """
    if len(expression.split()) != len(FIELDS.split()):
        raise ValueError(f"`{expression}` is no schedule: it takes five fields, {FIELDS}")
    try:
        return next(CronSim(expression, after.astimezone(zone), reverse))
    except CronSimError as error:
        problem = str(error)[:1].lower() + str(error)[1:]
        raise ValueError(f"`{expression}` is no schedule: {problem} ({FIELDS})") from error
    except StopIteration:
        raise ValueError(f"`{expression}` is a schedule of days that never come") from None


def due_reminders(
    entity: Entity, at: datetime
) -> tuple[list[reminders.Reminder], int, Sequence[Path]]:
    """Return the reminders that are due, how many are yet to be said, and the broken files."""
    there, broken = reminders.yet_to_say(entity.reminders)
    due = (reminder for reminder in there if reminder.is_due(at))
    return sorted(due, key=lambda one: (one.at, one.id)), len(there), broken


def waiting(entity: Entity, person: str, readers: Sequence[str]) -> list[reminders.Reminder]:
    """Return the reminders that are somebody's and that all present may meet, next first.

    What another has said to them is no business of theirs until it is said.
    """
    there, _ = reminders.yet_to_say(entity.reminders)
    mine = (
        one
        for one in there
        if (one.asked_by or one.person) == person or (one.delivered and one.person == person)
    )
    told = (one for one in mine if base.may_read(one.provenance.audience, readers))
    return sorted(told, key=lambda one: one.at)


def waits_for(
    entity: Entity,
    identity: Identity,
    config: Config,
    reminder: reminders.Reminder,
    at: datetime,
    *,
    watched: bool = False,
) -> str | None:
    """Say what a reminder that is due still waits for; None: nothing.

    Args:
        entity: Whose reminder.
        identity: Who that is.
        config: Its settings.
        reminder: The reminder.
        at: The present.
        watched: Whether the owner sees what is printed.
    """
    zone, quiet_hours = ZoneInfo(identity.timezone), config.wake.quiet_hours
    if reminder.provenance.by == provenance.ITSELF and moments.in_hours(at, zone, quiet_hours):
        return "these are quiet hours, and nobody asked for it"
    if reminder.deliver == reminders.SESSION and not (
        watched and reminder.person == people.owner_id(entity, identity)
    ):
        return f"a talk with {reminder.person}"
    return None


def due_automations(
    entity: Entity, at: datetime, zone: ZoneInfo
) -> tuple[list[automations.Automation], int, Sequence[Path]]:
    """Return the automations that are due and obeyed, how many there are, and the broken files."""

    def read(path: Path) -> tuple[automations.Automation, bool]:
        one = automations.AUTOMATION.load(path)
        return one, one.enabled and runs_next(entity, one, at, zone) <= at

    paths = automations.AUTOMATION.files(entity.automations)[: automations.MOST]
    known, broken = base.load_all(paths, read)
    waiting = [one for one, is_due in known if is_due]
    return rules.obeyed(entity, waiting, rules.of_automation), len(known), broken


def runs_next(
    entity: Entity, automation: automations.Automation, at: datetime, zone: ZoneInfo
) -> datetime:
    """Return when an automation is to run next; one that never did counts from today's midnight.

    So does one that last ran at a time that is yet to come: a clock was wrong.

    Raises:
        RecordInvalidError: If its schedule is none.
    """
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    last = automation.last
    begins = midnight if last is None or moments.is_ahead(last, at) else last
    try:
        return following(automation.schedule, begins, zone)
    except ValueError as error:
        path = entity.root / automations.AUTOMATION.path(automation.id)
        raise RecordInvalidError(path, str(error), automation.source.line_of("schedule")) from error
