"""Which words with a capital letter are names, where first words and German nouns have one too.

A name is about as common in one language as in another; a noun belongs to its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from bumble.guard import claims, values
from bumble.text import words

_OTHERS = ("en", "de", "es", "fr", "it", "pt", "pl")
_OWN_SHARE = 4.0  # times as common in its own language as in any other
_COMMON = 2e-5  # share of a noun that is known without another form of it
_ENDINGS = ("en", "es", "e", "n", "s")
_VOWELS = (("a", "ä"), ("o", "ö"), ("u", "ü"))
_LONG, _SHARED = 6, 4  # letters of words that may be derived, and what they share
_PLACES = ("burg", "berg", "dorf", "stadt", "heim", "hausen", "ingen", "kirchen", "bach", "furt")
_LEAST_BEFORE, _LEAST_LETTERS = 3, 4  # of a compound: before its last noun, and of that


def strange(
    text: str, grounds: Sequence[str], known_names: Sequence[str], language: str
) -> list[str]:
    """Return the names in a text that stand in none of its sources.

    Args:
        text: What a model wrote.
        grounds: What it may rest on.
        known_names: That need no source.
        language: Of the text, `de`.
    """
    first = {words.folded(sentence.split()[0].strip("\"'“„«(")) for sentence in _sentences(text)}
    found = []
    for word in claims.unsupported(text, grounds, known_names, language):
        may_be_noun = language == "de" or words.folded(word) in first
        is_noun = may_be_noun and _is_noun(word.casefold(), language)
        is_known = values.is_value(word) or _is_derived(word, grounds)
        if len(word) > 1 and not is_known and not is_noun:
            found.append(word)
    return found


def _is_derived(word: str, grounds: Sequence[str]) -> bool:
    """Whether a source has a word of the same beginning: Sweden, swedish."""
    plain = words.folded(word)
    return len(plain) >= _LONG and any(
        len(other) >= _LONG and other[:_SHARED] == plain[:_SHARED]
        for ground in grounds
        for other in map(words.folded, ground.split())
    )


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in words.sentences(text) if sentence.split()]


def _is_noun(word: str, language: str) -> bool:
    """Whether a language has a word as its own, by itself or at the end of a compound."""
    if _is_own(word, language):
        return True
    if language != "de":
        return False
    ends = range(_LEAST_BEFORE, len(word) - _LEAST_LETTERS + 1)
    if words.is_listed(word, language) or word.endswith(_PLACES):
        return False
    return any(
        _is_own(word[start:], language)
        or all(map(_is_listed_in_german, (word[:start], word[start:])))
        for start in ends
    )


def _is_listed_in_german(part: str) -> bool:
    return any(words.is_listed(form, "de") for form in (part, part.removesuffix("s")))


def _is_own(word: str, language: str) -> bool:
    """Whether a word is much more common in its language than elsewhere, and no place there."""
    if not words.is_listed(word, language):
        return False
    share = words.frequency(word, language)
    elsewhere = (words.frequency(word, other) for other in _OTHERS if other != language)
    if share < _OWN_SHARE * max(elsewhere):
        return False
    return (
        language != "de"
        or share > _COMMON
        or any(words.is_listed(form, language) for form in _forms(word))
    )


def _forms(word: str) -> set[str]:
    """Return other forms a German noun may have; a name has none of them."""
    bare = {word.removesuffix(ending) for ending in _ENDINGS}
    stems = bare | {new.join(stem.rsplit(old, 1)) for stem in bare for old, new in _VOWELS}
    return {stem + ending for stem in stems for ending in ("", *_ENDINGS)} - {word}
