"""Long texts split into passages for an embedding model: length and overlap.

Pieces end where a paragraph ends, else a sentence; each begins with the last short part of the one
before it, and with what a lead ("Before that it was:") refers to. Pure functions; knows nothing of
records.
"""

from __future__ import annotations

import re

from msgspec import Struct

MAX_TOKENS = 220  # all-MiniLM-L6-v2 reads 256; date and speaker come on top
OVERLAP_TOKENS = 40  # a part that is no longer than this begins the next piece as well
_PARAGRAPH = re.compile(r"^(?:[^\S\n]*\S[^\n]*(?:\n|\Z))+", re.MULTILINE)
# Rougher than `words.sentences`: every sign of a text is in one, and where the passages of long
# texts end stands in each index, with a vector of its own.
SENTENCE = re.compile(r".+?(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+|\n|$)", re.DOTALL)


class Passage(Struct, frozen=True):
    """A piece of a text."""

    text: str
    line: int  # of the text, from 0, on which it starts


def estimated_tokens(text: str) -> int:
    """Estimate how many tokens a WordPiece model makes of a text."""
    plain = len(text.encode("ascii", "ignore"))
    return plain // 4 + (len(text) - plain) * 7 // 10 + 1


def split(text: str, max_tokens: int = MAX_TOKENS) -> list[Passage]:
    """Split a text; one that fits stays whole, one of white space alone gives nothing."""
    if not text.strip():
        return []
    if estimated_tokens(text) <= max_tokens:
        return [Passage(text.strip(), _line(text, len(text) - len(text.lstrip())))]
    pieces: list[tuple[int, int]] = []
    spans = _spans(text, max_tokens)
    first = 0
    for n in range(1, len(spans)):
        if estimated_tokens(text[spans[first][0] : spans[n][1]]) > max_tokens:
            pieces.append((spans[first][0], spans[n - 1][1]))
            first = _beginning(text, spans, first, n, max_tokens)
    pieces.append((spans[first][0], spans[-1][1]))
    return [Passage(text[a:b].strip(), _line(text, a)) for a, b in pieces if text[a:b].strip()]


def _beginning(text: str, spans: list[tuple[int, int]], first: int, n: int, max_tokens: int) -> int:
    """Return with which part the piece begins that holds the n-th, which had no room in the last.

    Args:
        text: All of it.
        spans: Its parts.
        first: With which the last piece began.
        n: The part.
        max_tokens: Of a piece.
    """

    def goes_before(part: int) -> bool:
        short = estimated_tokens(text[slice(*spans[part])]) <= OVERLAP_TOKENS
        leads = text[slice(*spans[part + 1])].rstrip().endswith(":")
        fits = estimated_tokens(text[spans[part][0] : spans[n][1]]) <= max_tokens
        return fits and (leads or (short and part == n - 1))

    beginning = n
    while beginning - 1 > first and goes_before(beginning - 1):
        beginning -= 1
    return beginning


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at)


def _spans(text: str, max_tokens: int) -> list[tuple[int, int]]:
    """Return where the parts of a text start and end: paragraphs, sentences, or plain cuts."""
    spans: list[tuple[int, int]] = []
    for paragraph in _PARAGRAPH.finditer(text):
        if estimated_tokens(paragraph[0]) <= max_tokens:
            spans.append(paragraph.span())
            continue
        for sentence in SENTENCE.finditer(text, *paragraph.span()):
            spans += _cuts(text, *sentence.span(), max_tokens)
    return spans


def _cuts(text: str, start: int, end: int, max_tokens: int) -> list[tuple[int, int]]:
    if estimated_tokens(text[start:end]) <= max_tokens:
        return [(start, end)] if text[start:end].strip() else []
    middle = (start + end) // 2
    space = text.find(" ", middle, min(end, middle + 200))  # not within a word, if that can be
    middle = space if space > 0 else middle
    return _cuts(text, start, middle, max_tokens) + _cuts(text, middle, end, max_tokens)
