"""Texts as the terms they are found by: folded, without stop words, stemmed.

A text goes through this once, in its own language; the full-text index and the exact scores both
take the terms from here. A query gives the terms that it would have in each language of the texts.
Scripts written without spaces become pairs of characters; a text has each character as well, for
those who ask for one.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from bumble import patterns
from bumble.text import languages, stop_words, words

if TYPE_CHECKING:
    from tantivy import TextAnalyzer, TextAnalyzerBuilder

VERSION = "3"  # raise it when the same text would give other terms
MAX_TERM_BYTES = 80  # longer ones are keys and encoded data, which nobody asks for by heart
# Auxiliaries, and the word that every line of a transcript has in it.
MORE_STOP_WORDS = frozenset(("could", "might", "must", "said", "shall", "would"))
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
_LETTER = rf"[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]"
_TOKEN = (
    rf"[{_UNSPACED}]+|{_LETTER}+(?:'{_LETTER}+)*"
    r"|\p{Extended_Pictographic}|[\x{1F1E6}-\x{1F1FF}]{2}"
)
_LATIN = {  # Snowball's stemmers, by the code of their language
    "en": "english",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "sv": "swedish",
    "da": "danish",
    "no": "norwegian",
    "fi": "finnish",
    "hu": "hungarian",
    "ro": "romanian",
    "tr": "turkish",
}
_OTHER_SCRIPTS = {  # stemmers of the letters that a text may have beside Latin ones
    "russian": patterns.compile("[\u0400-\u052f]"),
    "greek": patterns.compile("[\u0370-\u03ff]"),
    "arabic": patterns.compile("[\u0600-\u06ff]"),
    "tamil": patterns.compile("[\u0b80-\u0bff]"),
}
FIRST = "en"  # whose stemmer the words of a language without one go through
_BY_SNOWBALL = frozenset(("da", "de", "fi", "hu", "no", "sv"))  # where our list is short, or none
_ACCENT = patterns.compile("([a-z])[\u0300-\u036f]+")
_SEMITIC = patterns.compile("[\u0590-\u06ff]")
_POINTS = patterns.compile("[\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_LETTER_FORMS = str.maketrans("\u0671\u0649\u06cc\u06a9ךםןףץ", "\u0627\u064a\u064a\u0643כמנפצ")
_HEBREW_LEAD = patterns.compile("[והבכלמש](?=[א-ת]{3})")  # and, the, in, like, to, from, that


def terms(text: str, language: str = FIRST, *, asked: bool = False) -> list[str]:
    """Return the terms of a text, in order; none if it says nothing but stop words.

    Args:
        text: What is indexed.
        language: The code of its language: `de`.
        asked: Whether it is looked for: pairs of characters say it better than each of them.
    """
    folded = fold(text.encode("utf-8", "replace").decode())  # a lone surrogate is no text
    script = next((name for name, sign in _OTHER_SCRIPTS.items() if sign.search(folded)), "")
    parsed = _analyzer(language, script).analyze(folded)
    if language == "de":
        parsed = [words.GERMAN_ENDING.sub("", term) for term in parsed]
    if folded.isascii():
        return list(parsed)
    return [part for term in parsed for part in _parts(term, asked=asked)]


def of_query(text: str, chunks: Mapping[str, int]) -> Counter[str]:
    """Return the terms of a query with how often it says each, those of its own language first.

    Args:
        text: What is looked for.
        chunks: How many texts there are, by the code of their language.
    """
    asked = Counter[str]()
    each = (of.values() for _, of in wordings(text, chunks))
    for said in zip(*each, strict=True):  # in one language after the other
        asked |= Counter(chain.from_iterable(said))  # a word is said no oftener in more of them
    return asked


def wordings(text: str, chunks: Mapping[str, int]) -> list[tuple[str, dict[str, list[str]]]]:
    """Return each word of a query, with its terms in each language of the texts, its own first."""
    own = languages.among(text, chunks) if len(chunks) > 1 else next(iter(chunks), FIRST)
    codes = (own, *sorted(chunks.keys() - {own}))
    bare = _words(own).analyze(fold(text.encode("utf-8", "replace").decode()))
    return [(word, {code: terms(word, code, asked=True) for code in codes}) for word in bare]


def fold(text: str) -> str:
    """Return a text as it is compared: without case, width, accents and vowel points."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    bare = _ACCENT.sub(r"\1", unicodedata.normalize("NFD", folded))
    if _SEMITIC.search(bare):  # vowel points, and forms of letters by their place
        bare = _POINTS.sub("", bare).translate(_LETTER_FORMS)
    return unicodedata.normalize("NFC", bare)


def _parts(term: str, *, asked: bool) -> list[str]:
    if stop_words.UNSPACED_SIGN.match(term):
        pairs = [term[n : n + 2] for n in range(len(term) - 1)]
        return pairs if asked and pairs else [*term, *pairs]
    lead = _HEBREW_LEAD.match(term)
    return [term, term[lead.end() :]] if lead else [term]


@lru_cache(maxsize=64)
def _analyzer(language: str, script: str) -> TextAnalyzer:
    from tantivy import Filter

    builder = _words_of(language).filter(Filter.stemmer(_LATIN.get(language, _LATIN[FIRST])))
    # neither stemmer touches the words of the other's script
    return (builder.filter(Filter.stemmer(script)) if script else builder).build()


@lru_cache(maxsize=64)
def _words(language: str) -> TextAnalyzer:
    return _words_of(language).build()


def _words_of(language: str) -> TextAnalyzerBuilder:
    """Split into words and leave out stop words: of all languages where there is no list."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    every = frozenset[str]() if language in _BY_SNOWBALL else stop_words.WORDS
    listed = stop_words.OF_LANGUAGE.get(language, every) | MORE_STOP_WORDS
    builder = (
        TextAnalyzerBuilder(Tokenizer.regex(_TOKEN))
        .filter(Filter.custom_stopword(sorted({*map(fold, listed)})))
        .filter(Filter.remove_long(MAX_TERM_BYTES))
    )
    if language in _BY_SNOWBALL:
        builder = builder.filter(Filter.stopword(_LATIN[language]))
    return builder
