"""YAML read into plain values, strictly, and the lines its keys stand on.

YAML 1.2; times stay text, because a reader that turns them into objects loses how they were
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node

from bumble import yamlplain

MAX_VALUES = 200_000  # aliases can make a small text stand for billions


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
        value = _reader().load(source)
        if "*" in source:
            _count(value, {}, 0)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "not valid YAML").split())
        raise SourceError(f"not valid YAML: {problem}", mark.line + 1 if mark else None) from error
    except RecursionError:
        raise SourceError("not valid YAML: nested too deeply") from None
    except (YAMLError, ValueError, TypeError) as error:  # TypeError: a mapping as a key
        raise SourceError(f"not valid YAML: {' '.join(str(error).split())[:200]}") from error
    return value


def _count(value: Any, known: dict[int, int], depth: int) -> int:
    """Count the values that one stands for; refuse what aliases have blown up or made a ring."""
    if not isinstance(value, dict | list):
        return 1
    if depth > 100:
        raise RecursionError
    if id(value) not in known:
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_count(part, known, depth + 1) for part in parts)
    if known[id(value)] > MAX_VALUES:
        raise ValueError(f"its aliases stand for more than {MAX_VALUES:,} values")
    return known[id(value)]


def parse_mapping(source: str) -> dict[str, Any]:
    """Read YAML that must hold a mapping with text keys; nothing at all counts as an empty one."""
    value = yamlplain.read(source)
    if value is yamlplain.MISSING:
        value = parse(source)
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise SourceError(f"holds {kind} where `key: value` lines belong", 1)
    for key in value:
        if not isinstance(key, str):
            line = line_of(source, (key,))
            raise SourceError(f"the key `{key}` is not text; put it in quotes", line)
    return value


def line_of(source: str, keys: Sequence[Any]) -> int | None:
    """Return the line, from 1, on which the deepest of `keys` that is there stands."""
    node = compose(source)
    line: int | None = None
    for key in keys:
        found = find(node, str(key))
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def lines(source: str) -> dict[tuple[str, ...], int]:
    """Return the line, from 1, of every key, under its path; keys inside lists are left out."""
    found: dict[tuple[str, ...], int] = {}
    seen: set[int] = set()  # an alias may point at what it stands in

    def walk(node: Any, keys: tuple[str, ...]) -> None:
        if not isinstance(node, MappingNode) or id(node) in seen:
            return
        seen.add(id(node))
        for key, value in node.value:
            path = (*keys, str(key.value))
            found[path] = key.start_mark.line + 1
            walk(value, path)

    walk(compose(source), ())
    return found


def compose(source: str) -> Any:
    """Return the nodes of a text, with their places in it; None where it can't be read."""
    try:
        return _reader().compose(source)
    except (YAMLError, ValueError, RecursionError):
        return None


def find(node: Any, key: str) -> tuple[Node, Node] | None:
    """Return the key and the value of a mapping's entry."""
    if not isinstance(node, MappingNode):
        return None
    return next((pair for pair in node.value if str(pair[0].value) == key), None)
