"""The text of a portrait: asked of the model, checked against what was said, own words.

A portrait is prose of the entity, a thought a line. Where no model could write one, the person's
own words stand under a heading of their own, until a good reflection takes their place.
Reads and writes no files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from msgspec import Struct

from bumble.errors import AnswerInvalidError
from bumble.guard import claims, origins, speakers, verifier
from bumble.guard.speakers import Speakers
from bumble.llm import structured
from bumble.runtime import job_request
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

LEAST_CHARS = 40  # a shorter portrait is no portrait
MOST_LOSS = 0.30  # a rewrite that loses more is refused
MAX_LINES, MAX_LINE_CHARS = 12, 200  # of a portrait as it is asked for
CUT_CHARS = 60  # a sentence as long as this has an end; a short one may do without
_ENDS = tuple(".!?…。！？।\"'”’»)")


class Material(Struct, frozen=True, dict=True):
    """The texts and names that a portrait may rest on."""

    entity: str  # what the entity is called
    person: str  # what the person is called
    names: tuple[str, ...]  # all names that need no source
    statements: tuple[str, ...]  # by the person
    answered: tuple[str, ...]  # by the entity; no source: it may have been wrong
    sources: tuple[str, ...]  # beside `statements`: portrait so far, notes, episodes, dates

    @cached_property
    def language(self) -> str:
        """The language of what was said and written: `de`."""
        return words.language(*self.statements, *self.sources)

    @cached_property
    def source_sentences(self) -> tuple[str, ...]:
        """The sentences of the sources: an episode tells of many things, a sentence of one."""
        return tuple(line for source in self.sources for line in words.sentences(source))

    @cached_property
    def source_stems(self) -> frozenset[str]:
        """The stems of all statements and sources."""
        texts = (*self.statements, *self.sources)
        return frozenset(stem for text in texts for stem in self.stems(text))

    @cached_property
    def name_stems(self) -> frozenset[str]:
        """The stems of names, which say nothing of a person."""
        called = (self.entity, self.person, *self.names)
        return frozenset(stem for name in called for stem in self.stems(name))

    def stems(self, text: str) -> set[str]:
        """Return the stems of a text's telling words."""
        return words.stems(text, self.language)


class CheckedText(Struct, frozen=True):
    """The sentences of a text that rest on the material, and those left out."""

    text: str
    dropped: tuple[str, ...]  # sentences, each with the reason


def ask(
    runtime: Runtime,
    purpose: str,
    slots: Mapping[str, str],
    schema: Mapping[str, Any],
    *,
    max_tokens: int,
    temperature: float,
) -> Any:
    """Ask the model once for JSON.

    Raises:
        AnswerInvalidError: If the answer was cut off or does not keep to the schema.
    """
    request = job_request.request(
        runtime, purpose, slots, max_tokens=max_tokens, temperature=temperature, schema=schema
    )
    completion = runtime.model.complete(request)
    if completion.finish_reason == "length":
        raise AnswerInvalidError(f"the answer was cut off at {max_tokens} tokens", completion.text)
    try:
        return structured.read(completion.text, schema)
    except ValueError as problem:
        raise AnswerInvalidError(f"no usable answer: {problem}", completion.text) from problem


def prose(person: str) -> dict[str, Any]:
    """Describe a portrait as it is asked for: what is known of a person, and how talking is.

    Each sentence has to begin with who it is about; a small model else takes over the person's "I".
    """
    about = {
        "type": "array",
        "items": structured.beginning_with((person,), MAX_LINE_CHARS),
        "minItems": 1,
        "maxItems": MAX_LINES,
    }
    return {
        "type": "object",
        "properties": {
            "about": about,
            "mine": structured.beginning_with(speakers.SAYS_I, MAX_LINE_CHARS),
        },
        "required": ["about", "mine"],
        "additionalProperties": False,
    }


def lines(answer: Mapping[str, Any]) -> list[str]:
    """Return the lines of an answer, those about the person first."""
    return [*answer["about"], answer["mine"]]


def checked(lines: Iterable[str], material: Material) -> CheckedText:
    """Keep the sentences that rest on the material, line by line; a line twice is kept once."""
    kept_lines: dict[str, str] = {}
    dropped: list[str] = []
    for line in lines:
        good = []
        for sentence in words.sentences(_plain(line)):
            reason = problem(sentence, material)
            if reason:
                dropped.append(f"{sentence} ({reason})")
            else:
                good.append(sentence)
        text = " ".join(good)
        if text:
            kept_lines.setdefault(text.casefold(), text)
    return CheckedText("\n".join(kept_lines.values()), tuple(dropped))


def _plain(line: str) -> str:
    """Take away what makes a line a heading, a list item or a quote."""
    return re.sub(r"^\s*(?:[#>*+-]+|\d+[.:)])\s+", "", words.one_line(line))


def problem(sentence: str, material: Material) -> str:
    """Say why a sentence may not stand in the portrait; empty if it may."""
    sources = (*material.statements, *material.sources)
    if any(sentence in source for source in material.sources):
        return ""  # it stood there before
    names = (material.entity, *material.names)
    says = origins.own_words(sentence, names, material.language)
    if not sentence.endswith(_ENDS) and (len(sentence) >= CUT_CHARS or not says):
        return "it was cut off"
    if reason := verifier.problem(sentence, sources, Speakers(names), material.language):
        return reason
    if speakers.confused(
        sentence, material.statements, material.answered, material.name_stems, material.language
    ):
        return f"that is {material.person}'s, not {material.entity}'s"
    if stop_words.SAYING_I.intersection(stop_words.words(sentence)[:1]):
        return ""
    about = material.stems(sentence) - material.name_stems
    if about and not about & material.source_stems:
        return "nothing of it was said"
    messages = (*material.statements, *material.source_sentences)
    reason = verifier.problem(
        sentence, sources, Speakers(names), material.language, messages=messages
    )
    return reason or ""


def refusal(old: str, new: str, names: Sequence[str], *, allow_shrink: bool) -> str:
    """Say why a new portrait may not take the place of the old one; empty if it may."""
    if len(new) < LEAST_CHARS and len(new) <= len(old or new):
        return f"too little was usable: {len(new)} characters"
    lost = loss(old, new, names)
    if lost > MOST_LOSS and not allow_shrink:
        return f"it would lose {lost:.0%} of the portrait; --allow-shrink lets it"
    return ""


def loss(old: str, new: str, names: Sequence[str] = ()) -> float:
    """Tell how much of a portrait a new one loses, in [0, 1]: of its length, or of its facts.

    Facts are names, numbers and dates; a single one may go, for that is how one is corrected.
    """
    if not old:
        return 0.0
    shrunk = max(0.0, 1 - len(new) / len(old))
    facts = claims.unsupported(old, (), names)
    lost = claims.unsupported(old, (new,), names)
    return max(shrunk, len(lost) / len(facts) if len(lost) > 1 else 0.0)


def days(moments: Iterable[datetime]) -> Iterator[str]:
    """Yield days in words, so that a date in a portrait has a source."""
    yield from dict.fromkeys(f"{at:%A} {at.day} {at:%B %Y %m}" for at in moments)


def inside(text: str) -> str:
    """Return outside text as it stands in a prompt's tags: it can't close them."""
    return text.replace("</", "< /") or "(nothing)"
