"""What was put right: which newer message gives another name, number or date than a sentence has.

A newer message replaces a value by giving another of the same kind of the same thing, by denying it
("not six", "net de Hamann"), or by a word for change beside another value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache, partial
from itertools import pairwise

from msgspec import Struct

from bumble.guard import claims, values
from bumble.guard.values import Number, ReadText
from bumble.text import stop_words, words

# Words of denial, and for change, folded, in the languages that have words of time.
_DENIALS = {
    "en": "not isn't isnt wasn't wasnt doesn't doesnt",
    "de": "nicht net kein keine koi statt anstatt",
    "fr": "pas non",
    "es": "no",
    "it": "non",
    "pt": "nao",
    "nl": "niet geen",
}
_CHANGES = """
actually correction wrong mistaken miscounted misread instead moved changed postponed rescheduled
now anymore longer
falsch geirrt vertan verschoben verlegt geandert stattdessen jetzt jetz nun doch korrektur
verzahlt verrechnet
finalement trompe trompee deplace change maintenant plutot desormais
equivoque equivoco cambiado cambio ahora realidad final
sbagliato spostato cambiato adesso invece
enganei mudou mudado agora afinal
eigenlijk verkeerd verzet nu toch
"""
_DENIAL = {code: frozenset(row.split()) for code, row in _DENIALS.items()}
_CHANGE = frozenset(_CHANGES.split())
SHARED_LETTERS = 5  # at the beginning of two words of one family
LARGE = 100  # from here on a number with any word behind it may be an amount of money
MOST_RATIO = 2  # between a number and what replaces it without a word of denial
TELLING_SHARE = 2e-5  # of all words: a rarer one ties two messages together by itself
EVERYDAY_WORDS = 1000  # of a language, which tie nothing together
COMMON_WORDS = 3000  # of a language, none of which is a name
_VARIANT_LETTERS = 3  # that two spellings of one name begin with
_BESIDE = 2  # clauses before and behind one that tell what it is of
_BEHIND = 2  # telling words behind a denial that it may deny
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|{stop_words.WORD.pattern}")
_NAME = re.compile(r"\b[^\W\d_a-zß-ÿ][^\W\d_]+")
_CLAUSE = re.compile(
    r"[;!?()–—\n]|(?<!\d)[,:]|[,:](?!\d)|(?<!\d)\.(?!\d)"
    rf"|(?=\b(?:{'|'.join(_CHANGES.split())})\b)",
    re.IGNORECASE,
)


class Source(Struct, frozen=True):
    """A message, or a sentence that is known, as it was read."""

    text: str
    who: str  # folded; empty: it is known
    read: ReadText
    at: datetime | None = None  # None: it is known, and says its days in full


class _Passage(Struct, frozen=True):
    """A clause of a source, with those before and behind it."""

    clause: ReadText
    read: ReadText  # with its neighbours
    tokens: tuple[str, ...]  # of the clause
    near: tuple[str, ...]  # those of its neighbours, too
    denied: frozenset[str]  # what the clause denies
    changes: bool  # whether there is a word for change, there or beside it

    @property
    def standing(self) -> bool:
        """Whether the clause denies nothing."""
        return not self.denied


class Subject(Struct, frozen=True):
    """A sentence to be held against its sources."""

    text: str
    read: ReadText
    subjects: frozenset[str]  # what it is about: its telling words, without names of speakers
    language: str


def shares(own: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of stems have a word in common, in whatever form."""
    return bool(_common(own, other))


def _common(own: frozenset[str], other: frozenset[str]) -> set[str]:
    return {
        stem
        for stem in own
        if stem in other
        or any(words.akin(stem, one, SHARED_LETTERS) or _within(stem, one) for one in other)
    }


def _within(stem: str, other: str) -> bool:
    """Whether one is a part of the other: `plank`, `deckplank`."""
    short, long = sorted((stem, other), key=len)
    return len(short) >= SHARED_LETTERS and short in long


