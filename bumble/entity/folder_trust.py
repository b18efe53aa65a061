"""Which entity folders may use settings that reach beyond them and make programs run.

An entity may arrive by clone. Then its entity.yaml can't point the user's key at its own address,
start programs or ask other servers: such settings count only in folders that the user's own config
lists, as they were when the user looked at them. Where something that can run is new since then,
by a pull or a hand, it is asked again.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from bumble.entity import runnable
from bumble.entity.config import OWNERS, YOURS, Config
from bumble.entity.folder import Approval
from bumble.entity.layers import Layer
from bumble.entity.runnable import Runnable
from bumble.errors import SettingInvalidError
from bumble.text import schema, yaml_edit
from bumble.text.schema import Keys

KEY = "trusted"  # in the user's config: folder to the hashes of what can run there
LINKED = "linked"  # there too: folders that links in an entity's folder may lead to
# What starts programs in the folder counts only where that is trusted, whoever set it.
PROGRAMS: tuple[Keys, ...] = (
    ("prompt", "host_command"),
    ("tools", "run_command"),
)

Trusted = Mapping[str, frozenset[str]]  # folder, in full, to hashes
SHOWN = 5  # files, in a warning
NEVER_SEEN = "-"  # the only hash of a folder that was listed before hashes were kept


def linked_folders(listed: object, place: str) -> tuple[str, ...]:
    """Read the folders that links may lead to from the value under `linked` in the user's config.

    Raises:
        SettingInvalidError: If it is not a list of absolute paths.
    """
    paths = listed if listed is not None else []
    if not _are_texts(paths) or not all(Path(path).is_absolute() for path in paths):
        raise SettingInvalidError(place, f"`{LINKED}` must be a list of folders, each path in full")
    return tuple(paths)


def folders(listed: object, place: str) -> Trusted:
    """Read the trusted folders from the value under `trusted` in the user's config.

    Raises:
        SettingInvalidError: If it is no mapping of absolute paths to hashes, nor a list of paths,
            as it used to be.
    """
    hashes = {path: [NEVER_SEEN] for path in listed} if _are_texts(listed) else listed or {}
    if not isinstance(hashes, Mapping) or not all(
        isinstance(path, str) and Path(path).is_absolute() and _are_texts(seen)
        for path, seen in hashes.items()
    ):
        problem = f"`{KEY}` must name folders, each path in full, as `bumble config trust` does"
        raise SettingInvalidError(place, problem)
    return {os.path.realpath(path): frozenset(seen) for path, seen in hashes.items()}


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def holds(trusted: Collection[str], folder: Path) -> bool:
    """Tell whether a folder is one of the trusted; what lies below a trusted one is not."""
    return os.path.realpath(folder) in {os.path.realpath(path) for path in trusted}


def seen_in(trusted: Trusted, folder: Path) -> frozenset[str]:
    """Return the hashes of what could run in a folder when the user trusted it."""
    return trusted.get(os.path.realpath(folder), frozenset())


def approval(trusted: Trusted, folder: Path) -> Approval:
    """Return what the user's config says of the rules of a folder."""
    return Approval(folder, holds(trusted, folder), seen_in(trusted, folder))


def unseen(trusted: Trusted, folder: Path, values: Mapping[str, Any]) -> list[Runnable]:
    """Return what can run in a trusted folder and could not, so, when the user trusted it.

    Args:
        trusted: The folders that are, this one among them.
        folder: The entity's.
        values: Its entity.yaml.
    """
    seen = seen_in(trusted, folder)
    return [item for item in runnable.read(folder, reaching(values)) if item.digest not in seen]


def plan(source: str, folder: Path, seen: Collection[str]) -> str:
    """Return the text of the user's config with a folder among the trusted.

    Args:
        source: The text as it is.
        folder: Which.
        seen: The hashes of what can run there.
    """
    listed = yaml_edit.parse_mapping(source).get(KEY) or {}
    path = os.path.realpath(folder)
    if isinstance(listed, list):  # as it used to be: all of it is asked again
        every = {str(name): [NEVER_SEEN] for name in listed if os.path.realpath(str(name)) != path}
        return yaml_edit.set_value(source, (KEY,), {**every, path: sorted(seen)})
    if isinstance(listed, Mapping) and listed.get(path) == sorted(seen):
        return source
    return yaml_edit.set_value(source, (KEY, path), sorted(seen))


