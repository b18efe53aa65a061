"""Phrases that lists of a language name, matched in what people type: case, accents, spelling.

A phrase is a row of words, compared without case and accents, every run of a letter as one or
two. In it, `word*` takes any ending and `*word` any beginning, `a/b` either word, `{names}` any
phrase of the list of that name, `#` a number in digits or one of the list `numbers`, `_` any one
word, `...` up to five words, and what has a `?` behind it may be missing; a `^` before it begins a
sentence, a `$` after it ends one.
Knows no language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from msgspec import Struct

NUMBERS = "numbers"  # the list of the words that `#` takes, too: `two`
GAP = 5  # words at most that `...` stands for
_FORMS = str.maketrans("’‘´`“”„«»‹›", '\'\'\'\'"""""""')
_RUN = re.compile(r"([^\W\d_])\1{2,}")
_IN_WORD = re.compile(r"(?<=[^\W_])'(?=[^\W_])")
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*(?:[^\W\d_]+)?|[^\W_]+|[.?!;:,\"'\n%€$£()]")
_ENDS = frozenset(".?!;\n")
_WORD = r"[^ .?!;:,\"]"
_BREAK = r"(?:[,:\"'()] )?"  # may stand between two words of a phrase


def line(text: str, *, joins: bool) -> str:
    """Return what was typed as words and marks with a space on either side.

    Args:
        text: What was typed.
        joins: Whether an apostrophe joins two words (`don't`: `dont`) or parts them (`j'ai`).
    """
    plain = unicodedata.normalize("NFKD", text.translate(_FORMS).replace("ß", "ss")).casefold()
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    plain = _RUN.sub(r"\1", _IN_WORD.sub("" if joins else " ", plain))
    tokens = ("." if token in _ENDS - {"?", "!"} else token for token in _TOKEN.findall(plain))
    return f" . {' '.join(tokens)} . "


def words(line: str) -> list[str]:
    """Return the words and numbers of a line, without its marks."""
    return [token for token in line.split() if token[0].isalnum()]


def source(
    listed: Sequence[str],
    fillers: Sequence[str],
    *,
    joins: bool,
    lists: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the pattern that finds any of some phrases in a line.

    Args:
        listed: Phrases.
        fillers: Words that may stand before the beginning of a sentence: `so`, `well`.
        joins: As for `line`.
        lists: Phrases that others name in braces.

    Raises:
        ValueError: If a phrase has no word, or names a list that there isn't.
    """
    filler = "|".join(re.escape(line(word, joins=joins)[3:-3]) for word in fillers)
    begin = rf"(?<=[.?!:,\"'] )(?:(?:{filler}) [,:]? ?)*" if filler else r"(?<=[.?!:,\"'] )"
    listing = _Lists(lists or {}, begin, joins)
    found = "|".join(listing.phrase(phrase) for phrase in listed)
    return rf"(?<= )(?:{found})(?= )" if found else r"(?!)"


class _Lists(Struct, frozen=True):
    """Makes the patterns of phrases that may name lists."""

    lists: Mapping[str, Sequence[str]]
    begin: str  # the pattern of the beginning of a sentence
    joins: bool

    def phrase(self, phrase: str) -> str:
        """Make the pattern of one phrase."""
        body = phrase.strip()
        first, last = body.startswith("^"), body.endswith("$")
        parts = body.strip("^$ ").split()
        barred = parts.pop()[1:] if parts and len(parts[-1]) > 1 and parts[-1][0] == "!" else ""
        if not parts:
            raise ValueError(f"a phrase without a word: `{phrase}`")
        out = ""
        for n, part in enumerate(parts):
            if part == "...":
                out += rf"(?:{_WORD}+ {_BREAK}){{0,{GAP}}}"
            elif len(part) > 1 and part.endswith("?"):
                out += rf"(?:{self._part(part[:-1])} {_BREAK})?"
            else:
                out += self._part(part) + (f" {_BREAK}" if n < len(parts) - 1 else "")
        if barred:
            out += rf"(?! {self._part(barred)} )"
        return (self.begin if first else "") + out + (r"(?= [.?!])" if last else "")

    def _part(self, part: str) -> str:
        choices = [self._choice(choice) for choice in part.split("/")]
        return choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"

    def _choice(self, choice: str) -> str:
        if choice.startswith("{"):
            name = choice.strip("{}")
            if name not in self.lists:
                raise ValueError(f"there is no list `{name}`")
            return f"(?:{'|'.join(self.phrase(phrase) for phrase in self.lists[name])})"
        if choice == "#":
            words = "".join(f"|{self.phrase(word)}" for word in self.lists.get(NUMBERS, ()))
            return rf"(?:\d[^ ]*{words})"
        if choice == "_":
            return _WORD + "+"
        if choice in '?!:,"':
            return re.escape(choice)
        head = rf"{_WORD}*" if choice.startswith("*") else ""
        tail = rf"{_WORD}*" if choice.endswith("*") else ""
        return head + re.escape(line(choice.strip("*"), joins=self.joins)[3:-3]) + tail
