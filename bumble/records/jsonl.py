"""Files of one JSON object a line, only added to, as a crash or a merge may leave them.

Knows nothing of what the objects mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Struct

from bumble import patterns
from bumble.records.fields import read_struct
from bumble.text.printable import whole
from bumble.text.yaml_edit import SourceError

S = TypeVar("S", bound=Struct)
EMPTIED = "redacted"  # field of a line whose words are gone: true, or IN_PART
IN_PART = "in part"
_TORN = '{"type":"torn"'
_HALF = patterns.compile(
    r"[\ud800-\udfff]|\\u[dD][89a-fA-F]"
)  # of a character: a stray byte, or escaped


class JsonLine(Struct, frozen=True):
    """One line."""

    number: int  # from 1
    data: Mapping[str, Any]


def read(source: str) -> tuple[list[JsonLine], int | None]:
    """Split a text into its objects; halves of characters in them are replaced.

    Returns:
        The objects, and the number of a last line that was cut off, if there is one.

    Raises:
        SourceError: If a line is not an object; one that was cut off is forgiven at the end, and
            before a line of `torn`.
    """
    found: list[JsonLine] = []
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
        may_halve = not text.isascii() or "\\u" in text
        found.append(JsonLine(number, whole(data) if may_halve and _HALF.search(text) else data))
    if broken and source.endswith("\n"):  # a whole line, but not one of ours
        raise SourceError(broken[1], broken[0])
    return found, broken[0] if broken else None


def record(kind: type[S], line: JsonLine) -> S:
    """Read what an object is declared as.

    Raises:
        SourceError: If a value is none.
    """
    try:
        return read_struct(kind, line.data)
    except ValueError as error:
        raise SourceError(str(error), line.number) from error


def loose(line: str | bytes) -> dict[str, Any]:
    """Read the object of one line; an empty one where there is none."""
    with suppress(ValueError, RecursionError):
        data = json.loads(line)
        if isinstance(data, dict):
            return data
    return {}


def unique(lines: Iterable[JsonLine]) -> list[JsonLine]:
    """Drop the doubles that git's union merge leaves; two different lines may not share an id.

    Of two with one id of which one was emptied by forgetting, that one counts.
    """
    first_of: dict[tuple[object, str], JsonLine] = {}
    for line in lines:
        name = key(line)
        first = first_of.setdefault(name, line)
        if first.data == line.data or line.data.get("type") == "session":
            continue
        if not (is_emptied(first.data) or is_emptied(line.data)):
            raise SourceError(
                f"`{name[1]}` is here twice, differently (see line {first.number})", line.number
            )
        if not is_emptied(first.data):
            first_of[name] = line
    return list(first_of.values())


def doubles(lines: Iterable[JsonLine]) -> frozenset[int]:
    """Return the numbers of the lines that were emptied by forgetting and stand here full again."""
    by_key: dict[tuple[object, str], list[JsonLine]] = {}
    for line in lines:
        by_key.setdefault(key(line), []).append(line)
    return frozenset(
        line.number
        for same in by_key.values()
        if any(is_emptied(line.data) for line in same)
        for line in same
        if not is_emptied(line.data)
    )


def key(line: JsonLine) -> tuple[object, str]:
    """Return what tells a line from all others: its type and id, or all that it holds."""
    data, name = line.data, line.data.get("id")
    if data.get("type") == "appraisal":  # without words it is the same one still
        name = f"{data.get('message')} {data.get('at')}"
    if not isinstance(data.get("type"), str):
        return None, _canonical(data)
    return data["type"], name if isinstance(name, str) else _canonical(data)


def is_emptied(data: Mapping[str, Any]) -> bool:
    """Whether words of a line are gone, because a person was forgotten."""
    wordless = not any(data.get(name) for name in ("felt", "trigger", "emotion"))
    return bool(data.get(EMPTIED)) or (data.get("type") == "appraisal" and wordless)


def _canonical(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True)


def dumped(data: Mapping[str, Any]) -> str:
    """Write an object as its line."""
    return f"{whole(json.dumps(data, ensure_ascii=False, separators=(',', ':')))}\n"


def torn(number: int) -> str:
    """Write the line that says of the one before it that it is known to be cut off."""
    return dumped({"type": "torn", "line": number})
