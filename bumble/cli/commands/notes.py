"""`bumble skill`, `project`, `remind`: how things are done, what is worked on, what to say when."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec.structs import replace

from bumble import patterns
from bumble.cli import listing, output, people, writing
from bumble.cli.command import (
    DryRunOption,
    JobFlags,
    PeopleOption,
    TagOption,
    YesOption,
    group,
    runs_job,
    shows,
    writes,
)
from bumble.cli.opening import Opened
from bumble.cli.shelf import Face, Shelf, data_of
from bumble.entity import secrets
from bumble.errors import RecordExistsError, UsageError
from bumble.files import disk
from bumble.records import base, projects, reminders, skills
from bumble.text import moments

app = group()
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What the skill is called, or its file's name.")
]
SKILLS = Shelf(
    kind=skills.SKILL,
    group="skill",
    none="No skills. Write one with `bumble skill set NAME --description LINE`.",
    title=lambda skill: skill.name,
    cells=lambda _, skill: [skill.name, skill.description],
    face=lambda _, skill: (
        [f"# {skill.name}", "", skill.text],
        [("description", skill.description)],
        (),
    ),
    data=lambda _, skill: {
        "name": skill.name,
        "slug": skill.id,
        **{key: getattr(skill, key) for key in ("path", "description", "text")},
        "provenance": skill.provenance.meta(),
    },
    keys=("name", "slug", "path", "description"),
    argument=NameArgument,
    named="name",
)
SKILLS.offers(
    app,
    list="List skills.",
    show="Show a skill: how it is done, what for, and who wrote that down.",
)


@app.command("set")
@writes
def set_(
    opened: Opened,
    name: NameArgument,
    text: writing.TextArgument = None,
    *,
    description: Annotated[
        str | None,
        typer.Option("--description", "-d", help="One line: what it does and when to use it."),
    ] = None,
    editor: writing.EditorOption = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Write a skill, or overwrite one."""
    name = writing.one_line(name, "name")
    everything = SKILLS.listed(opened).records
    existing = skills.SKILL.match(everything, name)
    before = existing.text if existing else ""
    with writing.collect(
        opened.shell, text, in_editor=editor, name="SKILL.md", before=before
    ) as draft:
        line = (existing.description if existing else "") if description is None else description
        if not line.strip():
            raise UsageError("A skill needs --description: what it does and when to use it.")
        change = skills.plan_set(
            everything, name, line, draft, f"write the skill {name}", overwrite=True
        )
        if existing is not None and change is not None and not dry_run:
            writing.confirm(
                opened.shell,
                f'Overwrite the skill "{existing.name}" ({existing.path})?',
                "Overwrite it with --yes.",
                yes=yes,
            )
        writing.commit(
            opened,
            "skill set",
            [change],
            f"{'Overwrote' if existing else 'Added'} the skill {name}.",
            dry_run=dry_run,
            name=name,
        )


SKILLS.offers(
    app,
    edit="Edit a skill's file in $VISUAL or $EDITOR.",
    remove="Remove a skill's file.",
)


project_app = group()
TitleArgument = Annotated[
    str, typer.Argument(metavar="TITLE", help="What the project is called, or its file's name.")
]
WhyOption = Annotated[str | None, typer.Option(help="What it is for.")]
NextOption = Annotated[
    list[str] | None,
    typer.Option("--next", metavar="STEP", help="What comes next; may be repeated."),
]


def _face(opened: Opened, project: projects.Project) -> Face:
    steps = [f"{number}. {step}" for number, step in enumerate(project.steps, 1)]
    parts = [[f"# {project.title}"], [project.why], steps]
    text = [line for part in parts if any(part) for line in ("", *part)][1:]
    people, tags = ", ".join(project.people), ", ".join(project.tags)
    return text, [("status", project.status), ("people", people), ("tags", tags)], ()


PROJECTS = Shelf(
    kind=projects.PROJECT,
    group="project",
    none="No projects. Begin one with `bumble project add TITLE --next STEP`.",
    title=lambda project: project.title,
    cells=lambda _, project: [
        project.title,
        project.status,
        output.shorten(next(iter(project.steps), "")),
    ],
    face=_face,
    argument=TitleArgument,
)


