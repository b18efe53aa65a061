"""Files of one JSON object a line, only added to, as a crash or a merge may leave them.

Knows nothing of what the objects mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bumble.text.whole_text import whole
from bumble.text.yaml_edit import SourceError

_TORN = '{"type":"torn"'
_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")  # of a character: a stray byte, or escaped


@dataclass(frozen=True)
class Line:
    """One line."""

    number: int  # from 1
    data: Mapping[str, Any]


def read(source: str) -> tuple[list[Line], int | None]:
    """Split a text into its objects; halves of characters in them are replaced.

    Returns:
        The objects, and the number of a last line that was cut off, if there is one.

    Raises:
        SourceError: If a line is not an object; one that was cut off is forgiven at the end, and
            before a line of `torn`.
    """
    found: list[Line] = []
    broken: tuple[int, str] | None = None
    for number, text in enumerate(source.removeprefix("\ufeff").split("\n"), 1):
        if not text.strip():
            continue
        if broken and not text.startswith(_TORN):
            raise SourceError(broken[1], broken[0])
        broken = None
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            broken = number, f"not a line of JSON: {error}"
            continue
        if not isinstance(data, dict):
            raise SourceError('a line should be an object: {"type": …}', number)
        found.append(Line(number, whole(data) if _HALF.search(text) else data))
    if broken and source.endswith("\n"):  # a whole line, but not one of ours
        raise SourceError(broken[1], broken[0])
    return found, broken[0] if broken else None


def unique(lines: Iterable[Line]) -> list[Line]:
    """Drop the doubles that git's union merge leaves; two different lines may not share an id."""
    seen: dict[tuple[object, str], Line] = {}
    kept = []
    for line in lines:
        name = line.data.get("id")
        key = (line.data.get("type"), name if isinstance(name, str) else _canonical(line.data))
        if key not in seen:
            seen[key] = line
            kept.append(line)
        elif seen[key].data != line.data and line.data.get("type") != "session":
            first = seen[key].number
            raise SourceError(
                f"`{key[1]}` is here twice, differently (see line {first})", line.number
            )
    return kept


def _canonical(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True)


def dumped(data: Mapping[str, Any]) -> str:
    """Write an object as its line."""
    return f"{whole(json.dumps(data, ensure_ascii=False, separators=(',', ':')))}\n"


def torn(number: int) -> str:
    """Write the line that says of the one before it that it is known to be cut off."""
    return dumped({"type": "torn", "line": number})
