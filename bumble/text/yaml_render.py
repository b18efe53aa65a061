"""Plain values as YAML text that every reader of YAML 1.1 or 1.2 reads back the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bumble.text import yaml_plain

MAX_INLINE_COLUMNS = 88  # a list or mapping that fits is written on one line
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ODD_IN_BLOCK = re.compile(
    "[ \t]\n|[ \t]$|"
    "[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


class Row(dict[str, Any]):
    """A mapping that is written on one line, however long: one of many alike."""


def dump(values: Mapping[str, Any]) -> str:
    """Write a mapping as block YAML, a key a line, short lists inline."""
    return "".join(f"{scalar(key)}:{value(item, 0, 0)}\n" for key, item in values.items())


def nested(keys: Sequence[str], item: Any, indent: int) -> str:
    """Write a value under a path of keys, as lines of a block."""
    heads = [f"{' ' * (indent + 2 * n)}{scalar(key)}:" for n, key in enumerate(keys)]
    used = len(heads[-1]) - indent
    return "\n".join(heads) + value(item, indent + 2 * (len(keys) - 1), used) + "\n"


def value(item: Any, indent: int, columns_used: int) -> str:
    """Render what stands behind `key:`, its leading space or line break included."""
    if isinstance(item, str) and "\n" in item and _fits_block(item):
        return _block(item, indent + 2)
    if not isinstance(item, Mapping | list | tuple) or not item:
        return " " + inline(item)
    text = inline(item)
    if isinstance(item, Row):
        return " " + text
    if columns_used + indent + len(text) <= MAX_INLINE_COLUMNS and not _has_parts(item):
        return " " + text
    pad = " " * (indent + 2)
    if isinstance(item, Mapping):
        return "".join(f"\n{pad}{scalar(k)}:{value(v, indent + 2, 0)}" for k, v in item.items())
    return "".join(f"\n{pad}- {inline(part)}" for part in item)


def _has_parts(item: Any) -> bool:
    parts = item.values() if isinstance(item, Mapping) else ()
    return any(isinstance(part, Mapping | list | tuple) and part for part in parts)


def _block(text: str, indent: int) -> str:
    pad, keep = " " * indent, "" if text.endswith("\n") else "-"
    body = text.removesuffix("\n").split("\n")
    return f" |{keep}\n" + "\n".join(pad + line if line else "" for line in body)


def _fits_block(text: str) -> bool:
    """Whether a literal block reads back the same: nothing odd at its edges or unprintable."""
    return not (text[0].isspace() or text.endswith("\n\n") or _ODD_IN_BLOCK.search(text))


def inline(item: Any) -> str:
    """Render a value in flow style on one line."""
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {inline(v)}" for k, v in item.items()) + "}"
    if isinstance(item, list | tuple):
        return "[" + ", ".join(inline(part) for part in item) + "]"
    return scalar(item)


def scalar(item: Any) -> str:
    """Render a single value."""
    if item is None:
        return "null"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return _number(item)
    return str(item) if yaml_plain.is_plain(str(item)) else quoted(str(item))


def _number(number: float) -> str:
    text = repr(number)
    if text in ("inf", "-inf", "nan"):
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}[text]
    if "e" in text and "." not in text:  # `1e-05` is text to readers of YAML 1.1
        text = text.replace("e", ".0e")
    return text


def quoted(text: str) -> str:
    """Write text in double quotes; what can't be printed is escaped."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable() and char != "\ufeff":
        return char
    if ord(char) <= 0xFF:
        return f"\\x{ord(char):02x}"
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
