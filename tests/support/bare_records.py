"""Records without the parts they may be without: what people write, or what is left of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bumble.records import session_files
from bumble.records.kind import Kind
from bumble.text import markdown, yaml_edit
from tests.support import kind_samples

TEXT = "I hide marzipan."
Values = Mapping[str, Any]
OF_SECTIONS = {  # whose parts are no keys
    "knowledge": ("", "## Tea\n", "##\n"),
    "journal": ("", "## 2026-05-24 05:12:47\n", "## 2026-05-24\n"),
    "working": ("", "## Bond\n", "- \n"),
    "scratch": ("", "- \n", "- x\n"),
}


def texts(kind: Kind) -> tuple[str, list[str]]:
    """Return the path of a sample of a kind, and what can be left of its text."""
    path, text = kind_samples.record(kind.name, TEXT)
    if kind.name in OF_SECTIONS:
        return path, list(OF_SECTIONS[kind.name])
    if kind is session_files.SESSION:
        return path, _transcripts(text)
    if path.endswith(".yaml"):
        values = yaml_edit.parse_mapping(text)
        return path, [_yaml(_barest(values, lambda left: _is_one(kind, path, _yaml(left))))]
    return path, [left for left in _documents(kind, path, text) if left != text]


def _documents(kind: Kind, path: str, text: str) -> list[str]:
    document = markdown.parse(text)
    found = []
    for body in ("", document.body):
        is_one = partial(_is_file, kind, path, body)
        for values in (document.meta, _barest(document.meta, is_one)):
            left = _file(values, body)
            found += [left] if _is_one(kind, path, left) else []
    return list(dict.fromkeys(found))


def _transcripts(text: str) -> list[str]:
    """Leave the first line, and of a message what it can't be without."""
    head, message = (json.loads(line) for line in text.splitlines())
    bare = {key: head[key] for key in ("type", "id", "at")}
    said = {key: message[key] for key in ("type", "id", "at", "role")}
    return ["".join(json.dumps(line) + "\n" for line in lines) for lines in ([bare], [bare, said])]


def _barest(values: Values, is_one: Callable[[Values], bool]) -> Values:
    """Leave out key after key, as long as what is left is still a record."""
    for key in list(values):
        left = {name: value for name, value in values.items() if name != key}
        values = left if is_one(left) else values
    return values


def _is_file(kind: Kind, path: str, body: str, values: Values) -> bool:
    return _is_one(kind, path, _file(values, body))


def _is_one(kind: Kind, path: str, text: str) -> bool:
    try:
        kind.parse(text, kind.stem(Path(path)))
    except ValueError:
        return False
    return True


def _file(values: Values, body: str) -> str:
    front = f"---\n{_yaml(values)}---\n" if values else ""
    return f"{front}\n{body}\n" if body else front


def _yaml(values: Values) -> str:
    return yaml_edit.dump(dict(values)) if values else ""
