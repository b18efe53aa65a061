"""What most commands do first: find the entity, read its settings, open models.

Heavy rooms are imported inside the functions that need them, so that a command pays for what it uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bumble.cli import output
from bumble.cli.shell import Shell
from bumble.entity import folder
from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.errors import NotAnEntityError

if TYPE_CHECKING:
    from bumble.entity.config import Config, Identity
    from bumble.entity.settings import Settings


@dataclass(frozen=True)
class Opened:
    """An entity with its settings, in the process of a command."""

    shell: Shell
    entity: Entity
    why: str  # how it was found, for `status`
    settings: Settings
    identity: Identity

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self.settings.config


def shell_of(ctx: typer.Context) -> Shell:
    """Return the process a command runs in."""
    shell = ctx.find_root().obj
    if not isinstance(shell, Shell):
        raise TypeError("the command was not started by bumble.cli.app.main")
    return shell


def locate(shell: Shell, given: Path | None) -> tuple[Path, str]:
    """Return the entity folder that is meant, and why that one.

    Raises:
        NotAnEntityError: If there is none.
    """
    named = given or shell.entity
    variable = shell.environ.get("BUMBLE_ENTITY")
    if named is not None:
        root, why = named, "--entity"
    elif variable:
        root, why = Path(variable), "BUMBLE_ENTITY"
    else:
        found = folder.find(shell.cwd)
        if found is None:
            raise NotAnEntityError(shell.cwd, "neither it nor a folder above has an entity.yaml")
        return found, "the nearest entity.yaml from here upward"
    root = (shell.cwd / root.expanduser()).resolve()
    if not (root / ENTITY_FILE).is_file():
        raise NotAnEntityError(root, "it has no entity.yaml" if root.is_dir() else "no such folder")
    return root, why
