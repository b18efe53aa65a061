"""What was put right: names, numbers and dates of earlier messages that count no more.

A message puts right by denying a value ("not six", "net de Hamann"), or by a word for change beside
a value of the same kind as one that was given before of the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from bumble.guard import claims, values
from bumble.text import stop_words, words

# Words of denial, and for change, without accents, in the languages that have words of time.
_DENIALS = "not isn't wasn't nicht net kein keine pas non nao instead statt anstatt"
_CHANGES = """
actually correction wrong mistaken instead moved changed postponed rescheduled now anymore longer
falsch geirrt vertan verschoben geandert stattdessen jetzt jetz nun doch korrektur
finalement trompe deplace change maintenant plutot
equivoque cambiado cambio ahora realidad
sbagliato spostato cambiato adesso invece
enganei mudou mudado agora afinal
"""
_TELLING = "rather instead moved changed postponed verschoben geandert statt anstatt"
_NOT, _CHANGE = frozenset(_DENIALS.split()), frozenset(_CHANGES.split())
_TELLS = frozenset(_TELLING.split())  # by these a sentence tells of the change itself
_CLAUSE = re.compile(r"[,;:!?()–—]|\.(?!\d)")
_BEHIND = 2  # words behind a denial that it may deny


class SaidText(Protocol):
    """A message that a person said."""

    @property
    def text(self) -> str:
        """What they said."""


class _Content(Struct, frozen=True):
    """What a text is about, and the values in it: each with its kind, `date` or a unit."""

    about: frozenset[str]  # stems and names
    values: frozenset[tuple[str, str]]  # kind and value
    denied: frozenset[str]  # words that it denies
    words: frozenset[str]
    changes: bool


class Correction(Struct, frozen=True):
    """A message that puts something right."""

    text: str
    old: frozenset[tuple[str, str]]  # values that count no more
    new: frozenset[tuple[str, str]]
    denied: frozenset[str]  # words that don't hold
    about: frozenset[str]  # what it is about, before and now


def find(messages: Sequence[SaidText], language: str) -> list[Correction]:
    """Find what some messages put right.

    Args:
        messages: Oldest first.
        language: They are in, `de`.
    """
    read = [_content(message.text, language) for message in messages]
    corrections = []
    for index, now in enumerate(read):
        old, about = set[tuple[str, str]](), set(now.about)
        for before in read[:index]:
            gone = _replaced(before, now) if now.changes and before.about & now.about else set()
            if gone or (now.denied and before.about & now.about):
                old |= gone
                about |= before.about
        if old or now.denied:
            text = messages[index].text
            corrections.append(
                Correction(text, frozenset(old), now.values, now.denied, frozenset(about))
            )
    return corrections


def _replaced(before: _Content, now: _Content) -> set[tuple[str, str]]:
    """Return the values of a message of which another has others, each the only one of its kind."""
    kinds = {kind for kind, _ in before.values} & {kind for kind, _ in now.values}
    gone = set[tuple[str, str]]()
    for kind in kinds:
        earlier = {value for value in before.values if value[0] == kind}
        later = {value for value in now.values if value[0] == kind}
        if len(earlier) == len(later) == 1:
            gone |= earlier - later
    return gone


def outdated(sentence: str, corrections: Sequence[Correction], language: str) -> str:
    """Return the message that has put right what a sentence says; empty: none has."""
    said = _content(sentence, language)
    if said.words & (_NOT | _TELLS):
        return ""  # it tells of the change itself
    claimed = _claimed(sentence, language)
    for correction in corrections:
        is_old = bool(said.values & correction.old) and not said.values & correction.new
        is_denied = bool(claimed & correction.denied) and not said.values & correction.new
        if (is_old or is_denied) and said.about & correction.about:
            return correction.text
    return ""


def _claimed(sentence: str, language: str) -> frozenset[str]:
    """Return the names and numbers of a sentence, and its weekdays."""
    named = (*claims.claims(sentence, language), *values.times_in(sentence))
    plain = {words.folded(word) for word in named}
    return frozenset(plain | {f"{word}s" for word in plain})


def _content(text: str, language: str) -> _Content:
    clauses = [_words(clause) for clause in _CLAUSE.split(values.without_endings(text))]
    tokens = [token for clause in clauses for token in clause]
    found = values.kinds_in(text, language)
    denied = {
        token
        for clause in clauses
        for start, denial in enumerate(clause)
        if denial in _NOT
        for token in clause[start + 1 : start + 1 + _BEHIND]
        if token not in stop_words.WORDS | _NOT
    }
    about = {
        words.stem(token, language)
        for token in tokens
        if token not in stop_words.WORDS | _CHANGE | _NOT | denied and not values.is_value(token)
    }
    return _Content(
        frozenset(about),
        frozenset(found),
        frozenset(denied),
        frozenset(tokens),
        bool(_CHANGE.intersection(tokens)),
    )


def _words(text: str) -> list[str]:
    return [words.folded(token) for token in stop_words.WORD.findall(text)]
