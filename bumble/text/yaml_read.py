"""YAML read into plain values, strictly, with limits and the lines of its keys.

YAML 1.2; times stay text, because a reader that turns them into objects loses how they were
written. Two readers: `read_plain` knows what bumble itself writes, answers only where the full
reader would give the same, and takes a second where that one takes half a minute.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode
from ruamel.yaml.reader import ReaderError

from bumble import patterns

_WORD = r"[\w./()+'’–—-]"
# text that needs no quotes in any place, whichever version of YAML reads it
PLAIN = patterns.compile(rf"[^\W\d]{_WORD}*(?: [^\W_]{_WORD}*)*")
MOMENT = patterns.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:[+-]\d\d:\d\d|Z)")
SPECIAL = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_KEY = r"[A-Za-z][A-Za-z0-9_]*"
_LINE = patterns.compile(rf"((?:  ){{0,3}})(?:- (.+)|({_KEY}):(?: (.+))?)")
_INTEGER = patterns.compile(r"0|-?[1-9]\d{0,17}")
_DECIMAL = patterns.compile(r"-?\d{1,17}\.\d{1,17}")
# characters that are neither a line break nor forbidden to any reader
_CHARACTER = r"\x20\x21\x23-\x5b\x5d-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd"
_QUOTED = rf'"(?:[{_CHARACTER}\U00010000-\U0010ffff]|\\["\\ntr])*"'
_PART = patterns.compile(rf' *(?:({_KEY}):(?= )|([\[\]{{}},]|{_QUOTED}|[^\[\]{{}},"]+))')
MISSING: Any = object()  # `read` can't tell


def read_plain(source: str) -> Any:
    """Return a mapping's values, or MISSING where the text is more than plain."""
    open_parts: list[Any] = [{}]  # what lines of each depth add to
    last: tuple[dict[str, Any], str] | None = None  # the key whose value may follow, deeper
    for line in source.replace("\r\n", "\n").split("\n"):
        if not line or (line.startswith("# ") and line.isprintable()):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            return MISSING
        indent, item, key, text = match.groups()
        depth = len(indent) // 2
        if depth == len(open_parts) and last is not None:
            last[0][last[1]] = [] if item else {}
            open_parts.append(last[0][last[1]])
        del open_parts[depth + 1 :]
        value = None if item is text is None else _value(item or text)
        part = open_parts[-1]
        is_there = depth == len(open_parts) - 1 and isinstance(part, list if item else dict)
        if not is_there or value is MISSING:
            return MISSING
        if item:
            part.append(value)
        elif key in part or key.lower() in SPECIAL:
            return MISSING
        else:
            part[key] = value
        last = (part, key) if item is text is None else None
    return open_parts[0]


def _value(text: str) -> Any:
    if text[0] not in '["{':
        return _scalar(text)
    parts, at = list[str](), 0
    while at < len(text):
        match = _PART.match(text, at)
        part = _in_json(*match.groups("")) if match else None
        if match is None or part is None:
            return MISSING
        parts.append(part)
        at = match.end()
    try:
        return _FLOW.decode("".join(parts))
    except (ValueError, RecursionError):  # a comma too many, or a key that stands twice
        return MISSING


def _in_json(key: str, part: str) -> str | None:
    """Write a part of a value on one line as JSON has it; None where it is more than plain."""
    if key or part in "[]{},":
        return f'"{key}":' if key else part
    if part[0] == '"':
        return part
    value = _scalar(part.strip(" "))
    return None if value is MISSING else f'"{value}"' if isinstance(value, str) else part


def _mapping(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs) or any(key.lower() in SPECIAL for key in found):
        raise ValueError("a key stands twice, or is no text to every reader")
    return found


_FLOW = json.JSONDecoder(object_pairs_hook=_mapping)


def _scalar(text: str) -> Any:
    if text[:1] == '"':
        return json.loads(text) if text[-1] == '"' and len(text) > 1 else MISSING
    if is_plain(text):
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return {"true": True, "false": False, "null": None}.get(text, MISSING)


def is_plain(text: str) -> bool:
    """Whether text can stand without quotes and is text to every reader."""
    if MOMENT.fullmatch(text):
        return True
    return PLAIN.fullmatch(text) is not None and text.lower() not in SPECIAL


MAX_VALUES = 200_000  # aliases can make a small text stand for billions
MAX_MERGED = 1_000  # keys that merge keys bring into a mapping: they can double at each step
MAX_DEPTH = 100
MAX_CHARACTERS = 250_000  # takes ten seconds
MAX_KEPT_CHARACTERS = 20_000  # of a text whose value is kept: a command reads its files many times
MAX_DIGITS = 250  # of a whole number: a longer one is no float
_NO_CHARACTER = patterns.compile(r"\\U(?!000|0010)")  # an escape of a number that is too large


