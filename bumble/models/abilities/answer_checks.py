"""Whether an answer to a case is right: patterns, pronouns, language, form; no model judges."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from bumble.llm import structured
from bumble.text import stop_words, words


def holds(text: str, pattern: str) -> bool:
    """Whether one of the words of a text begins as a pattern says; case and accents don't count."""
    return bool(pattern) and bool(re.search(rf"\b(?:{_plain(pattern)})", _plain(text)))


def _plain(text: str) -> str:
    return words.folded(text)


def is_fact(text: str, right: str, wrong: str) -> bool:
    """Whether a text has what is right, and nothing of what can't be."""
    return holds(text, right) and not holds(text, wrong)


def is_of(text: str, right: str, wrong: str, own: Collection[str], other: Collection[str]) -> bool:
    """Whether a text tells a fact of the right one of two.

    Args:
        text: The answer.
        right: What the fact is told by.
        wrong: What the fact of the other one is told by.
        own: Pronouns of whom the fact belongs to, seen from whoever answers.
        other: Pronouns of the other one: a sentence with these alone is of the wrong one.
    """
    if not is_fact(text, right, wrong):
        return False
    telling = [sentence for sentence in words.sentences(text) if holds(sentence, right)]
    return all(_has(sentence, own) or not _has(sentence, other) for sentence in telling)


def _has(sentence: str, pronouns: Collection[str]) -> bool:
    return any(word in pronouns for word in stop_words.words(sentence))


def is_in(text: str, language: str, message: str) -> bool:
    """Whether a reply is in a language, and more than what it replies to."""
    is_echo = _letters(text) in _letters(message)
    return not is_echo and words.language(text, default="") == language


def _letters(text: str) -> str:
    return " ".join(re.findall(r"\w+", _plain(text)))


def is_filled(text: str, schema: Mapping[str, Any], right: Mapping[str, str]) -> bool:
    """Whether an answer satisfies a schema, and its fields say what is right."""
    try:
        value = structured.read(text, schema)
    except ValueError:
        return False
    return all(holds(str(value[name]), pattern) for name, pattern in right.items())
