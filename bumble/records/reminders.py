"""Reminder files: what is to be said at some time, to whom and how.

Layout: `reminders/<id>.md`; the body is what is to be said. A reminder that was delivered has
`done`; one that repeats has the time of its next delivery in `at` instead. Knows nothing of
schedules or of delivering.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import markdown, moments
from bumble.text.markdown import Document

PREFIX = "rem"
FOLDER = "reminders"
JOURNAL, SESSION, COMMAND = "journal", "session", "command"
DELIVERIES = (JOURNAL, SESSION, COMMAND)


class Reminder(Struct, frozen=True):
    """One thing to be said."""

    id: str  # `rem_<ULID>`, the file's stem
    at: datetime  # when it is to be said, next
    text: str  # Markdown, without surrounding blank lines
    repeat: str  # a cron expression in the entity's time zone; empty: once
    person: str  # id of whom it is for, under the key `for`; empty: nobody in particular
    deliver: str  # one of DELIVERIES
    command: tuple[str, ...]  # delivery `command`: program and arguments; hears the text
    delivered: datetime | None  # when it was last said
    done: bool  # it was said, and does not repeat
    provenance: Provenance
    source: Document  # the file as it stands; edits splice its lines

    def is_due(self, at: datetime) -> bool:
        """Whether it is to be said at that time, or should have been before.

        One that repeats was put off by a wrong clock, where it was said at a time yet to come.
        """
        put_off = self.repeat and self.delivered and moments.is_ahead(self.delivered, at)
        return not self.done and (self.at <= at or bool(put_off))


def parse(source: str, stem: str) -> Reminder:
    """Read a reminder from the text of its file; `source.text` gives the same bytes back."""
    return of(markdown.parse(source), stem)


def of(document: Document, reminder_id: str) -> Reminder:
    """Read a reminder from its document."""
    meta = document.meta
    deliver = base.choice(meta, "deliver", DELIVERIES, JOURNAL)
    person, command = base.field(meta, "for", str, ""), base.texts(meta, "command")
    if not document.body:
        raise ValueError("there is nothing to say below the front matter")
    if deliver == SESSION and not person:
        raise ValueError("`for` is missing: a session is somebody's")
    if deliver == COMMAND and not command:
        raise ValueError("`command` is missing: a program and its arguments")
    return Reminder(
        id=reminder_id,
        at=base.field(meta, "at", datetime),
        text=document.body,
        repeat=base.field(meta, "repeat", str, ""),
        person=person,
        deliver=deliver,
        command=command,
        delivered=None
        if meta.get("delivered") is None
        else base.field(meta, "delivered", datetime),
        done=base.field(meta, "done", bool, False),
        provenance=base.provenance(meta),
        source=document,
    )


def new(
    reminder_id: str,
    at: datetime,
    text: str,
    *,
    repeat: str = "",
    person: str = "",
    deliver: str = JOURNAL,
    command: tuple[str, ...] = (),
    provenance: Provenance | None = None,
) -> Reminder:
    """Make a reminder that is not in the folder yet; `plan_new` puts it there.

    Raises:
        ValueError: If the text is empty, or what its delivery needs is missing.
    """
    meta = {"at": base.stamp(at)} | base.filled(
        {"repeat": repeat, "for": person, "deliver": deliver, "command": list(command)}
    )
    return of(markdown.render(meta | (provenance or Provenance()).meta(), text), reminder_id)


def path(reminder_id: str) -> str:
    """Return where a reminder lies, relative to the entity folder."""
    return f"{FOLDER}/{reminder_id}.md"


def paths(folder: Path) -> list[Path]:
    """Return the files of all reminders, oldest first."""
    return base.paths(folder, "*.md")


def load(file: Path) -> Reminder:
    """Read the reminder in a file.

    Raises:
        RecordInvalidError: If it is none.
    """
    return base.load(file, parse)


def read(folder: Path) -> Iterator[Reminder]:
    """Yield every reminder, those that are done included, oldest first."""
    for file in paths(folder):
        yield load(file)


def plan_new(reminder: Reminder, why: str) -> Change:
    """Plan to put a new reminder into the folder."""
    return base.plan_new(path(reminder.id), reminder.source, why)


def plan_delivered(
    reminder: Reminder, at: datetime, following: datetime | None, why: str
) -> Change | None:
    """Plan to note that a reminder was said; None if that is noted already.

    Args:
        reminder: As it was read.
        at: When it was said.
        following: When it is to be said next; None: never again.
        why: For the change set.
    """
    values: dict[str, Any] = {"delivered": base.stamp(at)}
    values |= {"done": True} if following is None else {"at": base.stamp(following)}
    document = base.with_values(reminder.source, values)
    return base.plan_edit(path(reminder.id), reminder.source, document, why)


def plan_forget(reminder: Reminder, why: str) -> Change:
    """Plan to remove a reminder's file."""
    return base.plan_remove(path(reminder.id), reminder.source, why)
