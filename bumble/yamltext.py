"""YAML as text: read it, and change single values where they stand.

An edit replaces the characters of the value it changes and leaves every other byte alone: comments,
key order, quoting, blank lines. Each edit is checked by reading the result back.
YAML 1.2; times stay text, because a reader that turns them into objects loses how they were written.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML, MappingNode, Node, SafeConstructor, ScalarNode, SequenceNode
from ruamel.yaml.error import MarkedYAMLError, YAMLError

MAX_INLINE_COLUMNS = 88  # a list or mapping that fits is written on one line


class SourceError(ValueError):
    """A text is not what it should be, at a line of it."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        self.problem, self.line = problem, line  # line counts from 1
        super().__init__(problem)


class _Constructor(SafeConstructor):
    """Builds plain values, times excepted."""


_Constructor.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def _reader() -> YAML:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    return yaml


def parse(source: str) -> Any:
    """Read YAML into plain dicts, lists, strings, numbers, booleans and None.

    Raises:
        SourceError: If it is not YAML, repeats a key, or uses a tag of its own.
    """
    try:
        return _reader().load(source)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "not valid YAML").split())
        raise SourceError(f"not valid YAML: {problem}", mark.line + 1 if mark else None) from error
    except (YAMLError, ValueError) as error:
        raise SourceError(f"not valid YAML: {' '.join(str(error).split())[:200]}") from error


def parse_mapping(source: str) -> dict[str, Any]:
    """Read YAML that must hold a mapping with text keys; nothing at all counts as an empty one."""
    value = parse(source)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SourceError(f"holds {_kind(value)} where `key: value` lines belong", 1)
    for key in value:
        if not isinstance(key, str):
            raise SourceError(
                f"the key `{key}` is not text; put it in quotes", line_of(source, (key,))
            )
    return value


def _kind(value: object) -> str:
    return "a list" if isinstance(value, list) else "a single value"


def dump(value: Mapping[str, Any]) -> str:
    """Write a mapping as block YAML, a key a line, short lists inline."""
    return "".join(f"{scalar(key)}:{_value(item, 0, 0)}\n" for key, item in value.items())


def set_value(source: str, keys: Sequence[str], value: Any) -> str:
    """Return `source` with the value under `keys` changed or added, and nothing else.

    Raises:
        SourceError: If the text is not a mapping there, or an edit in place can't be done safely.
    """
    return _edited(source, keys, value, removing=False)


def remove(source: str, keys: Sequence[str]) -> str:
    """Return `source` without the key and its lines; unchanged where the key is not there."""
    return _edited(source, keys, None, removing=True)


def line_of(source: str, keys: Sequence[Any]) -> int | None:
    """Return the line, from 1, on which the deepest of `keys` that is there stands."""
    node = _compose(source)
    line: int | None = None
    for key in keys:
        found = _find(node, str(key))
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _edited(source: str, keys: Sequence[str], value: Any, *, removing: bool) -> str:
    before = parse_mapping(source)
    wanted = _with(before, keys, value, removing=removing)
    if wanted == before and _same_types(wanted, before):
        return source
    result = _splice(source, keys, value, removing=removing)
    if parse_mapping(result) != wanted:  # an alias, a merge key, a style we don't know
        line = line_of(source, keys)
        raise SourceError(f"`{'.'.join(keys)}` can't be changed in place; change it by hand", line)
    return result


def _same_types(one: Any, other: Any) -> bool:
    """Tell `1` from `1.0` and `true`, which Python calls equal."""
    return repr(one) == repr(other)


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


def _splice(source: str, keys: Sequence[str], value: Any, *, removing: bool) -> str:
    newline = "\r\n" if "\r\n" in source else "\n"
    node, parent_key = _compose(source), None
    for depth, key in enumerate(keys):
        if parent_key is None and not isinstance(
            node, MappingNode
        ):  # an empty file, or comments only
            head = source if not source or source.endswith("\n") else source + newline
            return head + _lines(keys, value, 0).replace("\n", newline)
        if not isinstance(node, MappingNode):  # `section:` with nothing below it yet
            below = "\n" + _lines(keys[depth:], value, parent_key.start_mark.column + 2).rstrip(
                "\n"
            )
            return _replace_text(source, parent_key, node, below, newline)
        if node.flow_style:  # `{a: 1}`: written anew as a whole
            return _replace_flow(source, node, keys[depth:], value, removing=removing)
        found = _find(node, key)
        if found is None:
            return _append_key(source, node, keys[depth:], value, newline)
        if depth == len(keys) - 1:
            if removing:
                return _drop_key(source, *found)
            return _replace_value(source, *found, value, newline)
        parent_key, node = found
    return source


def _compose(source: str) -> Any:
    try:
        return _reader().compose(source)
    except YAMLError:
        return None


def _find(node: Any, key: str) -> tuple[Node, Node] | None:
    if not isinstance(node, MappingNode):
        return None
    return next((pair for pair in node.value if str(pair[0].value) == key), None)


