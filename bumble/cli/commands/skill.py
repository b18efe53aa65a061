"""`bumble skill`: list, show, set, remove and edit how-to notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from bumble.cli import commit, listing, output, text_input
from bumble.cli.commit import FromOption
from bumble.cli.entity_command import shows, writes
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, YesOption
from bumble.cli.shelf import Shelf
from bumble.cli.text_input import EditorOption, TextArgument
from bumble.errors import UsageError
from bumble.records import skills
from bumble.records.skills import Skill
from bumble.text import markdown
from bumble.text.yaml_edit import SourceError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Look at and change how-to notes.",
)
SKILLS = Shelf(skills.SKILL, by=("name", "id"))
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What the skill is called, or its file's name.")
]
DescriptionOption = Annotated[
    str | None,
    typer.Option("--description", "-d", help="One line: what it does and when to use it."),
]
NONE = "No skills. Write one with `bumble skill set NAME --description LINE`."
OWN_FIELDS = ("name", "description")


@app.command("list")
@shows
def list_(
    opened: Opened,
) -> None:
    """List skills."""

    def line(skill: Skill) -> list[str]:
        return [skill.name, skill.description]

    def data(skill: Skill) -> dict[str, Any]:
        whole = _data(skill)
        return {key: whole[key] for key in ("name", "slug", "path", "description")}

    listing.show_list(opened, "skill list", SKILLS.listed(opened), data, line, NONE)


@app.command()
@shows
def show(
    opened: Opened,
    name: NameArgument,
) -> None:
    """Show a skill: how it is done, what for, and who wrote that down."""
    skill = SKILLS.seen(opened, name)
    written = ("written", listing.origin(skill.provenance))
    rows = [("description", skill.description), written, ("file", skill.path)]
    text = [f"# {skill.name}", "", skill.text, "", *listing.details(rows)]
    output.result(opened.shell, "skill show", _data(skill), text)


@app.command("set")
@writes
def set_(
    opened: Opened,
    name: NameArgument,
    text: TextArgument = None,
    *,
    description: DescriptionOption = None,
    editor: EditorOption = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Write a skill, or overwrite one.

    A text that is a whole SKILL.md brings its own description.
    """
    name = text_input.one_line(name, "name")
    everything = SKILLS.listed(opened).records
    existing = skills.match(everything, name)
    before = existing.text if existing else ""
    with text_input.collect(
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
            commit.confirm(opened.shell, question, "Overwrite it with --yes.", yes=yes)
        sentence = f"{'Overwrote' if existing else 'Added'} the skill {name}."
        commit.commit(opened, "skill set", [change], sentence, dry_run=dry_run, name=name)


@app.command()
@writes
def remove(
    opened: Opened,
    name: NameArgument,
    *,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Remove a skill's file."""
    skill = SKILLS.find(opened, name)
    SKILLS.remove(
        *(opened, "skill remove", skill, skill.name),
        why=f"remove the skill {skill.name}",
        sentence=f"Removed the skill {skill.name}.",
        yes=yes,
        dry_run=dry_run,
        name=skill.name,
    )


@app.command()
@writes
def edit(
    opened: Opened,
    name: NameArgument,
    *,
    source: FromOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Edit a skill's file in $VISUAL or $EDITOR."""
    SKILLS.edit(opened, name, source=source, dry_run=dry_run)


def _split(opened: Opened, text: str) -> tuple[str | None, str]:
    """Return the description that a text brings in front matter, and what follows."""
    try:
        document = markdown.parse(text)
        meta: Mapping[str, Any] = document.meta
    except SourceError:  # a rule at the top of a text is no front matter
        return None, text
    if not meta:
        return None, text
    lost = [key for key in meta if key not in OWN_FIELDS]
    if lost:
        output.warn(
            opened.shell,
            f"left out of the front matter: {', '.join(lost)}; `bumble skill edit` can add them",
        )
    description = meta.get("description")
    return (str(description) if description is not None else None), document.body


def _data(skill: Skill) -> dict[str, Any]:
    return {
        "name": skill.name,
        "slug": skill.slug,
        "path": skill.path,
        "description": skill.description,
        "text": skill.text,
        "provenance": skill.provenance.meta(),
    }
