"""Answers that repeat what the person just said of themselves as the entity's own.

"I prefer tea to coffee." is answered by a small model with "I prefer tea to coffee. And you?". Only
what comes after is the entity's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from bumble.grounding import claims, speakers
from bumble.text import stop_words

LEAST_WORDS = 4  # of a sentence: a shorter one is said by anybody
ENDS = " \n\t.,;:!?…–-\"'”’»"  # signs that end an echo, and go with it


def own_sentences(message: str) -> tuple[str, ...]:
    """Return what a person says of themselves in a message, as plain words."""
    found = (stop_words.words(sentence) for sentence in claims.sentences(message))
    return tuple(
        " ".join(words)
        for words in found
        if len(words) >= LEAST_WORDS and speakers.FIRST_PERSON.intersection(words)
    )


def may_become_one(text: str, theirs: Sequence[str]) -> bool:
    """Whether the beginning of an answer could still turn out to be an echo."""
    said = _plain(text)
    return any(one != said and one.startswith(said) for one in theirs)


def without(text: str, theirs: Sequence[str]) -> str:
    """Return an answer without the echoes it begins with."""
    while True:
        said = _plain(text)
        echoed = next((one for one in theirs if f"{said} ".startswith(f"{one} ")), None)
        if echoed is None:
            return text
        # the last place up to which it is no more than theirs: signs behind it go too
        end = max(n for n in range(len(text) + 1) if _plain(text[:n]) == echoed)
        text = text[end:].lstrip(ENDS)


def _plain(text: str) -> str:
    return " ".join(stop_words.words(text))
