"""YAML read into plain values, strictly, with limits and the lines of its keys.

YAML 1.2; times stay text, because a reader that turns them into objects loses how they were
written. Two readers: `read_plain` knows what bumble itself writes, answers only where the full
reader would give the same, and takes a second where that one takes half a minute.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

from bumble import patterns

_WORD = r"[\w./()+'’–—-]"
# text that needs no quotes in any place, whichever version of YAML reads it
_PLAIN = rf"[^\W\d]{_WORD}*(?: [^\W_]{_WORD}*)*"
PLAIN = patterns.compile(_PLAIN)
MOMENT = patterns.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:[+-]\d\d:\d\d|Z)")
SPECIAL = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_INTEGER = patterns.compile(r"0|-?[1-9]\d{0,17}")
_DECIMAL = patterns.compile(r"-?\d{1,17}\.\d{1,17}")
# characters that are no line break and forbidden to no reader: said by the few others, for `re`
# takes a while over a long range
_CHARACTER = r'[^"\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]'
_QUOTED = rf'"(?:{_CHARACTER}|\\["\\ntr])*"'
_KEY = f"{_PLAIN}|{_QUOTED}"
_LINE = patterns.compile(rf"((?:  ){{0,3}})(?:- (.+)|({_KEY}):(?: (.+))?)")
_PART = patterns.compile(rf' *(?:({_KEY}):(?= )|([\[\]{{}},]|{_QUOTED}|[^\[\]{{}},"]+))')
MISSING: Any = object()  # `read` can't tell


def read_plain(source: str) -> Any:
    """Return a mapping's values, or MISSING where the text is more than plain.

    Plain are blank lines, comments, and lines of four forms, set in by two spaces a depth:

        key: value    # a comment
        key:          its value is what follows one deeper, of one form: keys, or items
        - value       an item
        key: |        a text of several lines follows one deeper; or `|-`

    A value is a number, a word, words, a quoted text, or has brackets, and then may go on over
    lines that are deeper.
    """
    open_parts: list[Any] = [{}]  # what lines of each depth add to
    last: tuple[dict[str, Any], str] | None = None  # the key whose value may follow, deeper
    lines = source.replace("\r\n", "\n").split("\n")[::-1]  # those that are left, the next last
    while lines:
        line = lines.pop()
        if not line or (line.lstrip(" ").startswith("#") and line.isprintable()):
            continue
        match = _LINE.fullmatch(line)
        if match is None or (" #" in line and not line.isprintable()):
            return MISSING
        indent, item, key, text = match.groups("")
        # a quoted text with such a sign is none without what stands behind it
        key = json.loads(key) if key[:1] == '"' else key
        given = f" {item or text}".partition(" #")[0].strip(" ")
        depth = len(indent) // 2
        if depth == len(open_parts) and last is not None:
            last[0][last[1]] = [] if item else {}
            open_parts.append(last[0][last[1]])
        del open_parts[depth + 1 :]
        is_block = key and given in ("|", "|-")
        value = _block(lines, f"{indent}  ", given) if is_block else _flow(lines, indent, given)
        part = open_parts[-1]
        is_there = depth == len(open_parts) - 1 and isinstance(part, list if item else dict)
        if not is_there or value is MISSING or (item and not given):
            return MISSING
        if item:
            part.append(value)
        elif key in part or key.lower() in SPECIAL:
            return MISSING
        else:
            part[key] = value
        last = None if given else (part, key)
    return open_parts[0]


def _block(lines: list[str], indent: str, mark: str) -> Any:
    """Take a text of several lines off those that are left."""
    taken = list[str]()
    while lines and (not lines[-1] or lines[-1].startswith(indent)):
        taken.append(lines.pop().removeprefix(indent))
    text = "\n".join(taken)
    if text[:1] in ("", " ", "\n") or not "".join(taken).isprintable() or (not lines and taken[-1]):
        return MISSING
    return text.rstrip("\n") + "\n" * (mark == "|")


def _flow(lines: list[str], indent: str, text: str) -> Any:
    """Read a value, with those of the lines that are left over which its brackets go on."""
    value = _value(text)
    while value is MISSING and text[0] in "[{" and lines and lines[-1].startswith(f"{indent} "):
        if " #" in lines[-1]:
            return MISSING
        text += f" {lines.pop().strip()}"
        value = _value(text)
    return value


def _value(text: str) -> Any:
    if text[:1] not in ("[", '"', "{"):
        value = _scalar(text) if text else None
        return text if value is MISSING and _is_text(text) else value
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
    if key:
        return f"{key}:" if key[0] == '"' else f'"{key}":'
    if part in "[]{}," or part[0] == '"':
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


def _is_text(text: str) -> bool:
    """Whether text behind a key on the same line is text, though it might need quotes elsewhere."""
    if not (text[0].isalpha() and text.isprintable()) or text.lower() in SPECIAL:
        return False
    return not (": " in text or " #" in text or text.endswith((" ", ":")))


MAX_VALUES = 200_000  # aliases can make a small text stand for billions
MAX_CHARACTERS = 250_000  # takes ten seconds
MAX_KEPT_CHARACTERS = 20_000  # of a text whose value is kept: a command reads its files many times
_NO_CHARACTER = patterns.compile(r"\\U(?!000|0010)")  # an escape of a number that is too large


class SourceError(ValueError):
    """A text is not what it should be, at a line of it."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        self.problem, self.line = problem, line  # line counts from 1
        super().__init__(problem)


