"""Provenance in comments, for parts of files without front matter of their own.

A comment under the heading, or behind the line, holds one YAML flow mapping. It stands in the whole
of a record only: `companions` has it in a file of its own. Knows nothing of the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bumble.entity import companions
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import yaml_edit

_COMMENT = re.compile(rf"[\r\n]*{companions.COMMENT.pattern}[ \t]*(?:\r\n|\r|\n|\Z)")


def split(text: str) -> tuple[Provenance, str]:
    """Return where a text says it comes from, and the text; a comment of another kind is text."""
    comment = _COMMENT.match(text)
    try:
        origin = base.provenance(yaml_edit.parse_mapping(comment[1])) if comment else None
    except ValueError:
        origin = None
    if comment is None or origin is None:
        return Provenance(), text
    return origin, text[comment.end() :]


def lines_in(source: str) -> int:
    """Return how many lines of a section stand beside its file: the comment that was put in."""
    return int("\n<!--{" in source or "\r<!--{" in source)


def render(origin: Provenance | None) -> str:
    """Write the comment with its line end; nothing for what a person wrote."""
    meta = origin.meta() if origin else {}
    return f"{companions.comment(meta)}\n" if meta else ""


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with some values in its first comment of that kind; other fields stay."""
    comment = _COMMENT.search(text)
    if comment is None:
        return text
    meta = {**yaml_edit.parse_mapping(comment[1]), **values}
    return text[: comment.start(1)] + companions.inline(meta) + text[comment.end(1) :]


def harmless(text: str) -> str:
    """Show a comment that would pass for the text's origin, as the text that it is."""
    return text.replace("<", "&lt;", 1) if _COMMENT.match(text) else text
