"""YAML written: plain values rendered, and single values changed where they stand.

What is rendered reads back the same to every reader of YAML 1.1 or 1.2. An edit replaces the
characters of the value it changes and leaves every other byte alone: comments, key order, quoting,
blank lines. Each edit is checked by reading the result back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from bumble import patterns
from bumble.text import yaml_read
from bumble.text.yaml_read import SourceError, line_of, parse, parse_mapping

__all__ = [
    "SourceError",
    "dump",
    "inline",
    "line_of",
    "parse",
    "parse_mapping",
    "remove",
    "scalar",
    "set_value",
]

Node: TypeAlias = Any  # ruamel's, which loads late
MAX_INLINE_COLUMNS = 88  # a list or mapping that fits is written on one line
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ODD_IN_BLOCK = patterns.compile(
    "[ \t]\n|[ \t]$|"
    "[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


class Row(dict[str, Any]):
    """A mapping that is written on one line, however long: one of many alike."""


def dump(values: Mapping[str, Any]) -> str:
    """Write a mapping as block YAML, a key a line, short lists inline."""
    return "".join(f"{scalar(key)}:{behind_key(item, 0, 0)}\n" for key, item in values.items())


def nested(keys: Sequence[str], item: Any, indent: int) -> str:
    """Write a value under a path of keys, as lines of a block."""
    heads = [f"{' ' * (indent + 2 * n)}{scalar(key)}:" for n, key in enumerate(keys)]
    used = len(heads[-1]) - indent
    return "\n".join(heads) + behind_key(item, indent + 2 * (len(keys) - 1), used) + "\n"


def behind_key(item: Any, indent: int, columns_used: int) -> str:
    """Render what stands behind `key:`, its leading space or line break included."""
    is_long = isinstance(item, str) and "\n" in item
    # a literal block reads back the same: nothing odd at its edges or unprintable
    if is_long and not (item[0].isspace() or item.endswith("\n\n") or _ODD_IN_BLOCK.search(item)):
        return _block(item, indent + 2)
    parts = item.values() if isinstance(item, Mapping) else ()
    has_parts = any(isinstance(part, Mapping | list | tuple) and part for part in parts)
    text, is_split = inline(item), isinstance(item, Mapping | list | tuple) and bool(item)
    fits = columns_used + indent + len(text) <= MAX_INLINE_COLUMNS and not has_parts
    if not is_split or isinstance(item, Row) or fits:
        return " " + text
    pad = " " * (indent + 2)
    if isinstance(item, Mapping):
        return "".join(
            f"\n{pad}{scalar(k)}:{behind_key(v, indent + 2, 0)}" for k, v in item.items()
        )
    return "".join(f"\n{pad}- {inline(part)}" for part in item)


def _block(text: str, indent: int) -> str:
    pad, keep = " " * indent, "" if text.endswith("\n") else "-"
    body = text.removesuffix("\n").split("\n")
    return f" |{keep}\n" + "\n".join(pad + line if line else "" for line in body)


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
        text = repr(item)  # `1e-05` is text to readers of YAML 1.1
        return text if "." in text else text.replace("e", ".0e")
    return str(item) if yaml_read.is_plain(str(item)) else quoted(str(item))


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


_LINE_END = patterns.compile(r"\r\n|\n|\r|\Z")


def set_value(source: str, keys: Sequence[str], value: Any) -> str:
    """Return `source` with the value under `keys` changed or added, and nothing else.

    Raises:
        SourceError: If the text is not a mapping there, or an edit in place can't be done safely.
    """
    return _edited(source, keys, _plain(value), removing=False)


def remove(source: str, keys: Sequence[str]) -> str:
    """Return `source` without the key and its lines; unchanged where the key is not there."""
    return _edited(source, keys, None, removing=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = {str(key): _plain(item) for key, item in value.items()}
        return Row(plain) if isinstance(value, Row) else plain
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _edited(source: str, keys: Sequence[str], value: Any, *, removing: bool) -> str:
    before = parse_mapping(source)
    wanted = _with(before, keys, value, removing=removing)
    if _same(wanted, before):
        return source
    with suppress(SourceError):  # the edit made a text that can't be read
        result = _splice(source, keys, value, removing=removing)
        if _same(parse_mapping(result), wanted):
            return result
    # an alias, a merge key, a style we don't know
    line = line_of(source, keys)
    raise SourceError(f"`{'.'.join(keys)}` can't be changed in place; change it by hand", line)


def _same(one: Any, other: Any) -> bool:
    """Compare values strictly: `1`, `1.0` and `true`, which Python calls equal, differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def _with(data: Mapping[str, Any], keys: Sequence[str], value: Any, *, removing: bool) -> Any:
    copy = dict(data)
    if len(keys) == 1:
        if removing:
            copy.pop(keys[0], None)
        else:
            copy[keys[0]] = value
        return copy
    below = copy.get(keys[0])
    if removing and not isinstance(below, dict):
        return copy
    if below is not None and not isinstance(below, dict):
        raise SourceError(f"`{keys[0]}` holds a value, not further keys")
    copy[keys[0]] = _with(below or {}, keys[1:], value, removing=removing)
    return copy