def _end(node: Node) -> int:
    """Return the index behind the last character of a value; block collections end with their last item."""
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _replace_value(source: str, key: Node, old: Node, value: Any, newline: str) -> str:
    used = len(_last_line(source[: key.end_mark.index])) + 1
    return _replace_text(source, key, old, _value(value, key.start_mark.column, used), newline)


def _replace_text(source: str, key: Node, old: Node, text: str, newline: str) -> str:
    """Put `text` where the value of `key` stands, or behind its colon if it has none."""
    colon = re.match(r"[^\S\r\n]*:", source[key.end_mark.index :])
    start = key.end_mark.index + (colon.end() if colon else 1)
    end = _end(old)
    if isinstance(old, ScalarNode) and old.start_mark.index == old.end_mark.index:
        end = start  # nothing there; the mark may lie lines below
        if text.startswith("\n"):  # a block goes behind the comment of its key
            start = end = _line_end(source, start)
    tail = source[end:]
    block = isinstance(old, ScalarNode) and old.style in ("|", ">")
    if block and end > start and source[end - 1] == "\n":
        tail = newline + tail  # a block text's end includes its line end
    return source[:start] + text.replace("\n", newline) + tail


def _line_end(source: str, start: int) -> int:
    end = source.find("\n", start)
    if end < 0:
        return len(source)
    return end - 1 if source[end - 1] == "\r" else end


def _last_line(text: str) -> str:
    return text[text.rfind("\n") + 1 :]


def _drop_key(source: str, key: Node, old: Node) -> str:
    start = source.rfind("\n", 0, key.start_mark.index) + 1
    end = source.find("\n", max(_end(old) - 1, key.end_mark.index))
    return source[:start] + (source[end + 1 :] if end >= 0 else "")


def _append_key(
    source: str, node: MappingNode, keys: Sequence[str], value: Any, newline: str
) -> str:
    indent = node.start_mark.column
    end = source.find("\n", max(_end(node) - 1, 0))
    head, tail = (source[: end + 1], source[end + 1 :]) if end >= 0 else (source + newline, "")
    return head + _lines(keys, value, indent).replace("\n", newline) + tail


def _replace_flow(
    source: str, node: MappingNode, keys: Sequence[str], value: Any, *, removing: bool
) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    data = parse_mapping(source[start:end])
    return source[:start] + inline(_with(data, keys, value, removing=removing)) + source[end:]


def _lines(keys: Sequence[str], value: Any, indent: int) -> str:
    heads = [f"{' ' * (indent + 2 * n)}{scalar(key)}:" for n, key in enumerate(keys)]
    return "\n".join(heads) + _value(value, indent + 2 * (len(keys) - 1), 0) + "\n"


def _value(value: Any, indent: int, columns_used: int) -> str:
    """Render what stands behind `key:`, its leading space or line break included."""
    if isinstance(value, str) and "\n" in value and _fits_block(value):
        pad = " " * (indent + 2)
        keep = "-" if not value.endswith("\n") else ""
        body = value.removesuffix("\n").split("\n")
        return f" |{keep}\n" + "\n".join(pad + line if line else "" for line in body)
    if not isinstance(value, dict | list) or not value:
        return " " + inline(value)
    inline = inline(value)
    if columns_used + indent + len(inline) <= MAX_INLINE_COLUMNS and not _nested(value):
        return " " + inline
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        return "".join(f"\n{pad}{scalar(k)}:{_value(v, indent + 2, 0)}" for k, v in value.items())
    return "".join(f"\n{pad}- {inline(item)}" for item in value)


def _nested(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(v, dict | list) and v for v in value.values())


def _fits_block(text: str) -> bool:
    """Whether a literal block reads back the same: no odd spaces at its edges, nothing unprintable."""
    first = text.lstrip("\n")
    return not (
        first[:1].isspace()
        or text.startswith("\n")
        or text.endswith("\n\n")
        or re.search(
            r"[ \t]\n|[ \t]$|[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text
        )
    )


def inline(value: Any) -> str:
    """Render a value in flow style on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(k)}: {inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    """Render a single value so that it reads back the same, quoted where it must be."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(value)
    return _text(str(value))


def _number(value: float) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}[text]
    if "e" in text and "." not in text:  # `1e-05` is text to YAML 1.1 readers
        text = text.replace("e", ".0e")
    return text


def _text(value: str) -> str:
    """Write text plain where that reads back the same, else in double quotes."""
    plain = re.fullmatch(r"[^\W\d][\w ./()+–—'’éèäöü-]*|\d[\w-]*T[\w:.+-]*", value)
    if plain and value == value.strip() and not re.search(r"\s[#-]|:\s|\n", value):
        try:
            if parse(value) == value:
                return value
        except SourceError:
            pass
    return _quoted(value)


def _quoted(value: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    out = io.StringIO()
    for char in value:
        if char in escapes:
            out.write(escapes[char])
        elif char.isprintable() and char != "\ufeff":
            out.write(char)
        elif ord(char) <= 0xFF:
            out.write(f"\\x{ord(char):02x}")
        elif ord(char) <= 0xFFFF:
            out.write(f"\\u{ord(char):04x}")
        else:
            out.write(f"\\U{ord(char):08x}")
    return f'"{out.getvalue()}"'
