"""An entity made for a command: the questions, their checks, and the repository that keeps it."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bumble.cli import output
from bumble.cli.opening import named_in_text
from bumble.cli.process import Shell
from bumble.entity import approvals, commits
from bumble.entity.changes import ChangeSet
from bumble.entity.config import NAMELESS
from bumble.entity.folder import ENTITY_FILE, find
from bumble.errors import (
    FolderUnwritableError,
    RefusedError,
    UsageError,
    UserError,
)
from bumble.files import git, gitdir

if TYPE_CHECKING:
    from bumble.entity.create import NewEntity


DEFAULT_ARCHETYPE = "curious"
MAX_NAME_CHARS = 100
JOINER = "\u200d"  # part of many emoji, though it prints nothing by itself


def make(
    shell: Shell,
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
    from bumble.entity import create

    root = root_of(shell, folder)
    kinds = list(create.archetypes())
    choose = partial(_choose, asks=asks and shell.interactive)
    named = root.name.strip("._- ") or "bee"
    called = named[:1].upper() + named[1:]
    which, where = f"What is it like ({', '.join(kinds)})?", "Which time zone does it live in?"
    kind = partial(_one_of, choices=kinds)
    newborn = create.NewEntity(
        name=choose("--name", "What is it called?", name, called, _line),
        archetype=choose("--archetype", which, archetype, DEFAULT_ARCHETYPE, kind),
        owner=choose("--owner", "And what is your name?", owner, user_name(shell), _line),
        timezone=choose("--timezone", where, timezone, _local_zone(), _zone),
    )
    above = find(root.parent)
    if above is not None:
        output.warn(shell, f"{root} lies inside another entity, {above}: better move it out.")
    planned = create.plan(newborn, root)
    with _drafted(root) as draft:
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


def _drafted(root: Path) -> AbstractContextManager[Path]:
    """Give the folder to make it in: one that comes in its place whole, where nothing lies yet."""
    from bumble.bridges.exports import destination

    if root.is_dir() and any(root.iterdir()):
        return nullcontext(root)
    return destination.folder(root, last=ENTITY_FILE)


def root_of(shell: Shell, folder: Path) -> Path:
    """Return the folder to make, checked that one can lie there.

    Raises:
        UsageError: If none is named.
        RefusedError: If a file is in the way, or the path is no text.
        FolderUnwritableError: If the system takes no such name.
    """
    if not folder.is_absolute() and not shell.cwd.is_dir():
        raise UsageError(f"The folder you are in, {shell.cwd}, is gone: go to one that is there.")
    try:
        root = named_in_text(shell.real_path(folder))
        in_the_way = [destination for destination in (root, *root.parents) if destination.is_file()]
        root.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # too long, a ring of links, a NUL
        raise FolderUnwritableError(folder, getattr(error, "strerror", "") or str(error)) from error
    if in_the_way:
        raise RefusedError(f"{in_the_way[0]} is a file, and stays one.\nChoose another folder.")
    return root


def _look_after(shell: Shell, root: Path, newborn: NewEntity, made: ChangeSet) -> Path | None:
    """Make the folder a repository, unless it lies in one; return the one that keeps it."""
    from bumble.history import clone

    around = gitdir.find(root)
    kept_by = None if around is None else around.top
    if kept_by is None and git.init(root):
        clone.install_driver(root)
        zone = ZoneInfo(newborn.timezone)
        policy = commits.CommitPolicy(
            autocommit=True,
            name=newborn.name,
            clock=lambda: shell.now().astimezone(zone),
            tell=lambda text: output.warn(shell, text),
        )
        commits.keep(root, made, policy)
        kept_by = root
    return kept_by


def _choose(
    option: str,
    question: str,
    option_text: str | None,
    default: str,
    check: Callable[[str], str],
    *,
    asks: bool,
) -> str:
    """Return what an option says, else what the person at the terminal says, else the default."""
    if option_text is not None or not asks:
        try:
            return check(default if option_text is None else option_text.strip())
        except ValueError as error:
            raise UsageError(f"{option}: {error}") from error
    while True:
        try:
            return check(output.asked(question, default=default).strip())
        except ValueError as error:
            output.say(f"{error}")


def _line(text: str) -> str:
    if not text or not text.replace(JOINER, "").isprintable():
        raise ValueError("it should be one line of printable text")
    if len(text) > MAX_NAME_CHARS:
        raise ValueError(f"it should be at most {MAX_NAME_CHARS} characters long")
    return text


def _one_of(text: str, choices: list[str]) -> str:
    if text not in choices:
        raise ValueError(f"there is no {text!r}; there are {', '.join(choices)}")
    return text


def _zone(text: str) -> str:
    """Return the name of a time zone, if it is one.

    Raises:
        ValueError: If there is none of that name.
        UserError: If the machine knows none at all.
    """
    try:
        return ZoneInfo(text).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if not zoneinfo.available_timezones():
            raise UserError(
                "This machine has no time zone database, and an entity lives by one.\n"
                "Install it: the package tzdata of your system, or `pip install tzdata`."
            ) from None
        raise ValueError(f"there is no time zone {text!r}; one is called Europe/Lisbon") from None


def user_name(shell: Shell) -> str:
    """Return what the user is called, as far as git or the system has been told."""
    for name in (git.user_name(), shell.account_name):
        if any(map(str.isdigit, name)):
            continue  # of an account, or a machine
        with suppress(ValueError):
            return _line(name)
    return NAMELESS


def _local_zone() -> str:
    from tzlocal import get_localzone_name

    try:
        return get_localzone_name() or "UTC"
    except (ValueError, OSError, LookupError):
        return "UTC"
