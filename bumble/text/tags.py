"""Tags: words with `#` that stand in a text, and how two of them are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bumble.text import words

_HASHTAG = re.compile(r"(?<![\w#&/])#([^\W\d_][\w/-]*)")


def in_text(text: str) -> list[str]:
    """Return the tags that stand in a text, without `#`, as they are written."""
    return _HASHTAG.findall(text)


def folded(tag: str) -> str:
    """Return a tag as it is compared: no `#`, capitals or accents, `-` in the place of spaces."""
    return "-".join(words.folded(tag.strip().lstrip("#")).split())


def distinct(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags without `#`, each once, as the first of its form is written."""
    by_form: dict[str, str] = {}
    for tag in tags:
        by_form.setdefault(folded(tag), tag.strip().lstrip("#").strip())
    return tuple(tag for form, tag in by_form.items() if form)
