"""`bumble remind`: add, list, run and remove reminders."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Any, Literal

import typer
from msgspec.structs import replace

from bumble.cli import commit, listing, output, people, run_job, text_input
from bumble.cli.entity_command import runs_job, shows, writes
from bumble.cli.listing import LimitOption
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, IdArgument, YesOption
from bumble.cli.run_job import JobFlags
from bumble.cli.shelf import Shelf
from bumble.cli.text_input import EditorOption, TextArgument
from bumble.errors import UsageError
from bumble.records import base, reminders
from bumble.records.base import Provenance
from bumble.records.reminders import COMMAND, SESSION, Reminder
from bumble.text import moments

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Have it say something at some time.",
)
REMINDERS = Shelf(reminders.REMINDER)
NONE = 'No reminders. Add one with `bumble remind add "..." --in 2h`.'
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
DURATION = re.compile(
    r"(\d+(?:\.\d+)?)\s*(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?)\s*"
)


@app.command()
@writes
def add(
    opened: Opened,
    text: TextArgument = None,
    *,
    at: Annotated[
        str | None, typer.Option("--at", metavar="ISO", help="When, in the entity's time zone.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--in", metavar="TIME", help="How long from now: 90m, 2h, 1d12h.")
    ] = None,
    cron: Annotated[
        str | None,
        typer.Option("--cron", metavar="SCHEDULE", help='Again and again: "0 9 * * MON-FRI".'),
    ] = None,
    person: Annotated[
        str | None, typer.Option("--for", metavar="PERSON", help="Whom it is for.")
    ] = None,
    deliver: Annotated[
        Literal["journal", "session", "command"] | None,
        typer.Option(
            "--deliver",
            help="In the person's next talk, or on the owner's terminal (the default); into the "
            "journal; or to --command.",
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            metavar="PROGRAM",
            help="Program and arguments that get the text; needs tools.run_command.",
        ),
    ] = None,
    editor: EditorOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Add a reminder: said in the next talk once it is due, or by `bumble tick` on a terminal."""
    from bumble.cli import people

    made_at = opened.shell.now().astimezone(opened.zone)
    due = _due(opened, at, after, cron, made_at)
    how = deliver or (COMMAND if command else SESSION)
    for_owner = how == SESSION and not person
    whom = people.speaking(opened, person) if person or for_owner else None
    audience = (whom.id,) if whom and not for_owner else ()
    with text_input.collect(opened.shell, text, in_editor=editor, name="reminder.md") as draft:
        try:
            reminder = reminders.new(
                base.new_id(reminders.PREFIX, made_at, opened.shell.rng),
                due,
                draft,
                repeat=cron or "",
                person=whom.id if whom else "",
                deliver=how,
                command=tuple(shlex.split(command or "")),
                provenance=Provenance(by="remind add", trust="owner", audience=audience),
            )
        except ValueError as error:
            raise UsageError(f"{error} (see `bumble remind add --help`)") from error
        _keep(opened, reminder, dry_run=dry_run)
    if how == COMMAND and not opened.config.tools.run_command:
        output.warn(
            opened.shell,
            "it waits until tools.run_command is on and the folder trusted: `bumble config trust`",
        )


def _keep(opened: Opened, reminder: Reminder, *, dry_run: bool) -> None:
    why = f"remind: {output.shorten(reminder.text, 50)}"
    sentence = f"{reminders.place(reminder)} is due {listing.when(reminder.at, opened)}."
    planned = [reminders.plan_new(reminder, why)]
    stamp = base.stamp(reminder.at)
    commit.commit(
        opened, "remind add", planned, sentence, dry_run=dry_run, id=reminder.id, at=stamp
    )


def _due(
    opened: Opened, at: str | None, after: str | None, cron: str | None, now: datetime
) -> datetime:
    """Return when a reminder is due first.

    Raises:
        UsageError: If none or too many of the options say so, or one can't be read.
    """
    from bumble.jobs import schedule

    if at and after:
        raise UsageError("--at and --in both say when: choose one.")
    zone = opened.zone
    try:
        first = schedule.following(cron, now, zone) if cron else None
    except ValueError as error:
        raise UsageError(f"--cron: {error}") from error
    if at:
        return _existing(listing.moment(at, opened, "--at"), zone)
    if after:
        return _after(now, after, zone)
    if first is None:
        raise UsageError("Say when: --at 2026-05-24T18:00, --in 2h, or --cron '0 9 * * *'.")
    return first