def parse(source: str) -> Any:
    """Read YAML into plain dicts, lists, strings, numbers, booleans and None.

    Raises:
        SourceError: If it is not YAML, repeats a key, or uses a tag of its own.
    """
    value = MISSING if "\n" in source or not source else _value(source)
    if value is not MISSING:
        return value
    return _parse(source) if len(source) > MAX_KEPT_CHARACTERS else deepcopy(_kept(source))


@lru_cache(maxsize=256)
def _kept(source: str) -> Any:
    return _parse(source)


def _parse(source: str) -> Any:
    if len(source) > MAX_CHARACTERS:
        said = f"{len(source):,} characters of YAML; bumble reads up to {MAX_CHARACTERS:,}"
        raise SourceError(said, 1)
    from bumble.text import yaml_full as full

    try:
        value = full.reader().load(source)
        if "*" in source:
            _count(value, {}, full.MAX_DEPTH)
    except full.TOO_DEEP as error:
        mark = getattr(error, "problem_mark", None)
        said = f"not valid YAML: nested too deeply, more than {full.MAX_DEPTH} levels"
        raise SourceError(said, mark.line + 1 if mark else 1) from None
    except full.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "not valid YAML").split())[:200]
        raise SourceError(f"not valid YAML: {problem}", mark.line + 1 if mark else None) from error
    except full.ReaderError as error:
        line = source.count("\n", 0, error.position) + 1
        raise SourceError(f"not valid YAML: {_plain_words(error)}", line) from error
    except full.FAILURES as error:
        escape = _NO_CHARACTER.search(source)
        line = source.count("\n", 0, escape.start()) + 1 if escape else 1
        raise SourceError(f"not valid YAML: {_plain_words(error)}", line) from error
    return value


def _plain_words(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _count(value: Any, known: dict[int, int], deeper: int) -> int:
    """Count the values that one stands for; refuse what aliases have blown up or made a ring."""
    if not isinstance(value, dict | list):
        return 1
    if deeper < 0:
        raise RecursionError
    if id(value) not in known:
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_count(part, known, deeper - 1) for part in parts)
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
    from bumble.text import yaml_full as full

    try:
        return full.reader().compose(source)
    except (*full.FAILURES, RecursionError):
        return None


def find(node: Any, key: str) -> tuple[Any, Any] | None:
    """Return the key and the value of a mapping's entry."""
    if getattr(node, "id", "") != "mapping":
        return None
    return next((pair for pair in node.value if str(pair[0].value) == key), None)
