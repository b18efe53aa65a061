"""`bumble skill`, `project`: how things are done, and what is worked on over days."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from bumble.cli import listing, output, people, writing
from bumble.cli.command import (
    DryRunOption,
    PeopleOption,
    TagOption,
    YesOption,
    group,
    shows,
    writes,
)
from bumble.cli.opening import Opened
from bumble.cli.shelf import Face, Shelf
from bumble.errors import RecordExistsError, UsageError
from bumble.files import disk
from bumble.records import projects, skills
from bumble.text import markdown
from bumble.text.yaml_edit import SourceError

app = group()
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What the skill is called, or its file's name.")
]
OWN_FIELDS = ("name", "description")


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
        **{key: getattr(skill, key) for key in ("name", "slug", "path", "description", "text")},
        "provenance": skill.provenance.meta(),
    },
    keys=("name", "slug", "path", "description"),
    forgets="remove the skill {title}",
    removed="Removed the skill {title}.",
    argument=NameArgument,
    by=("name", "id"),
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
    """Write a skill, or overwrite one.

    A text that is a whole SKILL.md brings its own description.
    """
    name = writing.one_line(name, "name")
    everything = SKILLS.listed(opened).records
    existing = skills.match(everything, name)
    before = existing.text if existing else ""
    with writing.collect(
        opened.shell, text, in_editor=editor, name="SKILL.md", before=before
    ) as draft:
        summary, body = _split(opened, draft)
        line = description if description is not None else summary
        if line is None:
            line = existing.description if existing else ""
        if not line.strip():
            raise UsageError("A skill needs --description: what it does and when to use it.")
        change = skills.plan_set(
            everything, name, line, body, f"write the skill {name}", overwrite=True
        )
        if existing is not None and change is not None and not dry_run:
            question = f'Overwrite the skill "{existing.name}" ({existing.path})?'
            writing.confirm(opened.shell, question, "Overwrite it with --yes.", yes=yes)
        sentence = f"{'Overwrote' if existing else 'Added'} the skill {name}."
        writing.commit(opened, "skill set", [change], sentence, dry_run=dry_run, name=name)


SKILLS.offers(
    app,
    edit="Edit a skill's file in $VISUAL or $EDITOR.",
    remove="Remove a skill's file.",
)


def _split(opened: Opened, text: str) -> tuple[str | None, str]:
    """Return the description that a text brings in front matter, and what follows."""
    try:
        document = markdown.parse(text)
        meta: Mapping[str, Any] = document.meta
    except SourceError:  # a rule at the top of a text is no front matter
        meta = {}
    if not meta:
        return None, text
    if lost := ", ".join(key for key in meta if key not in OWN_FIELDS):
        said = f"left out of the front matter: {lost}; `bumble skill edit` can add them"
        output.warn(opened.shell, said)
    description = meta.get("description")
    return (str(description) if description is not None else None), document.body


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
    by=("title", "id"),
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
    existing = projects.match(PROJECTS.listed(opened).records, title)
    if existing is not None:
        raise RecordExistsError(opened.entity.root / projects.path(existing.id))
    edit = _edit(opened, None, why, steps, person, tags)
    writing.refuse_secrets(title)
    planned = [projects.plan_new(title, edit, f"begin {title}")]
    sentence = f"Added the project {title}."
    slug = disk.file_name(title)
    writing.commit(opened, "project add", planned, sentence, dry_run=dry_run, id=slug)


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
    wanted = _edit(opened, status, why, steps, person, tags)
    if wanted != projects.Edit():
        if source is not None:
            raise UsageError("--from has the whole text: give no other value with it.")
        _change(opened, "project edit", PROJECTS.find(opened, title), wanted, dry_run=dry_run)
        return
    PROJECTS.edit(opened, title, source=source, dry_run=dry_run)


@project_app.command()
@writes
def done(opened: Opened, title: TitleArgument, *, dry_run: DryRunOption = False) -> None:
    """Note that a project is done: no message brings it to mind any more."""
    project = PROJECTS.find(opened, title)
    _change(opened, "project done", project, projects.Edit(projects.DONE), dry_run=dry_run)


def _change(
    opened: Opened, command: str, project: projects.Project, edit: projects.Edit, *, dry_run: bool
) -> None:
    planned = [projects.plan_edit(project, edit, f"{project.title}: {edit.status or 'changed'}")]
    sentence = f"Changed the project {project.title}."
    if edit.status == projects.DONE:
        sentence = f"{project.title} is done."
    writing.commit(opened, command, planned, sentence, dry_run=dry_run, id=project.id)


def _edit(
    opened: Opened,
    status: str | None,
    why: str | None,
    steps: list[str] | None,
    person: list[str] | None,
    tags: list[str] | None,
) -> projects.Edit:
    """Return what the options say of a project; none of them may hold a secret."""
    writing.refuse_secrets(why or "", *(steps or ()), *(tags or ()))
    return projects.Edit(
        status,
        why,
        steps,
        (None if person is None else [people.find(opened, name).id for name in person]),
        tags,
    )
