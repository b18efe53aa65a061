"""The form of a text: whether it asks, and whether it speaks of who says it.

The words by which that shows stand in `languages/`, a file for each language: `common` ones tell
that a text is in it, `before_nouns` are the articles, possessives and prepositions by which topics
are told from manners of speaking; words are compared without case and split at apostrophes. A text
in any other language has questions alone. Pure functions; knows nothing of records or of scores.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources

from msgspec import Struct

from bumble.index import splitting
from bumble.text import stop_words, yaml_read

VERSION = "2"  # raise it when the same text would have another form
FOLDER = resources.files(__package__).joinpath("languages")
FIRST = "en"  # taken for a text whose words don't tell
_ASKS = re.compile(r"\?(?!\w)|[？؟]")  # not the one in an address


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


def rules_of(code: str) -> Rules | None:
    """Return the rules of a language; None: there are none."""
    return _languages().get(code)


def form(text: str, language: str) -> Form:
    """Say how a text in a language is put."""
    rules = _languages()[language]
    words, asking = _words(text), 0
    if _ASKS.search(text):
        sentences = splitting.SENTENCE.findall(text)
        asking = sum(len(_words(each)) for each in sentences if _ASKS.search(each))
    own = not rules.first_person.isdisjoint(words)
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


def is_own(text: str) -> bool:
    """Say whether a text speaks of who says it."""
    return not _languages()[language(text)].first_person.isdisjoint(_words(text))


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
