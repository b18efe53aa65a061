"""The form of a text: whether it asks, whether it speaks of who says it, whether it tells a time.

The words by which that shows stand in `languages/`, a file for each language: `common` ones tell
that a text is in it; words are compared without case and split at apostrophes, several in a row
are a phrase. A text in any other language has questions and years alone. Pure functions; knows
nothing of records or of scores.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources

from msgspec import Struct

from bumble.index import splitting
from bumble.text import stop_words, yaml_read

VERSION = "1"  # raise it when the same text would have another form
FOLDER = resources.files(__package__).joinpath("languages")
FIRST = "en"  # taken for a text whose words don't tell
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ASKS = re.compile(r"\?(?!\w)|[？؟]")  # not the one in an address


class Form(Struct, frozen=True):
    """How a text is put."""

    asks: float = 0.0  # share of its words that stand in questions, in [0, 1]
    own: bool = False  # whether it says I, my or we
    timed: bool = False  # whether it names a time: a year, a month, "last week"


PLAIN = Form()  # a statement of no time, about somebody else


class _Phrases(Struct, frozen=True):
    """Words, and rows of words, that mean the same thing to us."""

    words: frozenset[str]
    rows: tuple[str, ...]  # each with a space before, between and after its words

    def in_any(self, words: Sequence[str]) -> bool:
        if not self.words.isdisjoint(words):
            return True
        line = f" {' '.join(words)} "
        return any(row in line for row in self.rows)


class _Language(Struct, frozen=True):
    common: frozenset[str]
    first_person: _Phrases
    time: _Phrases
    asks_when: _Phrases


def form(text: str, language: str) -> Form:
    """Say how a text in a language is put."""
    rules = _languages()[language]
    words, asking = _words(text), 0
    if _ASKS.search(text):
        sentences = splitting.SENTENCE.findall(text)
        asking = sum(len(_words(each)) for each in sentences if _ASKS.search(each))
    timed = rules.time.in_any(words) or _YEAR.search(text) is not None
    return Form(asking / len(words) if words else 0.0, rules.first_person.in_any(words), timed)


def language(text: str, otherwise: str = FIRST) -> str:
    """Say whose rules fit a text, by its commonest words; `otherwise` if they don't tell.

    Not `text.languages`, which knows far more languages than have rules, and takes some ten times
    as long: every passage of an index is asked, and its chunks are ranked by what was said here.
    """
    words = set(_words(text))
    counts = {name: len(words & rules.common) for name, rules in _languages().items()}
    most = max(counts.values())
    if not most or counts.get(otherwise) == most:
        return otherwise
    return max(counts, key=counts.__getitem__)


def asks_when(text: str) -> bool:
    """Say whether a question is for a time."""
    return _languages()[language(text)].asks_when.in_any(_words(text))


def is_own(text: str) -> bool:
    """Say whether a text speaks of who says it."""
    return _languages()[language(text)].first_person.in_any(_words(text))


@lru_cache(maxsize=16)  # a text is asked for its language first, then for its form
def _words(text: str) -> tuple[str, ...]:
    return tuple(stop_words.WORD_PART.findall(unicodedata.normalize("NFC", text).casefold()))


@cache
def _languages() -> Mapping[str, _Language]:
    """Read the rules of every language, by its name."""
    languages = {}
    for file in sorted(FOLDER.iterdir(), key=lambda file: file.name):
        lists = yaml_read.parse_mapping(file.read_text(encoding="utf-8"))
        phrases = {name: _phrases(", ".join(lines)) for name, lines in lists.items()}
        common = phrases.pop("common").words
        languages[file.name.removesuffix(".yaml")] = _Language(common, **phrases)
    return languages


def _phrases(listed: str) -> _Phrases:
    each = [entry.strip() for entry in listed.split(",")]
    rows = tuple(f" {entry} " for entry in each if " " in entry)
    return _Phrases(frozenset(entry for entry in each if " " not in entry), rows)
