"""What most commands do first: find the entity, read its settings, open models.

Heavy rooms are imported inside the functions that need them, so that a command pays for what it
uses.
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
from bumble.errors import NotAnEntityError, RefusedError

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


def locate(shell: Shell, folder_name: Path | None) -> tuple[Path, str]:
    """Return the entity folder that is meant, and why that one.

    Raises:
        NotAnEntityError: If there is none.
    """
    named = folder_name or shell.entity
    variable = shell.environ.get("BUMBLE_ENTITY")
    if named is not None:
        root, why = named, "--entity"
    elif variable:
        root, why = Path(variable), "BUMBLE_ENTITY"
    else:
        place = folder.find(shell.cwd)
        if place is None:
            raise NotAnEntityError(shell.cwd, "neither it nor a folder above has an entity.yaml")
        return place, "the nearest entity.yaml from here upward"
    root = (shell.cwd / root.expanduser()).resolve()
    if not (root / ENTITY_FILE).is_file():
        raise NotAnEntityError(root, "it has no entity.yaml" if root.is_dir() else "no such folder")
    return root, why


def open_entity(
    ctx: typer.Context, folder_option: Path | None, *, incognito: bool = False, **flags: object
) -> Opened:
    """Open the entity a command is about.

    Finishes what a killed process left half written, unless nothing may be written.

    Args:
        ctx: Of the command.
        folder_option: --entity behind the command.
        incognito: Whether the folder must stay as it is in every byte.
        flags: Settings that flags of this command override: `llm__model="…"` for `llm.model`.

    Raises:
        NotAnEntityError: If there is none.
        SettingInvalidError: If its settings can't be read.
        RefusedError: If it is half written and nothing may be written.
    """
    from bumble.entity import changes, settings

    shell = shell_of(ctx)
    root, why = locate(shell, folder_option)
    entity = Entity(root)
    if incognito and changes.leftovers(root):
        raise RefusedError(
            f"{root}: a change is being written, or was cut off\n"
            "Run `bumble doctor --fix` first; incognito writes nothing."
        )
    changes.recover(root)
    settings_of_entity = settings.load(
        entity.file,
        shell.user_file,
        shell.environ,
        {key.replace("__", "."): value for key, value in flags.items() if value is not None},
    )
    for warning in settings_of_entity.warnings:
        output.warn(shell, warning)
    if settings_of_entity.identity is None:
        raise NotAnEntityError(root)
    shell.entity_name = settings_of_entity.identity.name
    return Opened(shell, entity, why, settings_of_entity, settings_of_entity.identity)
