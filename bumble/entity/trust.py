"""Which entity folders may use settings that reach beyond them.

An entity may arrive by clone. Then its entity.yaml can't point the user's key at its own address,
start programs or ask other servers: such settings count only in folders that the user's own config
lists.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bumble import yamltext
from bumble.entity import typed
from bumble.entity.config import YOURS, Config
from bumble.entity.setting_layers import Layer
from bumble.entity.typed import Keys
from bumble.errors import SettingInvalidError

KEY = "trusted"  # in the user's config: a list of folders
LINKED = "linked"  # there too: folders that links in an entity's folder may lead to


def folders(listed: object, place: str, key: str = KEY) -> tuple[str, ...]:
    """Read a list of folders from the value under a key in the user's config.

    Raises:
        SettingInvalidError: If it is not a list of absolute paths.
    """
    paths = listed if listed is not None else []
    if not isinstance(paths, list) or not all(
        isinstance(path, str) and Path(path).is_absolute() for path in paths
    ):
        raise SettingInvalidError(place, f"`{key}` must be a list of folders, each path in full")
    return tuple(paths)


def holds(trusted: tuple[str, ...], folder: Path) -> bool:
    """Tell whether a folder is one of the trusted; what lies below a trusted one is not."""
    return os.path.realpath(folder) in {os.path.realpath(path) for path in trusted}


def plan(source: str, folder: Path) -> str:
    """Return the text of the user's config with a folder added to the trusted."""
    listed = yamltext.parse_mapping(source).get(KEY) or []
    path = os.path.realpath(folder)
    if path in listed:
        return source
    return yamltext.set_value(source, (KEY,), [*listed, path])


def without_yours(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Keys]]:
    """Take out the settings that only a trusted folder may make, and name them."""
    layer = Layer("file", values)
    ignored = [keys for keys in yours() if layer.depth(keys) == len(keys)]
    return _without(values, (), set(ignored)), ignored


@functools.cache
def yours() -> tuple[Keys, ...]:
    """Return the settings that reach beyond the entity's folder."""
    return tuple(keys for keys, kind in typed.walk(Config) if YOURS in typed.bare(kind)[1])


def warning(place: str, keys: Keys, folder: Path) -> str:
    """Say that a setting was ignored, and what makes it count."""
    return (
        f"{place}: `{'.'.join(keys)}` is ignored, because it reaches beyond this folder. "
        f"If you trust what is in it: bumble config trust {folder}"
    )


def _without(values: Mapping[str, Any], above: Keys, ignored: set[Keys]) -> dict[str, Any]:
    return {
        key: _without(value, (*above, key), ignored) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if (*above, key) not in ignored
    }
