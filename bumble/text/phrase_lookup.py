"""Phrases by which something shows in a text, and the form in which they are looked up in it.

Folded: without capitals and accents. In a phrase `*` stands for any letters, alone for any word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bumble.text import words


def folded(text: str) -> str:
    """Return a text as phrases are looked up in it."""
    return words.one_line(words.folded(text))


def pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Match any of some phrases, as whole words, in a folded text."""
    return re.compile(source(phrases))


def source(phrases: Sequence[str]) -> str:
    """Return the pattern of any of some phrases as a text."""
    each = (_alternative(phrase) for phrase in sorted(phrases, key=len, reverse=True))
    return rf"(?<![\w'])(?:{'|'.join(each)})(?!\w)"


def _alternative(phrase: str) -> str:
    parts = folded(phrase).split()
    return r"\s+".join(
        r"\S+" if part == "*" else re.escape(part).replace(r"\*", r"\w*") for part in parts
    )
