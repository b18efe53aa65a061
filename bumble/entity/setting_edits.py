"""Edits of a file of settings, as text: `config set`, `config unset`, and what `evolve` changes.

Every other byte stays, comments included. Nothing is written here; a wrong key or value never gets
as far as a new text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_origin

from bumble.entity import layers
from bumble.entity.config import Config, Identity
from bumble.errors import SettingInvalidError, UsageError
from bumble.text import schema, yaml_edit
from bumble.text.schema import Keys, ValueProblem
from bumble.text.words import one_line


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
    gone = layers.reason(keys)
    if not gone and _find(key)[1] is Identity:
        raise UsageError(f"`{key}` is part of who the entity is; set it instead")
    try:
        return layers.removed(source, keys) if gone else yaml_edit.remove(source, keys)
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


NEUTRAL = 0.5  # of a trait that nobody has set
DECIMALS = 4
MOST_TOPICS = 40  # of curiosity, in all


def evolved(
    source: str, traits: Mapping[str, float], behaviours: Sequence[str], curiosity: Sequence[str]
) -> str:
    """Return the text with traits moved, and with new behaviours and topics of curiosity.

    Args:
        source: The text of entity.yaml.
        traits: By how much each is to change; it stays in [0, 1].
        behaviours: To be added; what is there already is not.
        curiosity: Likewise; beyond 40 in all there are no more.

    Raises:
        SourceError: If the text can't be changed in place.
    """
    persona = _mapping(yaml_edit.parse_mapping(source).get("identity"))
    present = _mapping(persona.get("traits"))
    for name, change in traits.items():
        level = present.get(name, NEUTRAL)
        moved = round(min(1.0, max(0.0, float(level) + change)), DECIMALS)
        if moved != level:
            source = yaml_edit.set_value(source, ("identity", "traits", name), moved)
    for key, texts, most in (
        ("behaviours", behaviours, None),
        ("curiosity", curiosity, MOST_TOPICS),
    ):
        listed = list(persona.get(key) or [])
        joined = _joined(listed, texts)[:most] if most is None or len(listed) < most else listed
        if joined != listed:
            source = yaml_edit.set_value(source, ("identity", key), joined)
    return source


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _joined(listed: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Add to a list what it has not yet, whatever the case."""
    joined = list(listed)
    for text in map(one_line, texts):
        if text.casefold() not in (str(there).casefold() for there in joined):
            joined.append(text)
    return joined
