"""`bumble remind`: add, list, run and remove reminders."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Annotated, Literal

import typer
from msgspec.structs import replace

from bumble import patterns
from bumble.cli import listing, output, people, writing
from bumble.cli.command import (
    DryRunOption,
    JobFlags,
    group,
    runs_job,
    shows,
    writes,
)
from bumble.cli.opening import Opened
from bumble.cli.shelf import Shelf, data_of
from bumble.errors import UsageError
from bumble.records import base, reminders
from bumble.text import moments

app = group()
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
DURATION = patterns.compile(
    r"(\d+(?:\.\d+)?)\s*(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?)\s*"
)


def _cells(names: Mapping[str, str], opened: Opened, reminder: reminders.Reminder) -> list[str]:
    late = not reminder.done and reminder.at <= opened.shell.now()
    state = "said" if reminder.done else "due" if late else reminder.repeat or "once"
    whom = f" for {names.get(reminder.person, reminder.person)}" if reminder.person else ""
    text = output.shorten(reminder.text, 60)
    return [listing.when(reminder.at, opened), state, f"{reminder.deliver}{whom}", text]


REMINDERS = Shelf(
    kind=reminders.REMINDER,
    group="remind",
    none='No reminders. Add one with `bumble remind add "..." --in 2h`.',
    title=lambda reminder: output.shorten(reminder.text, 50),
    cells=partial(_cells, {}),
    data=lambda _, one: data_of(
        one, (), **{"repeat": one.repeat or None, "for": one.person or None}
    ),
    forgets="forget to remind: {title}",
    removed="Removed {path}.",
)


@app.command()
@writes
def add(
    opened: Opened,
    text: writing.TextArgument = None,
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
    editor: writing.EditorOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Add a reminder: said in the next talk once it is due, or by `bumble tick` on a terminal."""
    made_at = opened.now
    due = _due(opened, at, after, cron, made_at)
    how = deliver or (reminders.COMMAND if command else reminders.SESSION)
    for_owner = how == reminders.SESSION and not person
    whom = people.speaking(opened, person) if person or for_owner else None
    audience = (whom.id,) if whom and not for_owner else ()
    with writing.collect(opened.shell, text, in_editor=editor, name="reminder.md") as draft:
        try:
            reminder = reminders.new(
                base.new_id(reminders.PREFIX, made_at, opened.shell.rng),
                due,
                draft,
                repeat=cron or "",
                person=whom.id if whom else "",
                deliver=how,
                command=tuple(shlex.split(command or "")),
                provenance=base.Provenance(by="remind add", trust="owner", audience=audience),
            )
        except ValueError as error:
            raise UsageError(f"{error} (see `bumble remind add --help`)") from error
        why = f"remind: {output.shorten(reminder.text, 50)}"
        past = ", which is past: at once" if reminder.at < made_at else ""
        told = f"{reminders.place(reminder)} is due {listing.when(reminder.at, opened)}{past}."
        change, stamp = reminders.plan_new(reminder, why), base.stamp(reminder.at)
        writing.commit(
            opened, "remind add", [change], told, dry_run=dry_run, id=reminder.id, at=stamp
        )
    if how == reminders.COMMAND and not opened.config.tools.run_command:
        output.warn(
            opened.shell,
            "it waits until tools.run_command is on and the folder trusted: `bumble config trust`",
        )


def _due(
    opened: Opened, at: str | None, after: str | None, cron: str | None, now: datetime
) -> datetime:
    """Return when a reminder is due first.

    Raises:
        UsageError: If none or too many of the options say so, or one can't be read.
    """
    from bumble.runtime import schedule

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
    wanted = text.strip().casefold()
    parts = [(UNITS[unit[0]], float(number)) for number, unit in DURATION.findall(wanted)]
    if not parts or DURATION.sub("", wanted):
        raise UsageError(f"--in {text}: not a time like 90m, 2h or 1d12h")
    with suppress(OverflowError):
        spans = {True: timedelta(), False: timedelta()}  # whether they are days and weeks
        for unit, number in parts:
            spans[unit in ("days", "weeks")] += timedelta(**{unit: number})
        at = _existing((now + spans[True]).astimezone(UTC) + spans[False], zone)
        if moments.is_sane(at):
            return at
    raise UsageError(f"--in {text}: that is too far away")


@app.command("list")
@shows
def list_(
    opened: Opened,
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most this many, the next.")
    ] = 20,
) -> None:
    """List reminders that are still to come, the next one first."""
    everything = opened.shell.everything
    listed = REMINDERS.listed(opened, lambda one: everything or not one.done)
    ordered = sorted(listed.records, key=lambda reminder: (reminder.at, reminder.id))
    more = len(ordered) > limit
    shown = listing.Listing(tuple(ordered[:limit]), listed.broken, others=listed.others)
    replace(REMINDERS, cells=partial(_cells, people.names(opened))).list(opened, shown)
    if more:
        output.say(f"These are the next {limit}; --limit N shows more.")


@app.command()
@runs_job
def run(opened: Opened, flags: JobFlags) -> None:
    """Say the reminders that are due, and nothing else of what `bumble tick` does."""
    from bumble.chat import reminders as delivery
    from bumble.cli import run_job
    from bumble.runtime.job import Pass

    pass_ = run_job.showing_reminders(opened, Pass("reminders", delivery.check, delivery.run))
    with run_job.open_runtime(opened, "remind run") as made:
        runtime = replace(made, writes=not flags.dry_run)
        run_job.carry_out(opened, runtime, "remind run", pass_.check, pass_.run, flags)


REMINDERS.offers(app, remove="Remove a reminder's file.")
