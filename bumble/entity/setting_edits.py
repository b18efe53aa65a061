"""`config set` and `config unset`: one setting changed in the text of a YAML file.

Every other byte stays, comments included. Nothing is written here; a wrong key or value never gets
as far as a new text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_origin

from bumble.entity import layers, retired
from bumble.entity.config import Config, Identity
from bumble.errors import SettingInvalidError, UsageError
from bumble.text import schema, yaml_edit
from bumble.text.schema import Keys, ValueProblem


def plan_set(source: str, key: str, value_text: str, *, file: str = "entity.yaml") -> str:
    """Return the text of a config file with one setting changed or added.

    Args:
        source: The file's text.
        key: Dotted, as `memory.max_recall_results`; in an entity.yaml also its name and the like.
        value_text: As typed: text as it is, all else as YAML.
        file: The file's name, for errors.

    Raises:
        UsageError: If the key is unknown, a section, or takes no such value.
        SettingInvalidError: If the file can't be changed in place.
    """
    keys, root = _find(key)
    try:
        value = layers.parse_value(keys, value_text, root=root)
    except ValueProblem as problem:
        raise UsageError(layers.sentence(problem)) from problem
    try:
        return yaml_edit.set_value(source, keys, value)
    except yaml_edit.SourceError as error:
        raise invalid(file, error) from error


def plan_unset(source: str, key: str, *, file: str = "entity.yaml") -> str:
    """Return the text without one setting, so that the layer below shows again.

    Raises:
        UsageError: If the key is unknown.
        SettingInvalidError: If the file can't be changed in place.
    """
    keys = tuple(key.split("."))
    gone = retired.reason(keys)
    if not gone and _find(key)[1] is Identity:
        raise UsageError(f"`{key}` is part of who the entity is; set it instead")
    try:
        return retired.removed(source, keys) if gone else yaml_edit.remove(source, keys)
    except yaml_edit.SourceError as error:
        raise invalid(file, error) from error


def _find(key: str) -> tuple[Keys, type]:
    keys = tuple(key.split("."))
    root = Identity if keys[0] in schema.fields(Identity) else Config
    try:
        kind = schema.at(root, keys)
    except ValueProblem as problem:
        raise UsageError(layers.sentence(problem)) from problem
    above = schema.bare(schema.at(root, keys[:-1]))[0]
    if schema.is_section(kind) and get_origin(above) is not Mapping:  # what has a name is set whole
        names = ", ".join(schema.fields(schema.bare(kind)[0]))
        raise UsageError(f"`{key}` is a section; name one of its settings: {names}")
    return keys, root


def invalid(file: str, error: yaml_edit.SourceError) -> SettingInvalidError:
    """Return the error of a file of settings that can't be changed in place."""
    place = file if error.line is None else f"{file}:{error.line}"
    return SettingInvalidError(place, error.problem)
