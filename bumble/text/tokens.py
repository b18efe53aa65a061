"""Estimated length in tokens, without a tokenizer, and cutting a text to so many."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

CUT_MARK = " …"
MESSAGE_TOKENS = 10  # what a chat template puts around a message


def estimate(text: str) -> int:
    """Estimate the tokens of a text."""
    return len(text) // 4


def estimate_message(text: str) -> int:
    """Estimate the tokens of a message, its template included."""
    return estimate(text) + MESSAGE_TOKENS


def packed(things: Iterable[T], cost: Callable[[T], int], room: int) -> list[list[T]]:
    """Group things in their order, each group as large as its room, or of one larger thing."""
    groups: list[list[T]] = []
    used = 0
    for thing in things:
        size = cost(thing)
        if not groups or used + size > room:
            groups.append([])
            used = 0
        groups[-1].append(thing)
        used += size
    return groups


def leading(sentences: Iterable[str], tokens: int) -> list[str]:
    """Return the first of some sentences, as many as fit behind one another; one at least."""
    return (packed(sentences, lambda sentence: len(sentence) + 1, (tokens + 1) * 4) or [[]])[0]


def cut(text: str, tokens: int) -> str:
    """Return as much of a text as fits, ended at a word, the cut marked."""
    return text if estimate(text) <= tokens else cut_chars(text, max(tokens * 4, 2))


def cut_middle(text: str, tokens: int) -> str:
    """Return beginning and end of a text as far as they fit, the cut between them marked."""
    half = max(tokens * 2, 1)
    return text if estimate(text) <= tokens else f"{text[:half]} {CUT_MARK.strip()} {text[-half:]}"


def cut_chars(text: str, chars: int) -> str:
    """Return as much of a text as so many characters hold, ended at a word, the cut marked."""
    if len(text) <= chars:
        return text
    if chars < len(CUT_MARK):
        return text[:chars]
    head = text[: chars - len(CUT_MARK)]
    return head[: head.rfind(" ") if " " in head[-40:] else len(head)].rstrip() + CUT_MARK
