"""`bumble new`: make an entity folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from bumble import git
from bumble.cli import output
from bumble.cli.opening import shell_of
from bumble.cli.options import JsonOption
from bumble.cli.shell import Shell
from bumble.errors import UsageError

app = typer.Typer(rich_markup_mode=None)
DEFAULT_ARCHETYPE = "curious"
NameOption = Annotated[
    str | None, typer.Option(help="What it is called. Default: the folder's name.")
]
ArchetypeOption = Annotated[
    str | None, typer.Option(help="What it is like: curious, sardonic, gentle or guardian.")
]
OwnerOption = Annotated[
    str | None, typer.Option(help="Whom it belongs to. Default: your user name.")
]
TimezoneOption = Annotated[
    str | None, typer.Option(metavar="ZONE", help="Its time zone. Default: this machine's.")
]


@app.command()
def new(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")],
    *,
    name: NameOption = None,
    archetype: ArchetypeOption = None,
    owner: OwnerOption = None,
    timezone: TimezoneOption = None,
    no_git: Annotated[
        bool, typer.Option("--no-git", help="Don't make it a git repository.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Make an entity folder."""
    shell = shell_of(ctx)
    made = make(
        shell,
        folder,
        name=name,
        archetype=archetype,
        owner=owner,
        timezone=timezone,
        use_git=not no_git,
    )
    shell.entity_name = made["name"]
    here = f'bumble chat -e {folder} "Hello"'
    output.result(
        shell, "new", made, f"{made['name']} lives in {made['folder']}\nSay hello: {here}"
    )


def make(
    shell: Shell,
    folder: Path,
    *,
    name: str | None = None,
    archetype: str | None = None,
    owner: str | None = None,
    timezone: str | None = None,
    use_git: bool = True,
) -> dict[str, str]:
    """Make an entity, asking on a terminal for what was not given.

    Returns:
        What was made: folder, name, archetype, owner, timezone and whether git looks after it.
    """
    from bumble.entity import create

    root = (shell.cwd / folder.expanduser()).resolve()
    name = _ask(shell, "What is it called?", name, root.name.strip("._-").capitalize() or "Bee")
    kinds = ", ".join(create.archetypes())
    archetype = _ask(shell, f"What is it like ({kinds})?", archetype, DEFAULT_ARCHETYPE)
    if archetype not in create.archetypes():
        raise UsageError(f"There is no archetype {archetype!r}; there are {kinds}.")
    owner = _ask(shell, "And what is your name?", owner, _user_name(shell))
    zone = timezone or _local_zone()
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise UsageError(f"There is no time zone {zone!r}; one is called Europe/Lisbon.") from None
    for what, text in (("name", name), ("owner", owner)):
        if not text.isprintable():
            raise UsageError(f"The {what} should be one line of printable text.")
    entity = create.create(root, create.Newborn(name.strip(), archetype, owner.strip(), zone))
    looked_after = "none"
    if use_git:
        looked_after = _look_after(root)
    return {
        "folder": str(entity.root),
        "name": name.strip(),
        "archetype": archetype,
        "owner": owner.strip(),
        "timezone": zone,
        "git": looked_after,
    }


def _look_after(root: Path) -> str:
    """Make the folder a repository, unless it lies in one."""
    if git.repository(root) is not None:
        return "existing"
    return "new" if git.init(root) else "none"


def _ask(shell: Shell, question: str, given: str | None, default: str) -> str:
    if given is not None:
        if not given.strip():
            raise UsageError(f"{question} It was given as an empty text.")
        return given
    if not shell.interactive:
        return default
    return str(typer.prompt(question, default=default, err=True))


def _user_name(shell: Shell) -> str:
    name = shell.environ.get("USER") or shell.environ.get("USERNAME") or "friend"
    return name.capitalize() if name.islower() else name


def _local_zone() -> str:
    from tzlocal import get_localzone_name

    try:
        return get_localzone_name() or "UTC"
    except (ValueError, OSError, LookupError):
        return "UTC"
