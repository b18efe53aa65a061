"""What a person said, found again where somebody repeats it: quotes and telling words.

Compares words, not meaning: who tells the same in words of their own is not found. Knows nothing of
files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias, TypeVar

from msgspec import Struct

from bumble.text import markdown, stop_words, words

Remark: TypeAlias = tuple[datetime, str]  # when something was said, and what
Part = TypeVar("Part", tuple[str, ...], str)
RUN_WORDS = 4  # said in this order by one person alone, they are a quote
LEAST_CHARS = 3  # of a telling word; shorter ones are anybody's


class PersonSpeech(Struct, frozen=True):
    """What one person said that nobody had said before."""

    runs: frozenset[tuple[str, ...]]  # of RUN_WORDS words
    stems: frozenset[str]  # of telling words
    language: str  # by whose rules words are brought to their stems

    def quotes(self, text: str) -> bool:
        """Whether a text holds several words in the order in which only they said them."""
        return not self.runs.isdisjoint(_runs(text))

    def echoes(self, text: str) -> bool:
        """Whether a text holds a quote, or a telling word that only they said."""
        return self.quotes(text) or not self.stems.isdisjoint(_stems(text, self.language))


SILENT = PersonSpeech(frozenset(), frozenset(), "")


def of(own: Iterable[Remark], of_others: Iterable[Remark]) -> PersonSpeech:
    """Compare what a person said with all that others did: what others said first is not theirs.

    Args:
        own: Their messages.
        of_others: Everybody else's, the entity's where they were not there included.
    """
    remarks, other_remarks = sorted(own), sorted(of_others)
    language = words.language(*(text for _, text in remarks))

    def stems(text: str) -> Iterable[str]:
        return _stems(text, language)

    return PersonSpeech(
        frozenset(_first_said(remarks, other_remarks, _runs)),
        frozenset(_first_said(remarks, other_remarks, stems)),
        language,
    )


def _first_said(
    own: Sequence[Remark], of_others: Sequence[Remark], parts: Callable[[str], Iterable[Part]]
) -> Iterator[Part]:
    """Yield the parts of what a person said that nobody had said before them."""
    first: dict[Part, datetime] = {}
    for at, text in own:
        for part in parts(text):
            first.setdefault(part, at)
    earlier = {
        part for at, text in of_others for part in parts(text) if part in first and at < first[part]
    }
    yield from first.keys() - earlier


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    plain = stop_words.words(text)
    for start in range(len(plain) - RUN_WORDS + 1):
        run = tuple(plain[start : start + RUN_WORDS])
        if not stop_words.WORDS.issuperset(run):
            yield run


def _stems(text: str, language: str) -> set[str]:
    return {
        words.stem(word, language)
        for word in stop_words.telling_words(text)
        if len(word) >= LEAST_CHARS or not word.isascii()
    }


def without(text: str, goes: Callable[[str], bool]) -> str:
    """Return a text without some of its sentences; lines that keep all of theirs stay as they are.

    Args:
        text: Of any number of lines.
        goes: Whether a sentence is to go.
    """
    kept_lines = []
    for line in markdown.lines(text):
        sentences = words.sentences(line)
        stay = [sentence for sentence in sentences if not goes(sentence)]
        if len(stay) == len(sentences):
            kept_lines.append(line)
        elif stay:
            indent = line[: len(line) - len(line.lstrip())]
            end = line[len(line.rstrip("\r\n")) :]
            kept_lines.append(f"{indent}{' '.join(stay)}{end}")
    return "".join(kept_lines)