def may_be(number: Number, other: Number, *, loosely: bool) -> bool:
    """Whether two numbers can count the same: days no euros, and years no planks."""
    if number.kind == other.kind == "time":
        return number.unit_days == other.unit_days
    if number.kind == "thing" and other.ordinal and not number.ordinal:
        return False
    kinds = {number.kind, other.kind}
    if "" in kinds or len(kinds) == 1:
        return True
    if kinds == {"money", "thing"}:  # "890 warm"
        return other.kind == "thing" and other.value >= LARGE
    return loosely and kinds == {"time", "thing"}


def newer(subject: Subject, sources: Sequence[Source]) -> str:
    """Return the message that has put right what a sentence says; empty: none has.

    Args:
        subject: The sentence.
        sources: What is known and what was said, oldest first.
    """
    if _denial(subject.language).intersection(_tokens(subject.text)):
        return ""  # it tells of the change itself
    for replacing in (_other_number, _other_date, _other_name):
        for n in replacing(subject, sources):
            told = replacing is not _other_name or not _has_new_value(subject, sources, n)
            if told and not _has_new_name(subject, sources, n):
                return sources[n].text
    return ""


def _has_new_value(subject: Subject, sources: Sequence[Source], n: int) -> bool:
    """Whether a sentence has a value that a message put in another's place."""
    passages = _passages(sources[n].text, subject.language)
    denied = {values.value(word) for each in passages for word in each.denied}
    own = {one.value for one in subject.read.numbers if one.claimed or one.value > 1}
    own |= {Decimal(day) for _, day in subject.read.times.dated}
    put = [each.clause for each in passages if each.changes or not each.standing]
    new = {one.value for clause in put for one in clause.numbers}
    new |= {Decimal(day) for clause in put for _, day in clause.times.dated}
    old = {one.value for each in sources[:n] for one in each.read.numbers}
    return bool(own & new - denied - old)


def _has_new_name(subject: Subject, sources: Sequence[Source], n: int) -> bool:
    """Whether a sentence has a name that a message was the first to say."""
    passages = _passages(sources[n].text, subject.language)
    told = {word for each in sources[:n] for word in _tokens(each.text)}
    told |= {word for each in passages for word in each.denied}
    told |= words.common(subject.language, COMMON_WORDS)
    new = set(_tokens(sources[n].text)) - told
    return any(words.folded(name) in new for name in _NAME.findall(subject.text))


@lru_cache(maxsize=512)
def _passages(text: str, language: str) -> tuple[_Passage, ...]:
    clauses = [clause for clause in _CLAUSE.split(values.ungrouped(text)) if clause.strip()]
    found = []
    for n, clause in enumerate(clauses):
        whole = "; ".join(clauses[max(0, n - _BESIDE) : n + 1 + _BESIDE])
        tokens, near = tuple(_tokens(clause)), tuple(_tokens(whole))
        changes = bool(_CHANGE.intersection(near))
        read = (values.read(clause, language), values.read(whole, language))
        found.append(_Passage(*read, tokens, near, _denied(tokens, language), changes))
    return tuple(found)


def _denial(language: str) -> frozenset[str]:
    return _DENIAL["en"] | _DENIAL.get(language, frozenset())


def _links(subject: Subject, old: _Passage | None, new: _Passage) -> tuple[int, int]:
    """Count the words that tie what was said newly to what was said before, or to a sentence.

    Returns:
        All that are not in everybody's mouth, and those that are rare.
    """
    before = old.read.content if old else frozenset[str]()
    stems = _common(before, new.read.content) | _common(subject.subjects, new.read.content)
    said = {*new.near, *(old.near if old else ()), *_tokens(subject.text)}
    everyday = words.common(subject.language, EVERYDAY_WORDS)
    telling = {token for token in said - everyday if words.stem(token, subject.language) in stems}
    rare = {one for one in telling if words.frequency(one, subject.language) < TELLING_SHARE}
    return len({words.stem(token, subject.language) for token in telling}), len(rare)


def _ties(links: tuple[int, int]) -> bool:
    return links[1] > 0 or links[0] > 1