def plan_not(source: str, folder: Path) -> str:
    """Return the text of the user's config with a folder taken from the trusted."""
    listed = yaml_edit.parse_mapping(source).get(KEY) or []
    path = os.path.realpath(folder)
    for name in listed:
        if os.path.realpath(str(name)) == path and isinstance(listed, Mapping):
            source = yaml_edit.remove(source, (KEY, str(name)))
    left = [name for name in listed if os.path.realpath(str(name)) != path]
    if isinstance(listed, Mapping) or left == listed:
        return source
    return yaml_edit.set_value(source, (KEY,), left)


def reaching(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an entity.yaml that count only where the folder is trusted."""
    settings = {}
    for keys in _among(values, yours()):
        value: Any = values
        for name in keys:
            value = value[name]
        settings[".".join(keys)] = value
    return settings


def without(values: Mapping[str, Any], ignored: Collection[Keys]) -> dict[str, Any]:
    """Take settings out."""
    return _without(values, (), set(ignored))


def only_yours(values: Mapping[str, Any]) -> list[Keys]:
    """Name the settings that only a trusted folder may make."""
    return _among(values, yours())


def only_owners(values: Mapping[str, Any]) -> list[Keys]:
    """Name the settings that no folder may make."""
    return _among(values, _marked(OWNERS))


def starting(values: Mapping[str, Any]) -> list[Keys]:
    """Name the settings that let programs start."""

    def value(keys: Keys) -> Any:
        return functools.reduce(lambda inner, key: inner[key], keys, values)

    return [keys for keys in _among(values, PROGRAMS) if value(keys)]


def _among(values: Mapping[str, Any], wanted: Collection[Keys]) -> list[Keys]:
    layer = Layer("file", values)
    return [keys for keys in wanted if layer.depth(keys) == len(keys)]


def yours() -> tuple[Keys, ...]:
    """Return the settings that reach beyond the entity's folder."""
    return _marked(YOURS)


@functools.cache
def _marked(mark: object) -> tuple[Keys, ...]:
    return tuple(keys for keys, kind in schema.walk(Config) if mark in schema.bare(kind)[1])


def doubt(trusted: Trusted, folder: Path, values: Mapping[str, Any]) -> str | None:
    """Say why what a folder can make run does not count; None: it is trusted as it is.

    Args:
        trusted: The folders that are trusted, as they were.
        folder: The entity's.
        values: Its entity.yaml.
    """
    if not holds(trusted, folder):
        return "If you trust what is in it"
    changed = unseen(trusted, folder, values)
    if not changed:
        return None
    paths = ", ".join(item.path for item in changed[:SHOWN]) + (", …" if changed[SHOWN:] else "")
    return f"You trusted it before this was new or changed: {paths}. If you still do"


def warning(place: str, keys: Keys, folder: Path, why: str) -> str:
    """Say that a setting was ignored, and what makes it count; `why` as `doubt` says it."""
    return (
        f"{place}: `{'.'.join(keys)}` is ignored, because it reaches beyond this folder. "
        f"{why}: bumble config trust {folder}"
    )


def program_warning(place: str, keys: Keys, folder: Path, why: str) -> str:
    """Say that no program starts in a folder, though the user's own settings let programs start."""
    return (
        f"{place}: `{'.'.join(keys)}` is ignored in {folder}: programs run only in folders that "
        f"you trust. {why}: bumble config trust {folder}"
    )


def owners_warning(place: str, keys: Keys) -> str:
    """Say that a setting is nothing for an entity's folder."""
    key = ".".join(keys)
    return f"{place}: `{key}` is ignored: only your own config may set it, with --user"


def _without(values: Mapping[str, Any], above: Keys, ignored: set[Keys]) -> dict[str, Any]:
    return {
        key: _without(value, (*above, key), ignored) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if (*above, key) not in ignored
    }