def _existing(at: datetime, zone: tzinfo) -> datetime:
    """Return a time as clocks show it; one that they skip when they change is an hour later."""
    return at.astimezone(UTC).astimezone(zone)


def _after(now: datetime, text: str, zone: tzinfo) -> datetime:
    """Return the time behind a while: days go by the calendar, hours by what passes of them."""
    try:
        days, hours = _duration(text)
        at = _existing((now + days).astimezone(UTC) + hours, zone)
    except OverflowError:
        at = None
    if at is None or not moments.is_sane(at):
        raise UsageError(f"--in {text}: that is too far away")
    return at


def _duration(text: str) -> tuple[timedelta, timedelta]:
    """Read a while: its days and weeks, and the rest."""
    wanted = text.strip().casefold()
    parts = DURATION.findall(wanted)
    if not parts or DURATION.sub("", wanted):
        raise UsageError(f"--in {text}: not a time like 90m, 2h or 1d12h")
    days = hours = timedelta()
    for number, unit in parts:
        part = timedelta(**{UNITS[unit[0]]: float(number)})
        days, hours = (days + part, hours) if unit[0] in "dw" else (days, hours + part)
    return days, hours


@app.command("list")
@shows
def list_(
    opened: Opened,
    *,
    limit: LimitOption = 20,
) -> None:
    """List reminders that are still to come, the next one first."""
    everything = opened.shell.everything
    listed = REMINDERS.listed(opened, keep=lambda one: everything or not one.done)
    ordered = sorted(listed.records, key=lambda reminder: (reminder.at, reminder.id))
    more = len(ordered) > limit
    shown = listing.Listing(tuple(ordered[:limit]), listed.broken, more, listed.others)
    short = listing.short_ids([reminder.id for reminder in shown.records], REMINDERS.paths(opened))
    names = people.names(opened)

    def line(reminder: Reminder) -> list[str]:
        late = not reminder.done and reminder.at <= opened.shell.now()
        state = "said" if reminder.done else "due" if late else reminder.repeat or "once"
        whom = f" for {names.get(reminder.person, reminder.person)}" if reminder.person else ""
        when = listing.when(reminder.at, opened)
        return [
            short[reminder.id],
            when,
            state,
            f"{reminder.deliver}{whom}",
            output.shorten(reminder.text, 60),
        ]

    listing.show_list(opened, "remind list", shown, _data, line, NONE)


@app.command()
@runs_job
def run(opened: Opened, flags: JobFlags) -> None:
    """Say the reminders that are due, and nothing else of what `bumble tick` does."""
    from bumble.cli import runtimes
    from bumble.jobs import reminders as delivery
    from bumble.runtime.job import Pass

    pass_ = run_job.showing_reminders(opened, Pass("reminders", delivery.check, delivery.run))
    with runtimes.open_runtime(opened, "remind run") as runtime:
        run_job.carry_out(
            opened,
            replace(runtime, writes=not flags.dry_run),
            "remind run",
            pass_.check,
            pass_.run,
            flags,
        )


@app.command()
@writes
def remove(
    opened: Opened,
    reminder_id: IdArgument,
    *,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Remove a reminder's file."""
    reminder = REMINDERS.find(opened, reminder_id)
    text = output.shorten(reminder.text, 50)
    REMINDERS.remove(
        *(opened, "remind remove", reminder, text),
        why=f"forget to remind: {text}",
        sentence=f"Removed {reminders.place(reminder)}.",
        yes=yes,
        dry_run=dry_run,
        id=reminder.id,
    )


def _data(reminder: Reminder) -> dict[str, Any]:
    return {
        "id": reminder.id,
        "at": reminder.at.isoformat(),
        "text": reminder.text,
        "repeat": reminder.repeat or None,
        "for": reminder.person or None,
        "deliver": reminder.deliver,
        "command": list(reminder.command),
        "delivered": reminder.delivered.isoformat() if reminder.delivered else None,
        "done": reminder.done,
    }
