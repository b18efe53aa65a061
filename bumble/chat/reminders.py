"""Delivering reminders that are due: late rather than never, each of them once.

One for a person waits until that is said in a talk the person is in, or printed on the owner's
terminal; nothing else delivers it. That it was said is written in the same change set as what was
said. A line is printed before: a kill in between must not lose it, so that it alone may come twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from bumble.chat.participants import Delivery
from bumble.entity.changes import Change
from bumble.errors import RecordInvalidError
from bumble.fallback import quotes, templates
from bumble.records import base, journal, provenance, reminders, sessions
from bumble.runtime import people, schedule, spoken
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime
from bumble.text.words import one_line, shorten

TAG = "reminder"
LATE = timedelta(hours=1)  # from here on it says when it should have come


def check(runtime: Runtime) -> Due[reminders.Reminder | Path]:
    """Find the reminders to be said now, the longest due first; then the files that are none."""
    there, readable, broken = schedule.due_reminders(runtime.entity, runtime.now())
    ready = tuple(one for one in there if waits_for(runtime, one) is None)
    waiting = len(there) - len(ready)
    summary = f"{len(ready)} of {readable}"
    summary += f", {waiting} more for a talk or a terminal" if waiting else ""
    summary += f", {len(broken)} can't be read" if broken else ""
    return Due((Condition("due", summary, "at least 1", bool(ready or broken)),), (*ready, *broken))


def for_talk(runtime: Runtime, session: sessions.Session) -> Delivery:
    """Return what is to be said in a talk before its next message: to those in it, and to all."""
    at = runtime.now()
    messages: list[sessions.Message] = []
    noted: list[Change] = []
    for reminder in schedule.due_reminders(runtime.entity, at)[0] if runtime.writes else ():
        if reminder.deliver != reminders.SESSION or not reminder.may_be_said(session.people):
            continue
        try:
            following = _following(runtime, reminder, at)
        except RecordInvalidError:
            continue  # `doctor` and `tick` tell of it
        change = reminders.plan_delivered(reminder, at, following, _why(reminder))
        if change is not None:
            message_id = base.new_id(sessions.MESSAGE_PREFIX, at, runtime.rng)
            extra = {"unprompted": True, "reminder": reminder.id}
            text = worded(runtime, reminder, at)
            trust = _trust(reminder)
            messages.append(
                sessions.Message(message_id, at, "assistant", text, trust=trust, extra=extra)
            )
            noted.append(change)
    return Delivery(tuple(messages), tuple(noted))


def waits_for(runtime: Runtime, reminder: reminders.Reminder) -> str | None:
    """Say what a reminder that is due still waits for; None: nothing."""
    given = (runtime.entity, runtime.identity, runtime.config)
    return schedule.waits_for(*given, reminder, runtime.now(), watched=runtime.show is not None)


def run(runtime: Runtime, job: reminders.Reminder | Path) -> JobResult:
    """Say a reminder, or find that a file is none.

    Raises:
        RecordInvalidError: If its schedule is none, or the file no reminder.
    """
    at = runtime.now()
    reminder = reminders.REMINDER.load(job) if isinstance(job, Path) else job
    path = runtime.entity.root / reminders.REMINDER.place(reminder)
    following = _following(runtime, reminder, at)
    text = worded(runtime, reminder, at)
    printed = False
    if reminder.deliver == reminders.SESSION and runtime.show is not None and runtime.writes:
        runtime.show(text)
        printed = True

    def plan() -> Sequence[Change | None]:
        now = reminders.REMINDER.load(path) if path.exists() else None
        if now is None or not now.is_due(at):
            return []  # somebody took it away, or another process was faster
        why = _why(reminder)
        noted = reminders.plan_delivered(now, at, following, why)
        if reminder.deliver != reminders.JOURNAL or noted is None:
            return [noted]
        origin = replace(reminder.provenance, by=TAG, sources=(reminder.id,))
        entry = journal.plan_add(at, text, runtime.zone, why, tags=(TAG,), provenance=origin)
        return [entry, noted]

    lines = () if printed else (f"{reminder.deliver}: {text}",)
    data = {"reminder": reminder.id, "deliver": reminder.deliver, "text": text}
    return JobResult(
        f"remind: {shorten(reminder.text, 60)}", plan, lines, data, (("Evidence", reminder.id),)
    )


def worded(runtime: Runtime, reminder: reminders.Reminder, at: datetime) -> str:
    """Word a reminder in the language of whom it is for; one that comes late says when it was due.

    One that repeats was due at the last time that has come. A message of the entity's own is as it
    is; what somebody else has it say is quoted, with their name.
    """
    if reminder.provenance.by == provenance.ITSELF:
        return reminder.text
    person = reminder.person or people.owner_id(runtime.entity, runtime.identity)
    language = spoken.by_person(runtime.entity, runtime.config.language, person, at)
    words, due = templates.load(language), reminder.at.astimezone(at.tzinfo)
    if reminder.repeat:
        due = max(due, schedule.newest(reminder.repeat, at, runtime.zone))
    day = quotes.weekday(due, words, year=True, timed=True)
    late = f" ({day})" if at - due >= LATE else ""
    quoted = quotes.marked(one_line(reminder.text), words)
    if provenance.is_untrusted(reminder.provenance.trust):  # nobody here has said it
        return f"{words.due[1]}{late}: {quoted}"
    if reminder.asked_by:
        name = people.name_of(runtime, reminder.asked_by)
        return f"{words.due[0]}{f' ({name})' if name else ''}{late}: {quoted}"
    return f"{words.due[0]}{late}: {reminder.text}"


def _trust(reminder: reminders.Reminder) -> str:
    """Return what a message is worth that says it: what somebody else has it say, no more."""
    given = reminder.provenance.trust
    is_others = given == "person" and reminder.asked_by
    return given if provenance.is_untrusted(given) or is_others else "entity"


def _why(reminder: reminders.Reminder) -> str:
    return f"say: {shorten(reminder.text, 60)}"


def _following(runtime: Runtime, reminder: reminders.Reminder, at: datetime) -> datetime | None:
    """Return when a reminder is to be said next; None: never again.

    Raises:
        RecordInvalidError: If its schedule is none.
    """
    try:
        return schedule.following(reminder.repeat, at, runtime.zone) if reminder.repeat else None
    except ValueError as error:
        path = runtime.entity.root / reminders.REMINDER.place(reminder)
        raise RecordInvalidError(path, str(error), reminder.source.line_of("repeat")) from error
