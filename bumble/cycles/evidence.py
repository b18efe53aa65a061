"""Evidence: whether a text that a model wrote keeps to what was said.

Names, numbers and dates are what a small model makes up and what does the harm; a sentence that
holds one which nobody said is not kept. Needs no model and no language; capital letters mark names
where a script has them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from bumble import stopwords

_WORD = re.compile(r"\w+(?:['’\-.]\w+)*")
_SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’)]*\s+|\n+")
_SHARED_PREFIX = 5  # letters that two forms of one word have in common at least


def sentences(text: str) -> list[str]:
    """Split a text into sentences, at full stops and line ends."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def unsupported(text: str, sources: Iterable[str], known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names, numbers and dates in a text that occur in none of its sources.

    Args:
        text: What a model wrote.
        sources: What it may rest on: the messages, with the times and names they carry.
        known: Names that need no source: the entity's own, those of the people who took part.
    """
    there = {_plain(word) for source in (*sources, *known) for word in _WORD.findall(source)}
    return tuple(dict.fromkeys(word for word in claims(text) if not _occurs(_plain(word), there)))


def supported(text: str, sources: Sequence[str], known: Sequence[str] = ()) -> str:
    """Return the sentences of a text that hold no name, number or date of their own."""
    kept = [one for one in sentences(text) if not unsupported(one, sources, known)]
    return " ".join(kept)


def claims(text: str) -> list[str]:
    """Return the words that say something checkable: with a digit, or with a capital letter."""
    found = []
    for sentence in sentences(text):
        for n, word in enumerate(_WORD.findall(sentence)):
            if any(char.isdigit() for char in word) or (
                word[:1].isupper() and _plain(word) not in stopwords.WORDS and (n or _is_name(word))
            ):
                found.append(word)
    return found


def _is_name(word: str) -> bool:
    """Whether the first word of a sentence is written like a name all the same."""
    return sum(char.isupper() for char in word) > 1


def _occurs(word: str, there: set[str]) -> bool:
    """Whether a word stands in the sources, in this form or another of the same stem."""
    if word in there or (word.endswith("'s") and word[:-2] in there):
        return True
    if any(char.isdigit() for char in word):
        digits = re.sub(r"\D", "", word)
        return any(digits == re.sub(r"\D", "", other) for other in there if other[:1].isdigit())
    stem = word[: max(_SHARED_PREFIX, len(word) - 3)]
    return len(word) >= _SHARED_PREFIX and any(other.startswith(stem) for other in there)


def _plain(word: str) -> str:
    """Return a word without case, accents and the genitive's other apostrophe."""
    folded = unicodedata.normalize("NFKD", word.replace("’", "'")).casefold()
    return "".join(char for char in folded if not unicodedata.combining(char))
