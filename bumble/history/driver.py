"""The merge driver in git's config and attributes: how it is installed and named.

`.gitattributes` travels with the folder and names the driver; what the driver is stands in git's
own config, which does not travel. There git is told, too, to take no record for another that is
like it: what one side changed would go into what the other side wrote anew.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from bumble.entity import git_operations
from bumble.entity.git_operations import Operation
from bumble.files import git, gitdir
from bumble.files.git import Git
from bumble.files.gitdir import Repository

NAME = "bumble"
KEY = f"merge.{NAME}.driver"
# The newer way of git to merge obeys the first only since 2.50; `recursive` is the older way before
# that, and another name of the newer one since. A rebase before 2.50 takes neither.
NO_RENAMES = {"merge.renames": "false", "pull.twohead": "recursive"}


def command() -> str:
    """Return the command line git is to run; it works where no `bumble` is on the PATH.

    `-P` because git runs it in the top of the repository: a folder there must not be imported.
    """
    return f"{shlex.quote(sys.executable)} -P -m bumble git-merge %O %A %B %P"


def install(root: Path) -> bool:
    """Tell the repository that a folder lies in; whether that worked."""
    with git_operations.noted(root, Operation("config")):
        named = git.run(root, "config", f"merge.{NAME}.name", "bumble: by meaning")
        told = named is not None and git.run(root, "config", KEY, command()) is not None
        for key, value in NO_RENAMES.items() if told and _is_alone(root) else ():
            git.run(root, "config", key, value)
        return told


def _is_alone(root: Path) -> bool:
    repository = gitdir.find(root)
    return repository is not None and is_own(repository)


def is_installed(root: Path) -> bool:
    """Whether the repository has the driver, and not a program of that name that came with it."""
    line = git.run(root, "config", KEY)
    if line is None or line.rstrip("\n") != command():
        return False
    return not _is_alone(root) or all(
        git.run(root, "config", "--local", key) is not None for key in NO_RENAMES
    )


def is_missing(root: Path, repository: Repository) -> bool:
    """Whether a folder's files name our way to merge, and git has not been told what that is."""
    attributes = gitdir.content(root / ".gitattributes") or b""
    if f"merge={NAME}".encode() not in attributes:
        return False
    config = gitdir.content(repository.common / "config") or b""
    is_told = command().encode() in config and (b"twohead" in config or not is_own(repository))
    return not is_told and not is_installed(root)


def may_install(place: Git) -> bool:
    """Whether the repository is this folder's own, and this user's."""
    leads_away = place.strays is not None and not place.trusted
    return is_own(place.repository) and not (place.foreign or place.trap or leads_away)


def is_own(repository: Repository) -> bool:
    """Whether nothing but this folder lies in the repository."""
    return repository.top == repository.folder
