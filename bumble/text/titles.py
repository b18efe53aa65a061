"""Titles: what a record is called, made and checked in one place.

A title names the one thing that its text is about. A model gives it; of what a model gave as a list
of words the thing counts that the text tells of most. Where no model writes, it is how a sentence
begins that was said and tells of a thing. Knows no kind of record.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from bumble import patterns
from bumble.text import stop_words, words

MAX_CHARS = 60
PART_WORDS = 2  # of an entry of what is no title, but a list
BEGUN_WORDS = 3  # with which a title may be the beginning of a sentence, broken off
LEAST_WORDS = 2  # telling ones, of a clause that tells of a thing
ENOUGH_WORDS = 2  # such as are not common, of one that tells enough
COMMON = 1000  # words of a language that tell of no thing: "good", "morning"
_MARKS = '#*_`"“”„«»<>[]|.,:; '  # at the ends of a title
_ENDS = "!…。！"
_LIST = patterns.compile(r"[,;/|·]")
_CLAUSE = patterns.compile(r"[,;:)–—](?=\s)|\s[(-](?=\S)|\s[-–—]\s")


def heading(text: str) -> str:
    """Return the title that a text begins with, as a heading; empty: it has none."""
    first = text.lstrip().partition("\n")[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else ""


def named(title: str, text: str) -> str:
    """Return a title that names one thing: of a list of words the one that its text tells of most.

    The beginning of a sentence, broken off, becomes its clause.

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
    if len(begun) < BEGUN_WORDS:
        return title
    for sentence in words.sentences(text):
        if sentence.casefold().split()[: len(begun)] == begun:
            clauses = (part.strip(_MARKS) for part in _CLAUSE.split(sentence))
            return next((part for part in clauses if len(part) >= len(title)), title)
    return title


def _cut(title: str) -> str:
    """Return a title no longer than a title is; it breaks off at a thing."""
    if len(title) <= MAX_CHARS:
        return title
    taken = title.split()
    while taken and (
        len(" ".join(taken)) > MAX_CHARS
        or taken[-1].isdigit()  # it leads on to something
        or taken[-1].casefold() in stop_words.WORDS
    ):
        taken.pop()
    return " ".join(taken) or words.shorten(title, MAX_CHARS)


def clause(texts: Iterable[str], names: Iterable[str]) -> str:
    """Return how a sentence of some texts begins that tells of a thing; empty where none does.

    A clause alone is no title where the sentence began before it ("is coming from Bathurst"): it is
    taken with what stands before. The first sentence counts that tells enough, else the one that
    tells most; little tells one that names who talks, for it greets, or has to be broken off.

    Args:
        texts: What was said, what counts most first.
        names: Of those who talk.
    """
    known = {word for name in names for word in stop_words.words(name)}
    best, most = "", 0
    for text in texts:
        for sentence in words.sentences(words.one_line(text)):
            begun, weight = _begun(sentence, known)
            if weight > most:
                best, most = begun, weight
            if most >= ENOUGH_WORDS:
                return best
    return best


def _begun(sentence: str, known: Set[str]) -> tuple[str, int]:
    """Return the fewest clauses from which a sentence tells of a thing, and how much they tell."""
    common = words.common(words.language(sentence), COMMON)
    for end in (*(one.start() for one in _CLAUSE.finditer(sentence)), len(sentence)):
        begun = sentence[:end].strip(_MARKS + _ENDS)
        told = {word for word in stop_words.telling_words(begun) if word not in known}
        if len(told) >= LEAST_WORDS and not told <= common:
            whole = begun if len(begun) <= MAX_CHARS else _phrases(begun)
            named = {word.removesuffix("'s") for word in stop_words.words(sentence)}
            if not whole or not known.isdisjoint(named):
                return whole or _cut(begun), 1
            return whole, len(told - common)
    return "", 0


def _phrases(text: str) -> str:
    """Return as much of a clause as a title holds, up to where small words lead on to a new phrase.

    "I lent Danny 2,300 quid | out of the money"; empty where none is enough.
    """
    parts = text.split()
    small = [stop_words.bare(part) in stop_words.WORDS for part in parts]
    for n in range(len(parts) - 2, LEAST_WORDS, -1):
        taken = " ".join(parts[:n])
        if small[n] and small[n + 1] and not small[n - 1] and len(taken) <= MAX_CHARS:
            return taken
    return ""
