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

from bumble.guard import corrections, names, secrets, values
from bumble.guard.values import Values
from bumble.text import stop_words, words

Verdict = Literal["keep", "inference", "mend"]


class Said(Struct, frozen=True):
    """One message that a person said."""

    id: str
    at: datetime
    who: str  # their name
    text: str


class CitedClaim(Struct, frozen=True):
    """A sentence about the world or a person, as a model wrote it."""

    text: str
    cites: tuple[str, ...]  # ids of messages
    rests_on: tuple[str, ...] = ()  # words of those messages
    inference: bool = False  # whether it goes beyond these words


class SourceVerdict(Struct, frozen=True):
    """What becomes of a sentence, and why it can't stay as it is."""

    verdict: Verdict
    why: str = ""  # for the model that is to mend it


class ClaimSources(Struct, frozen=True):
    """What the sentences about a stretch of talk may rest on."""

    window: tuple[Said, ...]
    known: tuple[str, ...] = ()  # sentences that are remembered already
    names: tuple[str, ...] = ()  # that need no source: of those who took part, and the entity
    zone: tzinfo = UTC
    entity: str = ""  # its name: what it said itself bears out nothing


KEPT = SourceVerdict("keep")


def check(claim: CitedClaim, sources: ClaimSources) -> SourceVerdict:
    """Tell whether a claim stands on the messages it cites."""
    own = words.folded(sources.entity)
    said = [one for one in sources.window if words.folded(one.who) != own]
    cited = [one for one in said if one.id in claim.cites]
    if not claim.cites or len({one.id for one in cited}) < len(set(claim.cites)):
        return SourceVerdict("mend", "it cites no message that a person said in this conversation")
    if not any(rests.strip() for rests in claim.rests_on):
        return SourceVerdict("mend", "it does not name the words that it rests on")
    said_words = f" {_bare(' '.join(one.text for one in cited))} "
    for rests in claim.rests_on:
        if f" {_bare(rests)} " not in said_words:
            return SourceVerdict("mend", f'the messages it cites do not say "{rests}"')
    found = _held(claim.text, cited, said, sources)
    return SourceVerdict("inference") if found == KEPT and claim.inference else found


def check_prose(text: str, sources: ClaimSources) -> SourceVerdict:
    """Tell whether prose holds no name, number or date that nobody gave."""
    found = _held(text, sources.window, sources.window, sources)
    return KEPT if found.verdict == "inference" else found


def _held(
    text: str, cited: Sequence[Said], said: Sequence[Said], sources: ClaimSources
) -> SourceVerdict:
    """Hold names, numbers and dates against what was said, and against what put it right."""
    if what := secrets.find_secret(text):
        return SourceVerdict("mend", f"it holds {what}")
    if secrets.HIDDEN in text:
        return SourceVerdict("mend", "it holds a place where a secret was")
    people = (*sources.names, *(each.who for each in sources.window))
    grounds = [*(each.text for each in cited), *sources.known]
    language = words.language(text, *grounds)
    if strange := names.strange(text, [*grounds, *(one.text for one in said)], people, language):
        return SourceVerdict("mend", f"nobody said {', '.join(strange)}")
    given = _given(cited, sources.zone)
    known = Values()
    for sentence in sources.known:
        known |= values.of_known(sentence)
    word, counted = values.made_up(text, given | known, given)
    if word:
        return SourceVerdict("mend", f"nobody said {word}")
    right = corrections.find(_in_order(said, sources.known), language)
    if newer := corrections.outdated(text, right, language):
        return SourceVerdict("mend", f'it was put right since: "{newer}"')
    return SourceVerdict("inference", "it follows by counting") if counted else KEPT


def _given(cited: Sequence[Said], zone: tzinfo) -> Values:
    given = Values()
    for each in cited:
        given |= values.of_message(each.text, each.at.astimezone(zone))
    return given


def _in_order(said: Sequence[Said], known: Sequence[str]) -> list[Said]:
    """Return what is known, as said by anybody before, and what was said, oldest first."""
    ordered = sorted(said, key=lambda one: one.at)
    first = ordered[0].at if ordered else datetime.min.replace(tzinfo=UTC)
    return [*(Said("", first, "", sentence) for sentence in known), *ordered]


def _bare(text: str) -> str:
    return " ".join(stop_words.words(text))
