"""The files that settings are kept in, changed one setting at a time.

An entity's `entity.yaml` is changed as all its files are; the user's own config by an atomic write.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from bumble import files, yamltext
from bumble.cli import output
from bumble.cli.shell import Shell
from bumble.entity import changes, commits, setting_layers, settings, trust, typed
from bumble.entity.changes import ChangeSet
from bumble.entity.commits import Keeping
from bumble.entity.config import Config, Identity
from bumble.entity.folder import ENTITY_FILE
from bumble.entity.settings import Settings
from bumble.entity.typed import ValueProblem
from bumble.errors import FileChangedError, SettingInvalidError, UsageError, UserError


@dataclass(frozen=True)
class Place:
    """A file of settings."""

    path: Path
    name: str  # as origins show it
    root: Path | None  # of the entity; None for the user's own file

    def read(self) -> str:
        """Return the file's text; empty where there is none."""
        try:
            raw = files.read_if_there(self.path)
            return "" if raw is None else raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SettingInvalidError(str(self.path), "is not UTF-8 text") from error
        except OSError as error:
            raise UserError(f"{self.path}: could not be read: {error.strerror}") from error

    def write(
        self, before: str, after: str, why: str, timeout_seconds: float, keeping: Keeping
    ) -> None:
        """Write the file, unless it has moved on since it was read."""
        if self.root is not None:
            planned = ChangeSet(f"config: {why}", (changes.write(ENTITY_FILE, after, before, why),))
            commits.apply(self.root, planned, keeping, timeout_seconds=timeout_seconds)
            return
        path = self.path.resolve()  # may be a link into a collection of such files
        held = path.with_name(f".{path.name}.lock")
        with files.lock(held, place=path, timeout_seconds=timeout_seconds):
            if self.read() != before:
                raise FileChangedError(self.path)
            files.write_atomic(path, after.encode())


def users(shell: Shell) -> Place:
    """Return the user's own config."""
    return Place(shell.user_file, str(shell.user_file), None)


def entitys(root: Path) -> Place:
    """Return an entity's file, finishing first what a killed process left."""
    changes.recover(root)
    return Place(files.inside(root, ENTITY_FILE), ENTITY_FILE, root)


def load(shell: Shell, place: Place) -> Settings:
    """Read the settings in force where a file belongs."""
    file = place.root / ENTITY_FILE if place.root else None
    return settings.load(file, shell.user_file, shell.environ)


def edit(
    shell: Shell,
    place: Place,
    plan: Callable[[str, str], str],
    why: str,
    *,
    dry_run: bool,
    lock_timeout: float | None = None,
) -> tuple[str, str]:
    """Change a file of settings.

    Args:
        shell: The process.
        place: The file.
        plan: Makes the new text of the old one and the file's name.
        why: For the title of the change.
        dry_run: Whether to plan only.
        lock_timeout: Seconds to wait for another writer; None: what the settings say.

    Returns:
        The text before and after.

    Raises:
        UsageError: If the value does not go with the others.
        FileChangedError: If somebody else changed the file meanwhile.
    """
    before = place.read()
    after = plan(before, str(place.path))
    if after == before:
        return before, after
    wait, autocommit, name = changes.DEFAULT_LOCK_TIMEOUT_SECONDS, True, "bumble"
    try:
        now = load(shell, place)
    except SettingInvalidError:
        pass  # this edit may be what mends it
    else:
        _check_together(now, place, after)
        wait, autocommit = now.config.limits.lock_timeout_seconds, now.config.git.autocommit
        name = now.identity.name if now.identity else name
    if not dry_run:
        keeping = Keeping(
            autocommit,
            name,
            lambda: shell.now().astimezone(),
            lambda text: output.warn(shell, text),
        )
        place.write(before, after, why, wait if lock_timeout is None else lock_timeout, keeping)
    return before, after


def _check_together(now: Settings, place: Place, after: str) -> None:
    """Refuse a text whose values are right one by one and do not go together."""
    aside = {*typed.fields(Identity), setting_layers.NOTES, trust.KEY}
    plain = {key: value for key, value in yamltext.parse_mapping(after).items() if key not in aside}
    values: dict[str, Any] = {}
    for layer in now.layers:
        is_own = layer.name == place.name
        values = setting_layers.merge(values, plain if is_own else layer.values)
    try:
        typed.check(Config, values, partial=False)
        typed.build(Config, values)
    except ValueProblem as problem:
        raise UsageError(f"{problem}\nNothing was changed.") from problem


def warn_if_idle(shell: Shell, settings: Settings, place: Place, key: str, origin: str) -> None:
    """Say why a setting that stands in a file does not count, if it does not."""
    for warning in settings.warnings:
        if f"`{key}`" in warning:
            output.warn(shell, warning)
    keys = tuple(key.split("."))
    layer = next((layer for layer in settings.layers if layer.name == place.name), None)
    stands = layer is not None and layer.depth(keys) == len(keys)
    if stands and not origin.startswith(place.name):
        output.warn(shell, f"another place decides `{key}` all the same: {origin}")


def diff(before: str, after: str) -> list[str]:
    """Return the lines that change, with those around them."""
    return list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))[2:]


def reaching(root: Path) -> dict[str, Any]:
    """Return the settings of an entity that count only where it is trusted.

    Raises:
        SettingInvalidError: If its file can't be read.
    """
    settings.load(root / ENTITY_FILE)
    plain = yamltext.parse_mapping(entitys(root).read())
    changes = {}
    for keys in trust.without_yours(plain)[1]:
        value: Any = plain
        for name in keys:
            value = value[name]
        changes[".".join(keys)] = value
    return changes


def without_trust(source: str, folder: Path) -> str:
    """Return the text of the user's config with a folder taken from the trusted."""
    listed = yamltext.parse_mapping(source).get(trust.KEY) or []
    path = os.path.realpath(folder)
    left = [folder for folder in listed if os.path.realpath(str(folder)) != path]
    return source if left == listed else yamltext.set_value(source, (trust.KEY,), left)
