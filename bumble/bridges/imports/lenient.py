"""Reading the fields of foreign data: what is of another type than it should be counts as missing.

Formats drift, and files may be made to hurt; nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from bumble.text import moments
from bumble.text.whole_text import HALF, whole

_MILLISECONDS_FROM = 100_000_000_000  # as seconds this is the year 5138
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def text(value: object) -> str:
    """Return a text, without what no page shows; empty for all else."""
    return cleaned(value) if isinstance(value, str) else ""


def cleaned(value: str) -> str:
    """Return a text without control characters, halves of characters, and carriage returns."""
    if HALF.search(value):
        value = str(whole(value))
    return _CONTROL.sub(_replacement, value.replace("\r\n", "\n"))


def _replacement(match: re.Match[str]) -> str:
    return "\n" if match[0] in "\r\x85\u2028\u2029" else ""


def mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping; an empty one for all else."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return a list; an empty one for all else."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings of a list."""
    return [item for item in listed(value) if isinstance(item, dict)]


def texts(value: object) -> list[str]:
    """Return the texts of a list; of a single text, that."""
    return [text(item) for item in ([value] if isinstance(value, str) else listed(value))]


def moment(value: object) -> datetime | None:
    """Read a time in any of the forms that exports use; None if it is none.

    Seconds or milliseconds since 1970, ISO 8601 (without an offset: UTC), MongoDB's `$date`. Zero
    stands for unknown.
    """
    if isinstance(value, dict):
        return moment(value.get("$date", value.get("$numberLong")))
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and not re.fullmatch(r"\d{9,14}(?:\.\d{1,9})?", value.strip()):
        at = _iso(value.strip())
    elif isinstance(value, str | int | float | Decimal):
        at = _since_epoch(value)
    else:
        at = _written(value)
    return at if at is not None and moments.is_sane(at) else None


def _iso(value: str) -> datetime | None:
    if len(value) > 64:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _since_epoch(value: str | int | float | Decimal) -> datetime | None:
    try:
        number = float(value)
        seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
        return _EPOCH + timedelta(seconds=seconds) if seconds else None
    except (OverflowError, ValueError):
        return None


def _written(value: object) -> datetime | None:
    """Read what YAML takes for a time or a day."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return (
        datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, date)
        else None
    )
