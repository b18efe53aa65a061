"""What evolution changes in the text of entity.yaml; every other byte stays, comments included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bumble.text import yaml_edit
from bumble.text.words import one_line

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
