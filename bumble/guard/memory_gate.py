"""The gate that every change of memory passes: what is secret in the new texts stays out.

Looks at what a change brings, and at nothing else: what a person wrote into a file by hand is
theirs. Transcripts are the source and keep what was said; what the entity made of it, summaries and
feelings, is looked at there too. Settings and files of no kind of record pass as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bumble.entity import companions
from bumble.entity.changes import Change, ChangeSet
from bumble.guard import secrets
from bumble.records import base, jsonl, kinds
from bumble.text import markdown

_SAID = ("message", "session")  # lines of a transcript that hold what was said


def cleared(change_set: ChangeSet, root: Path) -> ChangeSet:
    """Return a change set whose new texts hold no secret.

    Args:
        change_set: What the entity wants written.
        root: Of the entity.
    """
    renamed: dict[
        str | None, str | None
    ] = {}  # hashes of texts that others in the set were planned on
    changes = []
    for change in change_set.changes:
        new = _cleared(change, root)
        if new.data is not None and new.data != change.data and not change.adds:
            told, new_digest = (companions.digest(one.path, one.data) for one in (change, new))
            renamed[told] = new_digest
        if new.read in renamed:
            new = replace(new, read=renamed[new.read])
        changes.append(replace(new, why=secrets.redacted(new.why)))
    title = secrets.redacted(change_set.title)
    return replace(change_set, title=title, changes=tuple(changes))


def _cleared(change: Change, root: Path) -> Change:
    kind = kinds.of_path(change.path)
    if change.data is None or kind is None or change.by_hash:
        return change
    text = change.data.decode(errors="surrogateescape")
    if secrets.find_secret(text) is None:
        return change
    old = b"" if change.adds else companions.read(root, change.path) or b""
    earlier = old.decode(errors="surrogateescape")

    def clear(part: str) -> str:
        return secrets.redacted(part, but=earlier)

    if kind is kinds.SESSION:
        new = _clear_lines(text, clear)
    elif change.path.endswith(".yaml"):
        new = _clear_mapping(text, clear)
    else:
        new = _clear_document(text, clear)
    return replace(change, data=new.encode(errors="surrogateescape"))


def _clear_lines(text: str, clear: Callable[[str], str]) -> str:
    """Clear what the entity made of a conversation; what was said stands as it was."""
    lines = []
    for line in text.split("\n"):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        new = data
        if isinstance(data, dict) and data.get("type") not in _SAID:
            new = _clear_values(data, clear)
        lines.append(line if new == data else jsonl.dumped(new).rstrip("\n"))
    return "\n".join(lines)


def _clear_mapping(text: str, clear: Callable[[str], str]) -> str:
    file = base.parse_mapping(text)
    return base.edited_mapping(file, _clear_values(file.values, clear)).source or ""


def _clear_document(text: str, clear: Callable[[str], str]) -> str:
    """Clear front matter by its values, and the text below."""
    document = markdown.parse(text)
    for key, value in document.meta.items():
        if (new := _clear_values(value, clear)) != value:
            document = document.with_meta(key, value=new)
    source = document.source
    body = source[document.body_start :]
    head = source[: document.body_start]
    return head + clear(body)


def _clear_values(value: Any, clear: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clear(value)
    if isinstance(value, list):
        return [_clear_values(element, clear) for element in value]
    if isinstance(value, Mapping):
        return {key: _clear_values(inner, clear) for key, inner in value.items()}
    return value
