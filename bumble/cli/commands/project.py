"""`bumble project`: list, show, add, edit and end what is worked on over days."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bumble.cli import commit, listing, output, people, text_input
from bumble.cli.commit import FromOption
from bumble.cli.entity_command import shows, writes
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption
from bumble.cli.shelf import Shelf
from bumble.errors import RecordExistsError, UsageError
from bumble.files import disk
from bumble.records import projects
from bumble.records.projects import Edit, Project

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Look at and change what is worked on over days.",
)
PROJECTS = Shelf(projects.PROJECT, by=("title", "id"))
TitleArgument = Annotated[
    str, typer.Argument(metavar="TITLE", help="What the project is called, or its file's name.")
]
WhyOption = Annotated[str | None, typer.Option(help="What it is for.")]
NextOption = Annotated[
    list[str] | None,
    typer.Option("--next", metavar="STEP", help="What comes next; may be repeated."),
]
PersonOption = Annotated[
    list[str] | None,
    typer.Option("--person", metavar="NAME", help="Who takes part; may be repeated."),
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; may be repeated.")
]
StatusOption = Annotated[str | None, typer.Option(help=f"One of {', '.join(projects.STATUSES)}.")]
DoneOption = Annotated[
    bool, typer.Option("--done", help="Those that are done, too, as with --all.")
]
NONE = "No projects. Begin one with `bumble project add TITLE --next STEP`."


@app.command("list")
@shows
def list_(
    opened: Opened,
    *,
    done: DoneOption = False,
) -> None:
    """List projects, each with its next step."""

    def line(project: Project) -> list[str]:
        step = project.steps[0] if project.steps else ""
        return [project.title, project.status, output.shorten(step)]

    all_ = done or opened.shell.everything
    listed = PROJECTS.listed(opened, keep=lambda one: all_ or one.status != projects.DONE)
    listing.show_list(opened, "project list", listed, _data, line, NONE)


@app.command()
@shows
def show(opened: Opened, title: TitleArgument) -> None:
    """Show a project: why it is worked on, its next steps, and who has part in it."""
    project = PROJECTS.seen(opened, title)
    rows = [
        ("status", project.status),
        ("people", ", ".join(project.people)),
        ("tags", ", ".join(project.tags)),
        ("written", listing.origin(project.provenance)),
        ("file", projects.path(project.id)),
    ]
    steps = [f"{number}. {step}" for number, step in enumerate(project.steps, 1)]
    parts = [[f"# {project.title}"], [project.why], steps, listing.details(rows)]
    text = [line for part in parts if any(part) for line in ("", *part)][1:]
    output.result(opened.shell, "project show", _data(project), text)


@app.command()
@writes
def add(
    opened: Opened,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is to be called.")],
    *,
    why: WhyOption = None,
    steps: NextOption = None,
    person: PersonOption = None,
    tags: TagOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Begin a project."""
    title = text_input.one_line(title, "title")
    existing = projects.match(PROJECTS.listed(opened).records, title)
    if existing is not None:
        raise RecordExistsError(opened.entity.root / projects.path(existing.id))
    edit = _edit(opened, None, why, steps, person, tags)
    text_input.refuse_secrets(title)
    planned = [projects.plan_new(title, edit, f"begin {title}")]
    sentence = f"Added the project {title}."
    slug = disk.file_name(title)
    commit.commit(opened, "project add", planned, sentence, dry_run=dry_run, id=slug)


@app.command()
@writes
def edit(
    opened: Opened,
    title: TitleArgument,
    *,
    status: StatusOption = None,
    why: WhyOption = None,
    steps: NextOption = None,
    person: PersonOption = None,
    tags: TagOption = None,
    source: FromOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Change a project: what the options say, else its file in $VISUAL or $EDITOR."""
    if status is not None and status not in projects.STATUSES:
        raise UsageError(f"--status {status}: there are {', '.join(projects.STATUSES)}.")
    wanted = _edit(opened, status, why, steps, person, tags)
    if wanted != Edit():
        if source is not None:
            raise UsageError("--from has the whole text: give no other value with it.")
        _change(opened, "project edit", PROJECTS.find(opened, title), wanted, dry_run=dry_run)
        return
    PROJECTS.edit(opened, title, source=source, dry_run=dry_run)


@app.command()
@writes
def done(opened: Opened, title: TitleArgument, *, dry_run: DryRunOption = False) -> None:
    """Note that a project is done: no message brings it to mind any more."""
    project = PROJECTS.find(opened, title)
    _change(opened, "project done", project, Edit(projects.DONE), dry_run=dry_run)


def _change(opened: Opened, command: str, project: Project, edit: Edit, *, dry_run: bool) -> None:
    planned = [projects.plan_edit(project, edit, f"{project.title}: {edit.status or 'changed'}")]
    sentence = f"Changed the project {project.title}."
    if edit.status == projects.DONE:
        sentence = f"{project.title} is done."
    commit.commit(opened, command, planned, sentence, dry_run=dry_run, id=project.id)


def _edit(
    opened: Opened,
    status: str | None,
    why: str | None,
    steps: list[str] | None,
    person: list[str] | None,
    tags: list[str] | None,
) -> Edit:
    """Return what the options say of a project; none of them may hold a secret."""
    text_input.refuse_secrets(why or "", *(steps or ()), *(tags or ()))
    return Edit(status, why, steps, _ids(opened, person), tags)


def _ids(opened: Opened, names: list[str] | None) -> list[str] | None:
    """Return the ids of people by the names they go by."""
    return None if names is None else [people.find(opened, name).id for name in names]


def _data(project: Project) -> dict[str, Any]:
    return {
        "id": project.id,
        "title": project.title,
        "status": project.status,
        "why": project.why,
        "next": list(project.steps),
        "people": list(project.people),
        "tags": list(project.tags),
        "provenance": project.provenance.meta(),
    }
