"""YAML files that are one mapping, changed in place: shared by `soma` and `state`.

Knows nothing of what the values mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.records import base
from bumble.text import yaml_edit


class MappingFile(Struct, frozen=True):
    """A YAML file as it was read."""

    values: Mapping[str, Any]
    source: str | None  # the text of the file; None: there was none

    def get(self, *keys: str, default: Any = None) -> Any:
        """Return the value under some keys, or the default where there is none."""
        value: Any = self.values
        for key in keys:
            if not isinstance(value, Mapping) or value.get(key) is None:
                return default
            value = value[key]
        return value

    def line_of(self, problem: str) -> int | None:
        """Return the line of the key that a problem names in backquotes: `bars.social`."""
        keys = problem.split("`")[1].split(".") if problem.count("`") > 1 else []
        return yaml_edit.line_of(self.source or "", keys)


def parse_mapping(source: str, stem: str = "") -> MappingFile:
    """Read a mapping from the text of its file.

    Raises:
        SourceError: If it is not a YAML mapping.
    """
    return MappingFile(yaml_edit.parse_mapping(source), source)


def read_mapping(file: Path, parse: Callable[[str, str], MappingFile] = parse) -> MappingFile:
    """Read the file; none at all counts as an empty mapping."""
    return base.load(file, parse) if file.exists() else MappingFile({}, None)


def edited_mapping(
    old: MappingFile, values: Mapping[str, Any], remove: Iterable[Sequence[str]] = ()
) -> MappingFile:
    """Return the file with some values changed; what is not named stays, byte for byte.

    Args:
        old: As it was read.
        values: What is to differ; a mapping in it goes into the mapping that is there key by key.
        remove: Keys to take out, each a path of keys.
    """
    source = old.source or ""
    for keys in remove:
        source = yaml_edit.remove(source, keys)
    for keys, value in _leaves(values, yaml_edit.parse_mapping(source)):
        source = yaml_edit.set_value(source, keys, value)
    return MappingFile(yaml_edit.parse_mapping(source), source)


def _leaves(
    values: Mapping[str, Any], there: Any, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in values.items():
        below = there.get(key) if isinstance(there, Mapping) else None
        if isinstance(value, Mapping) and value and isinstance(below, Mapping) and below:
            yield from _leaves(value, below, (*above, key))
        elif value != below or type(value) is not type(below):
            yield (*above, key), value


def plan_mapping(
    path: str,
    old: MappingFile,
    values: Mapping[str, Any],
    why: str,
    remove: Iterable[Sequence[str]] = (),
) -> Change | None:
    """Plan to change some values and leave the rest of the file; None when nothing differs.

    Args:
        path: Of the file.
        old: As it was read.
        values: What is to differ, nested as in the file; lists are replaced as a whole.
        why: For the change set.
        remove: Keys to take out, each a path of keys: `[["affects", "joy"]]`.
    """
    new = edited_mapping(old, values, remove).source or ""
    if new == (old.source or ""):
        return None
    return changes.write(path, new, old.source, why)
