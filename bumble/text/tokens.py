"""Estimated length in tokens, without a tokenizer, and cutting a text to so many."""

from __future__ import annotations

CUT_MARK = " …"
MESSAGE_TOKENS = 10  # what a chat template puts around a message


def estimate(text: str) -> int:
    """Estimate the tokens of a text."""
    return len(text) // 4


def estimate_message(text: str) -> int:
    """Estimate the tokens of a message, its template included."""
    return estimate(text) + MESSAGE_TOKENS


def cut(text: str, tokens: int) -> str:
    """Return as much of a text as fits, ended at a word, the cut marked."""
    if estimate(text) <= tokens:
        return text
    return cut_chars(text, max(tokens * 4, 2))


def cut_chars(text: str, chars: int) -> str:
    """Return as much of a text as so many characters hold, ended at a word, the cut marked."""
    if len(text) <= chars:
        return text
    if chars < len(CUT_MARK):
        return text[:chars]
    head = text[: chars - len(CUT_MARK)]
    return head[: head.rfind(" ") if " " in head[-40:] else len(head)].rstrip() + CUT_MARK
