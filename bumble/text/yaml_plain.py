"""The fast reader of plain YAML: what bumble itself writes.

`read` answers only where a full reader would give the same; for anything else it says so, and the
full reader is asked. Ten thousand records take a second this way instead of half a minute.
"""

from __future__ import annotations

import json
import re
from typing import Any

_WORD = r"[\w./()+'’–—-]"
# text that needs no quotes in any place, whichever version of YAML reads it
PLAIN = re.compile(rf"[^\W\d]{_WORD}*(?: [^\W_]{_WORD}*)*")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:[+-]\d\d:\d\d|Z)")
SPECIAL = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_KEY = r"[A-Za-z][A-Za-z0-9_]*"
_LINE = re.compile(rf"({_KEY}):(?: (.+))?")
_BELOW = re.compile(rf"  (?:- (.+)|({_KEY}): (.+))")
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_DECIMAL = re.compile(r"-?\d{1,17}\.\d{1,17}")
# characters that are neither a line break nor forbidden to any reader
_CHARACTER = r"\x20\x21\x23-\x5b\x5d-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd"
_QUOTED = rf'"(?:[{_CHARACTER}\U00010000-\U0010ffff]|\\["\\ntr])*"'
_TOKEN = re.compile(rf' *([\[\]{{}},]|{_QUOTED}|{_KEY}:(?= )|[^\[\]{{}},"]+)')
MISSING: Any = object()  # `read` can't tell


def read(source: str) -> Any:
    """Return a mapping's values, or MISSING where the text is more than plain."""
    found: dict[str, Any] = {}
    key, below = "", MISSING  # the key whose value may follow on indented lines
    for line in source.replace("\r\n", "\n").split("\n"):
        if not line or (line.startswith("# ") and line.isprintable()):
            continue
        match = _LINE.fullmatch(line)
        if match:
            key, text = match[1], match[2]
            if key in found or key.lower() in SPECIAL:
                return MISSING
            below = None if text is None else MISSING
            value = None if text is None else _value(text)
        else:
            match = _BELOW.fullmatch(line)
            value = _extended(below, match) if match and below is not MISSING else MISSING
            below = value
        if value is MISSING:
            return MISSING
        found[key] = value
    return found


def _extended(value: Any, line: re.Match[str]) -> Any:
    """Add an indented line to what stands under a key so far."""
    item, key, text = line.groups()
    read = _value(item or text)
    if read is MISSING:
        return MISSING
    if item is not None and (value is None or isinstance(value, list)):
        return [*(value or []), read]
    if item is None and (value is None or isinstance(value, dict)):
        if key in (value or {}) or key.lower() in SPECIAL:
            return MISSING
        return {**(value or {}), key: read}
    return MISSING


def _value(text: str) -> Any:
    if text[0] not in '["{':
        return _scalar(text)
    tokens, at = list[str](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            return MISSING
        tokens.append(match[1])
        at = match.end()
    tokens.reverse()  # the next one is popped from the end
    try:
        value = _flow(tokens)
    except (IndexError, RecursionError, _NotPlain):
        return MISSING
    return value if not tokens else MISSING


class _NotPlain(Exception):
    """The text is more than plain."""


def _flow(tokens: list[str]) -> Any:
    first = tokens.pop()
    if first == "[":
        return _list(tokens)
    if first == "{":
        return _mapping(tokens)
    value = _scalar(first.strip(" "))
    if value is MISSING:
        raise _NotPlain
    return value


def _list(tokens: list[str]) -> list[Any]:
    found: list[Any] = []
    while tokens[-1] != "]":
        found.append(_flow(tokens))
        _pass_comma(tokens, "]")
    tokens.pop()
    return found


def _mapping(tokens: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while tokens[-1] != "}":
        token = tokens.pop()
        key = token.removesuffix(":")
        if key == token or key in found or key.lower() in SPECIAL:
            raise _NotPlain
        found[key] = _flow(tokens)
        _pass_comma(tokens, "}")
    tokens.pop()
    return found


def _pass_comma(tokens: list[str], closer: str) -> None:
    if tokens[-1] != closer and (tokens.pop() != "," or tokens[-1] == closer):
        raise _NotPlain


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