@project_app.command("list")
@shows
def list_projects(
    opened: Opened,
    *,
    done: Annotated[
        bool, typer.Option("--done", help="Those that are done, too, as with --all.")
    ] = False,
) -> None:
    """List projects, each with its next step."""
    all_ = done or opened.shell.everything
    PROJECTS.list(opened, PROJECTS.listed(opened, lambda one: all_ or one.status != projects.DONE))


PROJECTS.offers(
    project_app,
    show="Show a project: why it is worked on, its next steps, and who has part in it.",
)


@project_app.command()
@writes
def add(
    opened: Opened,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is to be called.")],
    *,
    why: WhyOption = None,
    steps: NextOption = None,
    person: PeopleOption = None,
    tags: TagOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Begin a project."""
    title = writing.one_line(title, "title")
    if existing := projects.PROJECT.match(PROJECTS.listed(opened).records, title):
        raise RecordExistsError(Path(projects.PROJECT.path(existing.id)))
    secrets.refuse(title, why or "")
    values = _values(opened, None, steps, person, tags)
    writing.commit(
        opened,
        "project add",
        [projects.plan_new(title, values, why or "", f"begin {title}")],
        f"Added the project {title}.",
        dry_run=dry_run,
        id=disk.file_name(title),
    )


@project_app.command()
@writes
def edit(
    opened: Opened,
    title: TitleArgument,
    *,
    status: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(projects.STATUSES)}.")
    ] = None,
    why: WhyOption = None,
    steps: NextOption = None,
    person: PeopleOption = None,
    tags: TagOption = None,
    source: writing.FromOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Change a project: what the options say, else its file in $VISUAL or $EDITOR."""
    status = status and listing.choice("status", status, projects.STATUSES)
    secrets.refuse(why or "")
    values = _values(opened, status, steps, person, tags)
    if values or why is not None:
        if source is not None:
            raise UsageError("--from has the whole text: give no other value with it.")
        _change(opened, "project edit", PROJECTS.find(opened, title), values, why, dry_run=dry_run)
        return
    PROJECTS.edit(opened, title, source=source, dry_run=dry_run)


@project_app.command()
@writes
def done(opened: Opened, title: TitleArgument, *, dry_run: DryRunOption = False) -> None:
    """Note that a project is done: no message brings it to mind any more."""
    project = PROJECTS.find(opened, title)
    _change(opened, "project done", project, {"status": projects.DONE}, None, dry_run=dry_run)


def _change(
    opened: Opened,
    command: str,
    project: projects.Project,
    values: Mapping[str, Any],
    text: str | None,
    *,
    dry_run: bool,
) -> None:
    why = f"{project.title}: {values.get('status', 'changed')}"
    is_done = values.get("status") == projects.DONE
    sentence = f"{project.title} is done." if is_done else f"Changed the project {project.title}."
    writing.commit(
        opened,
        command,
        [projects.plan_edit(project, values, text, why)],
        sentence,
        dry_run=dry_run,
        id=project.id,
    )


def _values(
    opened: Opened,
    status: str | None,
    steps: list[str] | None,
    person: list[str] | None,
    tags: list[str] | None,
) -> dict[str, Any]:
    """Return what the options say of a project, by key; none of them may hold a secret."""
    secrets.refuse(*(steps or ()), *(tags or ()))
    who = None if person is None else [people.find(opened, name).id for name in person]
    values = {"status": status, "next": steps, "people": who, "tags": tags}
    return {key: value for key, value in values.items() if value is not None}


remind_app = group()
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
DURATION = patterns.compile(
    r"(\d+(?:\.\d+)?)\s*(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?)\s*"
)


def _cells(names: Mapping[str, str], opened: Opened, reminder: reminders.Reminder) -> list[str]:
    late = not reminder.done and reminder.at <= opened.shell.now()
    state = "said" if reminder.done else "due" if late else reminder.repeat or "once"
    whom = f" for {names.get(reminder.person, reminder.person)}" if reminder.person else ""
    whom += f" from {names.get(reminder.asked_by, reminder.asked_by)}" if reminder.asked_by else ""
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
)


