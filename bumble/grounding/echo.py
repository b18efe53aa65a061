"""Answers that repeat what the person just said of themselves as the entity's own.

"I prefer tea to coffee." is answered by a small model with "I prefer tea to coffee. And you?". Only
what comes after is the entity's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from bumble.grounding import speakers
from bumble.text import stop_words, words

LEAST_WORDS = 4  # of a sentence: a shorter one is said by anybody
ENDS = " \n\t.,;:!?…–-\"'”’»"  # signs that end an echo, and go with it


def own_sentences(message: str) -> tuple[str, ...]:
    """Return what a person says of themselves in a message, as plain words."""
    tokens_of_sentences = map(stop_words.words, words.sentences(message))
    return tuple(
        " ".join(tokens)
        for tokens in tokens_of_sentences
        if len(tokens) >= LEAST_WORDS and speakers.FIRST_PERSON.intersection(tokens)
    )


def may_become_one(text: str, own: Sequence[str]) -> bool:
    """Whether the beginning of an answer could still turn out to be an echo of own sentences."""
    plain = _plain(text)
    return any(sentence != plain and sentence.startswith(plain) for sentence in own)


def without(text: str, own: Sequence[str]) -> str:
    """Return an answer without the echoes it begins with."""
    while True:
        plain = _plain(text)
        echoed = next((line for line in own if f"{plain} ".startswith(f"{line} ")), None)
        if echoed is None:
            return text
        # the last place up to which it is no more than the echo: signs behind it go too
        end = max(n for n in range(len(text) + 1) if _plain(text[:n]) == echoed)
        text = text[end:].lstrip(ENDS)


def _plain(text: str) -> str:
    return " ".join(stop_words.words(text))
