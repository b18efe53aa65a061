"""Which automations are due: their time has come, or their file is none."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from bumble.errors import RecordInvalidError
from bumble.jobs import schedule
from bumble.records import automations, base
from bumble.records.automations import Automation
from bumble.runtime import rules
from bumble.runtime.job import Condition, Due
from bumble.runtime.runtime import Runtime
from bumble.text import moments


def check(runtime: Runtime) -> Due[Automation | Path]:
    """Find the automations whose time has come; then the files that are none."""
    at = runtime.now()
    paths = automations.paths(runtime.entity.automations)[: automations.MOST]

    def read(path: Path) -> tuple[Automation, bool]:
        one = automations.load(path)
        return one, one.enabled and due_at(runtime, one, at) <= at

    known, broken = base.load_all(paths, read)
    waiting = [one for one, is_due in known if is_due]
    due = rules.obeyed(runtime.entity, waiting, rules.of_automation)
    told = f"{len(due)} of {len(known)}" + (f", {len(broken)} can't be read" if broken else "")
    return Due((Condition("due", told, "at least 1", bool(due or broken)),), (*due, *broken))


def due_at(runtime: Runtime, automation: Automation, at: datetime) -> datetime:
    """Return when an automation is to run next; one that never did counts from today's midnight.

    So does one that last ran at a time that is yet to come: a clock was wrong.

    Raises:
        RecordInvalidError: If its schedule is none.
    """
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    last = automation.last
    begins = midnight if last is None or moments.is_ahead(last, at) else last
    try:
        return schedule.following(automation.schedule, begins, runtime.zone)
    except ValueError as error:
        path = runtime.entity.root / automations.path(automation.id)
        raise RecordInvalidError(path, str(error), automation.source.line_of("schedule")) from error
