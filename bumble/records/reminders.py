"""Reminder files: what is to be said at some time, to whom and how.

Layout: `reminders/<id>.md`; the body is what is to be said. A reminder that was delivered has
`done`; one that repeats has the time of its next delivery in `at` instead. Knows nothing of
schedules or of delivering.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, tzinfo
from pathlib import Path
from typing import Annotated, Any, ClassVar

from bumble.entity.changes import Change
from bumble.files import disk
from bumble.records import base, fields, kind
from bumble.records.base import Provenance
from bumble.text import moments

JOURNAL, SESSION = "journal", "session"
MORNING = 9  # the hour of a reminder for which none was named


def moment(text: str, zone: tzinfo) -> datetime:
    """Read when something is to be said: a time, or a day, of which that is the morning.

    Raises:
        ValueError: If it is neither.
    """
    at = moments.local(text, zone)
    with suppress(ValueError):
        return datetime.combine(date.fromisoformat(text), time(MORNING), zone)
    return at


def _delivery(meta: Mapping[str, Any], key: str) -> str:
    """Read how it is said: where nothing says so, in a talk of whom it is for, if anybody."""
    if meta.get("command") and not meta.get("done"):
        raise ValueError(
            "`command`: a reminder runs no program any more; a line of a crontab or an automation"
            " does. `bumble remind remove` takes this one away"
        )
    return fields.one_of((JOURNAL, SESSION), SESSION if meta.get("for") else JOURNAL)(meta, key)


class Reminder(kind.Record, frozen=True, kw_only=True):
    """One thing to be said."""

    ABOUT: ClassVar[kind.About] = kind.About(
        unsaid="there is nothing to say below the front matter",
        filed_as="{0.text}",
        schedule="repeat",
    )

    at: Annotated[datetime, fields.Key(merge=fields.later, ahead=True)]  # when it is said, next
    text: Annotated[str, fields.BODY]  # Markdown, without surrounding blank lines
    repeat: str = ""  # a cron expression in the entity's time zone; empty: once
    person: Annotated[str, fields.Key("for")] = (
        ""  # id of whom it is for; empty: nobody in particular
    )
    asked_by: str = ""  # id of who has it said to somebody else; empty: nobody else has
    deliver: Annotated[str, fields.Key(read=_delivery)]
    delivered: Annotated[datetime | None, fields.LATER] = None  # when it was last said
    done: bool = False  # it was said, and does not repeat

    def check(self) -> None:
        """Refuse one that says nothing, or to nobody."""
        super().check()
        if self.deliver == SESSION and not self.person:
            raise ValueError("`for` is missing: a session is somebody's")

    @classmethod
    def merged(
        cls, base: fields.Values, current: fields.Values, incoming: fields.Values
    ) -> dict[str, Any]:
        """Join two sides: said on either it was said, put off to later than that it is not."""
        merged = super().merged(base, current, incoming)
        due, said = (fields.moment(merged.get(key)) for key in ("at", "delivered"))
        if due and said and due > said:
            merged.pop("done", None)
        return merged

    @property
    def concerned(self) -> tuple[str, ...]:
        return (self.person,)

    def may_be_said(self, people: Sequence[str]) -> bool:
        """Whether all of some people may hear it: who was there when it was asked for, or is meant.

        Until it is said, nobody else is shown it: not even whom it is for.
        """
        told = self.provenance.audience
        return self.person in people and base.may_read(told and (*told, self.person), people)

    @property
    def headline(self) -> str:
        person = f" for {self.person}" if self.person else ""
        return f"reminder {self.id}, {self.at:%Y-%m-%d %H:%M}{person}"

    def is_due(self, at: datetime) -> bool:
        """Whether it is to be said at that time, or should have been before.

        One that repeats was put off by a wrong clock, where it was said at a time yet to come.
        """
        put_off = self.repeat and self.delivered and moments.is_ahead(self.delivered, at)
        return not self.done and (self.at <= at or bool(put_off))


REMINDER = kind.RecordKind(
    name="reminder",
    singular="reminder",
    plural="reminders",
    key="reminders",
    patterns=("reminders/*.md",),
    record=Reminder,
    forgetting="file",
    merging="bumble",
    prefix="rem",
    people_keys=("for", "asked_by", "audience"),
    counted=True,
)


def yet_to_say(folder: Path) -> tuple[list[Reminder], list[Path]]:
    """Return the reminders that are not over, and the files that can't be read.

    Of a file that says that it is over no more is looked at, be it broken: those add up, and each
    takes .2 ms to parse.
    """
    files = ((path, disk.read_cache(path) or b"") for path in REMINDER.files(folder))
    heads = ((path, data.partition(b"\n---")[0].splitlines()) for path, data in files)
    open_files = (path for path, head in heads if b"done: true" not in head)
    there, broken = base.load_all(open_files, REMINDER.load)
    return [one for one in there if not one.done], broken


def new(
    reminder_id: str,
    at: datetime,
    text: str,
    *,
    repeat: str = "",
    person: str = "",
    asked_by: str = "",
    deliver: str = JOURNAL,
    provenance: Provenance | None = None,
) -> Reminder:
    """Make a reminder that is not in the folder yet; `plan_new` puts it there.

    Raises:
        ValueError: If the text is empty, or what its delivery needs is missing.
    """
    values = {"at": at, "repeat": repeat, "for": person, "asked_by": asked_by}
    values |= {"deliver": deliver if deliver != _delivery(values, "deliver") else ""}
    return REMINDER.new(reminder_id, text, provenance, **values)


def plan_delivered(
    reminder: Reminder, at: datetime, following: datetime | None, why: str
) -> Change | None:
    """Plan to note that a reminder was said, and so is known to whom; None if it is noted already.

    Args:
        reminder: As it was read.
        at: When it was said.
        following: When it is to be said next; None: never again.
        why: For the change set.
    """
    then: dict[str, Any] = {"done": True} if following is None else {"at": following}
    told = reminder.provenance.audience
    if told and reminder.person and reminder.person not in told:
        then["audience"] = [*told, reminder.person]
    return REMINDER.plan_edit(reminder, {"delivered": at, **then}, why)
