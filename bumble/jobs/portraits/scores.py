"""The relationship scores that come with a portrait: how they are asked for, and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bumble.records.relationships import Scores
from bumble.text.words import one_line

MAX_TOPICS, MAX_UNRESOLVED, MAX_CHARS = 5, 3, 120
_NAMES = Scores.__struct_fields__
_TEXTS = {"type": "array", "items": {"type": "string", "maxLength": MAX_CHARS}}

FIELDS: Mapping[str, Any] = {
    **{name: {"type": "number"} for name in _NAMES},
    "dynamic": {"type": "string", "maxLength": MAX_CHARS},
    "topics": {**_TEXTS, "maxItems": MAX_TOPICS},
    "unresolved": {**_TEXTS, "maxItems": MAX_UNRESOLVED},
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": FIELDS,
    "required": list(_NAMES),
    "additionalProperties": False,
}


class PortraitScores(Struct, frozen=True):
    """The scores and notes that come with a portrait; where one is None, the old stays."""

    scores: Scores
    dynamic: str | None
    topics: tuple[str, ...] | None
    unresolved: tuple[str, ...] | None


def read(raw: Mapping[str, Any], stands: Callable[[str], bool]) -> PortraitScores | None:
    """Read the scores of a portrait; None if there are none.

    Args:
        raw: As a model gave them.
        stands: Whether a line of them names nothing that nobody gave.
    """
    if not raw or not set(_NAMES) <= set(raw):
        return None
    dynamic = _standing([raw.get("dynamic", "")], stands)
    return PortraitScores(
        Scores(**{name: min(1.0, max(0.0, float(raw[name]))) for name in _NAMES}),
        dynamic[0] if dynamic else None,
        tuple(_standing(raw["topics"], stands)) if "topics" in raw else None,
        tuple(_standing(raw["unresolved"], stands)) if "unresolved" in raw else None,
    )


def _standing(texts: Sequence[str], stands: Callable[[str], bool]) -> list[str]:
    lines = {line.casefold(): line for text in texts if (line := one_line(text)) and stands(line)}
    return list(lines.values())
