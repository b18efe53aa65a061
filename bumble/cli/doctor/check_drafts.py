"""Checks drafted from what the entity holds, for the owner to keep or drop; needs no model.

A question is the text itself with its most telling word left out, so that no language has to be
known; of knowledge it is the title. Of what is kept in quotes it is the words that were quoted: the
day on which they were said stands beside many others, and a title made of them asks nothing. What
only some may hear is also asked as somebody else, who must not get it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import tzinfo

from msgspec import Struct

from bumble.entity.folder import Entity
from bumble.fallback import quotes
from bumble.files import disk
from bumble.records import base, checks, kinds
from bumble.records.base import Provenance
from bumble.records.checks import Check
from bumble.records.kind import Kind, RecordView
from bumble.text import words
from bumble.text.stop_words import telling_words

BY = "eval draft"
# A portrait is how the entity sees somebody, which no check can ask for.
DRAFTED = tuple(kind for kind in kinds.KINDS if kind.claims and kind is not kinds.PERSON)
GAP = "…"
LEAST_WORDS = 3  # left in a question
LEAST_LETTERS = 4  # of a word that is no number
MAX_ASK_CHARS = 200
MARKS = "-*+>[] "
NAME_WORDS = 6  # of a question, in the name of its file


class _Source(Struct, frozen=True):
    """Something the entity holds, as a check asks for it."""

    kind: Kind
    view: RecordView
    sentence: str
    titled: bool  # whether its title asks for it


def draft(entity: Entity, people: Sequence[str], zone: tzinfo) -> Iterator[Check]:
    """Yield checks for what the entity holds; those whose file is there already are left out.

    Args:
        entity: Whose memory.
        people: Ids of all it knows, the owner first.
        zone: The entity's time zone.
    """
    there = {path.stem for path in checks.paths(entity.checks)}
    sources = list(_sources(entity, zone))
    frequency = Counter(word for each in sources for word in set(telling_words(each.sentence)))
    for source in sources:
        for check in _checks(source, people, frequency):
            if check.id not in there:
                there.add(check.id)
                yield check


def _sources(entity: Entity, zone: tzinfo) -> Iterator[_Source]:
    for kind in DRAFTED:
        for path in kind.paths(entity):
            for view in kind.read(path, zone):
                cited = quotes.citations(view.text)
                sentences = words.sentences(cited[0].words if cited else _unmarked(view.text))
                if sentences and (view.origin.by or kind.own_words):
                    titled = kind is kinds.KNOWLEDGE and not cited
                    yield _Source(kind, view, sentences[0], titled)


def _unmarked(text: str) -> str:
    """Return a text without its headings and the marks of its lines."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(line.lstrip(MARKS) for line in lines)


def _checks(source: _Source, people: Sequence[str], frequency: Counter[str]) -> Iterator[Check]:
    """Yield the check of a sentence, and one for a person who may not hear it."""
    wanted = _most_telling(source, frequency)
    if not wanted:
        return
    ask = _question(source, wanted)
    if len(telling_words(ask)) < LEAST_WORDS and not source.titled:
        return
    view = source.view
    rests_on = view.sources if source.kind is kinds.KNOWLEDGE else (view.id,)
    audience = view.origin.audience
    asker = next((person for person in people if base.may_read(audience, (person,))), "")
    origin = Provenance(by=BY, sources=rests_on, trust=view.origin.trust, audience=audience)
    name = _name(ask)
    if asker:
        yield checks.new(name, ask, person=asker, expect=(wanted,), provenance=origin)
    stranger = next((one for one in people if not base.may_read(audience, (one,))), "")
    if stranger:
        yield checks.new(
            f"{name}-not-{stranger}", ask, person=stranger, never=(wanted,), provenance=origin
        )


def _most_telling(source: _Source, frequency: Counter[str]) -> str:
    """Return the word of a sentence that tells most: a number, else a rare and long one."""
    in_title = set(telling_words(source.view.id)) if source.titled else set()
    candidates = [
        word
        for word in telling_words(source.sentence)
        if word not in in_title and (word[:1].isdigit() or len(word) >= LEAST_LETTERS)
    ]
    return max(
        candidates,
        key=lambda word: (word[:1].isdigit(), -frequency[word], len(word)),
        default="",
    )


def _question(source: _Source, wanted: str) -> str:
    if source.titled:
        return source.view.id
    pattern = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)", re.IGNORECASE)
    return words.shorten(pattern.sub(GAP, source.sentence), MAX_ASK_CHARS, at_word=True)


def _name(ask: str) -> str:
    """Return the name of a question's file."""
    return disk.file_name(" ".join(telling_words(ask)[:NAME_WORDS]))
