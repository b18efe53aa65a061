"""The defaults of every setting and their explanations, read from `bumble/defaults.yaml`.

A general YAML reader takes 50 to 100 ms for that file, more than most commands have to spend. It is
ours, so it keeps to a subset (said at its head) which this module reads in 2 ms; a test holds the
result against the real reader.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "defaults.yaml"
LINE = re.compile(r"(?P<indent> *)(?:(?P<key>\w+):|-)(?: +(?P<value>.*))?")
COMMENT = re.compile(r'((?:"(?:[^"\\]|\\.)*"|[^"#])*)(?:#.*)?')
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_][\w./-]*')
CONSTANTS = ("true", "false", "null")


def read() -> dict[str, Any]:
    """Read the defaults as plain dicts, lists and values."""
    return parse(FILE.read_text("utf-8"))


def parse(source: str) -> dict[str, Any]:
    """Read YAML of the subset that `defaults.yaml` keeps to.

    Raises:
        ValueError: If a line is none of it.
    """
    root: dict[str, Any] = {}
    open_at: list[tuple[int, dict[str, Any], str]] = []  # indent, mapping, key whose value is below
    for number, raw in enumerate(source.splitlines(), 1):
        matched = COMMENT.fullmatch(raw)
        text = matched[1].rstrip() if matched else raw
        if not text:
            continue
        line = LINE.fullmatch(text)
        if line is None:
            raise ValueError(f"line {number} of the defaults is beyond their subset of YAML: {raw}")
        indent, key, value = len(line["indent"]), line["key"], line["value"]
        while open_at and indent <= open_at[-1][0]:
            open_at.pop()
        if key is None:
            _, holder, name = open_at[-1]
            holder[name] = [*(holder[name] or []), _value(value)]
            continue
        section = _below(open_at, root)
        section[key] = None if value is None else _value(value)
        if value is None:
            open_at.append((indent, section, key))
    return root


def _below(open_at: list[tuple[int, dict[str, Any], str]], root: dict[str, Any]) -> dict[str, Any]:
    if not open_at:
        return root
    _, holder, key = open_at[-1]
    if holder[key] is None:
        holder[key] = {}
    below: dict[str, Any] = holder[key]
    return below


def _value(text: str) -> Any:
    """Read a flow value: JSON in which words need no quotes."""
    return json.loads(WORD.sub(_quoted, text))


def _quoted(word: re.Match[str]) -> str:
    bare = word[0][0] != '"' and word[0] not in CONSTANTS
    return f'"{word[0]}"' if bare else word[0]
