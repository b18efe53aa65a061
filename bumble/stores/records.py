"""What every store shares: ids, typed fields, and reading a file as a record.

A record is a frozen dataclass that keeps the `Document` it was read from; an edit gives a new record
whose document differs in the lines it changes, and in no others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from ulid import ULID

from bumble import markdown
from bumble.errors import RecordInvalidError
from bumble.yamltext import SourceError

T = TypeVar("T")
_REQUIRED: Any = object()


def new_id(prefix: str, at: datetime, rng: random.Random) -> str:
    """Make an id that sorts by time and does not collide across clones: `ep_01J…`."""
    milliseconds = int(at.timestamp() * 1000)
    return f"{prefix}_{ULID.from_bytes(milliseconds.to_bytes(6, 'big') + rng.randbytes(10))}"


def field(meta: Mapping[str, Any], name: str, kind: type[T], default: T = _REQUIRED) -> T:
    """Return a value of a record, checked for its type.

    Args:
        meta: The record's mapping.
        name: The key.
        kind: `str`, `int`, `float` (an int will do), `bool`, `list`, `dict` or `datetime` (ISO 8601
            text with an offset).
        default: What a missing or empty value counts as; without one it is an error.

    Raises:
        ValueError: If it is missing without a default, or of another type.
    """
    value = meta.get(name)
    if value is None:
        if default is _REQUIRED:
            raise ValueError(f"`{name}` is missing")
        return default
    if kind is datetime:
        return cast("T", moment(value, name))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return cast("T", float(value))
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"`{name}` should be {_article(kind)}, not `{value}`")
    return value


def _article(kind: type) -> str:
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(kind, {list: "a list", dict: "a mapping"}.get(kind, kind.__name__))


def unit(meta: Mapping[str, Any], name: str, default: float = _REQUIRED) -> float:
    """Return a number of a record that must lie in [0, 1]."""
    value = field(meta, name, float, default)
    if not 0 <= value <= 1:
        raise ValueError(f"`{name}` should lie between 0 and 1, not {value:g}")
    return value


def texts(meta: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts of a record; missing is empty, a single text is a list of one."""
    value = meta.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"`{name}` should be a list of texts")
    return tuple(value)


def moment(value: Any, name: str) -> datetime:
    """Read a time with its UTC offset."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(
            f"`{name}` should be a time like 2026-05-24T03:12:47+02:00, not `{value}`"
        ) from None
    if at.tzinfo is None:
        raise ValueError(f"`{name}` has no UTC offset: write {at.isoformat()}+00:00, or your own")
    return at


def stamp(at: datetime) -> str:
    """Write a time as records hold it: seconds, with offset."""
    return at.isoformat(timespec="seconds")


def read_text(path: Path) -> str:
    """Read a file as UTF-8, line ends untouched.

    Raises:
        RecordInvalidError: If it is not UTF-8, too large, or can't be read.
    """
    try:
        if path.stat().st_size > markdown.MAX_BYTES:
            size = path.stat().st_size / 1e6
            raise RecordInvalidError(
                path, f"{size:.0f} MB; bumble reads notes up to {markdown.MAX_BYTES / 1e6:.0f} MB"
            )
        data = path.read_bytes()
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordInvalidError(
            path, f"not UTF-8 text: byte {data[error.start]:#04x}", line
        ) from error
    except OSError as error:
        raise RecordInvalidError(path, f"can't be read: {error.strerror}") from error


def load(path: Path, parse: Callable[[str, str], T]) -> T:
    """Read the record in a file; its stem is the record's name.

    Raises:
        RecordInvalidError: If the file does not hold such a record, naming file and line.
    """
    source = read_text(path)
    try:
        return parse(source, path.stem)
    except SourceError as error:
        raise RecordInvalidError(path, error.problem, error.line) from error
    except ValueError as error:
        raise RecordInvalidError(path, str(error), _line_of(source, str(error))) from error


def _line_of(source: str, problem: str) -> int | None:
    """Find the line of the key that a problem names in backquotes."""
    key = problem.split("`")[1] if problem.count("`") >= 2 else ""
    try:
        return markdown.parse(source).line_of(key) if key else None
    except ValueError:
        return None
