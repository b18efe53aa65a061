"""Whether a sentence of a model stands on its sources: the ids it cites, their words, names, time.

A claim is about the world or a person: it cites messages and names the words in them that it rests
on, and its names, numbers and dates stand there or in what is known already. Prose is the entity's
own reading, and is held to names and numbers alone. No share of words in common is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Literal

from msgspec import Struct

from bumble.grounding import claims, secrets
from bumble.text import stop_words, words

Verdict = Literal["keep", "inference", "mend"]


class Said(Struct, frozen=True):
    """One message that a person said."""

    id: str
    at: datetime
    who: str  # their name
    text: str


class Claim(Struct, frozen=True):
    """A sentence about the world or a person, as a model wrote it."""

    text: str
    cites: tuple[str, ...]  # ids of messages
    rests_on: tuple[str, ...] = ()  # words of those messages
    inference: bool = False  # whether it goes beyond these words


class Finding(Struct, frozen=True):
    """What becomes of a sentence, and why it can't stay as it is."""

    verdict: Verdict
    why: str = ""  # for the model that is to mend it


class Sources(Struct, frozen=True):
    """What the sentences about a stretch of talk may rest on."""

    window: tuple[Said, ...]
    known: tuple[str, ...] = ()  # sentences that are remembered already
    names: tuple[str, ...] = ()  # that need no source: of those who took part, and the entity
    zone: tzinfo = UTC


KEPT = Finding("keep")


def check(claim: Claim, sources: Sources) -> Finding:
    """Tell whether a claim stands on the messages it cites."""
    cited = [said for said in sources.window if said.id in claim.cites]
    if not claim.cites or len({said.id for said in cited}) < len(set(claim.cites)):
        return Finding("mend", "it cites no message that a person said in this conversation")
    if not any(rests.strip() for rests in claim.rests_on):
        return Finding("mend", "it does not name the words that it rests on")
    said_words = f" {_bare(' '.join(said.text for said in cited))} "
    for rests in claim.rests_on:
        if f" {_bare(rests)} " not in said_words:
            return Finding("mend", f'the messages it cites do not say "{rests}"')
    if why := _unfounded(claim.text, cited, sources):
        return Finding("mend", why)
    return Finding("inference") if claim.inference else KEPT


def check_prose(text: str, sources: Sources) -> Finding:
    """Tell whether prose holds no name, number or date that nobody gave."""
    why = _unfounded(text, sources.window, sources)
    return Finding("mend", why) if why else KEPT


def _unfounded(text: str, window: Sequence[Said], sources: Sources) -> str:
    """Say what a text holds that is secret, or that nobody gave; empty if nothing."""
    if what := secrets.find_secret(text):
        return f"it holds {what}"
    if secrets.HIDDEN in text:
        return "it holds a place where a secret was"
    said = [part for each in window for part in (each.text, _day(each, sources.zone))]
    names = (*sources.names, *(each.who for each in window))
    language = words.language(text, *said)
    strange = claims.unsupported(text, [*said, *sources.known], names, language)
    return f"nobody said {', '.join(strange)}" if strange else ""


def _day(said: Said, zone: tzinfo) -> str:
    """Write when a message was said, so that any way to write that day is found in it."""
    at = said.at.astimezone(zone)
    return f"{at:%A %Y-%m-%d} {at.day} {at:%B %Y}"


def _bare(text: str) -> str:
    return " ".join(stop_words.words(text))
