"""Titles: what a record is called, made and checked in one place.

A title names the one thing that its text is about. A model gives it; of what a model gave as a list
of words the thing counts that the text tells of most. Where no model names it, a record is called
for who spoke: by rule no word and no clause says what all of a talk is about. Knows no kind of
record.
"""

from __future__ import annotations

from collections.abc import Iterable

from bumble import patterns
from bumble.text import stop_words, words

MAX_CHARS = 60
PART_WORDS = 2  # of an entry of what is no title, but a list
BEGUN_WORDS = 3  # with which a title may be the beginning of a sentence, broken off
SHORT_LETTERS = 2  # of a little word of a language that has no list of them
_ISES = "is are was were ist sind est sont es è sono é são zijn"
_IS = frozenset(_ISES.split())
_MARKS = '#*_`"“”„«»<>[]|.,:; '  # at the ends of a title
_LIST = patterns.compile(r"[,;|·]|(?<!\d)/")
_CLAUSE = patterns.compile(r"[,;:)–—](?=\s)|\s[(-](?=\S)|\s[-–—]\s")


def heading(text: str) -> str:
    """Return the title that a text begins with, as a heading; empty: it has none."""
    first = text.lstrip().partition("\n")[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else ""


def named(title: str, text: str) -> str:
    """Return a title that names one thing: of a list of words the one that its text tells of most.

    The beginning of a sentence, broken off at a word that leads on, becomes its clause.

    Args:
        title: As a model gave it.
        text: What is to stand under it.
    """
    plain = words.one_line(title).strip(_MARKS)
    parts = [part.strip() for part in _LIST.split(plain) if part.strip()]
    longest = max((len(part.split()) for part in parts), default=0)
    if len(parts) <= longest or longest > PART_WORDS:  # two words, or three pairs: a list
        return _cut(_whole(plain, text))
    told = text.casefold()
    thing = max(parts, key=lambda part: (told.count(part.casefold()), len(part)))
    return thing[:1].upper() + thing[1:]


def _whole(title: str, text: str) -> str:
    """Return the clause of a text that a title is the beginning of, else the title."""
    begun = title.casefold().split()
    if len(begun) < BEGUN_WORDS or not _leads_on(begun[-1]):
        return title
    for sentence in words.sentences(text):
        told = sentence.casefold().split()
        if told[: len(begun)] == begun and _IS.isdisjoint(told[len(begun) :][:1]):
            clauses = (part.strip(_MARKS) for part in _CLAUSE.split(sentence))
            return next((part for part in clauses if len(part) >= len(title)), title)
    return title


def without(title: str, strange: Iterable[str]) -> str:
    """Return what a title says before words that nobody gave, else behind them; or nothing."""
    parts, names = title.split(), tuple(strange)
    places = [n for n, part in enumerate(parts) if any(name in part for name in names)]
    for part in (parts[: places[0]], parts[places[-1] + 1 :]) if places else ():
        while part and _leads_on(part[-1].strip(_MARKS)):
            part.pop()
        while part and _leads_on(part[0].strip(_MARKS)):
            part.pop(0)
        if left := " ".join(part):
            return left[:1].upper() + left[1:]
    return ""


def begun(text: str) -> str:
    """Return the first clause of a text, as a title."""
    first = next(iter(words.sentences(words.one_line(text))), "").lstrip(f"{_MARKS}(–—-")
    return _cut(_CLAUSE.split(first)[0].strip(_MARKS))


def _cut(title: str) -> str:
    """Return a title no longer than a title is; it breaks off at a thing."""
    if len(title) <= MAX_CHARS:
        return title
    taken = title.split()
    while taken and (len(" ".join(taken)) > MAX_CHARS or _leads_on(taken[-1])):
        taken.pop()
    return " ".join(taken) or words.shorten(title, MAX_CHARS)


def _leads_on(word: str) -> bool:
    """Whether something has to stand behind a word: a number, or one of the little ones."""
    return (
        word.rstrip(".").isdigit()
        or len(word) <= SHORT_LETTERS
        or word.casefold() in stop_words.WORDS
    )
