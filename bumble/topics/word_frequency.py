"""How common words are in a language by itself, against which the words of a life stand out.

From the lists of `wordfreq`: words that occur at least once in a million. Knows nothing of topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bumble.text import words

RAREST = 1e-6  # share of a word that a language's list does not have


@cache
def _list(language: str) -> Mapping[str, float]:
    """Return the words of a language with their shares; of one without a list, of the default's."""
    import wordfreq  # takes 0.4 s, and most commands need no topics

    listed = wordfreq.available_languages("small")
    code = language if language in listed else words.DEFAULT_LANGUAGE
    shares: Mapping[str, float] = wordfreq.get_frequency_dict(code, "small")
    return shares


def share(word: str, language: str) -> float:
    """Return the share of a word among all words of its language, in [RAREST, 1].

    Args:
        word: Case folded.
        language: Its code, `de`.
    """
    return max(_list(language).get(word, 0.0), RAREST)


def is_listed(word: str, language: str) -> bool:
    """Whether a language has a word, so that a capital letter alone makes no name of it."""
    return word in _list(language)
