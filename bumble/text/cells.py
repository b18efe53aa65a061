"""How many cells of a terminal a text takes: letters of the east and pictures take two."""

from __future__ import annotations

import wcwidth


def cells(text: str) -> int:
    """Return how many cells a text of one line takes."""
    if text.isascii():
        return len(text)
    size = wcwidth.wcswidth(text)
    return size if size >= 0 else sum(max(0, wcwidth.wcwidth(char)) for char in text)


def fitting(text: str, most: int) -> str:
    """Return a text, or its start and a sign of more, in so many cells at most."""
    if cells(text) <= most:
        return text
    end = most
    while end > 0 and cells(text[:end]) >= most:
        end -= 1
    return f"{text[:end]}…" if most > 0 else ""
