"""`bumble new`: entities made, empty or of an archive."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import typer

from bumble.bridges.exports import bundle, destination
from bumble.cli import command, listing, opening, output, process, writing
from bumble.cli.models import chat_model, model_view
from bumble.entity import approvals, changes, commits, config, create
from bumble.entity.folder import find
from bumble.errors import FolderUnwritableError, RefusedError, UsageError, UserError
from bumble.files import git, gitdir
from bumble.history import clone


@command.plain
def new(
    shell: process.Shell,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")],
    *,
    name: Annotated[
        str | None, typer.Option(help="What it is called. Default: the folder's name.")
    ] = None,
    archetype: Annotated[
        str | None, typer.Option(help="What it is like: curious, sardonic, gentle or guardian.")
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(help="Whom it belongs to. Default: git's user.name, or your account."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Its time zone. Default: this machine's.")
    ] = None,
    no_git: Annotated[
        bool, typer.Option("--no-git", help="Don't make it a git repository.")
    ] = False,
    archive: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A bundle of `bumble export`: the same again."),
    ] = None,
) -> None:
    """Make an entity folder."""
    if archive is not None:
        _restore(shell, folder, archive, use_git=not no_git)
        return
    identity = make(
        shell,
        folder,
        name=name,
        archetype=archetype,
        owner=owner,
        timezone=timezone,
        use_git=not no_git,
    )
    shell.entity_name = identity["name"]
    here = f'bumble chat -e {shlex.quote(str(folder))} "Hello"'
    lines = [f"{identity['name']} lives in {identity['folder']}", f"Say hello: {here}"]
    if identity["repository"] and identity["repository"] != identity["folder"]:
        sentence = f"Its history is kept by the repository it lies in, {identity['repository']};"
        lines.insert(1, f"{sentence} bumble commits nothing there unless `git.autocommit` is set")
    output.result(shell, "new", identity, lines)
    opened = opening.without_entity(shell)
    if chat_model.is_open(opened):
        model_view.ask(opened)


def _restore(shell: process.Shell, folder: Path, archive: Path, *, use_git: bool) -> None:
    """Make the entity of an archive again."""
    root = root_of(shell, folder)
    bundle.check(root)
    is_kept = use_git and gitdir.find(root) is None
    approvals.forget(root)
    with destination.folder(root) as draft:
        names = bundle.unpack(shell.real_path(archive), draft)
        if is_kept := is_kept and git.init(draft):
            clone.install_driver(draft)
    kept_by = str(root) if is_kept else None
    data = {"folder": str(root), "files": len(names), "repository": kept_by}
    advice = f"bumble config trust {shlex.quote(str(root))}"
    output.say(f"What it is to obey, and who it is, counts once you trust it: {advice}")
    lines = [f"Made {root} of {len(names)} files", "Its history begins with its next change."]
    output.result(shell, "new", data, lines[: 2 if kept_by else 1])


MAX_NAME_CHARS = 100


def make(
    shell: process.Shell,
    folder: Path,
    *,
    name: str | None = None,
    archetype: str | None = None,
    owner: str | None = None,
    timezone: str | None = None,
    use_git: bool = True,
    asks: bool = True,
) -> dict[str, Any]:
    """Make an entity, asking on a terminal for what was not given.

    Args:
        shell: The process.
        folder: To make.
        name: What it is called; as the others: None asks, or takes the default.
        archetype: What it is like.
        owner: Whom it belongs to.
        timezone: Where it lives.
        use_git: Whether to make it a repository.
        asks: Whether to ask at all.

    Returns:
        What was made: folder, name, archetype, owner, timezone, and the git repository that keeps
        its history, if one does.
    """
    root = root_of(shell, folder)
    kinds = list(create.archetypes())
    choose = partial(_choose, asks=asks and shell.interactive)
    named = root.name.strip("._- ") or "bee"
    called = named[:1].upper() + named[1:]
    which, where = f"What is it like ({', '.join(kinds)})?", "Which time zone does it live in?"
    kind = partial(listing.choice, "archetype", offered=kinds)
    line = partial(writing.one_line, most_chars=MAX_NAME_CHARS)
    newborn = create.NewEntity(
        name=choose("What is it called?", name, called, partial(line, what="name")),
        archetype=choose(which, archetype, "curious", kind),
        owner=choose(
            "And what is your name?", owner, user_name(shell), partial(line, what="owner's name")
        ),
        timezone=choose(where, timezone, _local_zone(), _zone),
    )
    if above := find(root.parent):
        output.warn(shell, f"{root} lies inside another entity, {above}: better move it out.")
    planned = create.plan(newborn, root)
    # it is whole at once where there is no folder yet
    with nullcontext(root) if root.exists() else destination.folder(root) as draft:
        create.write(draft, planned)
        kept_by = _look_after(shell, draft, newborn, planned) if use_git else None
        approvals.begin(draft)
    return {
        "folder": str(root),
        "name": newborn.name,
        "archetype": newborn.archetype,
        "owner": newborn.owner,
        "timezone": newborn.timezone,
        "repository": str(root if kept_by == draft else kept_by) if kept_by else None,
    }


def root_of(shell: process.Shell, folder: Path) -> Path:
    """Return the folder to make, checked that one can lie there.

    Raises:
        UsageError: If none is named.
        RefusedError: If a file is in the way, or the path is no text.
        FolderUnwritableError: If the system takes no such name.
    """
    if not folder.is_absolute() and not shell.cwd.is_dir():
        raise UsageError(f"The folder you are in, {shell.cwd}, is gone: go to one that is there.")
    try:
        root = opening.named_in_text(shell.real_path(folder))
        in_the_way = [destination for destination in (root, *root.parents) if destination.is_file()]
        root.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # too long, a ring of links, a NUL
        raise FolderUnwritableError(folder, getattr(error, "strerror", "") or str(error)) from error
    if in_the_way:
        raise RefusedError(f"{in_the_way[0]} is a file, and stays one.\nChoose another folder.")
    return root


def _look_after(
    shell: process.Shell, root: Path, newborn: create.NewEntity, made: changes.ChangeSet
) -> Path | None:
    """Make the folder a repository, unless it lies in one; return the one that keeps it."""
    around = gitdir.find(root)
    kept_by = None if around is None else around.top
    if kept_by is None and git.init(root):
        clone.install_driver(root)
        policy = commits.CommitPolicy(
            autocommit=True,
            name=newborn.name,
            clock=lambda: shell.now().astimezone(ZoneInfo(newborn.timezone)),
            tell=lambda text: output.warn(shell, text),
        )
        commits.keep(root, made, policy)
        kept_by = root
    return kept_by


def _choose(
    question: str,
    option_text: str | None,
    default: str,
    check: Callable[[str], str],
    *,
    asks: bool,
) -> str:
    """Return what an option says, else what the person at the terminal says, else the default."""
    if option_text is None and asks:
        return output.asked(question, default, check)
    return check(default if option_text is None else option_text.strip())


def _zone(text: str) -> str:
    """Return the name of a time zone, if it is one.

    Raises:
        UsageError: If there is none of that name.
        UserError: If the machine knows none at all.
    """
    try:
        return ZoneInfo(text).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if not available_timezones():
            raise UserError(
                "This machine has no time zone database, and an entity lives by one.\n"
                "Install it: the package tzdata of your system, or `pip install tzdata`."
            ) from None
        raise UsageError(f"There is no time zone {text!r}; one is called Europe/Lisbon.") from None


def user_name(shell: process.Shell) -> str:
    """Return what the user is called, as far as git or the system has been told."""
    for name in (git.user_name(), shell.account_name):
        with suppress(UsageError):
            if not any(map(str.isdigit, name)):  # else of an account, or a machine
                return writing.one_line(name, "name", MAX_NAME_CHARS)
    return config.NAMELESS


def _local_zone() -> str:
    from tzlocal import get_localzone_name

    try:
        return get_localzone_name() or "UTC"
    except (ValueError, OSError, LookupError):
        return "UTC"
