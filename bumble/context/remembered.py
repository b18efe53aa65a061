"""What answers a question without a model: the words that were said or written down, quoted.

The index names candidates; of these the one answers that shares the question's rare words, in
whatever form or compound, is near it in meaning, and has a number where one is asked for. Wording
a quote is a form's work. What the entity said itself is no source, nor is a question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bumble.context import recalled
from bumble.context.recalled import Search
from bumble.grounding import speakers
from bumble.index import chunks
from bumble.index.search import Hit
from bumble.records import provenance
from bumble.records.sessions import Session
from bumble.runtime import body_state, people
from bumble.runtime.runtime import Runtime
from bumble.text import words
from bumble.text.stop_words import telling_words
from bumble.text.words import one_line

SEARCHED = 40  # hits that are looked through
KINDS = ("message", "knowledge", "journal", "episode", "belief", "person")
COMPOUND = 5  # letters of a word that counts within another
INEXACT = 0.8  # what such a word counts
# Of the words of a question, in what answers it: where it is near, or has the number; and else.
LEAST_SHARED, MOST_SHARED = 0.3, 0.6
LEAST_LETTERS = 3  # of a word that tells what is asked
NEARNESS = 3.0  # what nearness counts beside a shared rare word
NUMBER = 1.0  # what a number counts where one is asked for
CLOSE = 0.6  # of the best one's points, from which another may be the answer as well
MOST_QUOTES = 2


@dataclass(frozen=True)
class Quote:
    """Words that were said or written down."""

    text: str
    at: datetime | None
    speaker: str = ""  # id of the person; empty: it stands in the entity's own notes
    name: str = ""  # of the person


@dataclass(frozen=True)
class Question:
    """What is asked of memory."""

    text: str
    language: str
    number: bool = False  # whether a number or a date is asked for
    asks: Callable[[str], bool] = lambda text: text.rstrip().endswith(("?", "？"))


def quotes(life: Runtime, session: Session, question: Question) -> list[Quote]:
    """Return what answers the last message of a conversation, the newest first.

    What was said in the conversation before counts too.
    """
    said = session.messages[-1]
    at = life.now()
    mood = body_state.mood(life, body_state.read(life, at)).name
    hits = recalled.find(
        life.memory,
        life.config,
        life.body,
        Search(session.people, mood, at, asker=chunks.spoken_name(said.speaker)),
        question.text,
        kinds=KINDS,
        limit=SEARCHED,
        unasked=False,
    )
    told = [hit for hit in hits if hit.id != said.id and _tells(life, hit, question)]
    ranked = _ranked(life, told, question)
    best = [hit for hit, points in ranked if points >= CLOSE * ranked[0][1]]
    return _newest_first([_quote(life, hit, question) for hit in best])


def _newest_first(found: Sequence[Quote]) -> list[Quote]:
    """Keep the best few, what was said rather than a note of it, and put the newest first."""
    words_said = [quote.text for quote in found if quote.speaker]
    best = [
        quote
        for quote in found
        if quote.speaker or not any(text in quote.text for text in words_said)
    ][:MOST_QUOTES]
    return sorted(best, key=lambda quote: quote.at.timestamp() if quote.at else 0, reverse=True)


def near(life: Runtime, session: Session, language: str) -> list[Quote]:
    """Return what comes to mind by itself at the last message of a conversation."""
    said = session.messages[-1]
    at = life.now()
    mood = body_state.mood(life, body_state.read(life, at)).name
    search = Search(session.people, mood, at, session.id, asker=chunks.spoken_name(said.speaker))
    hits = recalled.find(
        life.memory, life.config, life.body, search, said.text, kinds=KINDS, limit=MOST_QUOTES
    )
    question = Question(said.text, language)
    return [_quote(life, hit, question) for hit in hits if _tells(life, hit, question)]


def _tells(life: Runtime, hit: Hit, question: Question) -> bool:
    """Whether a hit may answer: somebody's statement."""
    if provenance.is_untrusted(hit.trust):
        return False
    return hit.kind != "message" or (
        hit.speaker != life.identity.name and not question.asks(hit.text)
    )


def _ranked(life: Runtime, hits: Sequence[Hit], question: Question) -> list[tuple[Hit, float]]:
    """Rank what answers, best first: it shares a good part of the words that tell what is asked."""
    code = question.language
    asked = _forms(question.text, code, beside=(life.identity.name, *speakers.IN_TALK))
    texts = [_forms(hit.text, code) for hit in hits]
    weights = {
        stem: math.log(
            1 + len(hits) / max(1, sum(_shares(stem, word, there) > 0 for there in texts))
        )
        for stem, word in asked.items()
    }
    ranked = []
    for hit, there in zip(hits, texts, strict=True):
        shares = {stem: _shares(stem, word, there) for stem, word in asked.items()}
        part = sum(map(bool, shares.values())) / max(1, len(asked))
        counts = question.number and any(char.isdigit() for char in hit.text)
        fits = counts or recalled.is_near(hit, life.config)
        if part < (LEAST_SHARED if fits else MOST_SHARED):
            continue
        points = sum(weights[stem] * share for stem, share in shares.items()) + NUMBER * counts
        ranked.append((hit, points + NEARNESS * (hit.parts.nearness or 0.0)))
    return sorted(ranked, key=lambda pair: -pair[1])


def _holders(stem: str, word: str, texts: Sequence[Mapping[str, str]]) -> int:
    """Count the texts that a word stands in."""
    return sum(_shares(stem, word, there) > 0 for there in texts)


def _forms(text: str, language: str, *, beside: Sequence[str] = ()) -> dict[str, str]:
    """Return the stems of a text's telling words, each with a word as it stands, folded."""
    passing = {words.stem(words.folded(word), language) for word in beside}
    telling = {words.stem(word, language): words.folded(word) for word in telling_words(text)}
    return {
        stem: word
        for stem, word in telling.items()
        if stem not in passing and (len(word) >= LEAST_LETTERS or word.isdigit())
    }


def _shares(stem: str, word: str, there: Mapping[str, str]) -> float:
    """Say how much of a word stands in a text: itself, or as part of a compound."""
    if stem in there:
        return 1.0
    if len(word) < COMPOUND:
        return 0.0
    within = any(
        word in other
        or (len(other) >= COMPOUND and other in word)
        or (len(stem) >= COMPOUND and stem in other)
        or words.akin(stem, another, COMPOUND)
        for another, other in there.items()
    )
    return INEXACT if within else 0.0


def _quote(life: Runtime, hit: Hit, question: Question) -> Quote:
    if hit.kind != "message":
        return Quote(_telling_line(hit.text, question), hit.at)
    person = next((one for one in hit.people if chunks.spoken_name(one) == hit.speaker), "")
    known = people.readable_person(life, person) if person else None
    return Quote(one_line(hit.text), hit.at, person, known.name if known else hit.speaker)


def _telling_line(text: str, question: Question) -> str:
    """Return the sentence of a note that shares most with a question."""
    code = question.language
    asked = _forms(question.text, code)
    lines = [line.lstrip("> -") for line in text.splitlines() if not line.startswith("#")]
    sentences = [part for line in lines for part in words.sentences(line)] or [one_line(text)]

    def shared(sentence: str) -> float:
        there = _forms(sentence, code)
        return sum(_shares(stem, word, there) for stem, word in asked.items())

    return max(sentences, key=shared)
