"""The thresholds by which right answers of a probe become tiers of trust.

Twelve cases a kind are few: what they can tell is a model that nearly always gets a thing right
(eleven of twelve: wrong once in twelve or less, more likely than not) from one that doesn't.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bumble.models.abilities.tiers import Purpose, Tier

# whose_i: whose "I" it was; language: stays in it; unknown: says what it doesn't know, and does
# know what it was told; schema: answers in a given form; facts: reads them from a window.
Kind = Literal["whose_i", "language", "unknown", "schema", "facts"]
Answers = Mapping[Kind, str]  # `1` for each right answer, `0` for each other

KINDS: tuple[Kind, ...] = ("whose_i", "language", "unknown", "schema", "facts")
LEAST_CASES = 12  # of each kind in each language

# A model whose own words stand errs at most once in a dozen.
SURE = 11 / 12
# A reply can be drawn up to three times, and rules see if it leaves the language or takes the
# other's part: of three draws that are right half the time each, seven times of eight one passes.
DRAWS = 1 / 2

TALK_KINDS: tuple[Kind, ...] = ("whose_i", "language", "unknown")
MEMORY_KINDS: tuple[Kind, ...] = ("whose_i", "schema", "facts")


def share(answers: Answers, kind: Kind) -> float:
    """Return the share of cases of a kind that were right."""
    given = answers[kind]
    return given.count("1") / len(given)


def tiers(answers: Answers) -> dict[Purpose, Tier]:
    """Return the tier of each purpose, by answers to all cases of a language."""
    return {"talk": _talk(answers), "memory": _memory(answers)}


def _talk(answers: Answers) -> Tier:
    if all(share(answers, kind) >= SURE for kind in TALK_KINDS):
        return "write"
    draws = all(share(answers, kind) >= DRAWS for kind in ("whose_i", "language"))
    return "choose" if draws else "none"


def _memory(answers: Answers) -> Tier:
    return "write" if all(share(answers, kind) >= SURE for kind in MEMORY_KINDS) else "none"
