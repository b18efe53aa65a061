"""Texts as the terms they are found by: folded, without stop words, stemmed.

Documents and queries go through the same steps, once; the full-text index and the exact scores both
take the terms from here. Scripts written without spaces become single characters and pairs of them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from bumble.text import stop_words

VERSION = "1"  # raise it when the same text would give other terms
MAX_TERM_BYTES = 80  # longer ones are keys and encoded data, which nobody asks for by heart
# Auxiliaries, and the word that every line of a transcript has in it.
MORE_STOP_WORDS = frozenset(("could", "might", "must", "said", "shall", "would"))
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
_LETTER = rf"[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]"
_TOKEN = (
    rf"[{_UNSPACED}]+|{_LETTER}+(?:'{_LETTER}+)*"
    r"|\p{Extended_Pictographic}|[\x{1F1E6}-\x{1F1FF}]{2}"
)
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
_ACCENT = re.compile("([a-z])[\u0300-\u036f]+")


def terms(text: str) -> list[str]:
    """Return the terms of a text, in order; none if it says nothing but stop words."""
    folded = fold(text.encode("utf-8", "replace").decode())  # a lone surrogate is no text
    parsed = _analyzer().analyze(folded)
    if folded.isascii():
        return list(parsed)
    return [part for term in parsed for part in _parts(term)]


def fold(text: str) -> str:
    """Return a text as it is compared: without case, width, and accents of Latin letters."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    bare = _ACCENT.sub(r"\1", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFC", bare)


def _parts(term: str) -> list[str]:
    if not _NO_SPACES.match(term):
        return [term]
    return [*term, *(term[n : n + 2] for n in range(len(term) - 1))]


@lru_cache(maxsize=1)
def _analyzer() -> TextAnalyzer:
    return (
        TextAnalyzerBuilder(Tokenizer.regex(_TOKEN))
        .filter(Filter.custom_stopword(sorted(stop_words.WORDS | MORE_STOP_WORDS)))
        .filter(Filter.remove_long(MAX_TERM_BYTES))
        .filter(Filter.stemmer("english"))
        .filter(Filter.stemmer("russian"))  # another script: neither touches the other's words
        .build()
    )
