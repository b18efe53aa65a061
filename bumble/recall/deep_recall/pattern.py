"""Patterns that `find` takes: words and phrases, `*` within a word, `|` between alternatives.

A subset that is matched in time linear in the text, whatever somebody writes: no pattern can keep
a search busy. Small models write it without mistakes, which they don't with regular expressions.
Words are compared without case and accents, as people type them.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bumble.errors import UsageError
from bumble.text import words
from bumble.text.stop_words import words as words_of

MAX_CHARS = 200
ANY, OR = "*", "|"
Glob = tuple[str, ...]  # the parts of a word between its `*`


class Pattern(Struct, frozen=True):
    """What is looked for, word by word."""

    phrases: tuple[tuple[Glob, ...], ...]  # one of them has to stand in a text

    def matches(self, text: str) -> bool:
        """Tell whether a text holds one of the phrases."""
        text_words = [words.folded(word) for word in words_of(text)]
        return any(_holds(text_words, phrase) for phrase in self.phrases)


def parse(source: str) -> Pattern:
    """Read a pattern.

    Raises:
        UsageError: If it is too long, or has no word to look for.
    """
    if len(source) > MAX_CHARS:
        raise UsageError(f"A pattern has at most {MAX_CHARS} characters.")
    phrases = tuple(filter(None, (_phrase(part) for part in source.split(OR))))
    if not phrases:
        raise UsageError(
            "A pattern needs a word: `*` stands for letters, `|` between alternatives."
        )
    return Pattern(phrases)


def _phrase(source: str) -> tuple[Glob, ...]:
    globs = list[Glob]()
    for token in source.split():
        parts = [[words.folded(word) for word in words_of(part)] for part in token.split(ANY)]
        if len(parts) == 1:
            globs += [(word,) for word in parts[0]]
        elif any(parts):
            globs.append(tuple("".join(part) for part in parts))
    return tuple(globs)


def _holds(text_words: Sequence[str], phrase: Sequence[Glob]) -> bool:
    """Tell whether the words of a phrase follow each other in a text; both are short or linear."""
    return any(
        all(_fits(text_words[start + n], glob) for n, glob in enumerate(phrase))
        for start in range(len(text_words) - len(phrase) + 1)
    )


def _fits(word: str, glob: Glob) -> bool:
    """Tell whether a word is as a glob says: its parts in their order, the leftmost place of each.

    The leftmost is enough, so nothing is ever tried again.
    """
    first, *middle = glob
    if not middle:
        return word == first
    *middle, last = middle
    if len(word) < len(first) + len(last) or not word.startswith(first) or not word.endswith(last):
        return False
    at, end = len(first), len(word) - len(last)
    for part in middle:
        at = word.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