@remind_app.command("add")
@writes
def add_reminder(
    opened: Opened,
    text: writing.TextArgument = None,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="ISO",
            help="When, in the entity's time zone; of a day alone its morning.",
        ),
    ] = None,
    after: Annotated[
        str | None, typer.Option("--in", metavar="TIME", help="How long from now: 90m, 2h, 1d12h.")
    ] = None,
    cron: Annotated[
        str | None,
        typer.Option("--cron", metavar="SCHEDULE", help='Again and again: "0 9 * * MON-FRI".'),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="PERSON",
            help="Whom it is for; of somebody else, without a time, it is said in their next talk, "
            "with your name.",
        ),
    ] = None,
    deliver: Annotated[
        Literal["journal", "session"],
        typer.Option(
            "--deliver",
            help="In the person's next talk, or on the owner's terminal; or into the journal.",
        ),
    ] = "session",
    editor: writing.EditorOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Add a reminder: said in the next talk once it is due, or by `bumble tick` on a terminal."""
    made_at = opened.now
    for_owner = deliver == reminders.SESSION and not person
    whom = people.speaking(opened, person) if person or for_owner else None
    passes_on = deliver == reminders.SESSION and whom is not None and whom.trust != "owner"
    is_now = passes_on and not (at or after or cron)
    due = made_at if is_now else _due(opened, at, after, cron, made_at)
    asker = people.speaking(opened, None).id if passes_on else ""
    told = asker or (whom.id if whom else "")  # who may hear of it before it is said
    audience = (told,) if told else ()
    with writing.collect(opened.shell, text, in_editor=editor, name="reminder.md") as draft:
        try:
            reminder = reminders.new(
                base.new_id(reminders.REMINDER.prefix, made_at, opened.shell.rng),
                due,
                draft,
                repeat=cron or "",
                person=whom.id if whom else "",
                asked_by=asker,
                deliver=deliver,
                provenance=base.Provenance(by="remind add", trust="owner", audience=audience),
            )
        except ValueError as error:
            raise UsageError(f"{error} (see `bumble remind add --help`)") from error
        why = output.shorten(reminder.text, 50)
        past = ", which is past: at once" if reminder.at < made_at else ""
        when = f"is due {listing.when(reminder.at, opened)}{past}"
        when = f"is said in the next talk with {whom.name}" if whom and is_now else when
        change, stamp = reminders.REMINDER.plan_new(reminder, why), base.stamp(reminder.at)
        writing.commit(
            opened,
            "remind add",
            [change],
            f"{reminders.REMINDER.place(reminder)} {when}.",
            dry_run=dry_run,
            id=reminder.id,
            at=stamp,
        )
    if whom and whom.trust == "person" and whom.id not in people.names(opened):
        output.warn(opened.shell, f"it waits for a first talk with {whom.name}, whom nobody knows")


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
        # one that clocks skip when they change is an hour later
        return listing.moment(at, opened, "--at", reminders.moment).astimezone(UTC).astimezone(zone)
    if after:
        return _after(now, after, zone)
    if first is None:
        raise UsageError("Say when: --at 2026-05-24T18:00, --in 2h, or --cron '0 9 * * *'.")
    return first


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
        at = ((now + spans[True]).astimezone(UTC) + spans[False]).astimezone(zone)
        if moments.is_sane(at):
            return at
    raise UsageError(f"--in {text}: that is too far away")


@remind_app.command("list")
@shows
def list_reminders(
    opened: Opened,
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most this many, the next.")
    ] = 20,
) -> None:
    """List reminders that are still to come, the next one first."""
    listed = REMINDERS.listed(opened, lambda one: opened.shell.everything or not one.done)
    ordered = sorted(listed.records, key=lambda reminder: (reminder.at, reminder.id))
    shown = replace(listed, records=tuple(ordered[:limit]), more=len(ordered) > limit)
    replace(REMINDERS, cells=partial(_cells, people.names(opened))).list(opened, shown)


@remind_app.command()
@runs_job
def run(opened: Opened, flags: JobFlags) -> None:
    """Say the reminders that are due, and nothing else of what `bumble tick` does."""
    from bumble.chat import reminders as delivery
    from bumble.cli import run_job

    run_job.perform(opened, flags, "remind run", delivery.check, delivery.run)


REMINDERS.offers(remind_app, remove="Remove a reminder's file.")
