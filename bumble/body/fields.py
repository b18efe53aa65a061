"""Strict reading of plain mappings for the body: every error names the field's dotted path.

Knows the types YAML and JSON give, and nothing of what the fields mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from bumble.text import moments


def section(value: object, place: str) -> Mapping[str, object]:
    """Take a value that must be a mapping with text keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"`{place}` is not a mapping")
    return value


def entry(mapping: Mapping[str, object], key: str, place: str) -> object:
    """Take a field that must be there."""
    if key not in mapping:
        raise ValueError(f"`{place}.{key}` is missing".replace("`.", "`"))
    return mapping[key]


def items(value: object, place: str) -> list[object]:
    """Take a value that must be a list; an absent one is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"`{place}` is not a list")
    return list(value)


def number(value: object, place: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Take a value that must be a finite number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise ValueError(f"`{place}` is not a number: {str(value)[:60]!r}")
    if not low <= value <= high:
        raise ValueError(f"`{place}` is {value:g}, outside {low:g} to {high:g}")
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # JSON may hold a whole number of any length
        return False


def text(value: object, place: str) -> str:
    """Take a value that must be text."""
    if not isinstance(value, str):
        raise ValueError(f"`{place}` is not text: {value!r}")
    return value


def moment(value: object, place: str) -> datetime:
    """Take a time with its offset, as ISO text or as YAML already read it."""
    if not isinstance(value, str | datetime):
        raise ValueError(f"`{place}` is not a time: {value!r}")
    return moments.read(value, place)
