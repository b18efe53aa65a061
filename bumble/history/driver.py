"""The merge driver in git's config and attributes: how it is installed and named.

`.gitattributes` travels with the folder and names the driver; what the driver is stands in git's
own config, which does not travel.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from bumble import git, gitdir
from bumble.git import Git
from bumble.gitdir import Repository

NAME = "bumble"
KEY = f"merge.{NAME}.driver"


def command() -> str:
    """Return the command line git is to run; it works where no `bumble` is on the PATH.

    `-P` because git runs it in the top of the repository: a folder there must not be imported.
    """
    return f"{shlex.quote(sys.executable)} -P -m bumble git-merge %O %A %B %P"


def install(root: Path) -> bool:
    """Tell the repository that a folder lies in; whether that worked."""
    named = git.run(root, "config", f"merge.{NAME}.name", "bumble: by meaning")
    return named is not None and git.run(root, "config", KEY, command()) is not None


def is_installed(root: Path) -> bool:
    """Whether the repository has the driver, and not a program of that name that came with it."""
    line = git.run(root, "config", KEY)
    return line is not None and line.rstrip("\n") == command()


def is_missing(root: Path, repository: Repository) -> bool:
    """Whether a folder's files name our way to merge, and git has not been told what that is."""
    attributes = gitdir.content(root / ".gitattributes") or b""
    if f"merge={NAME}".encode() not in attributes:
        return False
    config = gitdir.content(repository.common / "config") or b""
    return command().encode() not in config and not is_installed(root)


def may_install(place: Git) -> bool:
    """Whether the repository is this folder's own, and this user's."""
    leads_away = place.strays is not None and not place.trusted
    return is_own(place.repository) and not (place.foreign or place.trap or leads_away)


def is_own(repository: Repository) -> bool:
    """Whether nothing but this folder lies in the repository."""
    return repository.top == repository.folder
