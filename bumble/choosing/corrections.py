"""What a message is about of what its speaker told before: what it takes up, what it corrects.

A date or a number beside a word that was told with one before says more of it, or that it is
another now, in whatever words. Elsewhere, *whether* something is corrected is told by rule
(`rules`) or by examples, never by a model, which always finds something. *What* is corrected is
near it, as an answer is to a question, or shares its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from bumble.choosing import language_file, rules
from bumble.forms import forms
from bumble.records.provenance import is_untrusted
from bumble.records.sessions import Message, Session
from bumble.runtime import people
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

KIND = "message"  # of the index
ELSEWHERE = 12  # of other conversations, at most
CORRECTS = 3  # ids at most that are told
LEAST_NEAR = 0.3  # calibrated similarity from which a message may be meant
SHARED, MOST_SHARED = 0.15, 3  # what a shared word counts beside it, and how many count
LEAST_LETTERS = 3  # of a word that two messages have in common
SURELY_SHARED = 3  # words with which a figure surely says something else, whatever its wording
SURELY_DATED = 2  # beside a date or an hour, where none of them is somebody's name


class Earlier(Struct, frozen=True):
    """A message that may be corrected."""

    id: str
    text: str


def corrected(
    runtime: Runtime, session: Session, message: Message, language: str
) -> tuple[str, ...]:
    """Return the ids of what a message may put right, likeliest first; none if nothing fits.

    Without an embedder, words that both share have to tell.

    Args:
        runtime: Whose conversation.
        session: The conversation.
        message: The one that corrects.
        language: That of its speaker.
    """
    earlier = _earlier(runtime, session, message)
    near = _nearness(runtime, message.text, earlier)
    passing = forms.load(language, runtime.entity.root, runtime.tell).memory.passing_words
    own = _stems(message.text, language, passing)
    points = {}
    for each in earlier:
        shared = min(MOST_SHARED, len(own & _stems(each.text, language, passing)))
        if near.get(each.id, 0.0) >= LEAST_NEAR or (shared and not near):
            points[each.id] = near.get(each.id, 0.0) + SHARED * shared
    return tuple(sorted(points, key=lambda id_: -points[id_]))[:CORRECTS]


class Followed(Struct, frozen=True):
    """What was told before that a message takes up."""

    ids: tuple[str, ...] = ()  # of messages, the likeliest first
    corrects: tuple[str, ...] = ()  # those of which it says something else
    surely: tuple[str, ...] = ()  # those of which it does, though nothing in its wording says so


def followed(runtime: Runtime, session: Session, message: Message, language: str) -> Followed:
    """Return what a message takes up: with a figure of the same kind, and a word of it.

    `They hang on for two weeks, Katrin is back on 5 December`, where she was to be away until the
    21st of November. It says something else of what it shares more than a word with, or a date.

    Args:
        runtime: Whose conversation.
        session: The conversation.
        message: The one that was said now.
        language: That of its speaker.
    """
    figures = rules.figures(message.text, language)
    if not figures:
        return Followed()
    own = _undated(runtime, message.text, language)
    names = words.stems(" ".join(people.names(runtime)), language)
    shared: dict[str, int] = {}
    dated, surely = set(), set()
    for each in _earlier(runtime, session, message):
        same = figures & rules.figures(each.text, language)
        stems = own & _undated(runtime, each.text, language)
        if not (same and stems):
            continue
        shared[each.id] = len(stems)
        if "date" in same:
            dated.add(each.id)
        if len(stems) >= SURELY_SHARED or ("date" in same and len(stems - names) >= SURELY_DATED):
            surely.add(each.id)
    newest_first = list(reversed(shared))
    ids = sorted(newest_first, key=lambda id_: -shared[id_])[:CORRECTS]
    return Followed(
        tuple(ids),
        tuple(id_ for id_ in ids if id_ in dated or shared[id_] > 1),
        tuple(id_ for id_ in ids if id_ in surely),
    )


def _undated(runtime: Runtime, text: str, language: str) -> set[str]:
    """Return the stems that tell what a message is about, without its dates and numbers."""
    passing = forms.load(language, runtime.entity.root, runtime.tell).memory.passing_words
    listed = language_file.load(language)
    line = listed.line(text)
    for cue in ("dates", "clock"):
        if cue in listed.patterns:
            line = listed.patterns[cue].sub(" ", line)
    line = " ".join(word for word in line.split() if word not in listed.numbers)
    return {stem for stem in _stems(line, language, passing) if not stem.isdigit()}


def _stems(text: str, language: str, passing: AbstractSet[str]) -> set[str]:
    """Return the stems of the words that tell what a message is about."""
    telling = [word for word in stop_words.words(text) if words.folded(word) not in passing]
    stems = words.stems(" ".join(telling), language)
    return {stem for stem in stems if len(stem) >= LEAST_LETTERS}


def _earlier(runtime: Runtime, session: Session, message: Message) -> list[Earlier]:
    """Return what its speaker said before, here and elsewhere, oldest first."""
    place = [each.id for each in session.messages].index(message.id)
    dropped = {id_ for id_, notice in session.notices.items() if not notice.keep}
    here = [
        Earlier(each.id, each.text)
        for each in session.messages[:place]
        if each.speaker == message.speaker
        and each.text.strip()
        and each.id not in dropped
        and not is_untrusted(each.trust)
    ]
    return [*_elsewhere(runtime, session, message), *here]


def _elsewhere(runtime: Runtime, session: Session, message: Message) -> list[Earlier]:
    name = message.extra.get("name") or message.speaker
    runtime.memory.sync()
    hits = runtime.memory.search(
        message.text,
        kinds=(KIND,),
        limit=ELSEWHERE,
        audience=session.people,
        people=(message.speaker,),
        outside=session.id,
    )
    mine = [
        hit
        for hit in hits
        if hit.speaker == name
        and not is_untrusted(hit.trust)
        and hit.at is not None
        and hit.at < message.at
    ]
    return [Earlier(hit.id, hit.text) for hit in sorted(mine, key=lambda hit: hit.id)]


def _nearness(runtime: Runtime, text: str, earlier: Sequence[Earlier]) -> dict[str, float]:
    """Return how near each is to a text that asks for it; nothing where nothing can embed."""
    embedder = runtime.memory.embedder
    if embedder is None or not earlier:
        return {}
    vectors = embedder.embed_documents([each.text for each in earlier])
    usual = embedder.unrelated_cosine
    cosines = (vectors @ embedder.embed_query(text) - usual) / (1 - usual)
    return {each.id: max(0.0, float(cosine)) for each, cosine in zip(earlier, cosines, strict=True)}
