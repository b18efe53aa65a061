"""What was put right: the names and numbers of earlier messages that count no more.

A message puts right by denying a value ("not six"), or by a word for change beside a value of the
same kind as one that was given before for the same thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from bumble.grounding import claims, numbers
from bumble.guard import values
from bumble.text import stop_words, words

# Words of denial, and for change, without accents, in the languages that have words of time.
_DENIALS = "not isn't wasn't nicht kein keine pas non no nao instead statt anstatt"
_CHANGES = """
actually correction wrong mistaken instead moved changed postponed rescheduled now anymore longer
falsch geirrt vertan verschoben geandert stattdessen jetzt nun doch korrektur mehr
finalement trompe deplace change maintenant plutot
equivoque cambiado cambio ahora realidad
sbagliato spostato cambiato adesso invece
enganei mudou mudado agora afinal
"""
_NOT, _CHANGE = frozenset(_DENIALS.split()), frozenset(_CHANGES.split())
_BEHIND = 2  # words from a denial to what it denies, at most


class Message(Protocol):
    """A message that a person said."""

    @property
    def who(self) -> str:
        """Their name."""

    @property
    def text(self) -> str:
        """What they said."""


class _Content(Struct, frozen=True):
    """What a text is about, and the values in it."""

    words: frozenset[str]  # all of it
    stems: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    denied: frozenset[str]  # of both
    changes: bool


class Correction(Struct, frozen=True):
    """A message that puts something right."""

    text: str
    words: frozenset[str]  # of it
    old: frozenset[str]  # values that count no more, and words that may have been names
    new: frozenset[str]  # of the same kinds
    about: frozenset[str]  # stems of what it is about, before and now


def find(messages: Sequence[Message], language: str) -> list[Correction]:
    """Find what some messages put right.

    Args:
        messages: Oldest first.
        language: They are in, `de`.
    """
    read = [_content(message.text, language) for message in messages]
    corrections = []
    for index, now in enumerate(read):
        old, about = set(now.denied), set(now.stems)
        for before, message in zip(read[:index], messages, strict=False):
            if now.changes and message.who == messages[index].who and before.stems & now.stems:
                old |= _replaced(before, now)
                about |= before.stems
        new = (now.numbers | now.names) - old
        if old and new:
            text, said = messages[index].text, frozenset(now.words)
            corrections.append(Correction(text, said, frozenset(old), new, frozenset(about)))
    return corrections


def _replaced(before: _Content, now: _Content) -> frozenset[str]:
    """Return the values of a message that another has others of the same kind for.

    People write names in small letters too, so any word of it may be one.
    """
    gone: frozenset[str] = frozenset()
    if len(now.numbers) == 1 and len(before.numbers) == 1:
        gone |= before.numbers - now.numbers
    if now.names:
        gone |= before.words - now.words - stop_words.WORDS
    return gone


def outdated(sentence: str, corrections: Sequence[Correction], language: str) -> str:
    """Return the message that has put right what a sentence says; empty: none has."""
    said = _content(sentence, language)
    claimed = said.numbers | said.names
    for correction in corrections:
        has_old = claimed & correction.old and not claimed & correction.new
        about = said.stems & correction.about
        if has_old and about:
            return correction.text
    return ""


def _content(text: str, language: str) -> _Content:
    tokens = [words.folded(token) for token in stop_words.WORD.findall(text)]
    marked = set(claims.claims(text, language))
    names = {words.folded(word) for word in marked if not values.is_value(word)}
    amounts = {
        token: f"#{value.normalize():f}"
        for n, token in enumerate(tokens)
        if (value := numbers.value(token)) is not None and numbers.claims(tokens, n, capital=False)
    }
    stems = {
        words.stem(token, language)
        for token in tokens
        if token not in stop_words.WORDS | _CHANGE and token not in names and token not in amounts
    }
    given = [amounts.get(token, token if token in names else "") for token in tokens]
    denied = {
        value
        for n, value in enumerate(given)
        if value and _NOT.intersection(tokens[max(0, n - _BEHIND) : n])
    }
    return _Content(
        frozenset(tokens),
        frozenset(stems),
        frozenset(amounts.values()),
        frozenset(names - amounts.keys()),
        frozenset(denied),
        bool(_CHANGE.intersection(tokens)) or bool(denied),
    )