# Where the value of a key ends: at `^`. ruamel marks begin and end of each node as indexes into the
# text, which is right for what has brackets or is one line, and for little else.
#
#     voice: warm  # by day      behind the scalar; the comment beside it stays
#                ^
#     people:  # whom it knows   behind the last item of the block, and within it behind its own
#       - Kim                    last; the mark may stand lines below, where the next key begins
#       - name: Bo   # new
#                 ^
#     motto: |                   behind the last line that is not blank: those that follow part this
#       Keep to it.              key from the next (`|+` alone holds them)
#                  ^
#     pet:                       behind the colon; the mark of nothing may stand lines below
#         ^
#     cat: *pet                  behind the alias; its node is the anchor's, and so are the marks
#              ^


def _splice(source: str, keys: Sequence[str], value: Any, *, removing: bool) -> str:
    """Find the place of the edit and make it: walk down the keys as far as they are there."""
    newline = "\r\n" if "\r\n" in source else "\n" if "\n" in source or "\r" not in source else "\r"
    node, above = yaml_read.compose(source), None
    for depth, key in enumerate(keys):
        rest = keys[depth:]
        if getattr(node, "id", "") != "mapping":
            if above is None:  # an empty file, or comments only
                return _open_line(source, newline) + nested(rest, value, 0).replace("\n", newline)
            below = "\n" + nested(rest, value, above[0].start_mark.column + 2)
            return _replace(source, *above, below.rstrip("\n"), newline)
        if node.flow_style:  # `{a: 1}`: written anew as a whole
            start, end = node.start_mark.index, node.end_mark.index
            whole = _with(parse_mapping(source[start:end]), rest, value, removing=removing)
            return source[:start] + inline(whole) + source[end:]
        found = yaml_read.find(node, key)
        if found is None:
            return _append(source, node, rest, value, newline)
        if depth < len(keys) - 1:
            above, node = found, found[1]
        elif removing and len(node.value) == 1 and above is not None:
            return _replace(source, *above, " {}", newline)
        elif removing:
            return _drop(source, *found)
        else:
            return _set(source, *found, value, newline)
    return source


def _is_block(node: Node) -> bool:
    return node.id != "scalar" and not node.flow_style and bool(node.value)


def _behind_node(source: str, node: Node, if_empty: int) -> int:
    """Return the index behind the last character of a value; `if_empty` where it has none."""
    if _is_block(node):
        last = node.value[-1]
        if isinstance(last, tuple):
            return _behind_value(source, *last)
        return _behind_node(source, last, last.start_mark.index)
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if node.id == "scalar" and start == end:
        return if_empty
    if node.id == "scalar" and node.style in ("|", ">"):
        text = source[start:end]
        header = text.split("\n", 1)[0].split("#", 1)[0]
        kept = re.sub(r"(?:\r\n|\n|\r)\Z", "", text) if "+" in header else text.rstrip(" \t\r\n")
        return start + len(kept)
    return end