def _last(
    subject: Subject, sources: Sequence[Source], gives: Callable[[Source, _Passage], bool]
) -> tuple[int, _Passage | None]:
    """Return the newest source a passage of which gives something, and that passage; -1: none."""
    for n in range(len(sources) - 1, -1, -1):
        for passage in _passages(sources[n].text, subject.language):
            if gives(sources[n], passage):
                return n, passage
    return -1, None


def _other_number(subject: Subject, sources: Sequence[Source]) -> Iterator[int]:
    told = {one.value for one in subject.read.numbers if one.value > 1}
    gone = {one.value for source in sources for one in source.read.numbers}
    for number in subject.read.numbers:
        if number.value in values.YEARS or (not number.claimed and number.value == 1):
            continue
        last, old = _last(subject, sources, partial(_gives, number))
        for n in range(last + 1, len(sources)):
            passages = _passages(sources[n].text, subject.language)
            denied = {values.value(word) for passage in passages for word in passage.denied}
            for new in passages:
                if any(one.value in told - denied for one in new.read.numbers):
                    continue  # it says the newer one
                put = [one for one in new.clause.numbers if one.value not in denied]
                if number.value not in denied and any(
                    gone.intersection(denied).intersection(_alike(one.value, denied)) for one in put
                ):
                    continue  # another one is put right
                links = _links(subject, old, new)
                about = shares(
                    subject.subjects | (sources[last].read.content if old else frozenset()),
                    sources[n].read.content,
                )
                if (_denies_number(number, new) and (_ties(links) or about)) or (
                    old
                    and any(
                        one.value not in told and _replaces(number, one, links, new)
                        for one in new.clause.numbers
                        if one.claimed and one.value not in new.clause.times.ordinals
                    )
                ):
                    yield n


def _gives(number: Number, _: Source, passage: _Passage) -> bool:
    """Whether a passage gives a number, and doesn't deny it."""
    return any(
        one.value == number.value and may_be(number, one, loosely=True)
        for one in passage.clause.numbers
    ) and not _denies_number(number, passage)


def _denies_number(number: Number, passage: _Passage) -> bool:
    return any(
        one.value == number.value
        and one.word in passage.denied
        and may_be(number, one, loosely=True)
        for one in passage.clause.numbers
    ) or any(_is_variant(token, number.word) for token in passage.denied)


def is_denied(number: Number, subject: Subject) -> bool:
    """Whether a sentence itself denies a number of it: "eight, not seven"."""
    passages = _passages(subject.text, subject.language)
    return any(number.word in passage.denied for passage in passages)


def _alike(value: Decimal, others: Iterable[Decimal | None]) -> Iterator[Decimal]:
    """Yield the numbers among others for which one can stand."""
    for other in others:
        if other and max(value, other) <= MOST_RATIO * min(value, other):
            yield other


def _replaces(number: Number, one: Number, links: tuple[int, int], new: _Passage) -> bool:
    """Whether a number puts another right: by a word for change, or as it counts the same."""
    if not may_be(number, one, loosely=False) or not any(_alike(number.value, [one.value])):
        return False
    same = number.unit == one.unit and one.kind == "thing"
    if new.changes:
        return _ties(links) or (same and links[0] > 0)
    return links[0] > 1 and (same or links[1] > 1)


def _other_date(subject: Subject, sources: Sequence[Source]) -> Iterator[int]:
    times = subject.read.times
    wanted = times.dated | {(month, day) for month in range(1, 13) for day in times.ordinals}
    last, old = _last(subject, sources, lambda one, passage: bool(wanted & _days(one, passage)))
    for n in range(max(0, last), len(sources)):
        passages = _passages(sources[n].text, subject.language)
        if n == last:  # put right in the same breath: behind the older day
            given = [bool(wanted & _days(sources[n], passage)) for passage in passages]
            passages = passages[len(given) - given[::-1].index(True) :]
        changes = any(passage.changes or not passage.standing for passage in passages)
        for new in passages:
            links = _links(subject, old, new)
            ties = _ties(links) or (new.changes and links[0] > 0)
            about = shares(subject.subjects, new.read.content)
            if n == last and not _CHANGE.intersection(new.tokens):
                continue
            days = _days(sources[n], new)
            if (_denies_time(subject, new) and (ties or about)) or (
                old and days and not days & wanted and changes and ties
            ):
                yield n


