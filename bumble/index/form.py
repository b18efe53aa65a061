"""The form of a text: its passages, whether it asks, and whether it speaks of who says it.

The words by which the last two show stand in `languages/`, a file for each language: `common`
ones tell that a text is in it, `before_nouns` are the articles, possessives and prepositions by
which topics are told from manners of speaking; words are compared without case and split at
apostrophes. A text in any other language has questions alone. Pure functions; knows nothing of
records or of scores.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

from bumble import patterns
from bumble.text import stop_words, yaml_read

MAX_TOKENS = 220  # all-MiniLM-L6-v2 reads 256; date and speaker come on top
OVERLAP_TOKENS = 40  # a part that is no longer than this begins the next piece as well
_PARAGRAPH = patterns.compile(r"^(?:[^\S\n]*\S[^\n]*(?:\n|\Z))+", re.MULTILINE)
# Rougher than `words.sentences`: every sign of a text is in one, and where the passages of long
# texts end stands in each index, with a vector of its own.
SENTENCE = patterns.compile(r".+?(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+|\n|$)", re.DOTALL)


class Passage(Struct, frozen=True):
    """A piece of a text."""

    text: str
    line: int  # of the text, from 0, on which it starts


def estimated_tokens(text: str) -> int:
    """Estimate how many tokens a WordPiece model makes of a text."""
    plain = len(text.encode("ascii", "ignore"))
    return plain // 4 + (len(text) - plain) * 7 // 10 + 1


def split(text: str, max_tokens: int = MAX_TOKENS) -> list[Passage]:
    """Split a text; one that fits stays whole, one of white space alone gives nothing."""
    if not text.strip():
        return []
    if estimated_tokens(text) <= max_tokens:
        return [Passage(text.strip(), text.count("\n", 0, len(text) - len(text.lstrip())))]
    pieces: list[tuple[int, int]] = []
    spans = _spans(text, max_tokens)
    first = 0
    for n in range(1, len(spans)):
        if estimated_tokens(text[spans[first][0] : spans[n][1]]) > max_tokens:
            pieces.append((spans[first][0], spans[n - 1][1]))
            first = _beginning(text, spans, first, n, max_tokens)
    pieces.append((spans[first][0], spans[-1][1]))
    found = (Passage(text[a:b].strip(), text.count("\n", 0, a)) for a, b in pieces)
    return [piece for piece in found if piece.text]


def _beginning(text: str, spans: list[tuple[int, int]], first: int, n: int, max_tokens: int) -> int:
    """Return with which part the piece begins that holds the n-th, which had no room in the last.

    Args:
        text: All of it.
        spans: Its parts.
        first: With which the last piece began.
        n: The part.
        max_tokens: Of a piece.
    """

    def goes_before(part: int) -> bool:
        short = estimated_tokens(text[slice(*spans[part])]) <= OVERLAP_TOKENS
        leads = text[slice(*spans[part + 1])].rstrip().endswith(":")
        fits = estimated_tokens(text[spans[part][0] : spans[n][1]]) <= max_tokens
        return fits and (leads or (short and part == n - 1))

    beginning = n
    while beginning - 1 > first and goes_before(beginning - 1):
        beginning -= 1
    return beginning


def _spans(text: str, max_tokens: int) -> list[tuple[int, int]]:
    """Return where the parts of a text start and end: paragraphs, sentences, or plain cuts."""
    spans: list[tuple[int, int]] = []
    for paragraph in _PARAGRAPH.finditer(text):
        if estimated_tokens(paragraph[0]) <= max_tokens:
            spans.append(paragraph.span())
            continue
        for sentence in SENTENCE.finditer(text, *paragraph.span()):
            spans += _cuts(text, *sentence.span(), max_tokens)
    return spans


def _cuts(text: str, start: int, end: int, max_tokens: int) -> list[tuple[int, int]]:
    if estimated_tokens(text[start:end]) <= max_tokens:
        return [(start, end)] if text[start:end].strip() else []
    middle = (start + end) // 2
    space = text.find(" ", middle, min(end, middle + 200))  # not within a word, if that can be
    middle = space if space > 0 else middle
    return _cuts(text, start, middle, max_tokens) + _cuts(text, middle, end, max_tokens)


VERSION = "2"  # raise it when the same text would have another form
FOLDER = Path(__file__).with_name("languages")
FIRST = "en"  # taken for a text whose words don't tell
_ASKS = patterns.compile(r"\?(?!\w)|[？؟]")  # not the one in an address


class Form(Struct, frozen=True):
    """How a text is put."""

    asks: float = 0.0  # share of its words that stand in questions, in [0, 1]
    own: bool = False  # whether it says I, my or we


PLAIN = Form()  # a statement about somebody else


class Rules(Struct, frozen=True):
    """The words of one language that say how a text is put."""

    common: frozenset[str]
    before_nouns: frozenset[str]  # articles, possessives and prepositions; empty: not known
    first_person: frozenset[str]
    i: frozenset[str]  # of these, who does something: I, we


def rules_of(code: str) -> Rules | None:
    """Return the rules of a language; None: there are none."""
    return _languages().get(code)


def form(text: str, language: str) -> Form:
    """Say how a text in a language is put."""
    words, asking = _words(text), 0
    if _ASKS.search(text):
        asking = sum(len(_words(each)) for each in SENTENCE.findall(text) if _ASKS.search(each))
    own = not _languages()[language].first_person.isdisjoint(words)
    return Form(asking / len(words) if words else 0.0, own)


def language(text: str, otherwise: str = FIRST) -> str:
    """Say whose rules fit a text, by its commonest words; `otherwise` if they don't tell.

    Not `text.languages`, which knows far more languages than have rules, and takes some ten times
    as long: every passage of an index is asked, and its chunks are ranked by what was said here.
    """
    fitting = languages(text)
    return otherwise if not fitting or otherwise in fitting else fitting[0]


def languages(text: str) -> list[str]:
    """Return the languages whose rules fit a text best; none if its words don't tell."""
    words = set(_words(text))
    counts = {name: len(words & rules.common) for name, rules in _languages().items()}
    most = max(counts.values())
    return [name for name, count in counts.items() if most and count == most]


@lru_cache(maxsize=16)  # a text is asked for its language first, then for its form
def _words(text: str) -> tuple[str, ...]:
    return tuple(stop_words.WORD_PART.findall(unicodedata.normalize("NFC", text).casefold()))


@cache
def _languages() -> Mapping[str, Rules]:
    """Read the rules of every language, by its name."""
    languages = {}
    for file in sorted(FOLDER.iterdir(), key=lambda file: file.name):
        lists = yaml_read.parse_mapping(file.read_text(encoding="utf-8"))
        sets = {
            name: frozenset(", ".join(lines).split(", ")) - {""} for name, lines in lists.items()
        }
        languages[file.name.removesuffix(".yaml")] = Rules(**sets)
    return languages
