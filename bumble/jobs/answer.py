"""What a model answers about a stretch of talk: its schema, and the answer as typed parts.

Every sentence of an answer has a place of its own, by which it can be sent back, mended or dropped
without touching the others. Knows neither files nor what holds a sentence to be true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

from msgspec import Struct, structs

from bumble.body import appraisal
from bumble.jobs.facts import CATEGORIES
from bumble.jobs.portrait import FIELDS as SCORES
from bumble.text import words
from bumble.text.words import one_line

PART_WORDS = 2  # of an entry of what is no title, but a list
SENTENCE_CHARS, QUOTE_CHARS, TITLE_CHARS = 300, 120, 80
SENTENCES, FACTS, BELIEFS = 10, 8, 6  # at most: of a telling, of knowledge, of beliefs
PORTRAIT_CHARS, JOURNAL_CHARS = 3200, 800  # 800 tokens of a portrait
T = TypeVar("T")


class Sentence(Struct, frozen=True):
    """One sentence of an answer."""

    place: str  # of it in the answer: `s3`
    text: str
    claims: bool = False  # whether it tells of the world or a person; else it is a reading
    cites: tuple[str, ...] = ()  # labels of messages: `m2`
    rests_on: tuple[str, ...] = ()  # words of these messages
    inference: bool = False


class TitledFact(Struct, frozen=True):
    """What is to stand under a title of knowledge."""

    title: str
    sentences: tuple[Sentence, ...]
    replaces: tuple[str, ...] = ()  # labels of known sentences that it takes the place of


class StretchBelief(Struct, frozen=True):
    """Something that may become a belief."""

    category: str
    sentences: tuple[Sentence, ...]  # one, or none once it was dropped
    confirms: tuple[str, ...] = ()  # labels of beliefs held
    contradicts: tuple[str, ...] = ()
    puts_right: str = ""  # id of the message that it takes the place of, where that is known


class PersonView(Struct, frozen=True):
    """How the entity sees somebody, and what it learnt of them."""

    person: str  # name
    portrait: tuple[tuple[Sentence, ...], ...] = ()  # by line; empty: it stays as it is
    scores: Mapping[str, Any] = {}  # as the model gave them
    note: tuple[Sentence, ...] = ()


class StretchAnswer(Struct, frozen=True):
    """All that a model makes of a stretch."""

    appraisal: Mapping[str, Any] = {}
    title: tuple[Sentence, ...] = ()
    narrative: tuple[Sentence, ...] = ()
    reflection: tuple[tuple[Sentence, ...], ...] = ()  # by paragraph
    knowledge: tuple[TitledFact, ...] = ()
    beliefs: tuple[StretchBelief, ...] = ()
    people: tuple[PersonView, ...] = ()
    journal: tuple[Sentence, ...] = ()


def schema(
    messages: Sequence[str],
    known: Sequence[str],
    held: Sequence[str],
    reflection_chars: int,
) -> dict[str, Any]:
    """Describe the answer.

    Args:
        messages: Labels of what people said, which alone can be cited.
        known: Labels of known sentences.
        held: Labels of beliefs.
        reflection_chars: The longest reflection.
    """
    episode = {
        "title": _text(TITLE_CHARS),
        "narrative": _list(_claim(messages), SENTENCES, least=1),
        "reflection": _text(reflection_chars),
    }
    fact = {
        "title": _text(TITLE_CHARS),
        "replaces": _labels(known),
        "sentences": _list(_claim(messages), 4, least=1),
    }
    opinion = {
        "category": {"enum": list(CATEGORIES)},
        "claim": _claim(messages),
        "confirms": _labels(held),
        "contradicts": _labels(held),
    }
    person = {
        "person": _text(TITLE_CHARS),
        "portrait": _text(PORTRAIT_CHARS),
        "scores": {"anyOf": [_object(SCORES), {"type": "null"}]},
        "note": {"anyOf": [_claim(messages), {"type": "null"}]},
    }
    return _object(
        {
            "appraisal": appraisal.schema(),
            "episode": _object(episode),
            "knowledge": _list(_object(fact), FACTS),
            "beliefs": _list(_object(opinion), BELIEFS),
            "people": _list(_object(person), 4),
            "journal": _text(JOURNAL_CHARS),
        }
    )


def mended_schema(places: Sequence[str], messages: Sequence[str]) -> dict[str, Any]:
    """Describe the sentences that were sent back, as they may come again."""
    again = _claim(messages)
    again["properties"] = {"place": {"enum": list(places)}, **again["properties"]}
    again["required"] = ["place", "text"]
    return _object({"mended": _list(again, len(places))})


def _claim(messages: Sequence[str]) -> dict[str, Any]:
    return _object(
        {
            "text": _text(SENTENCE_CHARS),
            "cites": _labels(messages),
            "rests_on": _list(_text(QUOTE_CHARS), 3),
            "inference": {"type": "boolean"},
        }
    )


def _labels(labels: Sequence[str]) -> dict[str, Any]:
    """Describe a list of labels; a wrong one is sent back by itself, not the whole answer."""
    return _list({"type": "string"}, min(6, len(labels)))


def _text(most: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


def _list(item: Mapping[str, Any], most: int, *, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


def read(data: Mapping[str, Any]) -> StretchAnswer:
    """Read an answer that keeps to its schema."""
    places = count(1)

    def prose(text: str) -> tuple[Sentence, ...]:
        return tuple(Sentence(f"s{next(places)}", part) for part in words.sentences(text))

    def lines(text: str) -> tuple[tuple[Sentence, ...], ...]:
        return tuple(prose(line) for line in text.splitlines() if line.strip())

    def claimed(raw: Mapping[str, Any] | None) -> tuple[Sentence, ...]:
        if raw is None or not raw["text"].strip():
            return ()
        return (_claimed(f"s{next(places)}", raw),)

    def claims(raw_list: Sequence[Mapping[str, Any]]) -> tuple[Sentence, ...]:
        return tuple(sentence for raw in raw_list for sentence in claimed(raw))

    episode = data["episode"]
    return StretchAnswer(
        data["appraisal"],
        prose(named(episode["title"], _told(episode["narrative"])))[:1],
        claims(episode["narrative"]),
        lines(episode["reflection"]),
        tuple(
            TitledFact(title, claims(raw["sentences"]), tuple(raw["replaces"]))
            for raw in data["knowledge"]
            if (title := named(raw["title"], _told(raw["sentences"])))
        ),
        tuple(
            StretchBelief(
                raw["category"],
                claimed(raw["claim"]),
                tuple(raw["confirms"]),
                tuple(raw["contradicts"]),
            )
            for raw in data["beliefs"]
        ),
        tuple(
            PersonView(
                one_line(raw["person"]),
                lines(raw["portrait"]),
                raw["scores"] or {},
                claimed(raw["note"]),
            )
            for raw in data["people"]
        ),
        prose(data["journal"]),
    )


def _claimed(place: str, raw: Mapping[str, Any]) -> Sentence:
    return Sentence(
        place,
        one_line(raw["text"]),
        True,
        tuple(raw.get("cites", ())),
        tuple(raw.get("rests_on", ())),
        bool(raw.get("inference")),
    )


def mended(sentence: Sentence, raw: Mapping[str, Any]) -> Sentence:
    """Return a sentence as it came again."""
    again = _claimed(sentence.place, raw)
    return again if sentence.claims else Sentence(sentence.place, again.text)


def sifted(part: T, become: Callable[[Sentence], Sentence | None]) -> T:
    """Return an answer, or a part of it, with each sentence as it becomes; None drops it."""
    if isinstance(part, Sentence):
        return become(part)  # type: ignore[return-value]  # dropped by the tuple it stands in
    if isinstance(part, tuple):
        new = (sifted(value, become) for value in part)
        return tuple(value for value in new if value is not None and value != ())  # type: ignore[return-value]
    if isinstance(part, Struct):
        values = {name: sifted(value, become) for name, value in structs.asdict(part).items()}
        return type(part)(**values)
    return part


def named(title: str, text: str) -> str:
    """Return a title that names one thing: of a list of words the one that its text tells of most.

    Args:
        title: As a model gave it.
        text: What is to stand under it.
    """
    plain = one_line(title).strip('#*_`"“”„«».,:; ')
    parts = [part.strip() for part in re.split(r"[,;/|·]", plain) if part.strip()]
    longest = max((len(part.split()) for part in parts), default=0)
    if len(parts) <= longest or longest > PART_WORDS:  # two words, or three pairs: a list
        return plain
    told = text.casefold()
    thing = max(parts, key=lambda part: (told.count(part.casefold()), len(part)))
    return thing[:1].upper() + thing[1:]


def _told(claims: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(str(claim["text"]) for claim in claims)


def joined(parts: Sequence[Sentence]) -> str:
    """Join sentences to a text."""
    return " ".join(sentence.text for sentence in parts)


def joined_lines(lines: Sequence[Sequence[Sentence]], between: str) -> str:
    """Join lines, or paragraphs, of sentences to a text."""
    return between.join(map(joined, lines))