def _denies_time(subject: Subject, passage: _Passage) -> bool:
    """Whether a passage denies a day or a weekday of a sentence."""
    denied = values.read(" ".join(passage.denied), subject.language)
    days = {*subject.read.times.ordinals, *(day for _, day in subject.read.times.dated)}
    return bool(
        days.intersection(one.value for one in denied.numbers)
        or subject.read.times.full_weekdays & denied.times.weekdays
    )


def _days(source: Source, passage: _Passage) -> set[tuple[int, int]]:
    """Return the days that a passage names by month and day, and doesn't deny."""
    denied = {values.value(token) for token in passage.denied}
    found = set(passage.clause.times.dated)
    if source.at is not None:
        today = source.at.date()
        months = {*passage.read.times.months, *(one.month for one in values.around(today))}
        found |= {(month, day) for month in months for day in passage.clause.times.ordinals}
    return {(month, day) for month, day in found if day not in denied}


def _other_name(subject: Subject, sources: Sequence[Source]) -> Iterator[int]:
    common = words.common(subject.language, COMMON_WORDS)
    for word in map(words.folded, _NAME.findall(subject.text)):
        stem = words.stem(word, subject.language)
        if stem not in subject.subjects or word in common or claims.is_noun(word, subject.language):
            continue  # somebody who took part, or no name
        about = subject.subjects - {stem}
        said = [n for n, each in enumerate(sources) if word in _tokens(each.text)]
        for n, source in enumerate(sources):
            if source.at is None or not said or n < said[0]:
                continue
            passages = _passages(source.text, subject.language)
            if _denies_name(word, about, passages) or (
                n > said[-1] and _renames(word, about, passages, sources[:n], common)
            ):
                yield n


def _denies_name(word: str, about: frozenset[str], passages: Sequence[_Passage]) -> bool:
    """Whether a message denies a name, and says nothing else of it that a sentence says."""
    if not any(word in passage.denied for passage in passages):
        return False
    standing = [p for p in passages if p.standing]
    named = any(word in p.tokens and shares(about, p.clause.content) for p in standing)
    told = {stem for p in standing for stem in _common(about, p.clause.content)}
    return not named and sum(len(stem) >= _VARIANT_LETTERS for stem in told) < 2


def _renames(
    word: str,
    about: frozenset[str],
    passages: Sequence[_Passage],
    before: Sequence[Source],
    common: frozenset[str],
) -> bool:
    """Whether a message spells a name anew, or has another in its place: "in Hull"."""
    joints = {
        tokens[n - 1]
        for each in before
        for tokens in (_tokens(each.text),)
        for n, token in enumerate(tokens)
        if n and token == word and tokens[n - 1] in stop_words.WORDS
    }
    told = {token for each in before for token in _tokens(each.text)}
    no_names = stop_words.WORDS | common | told
    for passage in passages:
        tokens = passage.tokens
        if passage.standing and not passage.changes:
            continue
        if any(_is_variant(token, word) and token not in no_names for token in tokens):
            return True
        if shares(about, passage.read.content) and any(
            joint in joints and token not in no_names and token.isalpha()
            for joint, token in pairwise(tokens)
        ):
            return True
    return False


def _is_variant(token: str, word: str) -> bool:
    """Whether two words are spellings of one name that differ at their end."""
    if token == word or min(len(token), len(word)) <= _VARIANT_LETTERS:
        return False
    shared = words.shared_start(token, word)
    return shared >= _VARIANT_LETTERS and max(len(token), len(word)) - shared == 1


def _tokens(text: str) -> list[str]:
    return [words.folded(token) for token in _TOKEN.findall(values.ungrouped(text))]


def _denied(tokens: Sequence[str], language: str) -> frozenset[str]:
    """Return the telling words that stand behind a denial in a clause."""
    denied = set[str]()
    for start, token in enumerate(tokens):
        if token in _denial(language):
            behind = [one for one in tokens[start + 1 :] if one not in stop_words.WORDS]
            denied.update(behind[:_BEHIND])
    return frozenset(denied)
