"""The marks git leaves where both sides changed one thing, and a text taken apart at them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from bumble import patterns

BEGIN = "<<<<<<< "
_BLOCK = patterns.compile(
    r"^<{7} [^\n]*\n(.*?)(?:^\|{7}[^\n]*\n(.*?))?^={7}\r?\n(.*?)^>{7} [^\n]*(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_MARK = patterns.compile(r"^(?:[<>|]{7} |[|=]{7}\r?$)", re.MULTILINE)
_FENCE = patterns.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


def _blocks(text: str, *, fenced: bool = False) -> Iterator[re.Match[str]]:
    """Yield the blocks of marks; one that stands within a fence of code is shown, not meant."""
    if BEGIN not in text:
        return
    for match in _BLOCK.finditer(text):
        if fenced or len(_FENCE.findall(text, 0, match.start())) % 2 == 0:
            yield match


def line_of(text: str) -> int | None:
    """Return the line on which the first block begins, from 1; None where there is none."""
    first = next(_blocks(text), None)
    return None if first is None else text.count("\n", 0, first.start()) + 1


def has_any(text: str) -> bool:
    """Whether a text that was merged just now has a block of marks anywhere."""
    return next(_blocks(text, fenced=True), None) is not None


def looks_marked(text: str) -> bool:
    """Whether a line could be taken for a mark, be it a part of a block or not."""
    return _MARK.search(text) is not None


def replaced(text: str, put: Callable[[re.Match[str]], str], *, fenced: bool = False) -> str:
    """Put something in the place of each block: group 1 is ours, 2 the base or None, 3 theirs.

    Args:
        text: With marks.
        put: Makes what comes there.
        fenced: Whether those within fences of code count too: the text was merged just now.
    """
    parts, end = list[str](), 0
    for match in _blocks(text, fenced=fenced):
        parts += [text[end : match.start()], put(match)]
        end = match.end()
    return "".join((*parts, text[end:]))


def sides(text: str) -> tuple[str, str, str]:
    """Take a text with marks apart: as it was before, as far as that is told, and both sides."""
    return (
        replaced(text, lambda match: match[2] or ""),
        replaced(text, lambda match: match[1]),
        replaced(text, lambda match: match[3]),
    )
