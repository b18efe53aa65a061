"""The files that hold settings, edited one setting at a time; and trust kept through an edit.

An entity's `entity.yaml` is changed as all its files are; the user's own config by an atomic write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.cli import output
from bumble.cli.process import Shell
from bumble.entity import approvals, changes, commits, config, folder_trust, layers, settings
from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.entity.settings import Settings
from bumble.errors import FileChangedError, SettingInvalidError, UsageError, UserError
from bumble.files import disk
from bumble.runtime import rules
from bumble.text import printable, schema, yaml_edit


class SettingsFile(Struct, frozen=True):
    """A file of settings."""

    path: Path
    name: str  # as origins show it
    root: Path | None  # of the entity; None for the user's own file

    def read(self) -> str:
        """Return the file's text; empty where there is none."""
        try:
            raw = disk.read_if_there(self.path)  # it will be edited
            return "" if raw is None else raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SettingInvalidError(str(self.path), "is not UTF-8 text") from error
        except OSError as error:
            raise UserError(f"{self.path}: could not be read: {error.strerror}") from error


def users(shell: Shell) -> SettingsFile:
    """Return the user's own config."""
    return SettingsFile(shell.user_file, str(shell.user_file), None)


def entitys(root: Path) -> SettingsFile:
    """Return an entity's file, finishing first what a killed process left."""
    changes.recover(root)
    return SettingsFile(disk.inside(root, ENTITY_FILE), ENTITY_FILE, root)


def load(shell: Shell, place: SettingsFile) -> Settings:
    """Read the settings in force where a file belongs."""
    file = place.root / ENTITY_FILE if place.root else None
    return settings.load(file, shell.user_file, shell.environ)


def edit(
    shell: Shell,
    place: SettingsFile,
    plan: Callable[[str], str],
    title: str,
    *,
    dry_run: bool,
    lock_timeout: float | None = None,
) -> tuple[str, str]:
    """Change a file of settings.

    Args:
        shell: The process.
        place: The file.
        plan: Makes the new text of the old one.
        title: Of the commit, where it is an entity's.
        dry_run: Whether to plan only.
        lock_timeout: Seconds to wait for another writer; None: what the settings say.

    Returns:
        The text before and after.

    Raises:
        UsageError: If the value does not go with the others.
        SettingInvalidError: If the file can't be changed in place.
        FileChangedError: If somebody else changed the file meanwhile.
    """
    before = place.read()
    try:
        after = plan(before)
    except yaml_edit.SourceError as error:
        raise settings.invalid(str(place.path), error) from error
    if after == before:
        return before, after
    known = settings.load()
    with suppress(SettingInvalidError):  # this edit may be what mends it
        known = load(shell, place)
        _check_together(known, place, after)
    if dry_run:
        return before, after
    wait = known.config.limits.lock_timeout_seconds if lock_timeout is None else lock_timeout
    if place.root is None:
        path = place.path.resolve()  # may be a link into a collection of such files
        with disk.lock(path.with_name(f".{path.name}.lock"), place=path, timeout_seconds=wait):
            if place.read() != before:
                raise FileChangedError(place.path)
            disk.write_atomic(path, after.encode())
        return before, after
    change = changes.write(ENTITY_FILE, after, before, title.partition(": ")[2])
    policy = commits.CommitPolicy(
        known.config.git.autocommit,
        (known.identity and known.identity.name) or shell.entity_name or "bumble",
        shell.now,
        partial(output.warn, shell),
        known.trusted,
    )
    with trust_renewed(shell, place.root, [ENTITY_FILE]):
        commits.apply(place.root, changes.ChangeSet(title, (change,)), policy, timeout_seconds=wait)
    return before, after


def _check_together(now: Settings, place: SettingsFile, after: str) -> None:
    """Refuse a text whose values are right one by one and do not go together."""
    aside = {*schema.fields(config.Identity), layers.NOTES, folder_trust.KEY}
    own = yaml_edit.parse_mapping(after).items()
    plain = {key: value for key, value in own if key not in aside}
    plain = layers.without(plain, layers.found(plain))
    values: dict[str, Any] = {}
    for layer in now.layers:
        values = layers.merge(values, plain if layer.name == place.name else layer.values)
    try:
        schema.build(config.Config, values)
    except schema.ValueProblem as problem:
        raise UsageError(f"{problem}\nNothing was changed.") from problem


def warn_if_idle(
    shell: Shell, settings: Settings, place: SettingsFile, key: str, origin: str
) -> None:
    """Say why a setting that stands in a file does not count, if it does not."""
    for warning in settings.warnings:
        if f"`{key}`" in warning:
            output.warn(shell, warning)
    keys = tuple(key.split("."))
    layer = next((layer for layer in settings.layers if layer.name == place.name), None)
    if layer and layer.depth(keys) == len(keys) and not origin.startswith(place.name):
        output.warn(shell, f"another place decides `{key}` all the same: {origin}")


class Trusted(Struct, frozen=True):
    """What counts, or may run, only where an entity is trusted."""

    settings: dict[str, Any]  # by dotted key
    runnable: list[approvals.Rule]
    rules: list[approvals.Rule]  # that count where its owner made or approved them

    @property
    def digests(self) -> set[str]:
        """The hashes that the user's own config keeps."""
        return {item.digest for item in self.runnable} | {rule.digest for rule in self.rules}


def to_trust(shell: Shell, root: Path) -> Trusted:
    """Return what trusting an entity lets it do.

    Raises:
        SettingInvalidError: If its entity.yaml can't be read.
    """
    loaded = settings.load(root / ENTITY_FILE, shell.user_file, shell.environ)
    reaching = folder_trust.reaching(yaml_edit.parse_mapping(entitys(root).read()))
    shown = {key: printable.masked(value) for key, value in reaching.items()}
    return Trusted(shown, folder_trust.read(root, reaching), rules.read(Entity(root), loaded))


def trust(shell: Shell, root: Path, digests: Collection[str], *, dry_run: bool = False) -> bool:
    """Trust what is listed of an entity, by hashes; return whether that is new."""
    before, after = edit(
        shell,
        users(shell),
        lambda source: folder_trust.plan(source, root, digests),
        f"trust {root}",
        dry_run=dry_run,
    )
    return before != after


@contextmanager
def trust_renewed(shell: Shell, root: Path, paths: Collection[str]) -> Iterator[None]:
    """Keep a folder as trusted as it was through a change that its owner makes by a command.

    Only what the owner changes is trusted anew, and only if it was trusted or not there before:
    what a pull brought goes on waiting to be looked at.

    Args:
        shell: The process.
        root: The entity's folder.
        paths: The files that are changed, relative to it.
    """
    trusted: frozenset[str] | None = None
    there: dict[str, str] = {}
    if folder_trust.concerns(paths):
        with suppress(UserError, ValueError):  # what can't be read was not trusted
            listed = yaml_edit.parse_mapping(users(shell).read()).get(folder_trust.KEY)
            folders = folder_trust.folders(listed, str(shell.user_file))
            approved = folder_trust.approval(folders, root)
            there = {item.file: item.digest for item in to_trust(shell, root).runnable}
            trusted = approved.digests if approved.is_listed else None
    yield
    if trusted is None:
        return
    try:
        now = to_trust(shell, root)
    except UserError:  # what can't be read runs nothing
        return
    renewed = {rule.digest for rule in now.rules if rule.digest in trusted} | {
        item.digest
        for item in now.runnable
        if item.digest in trusted
        or (item.file in paths and (item.file not in there or there[item.file] in trusted))
    }
    trust(shell, root, renewed)
