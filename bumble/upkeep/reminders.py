"""Delivering reminders that are due: late rather than never, each of them once.

That a reminder was said is written in the same change set as what was said. A command is run
before, since a kill in between must not lose it: it alone may then run twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from bumble import files
from bumble.agent import programs
from bumble.entity.changes import Change
from bumble.errors import RecordInvalidError, RefusedError, UserError
from bumble.records import base, journal, reminders, session_files, sessions
from bumble.records.reminders import COMMAND, SESSION, Reminder
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime
from bumble.upkeep import schedule, wake_gates

TAG = "reminder"
LATE = timedelta(hours=1)  # from here on it says when it should have come


def check(life: Runtime) -> Due[Reminder | Path]:
    """Find the reminders to be said now, the longest due first; then the files that are none."""
    at = life.now()
    paths = reminders.paths(life.entity.reminders)
    readable, broken = base.load_all(paths, reminders.load)
    due = sorted(
        (reminder for reminder in readable if reminder.is_due(at)),
        key=lambda reminder: (reminder.at, reminder.id),
    )
    ready = tuple(reminder for reminder in due if waits_for(life, reminder) is None)
    summary = f"{len(ready)} of {len(readable)}"
    summary += f", {len(broken)} can't be read" if broken else ""
    gate = Condition("due", summary, "at least 1", bool(ready or broken))
    return Due((gate,), (*ready, *broken))


def waits_for(life: Runtime, reminder: Reminder) -> str | None:
    """Say what a reminder that is due still waits for; None: nothing."""
    if wake_gates.is_of_wake(reminder.provenance) and wake_gates.is_quiet(life, life.now()):
        return "these are quiet hours, and nobody asked for it"
    if reminder.deliver == SESSION and not _session_id(life, reminder.person):
        return f"{reminder.person} has not talked to {life.identity.name} yet"
    if reminder.deliver == COMMAND and not life.config.tools.run_command:
        return "tools.run_command is off, or the folder is not trusted: `bumble config trust`"
    return None


def run(life: Runtime, job: Reminder | Path) -> JobResult:
    """Say a reminder.

    Raises:
        RecordInvalidError: If its schedule is none, or the file no reminder.
        UserError: If its command fails; it is tried again.
    """
    at = life.now()
    reminder = reminders.load(job) if isinstance(job, Path) else job
    path = life.entity.root / reminders.path(reminder.id)
    try:
        following = schedule.following(reminder.repeat, at, life.zone) if reminder.repeat else None
    except ValueError as error:
        line = reminder.source.line_of("repeat")
        raise RecordInvalidError(path, str(error), line) from error
    message_id = base.new_id(sessions.MESSAGE_PREFIX, at, life.rng)
    text = worded(reminder, at)
    if reminder.deliver == COMMAND and life.writes:
        _run_command(life, reminder, text)

    def plan() -> Sequence[Change | None]:
        if not path.exists():
            return []  # somebody took it away
        now = reminders.load(path)
        if not now.is_due(at):
            return []  # another process was faster
        why = f"say: {' '.join(reminder.text.split())[:60]}"
        noted = reminders.plan_delivered(now, at, following, why)
        return [_plan_delivery(life, reminder, text, message_id, at, why), noted] if noted else []

    spoken = f"{reminder.deliver}: {text}"
    data = {"reminder": reminder.id, "deliver": reminder.deliver, "text": text}
    return JobResult(f"remind: {reminder.id}", plan, (spoken,), data, (("Evidence", reminder.id),))


def worded(reminder: Reminder, at: datetime) -> str:
    """Word a reminder; one that comes late says so. A message of the entity's own is as it is."""
    if wake_gates.is_of_wake(reminder.provenance):
        return reminder.text
    late = at - reminder.at >= LATE
    due = f" (due {reminder.at.astimezone(at.tzinfo):%A %d %B %Y, %H:%M})" if late else ""
    return f"Reminder{due}: {reminder.text}"


def _plan_delivery(
    life: Runtime, reminder: Reminder, text: str, message_id: str, at: datetime, why: str
) -> Change | None:
    if reminder.deliver == COMMAND:
        return None
    if reminder.deliver == SESSION:
        session = session_files.find(life.entity.sessions, _session_id(life, reminder.person))
        extra = {"unprompted": True, "reminder": reminder.id}
        message = sessions.Message(message_id, at, "assistant", text, trust="entity", extra=extra)
        return sessions.plan_append(session, [message], why)
    return journal.plan_add(at, text, life.zone, why, tags=(TAG,))


def _session_id(life: Runtime, person: str) -> str:
    """Return the conversation a person last spoke in; empty: none."""
    newest = session_files.newest(life.entity.sessions, person)
    return newest.id if newest else ""


def _run_command(life: Runtime, reminder: Reminder, text: str) -> None:
    """Run a reminder's program in the workspace, with the text on its standard input.

    Raises:
        RefusedError: If the folder may not start programs.
        UserError: If it can't be run, fails, or takes too long.
    """
    problem = waits_for(life, reminder)
    if problem is not None:
        raise RefusedError(f"{reminders.path(reminder.id)}: {problem}")
    tools = life.config.tools
    files.make_folder(life.entity.workspace)
    result = programs.run(
        reminder.command,
        folder=life.entity.workspace,
        environ=programs.environment(life.environ, tools.command_variables),
        timeout_seconds=tools.command_timeout_seconds,
        text=f"{text}\n",
        stays=True,
    )
    if result.failed:
        ending = f"ended with {result.code}: {' '.join(result.output.split())[:200]}"
        raise _command_failed(reminder, result.problem or ending)


def _command_failed(reminder: Reminder, problem: str) -> UserError:
    return UserError(
        f"{reminders.path(reminder.id)}: `{reminder.command[0]}` {problem}\n"
        "The reminder stays due, and the next tick tries again."
    )