class SourceError(ValueError):
    """A text is not what it should be, at a line of it."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        self.problem, self.line = problem, line  # line counts from 1
        super().__init__(problem)


class _Constructor(SafeConstructor):
    """Builds plain values: what JSON has, and times as text. Every error names its line."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Build a value; what its text can't be read as is an error of that place."""
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ConstructorError(None, None, str(error), node.start_mark) from error

    def construct_scalar(self, node: Any) -> Any:
        """Read a text. JSON escapes a character as two halves; half of one is no text anywhere."""
        text = super().construct_scalar(node)
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def construct_yaml_int(self, node: Any) -> int:
        """Read a whole number that can be calculated with."""
        if len(node.value) > MAX_DIGITS:
            raise ValueError(f"a number has more than {MAX_DIGITS} digits; put it in quotes")
        return super().construct_yaml_int(node)

    def flatten_mapping(self, node: Any) -> None:
        """Bring in what merge keys name."""
        for key, value in node.value:
            merges = key.tag == "tag:yaml.org,2002:merge" and isinstance(value, SequenceNode)
            if merges and len(value.value) > MAX_DEPTH:
                raise ConstructorError(None, None, "too much is merged", key.start_mark)
        super().flatten_mapping(node)
        if len(getattr(node, "merge", None) or ()) > MAX_MERGED:
            raise ConstructorError(None, None, "too much is merged", node.start_mark)


_TAG = "tag:yaml.org,2002:"
_PLAIN = {f"{_TAG}{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map")}
_Constructor.yaml_constructors = {
    tag: build
    for tag, build in SafeConstructor.yaml_constructors.items()
    if tag in _PLAIN or tag is None  # None refuses all others
}
_Constructor.add_constructor(f"{_TAG}int", _Constructor.construct_yaml_int)
_Constructor.add_constructor(f"{_TAG}timestamp", SafeConstructor.construct_yaml_str)


# What ruamel raises over a text; the last two over a directive of another version, `%YAML 1.9`.
_FAILURES = (YAMLError, ArithmeticError, ValueError, LookupError, AssertionError)


def _reader() -> YAML:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    yaml.max_depth = MAX_DEPTH
    yaml.composer.warn_double_anchors = False  # it would print
    return yaml


def parse(source: str) -> Any:
    """Read YAML into plain dicts, lists, strings, numbers, booleans and None.

    Raises:
        SourceError: If it is not YAML, repeats a key, or uses a tag of its own.
    """
    if len(source) > MAX_KEPT_CHARACTERS or "*" in source:
        return _parse(source)
    return _copied(_kept(source))


@lru_cache(maxsize=256)
def _kept(source: str) -> Any:
    return _parse(source)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


def _parse(source: str) -> Any:
    if len(source) > MAX_CHARACTERS:
        said = f"{len(source):,} characters of YAML; bumble reads up to {MAX_CHARACTERS:,}"
        raise SourceError(said, 1)
    try:
        value = _reader().load(source)
        if "*" in source:
            _count(value, {}, 0)
    except (RecursionError, MaxDepthExceededError) as error:
        mark = getattr(error, "problem_mark", None)
        said = f"not valid YAML: nested too deeply, more than {MAX_DEPTH} levels"
        raise SourceError(said, mark.line + 1 if mark else 1) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "not valid YAML").split())[:200]
        raise SourceError(f"not valid YAML: {problem}", mark.line + 1 if mark else None) from error
    except ReaderError as error:
        line = source.count("\n", 0, error.position) + 1
        raise SourceError(f"not valid YAML: {_plain_words(error)}", line) from error
    except _FAILURES as error:
        escape = _NO_CHARACTER.search(source)
        line = source.count("\n", 0, escape.start()) + 1 if escape else 1
        raise SourceError(f"not valid YAML: {_plain_words(error)}", line) from error
    return value


def _plain_words(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _count(value: Any, known: dict[int, int], depth: int) -> int:
    """Count the values that one stands for; refuse what aliases have blown up or made a ring."""
    if not isinstance(value, dict | list):
        return 1
    if depth > MAX_DEPTH:
        raise RecursionError
    if id(value) not in known:
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_count(part, known, depth + 1) for part in parts)
    if known[id(value)] > MAX_VALUES:
        raise ValueError(f"its aliases stand for more than {MAX_VALUES:,} values")
    return known[id(value)]


def parse_mapping(source: str) -> dict[str, Any]:
    """Read YAML that must hold a mapping with text keys; nothing at all counts as an empty one."""
    value = read_plain(source)
    if value is MISSING:
        value = parse(source)
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise SourceError(f"holds {kind} where `key: value` lines belong", 1)
    for key in value:
        if not isinstance(key, str):
            line = line_of(source, (key,)) or 1
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


@lru_cache(maxsize=4)  # whoever asks for one line of a file asks for others
def compose(source: str) -> Any:
    """Return the nodes of a text, with their places in it; None where it can't be read."""
    if len(source) > MAX_CHARACTERS:
        return None
    try:
        return _reader().compose(source)
    except (*_FAILURES, RecursionError):
        return None


def find(node: Any, key: str) -> tuple[Node, Node] | None:
    """Return the key and the value of a mapping's entry."""
    if not isinstance(node, MappingNode):
        return None
    return next((pair for pair in node.value if str(pair[0].value) == key), None)