def _behind_value(source: str, key: Node, value: Node) -> int:
    """Return the index behind the value of a key, an alias or a node."""
    start = _behind_colon(source, key)
    alias = re.compile(r"[^\S\r\n]*\*[^\s,\[\]{}]+").match(source, start)
    return alias.end() if alias else _behind_node(source, value, if_empty=start)


def _behind_colon(source: str, key: Node) -> int:
    """Return the index behind the colon of a key."""
    colon = re.match(r"[^\S\r\n]*:", source[key.end_mark.index :])
    return int(key.end_mark.index) + (colon.end() if colon else 1)


def _line_end(source: str, start: int) -> tuple[int, int]:
    """Return where the line ends in which an index lies, and where the next begins."""
    match = _LINE_END.search(source, start)
    return match.span() if match else (len(source), len(source))


def _open_line(source: str, newline: str) -> str:
    return source + newline if source and not source.endswith(("\n", "\r")) else source


def _set(source: str, key: Node, old: Node, value: Any, newline: str) -> str:
    """Change the value of a key; a list that only grows gets the lines of its new items."""
    if (longer := _with_items_added(source, old, value, newline)) is not None:
        return longer
    used = int(key.end_mark.column) + 1 - int(key.start_mark.column)
    return _replace(source, key, old, behind_key(value, key.start_mark.column, used), newline)


def _with_items_added(source: str, old: Node, value: Any, newline: str) -> str | None:
    """Add the items that a list has more; None where it differs in others, or isn't a block."""
    if not (old.id == "sequence" and _is_block(old) and isinstance(value, list)):
        return None
    try:
        there = parse(
            " " * old.start_mark.column + source[old.start_mark.index : old.end_mark.index]
        )
    except SourceError:
        return None
    if not isinstance(there, list) or not _same(there, value[: len(there)]):
        return None
    end, _ = _line_end(source, _behind_node(source, old, int(old.start_mark.index)))
    pad = " " * old.start_mark.column
    more = "".join(f"{newline}{pad}- {inline(item)}" for item in value[len(there) :])
    return source[:end] + more + source[end:]


def _replace(source: str, key: Node, old: Node, text: str, newline: str) -> str:
    """Put `text` where the value of `key` stands; a comment beside the key stays on its line."""
    start, end = _behind_colon(source, key), _behind_value(source, key, old)
    comment = ""
    if _is_block(old) or getattr(old, "style", None) in ("|", ">"):
        first = source[start : _line_end(source, start)[0]]
        match = re.search(r"^(?:\s*[|>][-+\d]*)?(\s+#.*)$", first)
        comment = match[1] if match else ""
    if "\n" in text:
        head, below = text.split("\n", 1)
        line_end, _ = _line_end(source, end)
        whole = f"{head}{comment}{source[end:line_end]}{newline}{below}".replace("\r\n", "\n")
        return source[:start] + whole.replace("\n", newline) + source[line_end:]
    return source[:start] + text + comment + source[end:]


def _drop(source: str, key: Node, old: Node) -> str:
    """Take out the lines of a key, from its first to that on which its value ends."""
    start = key.start_mark.index - key.start_mark.column
    _, below = _line_end(source, _behind_value(source, key, old))
    return source[:start] + source[below:]


def _append(source: str, node: Node, keys: Sequence[str], value: Any, newline: str) -> str:
    """Add a key behind the last one of a block."""
    _, at = _line_end(source, _behind_node(source, node, int(node.start_mark.index)))
    text = nested(keys, value, node.start_mark.column).replace("\n", newline)
    return _open_line(source[:at], newline) + text + source[at:]
