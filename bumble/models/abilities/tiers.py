"""Tiers of trust in a model: whether it may write, only choose, or is not asked, by language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

# What a model is asked for: to answer somebody, or to make memories of what was said.
Purpose = Literal["talk", "memory"]
# `write`: its own words stand, once checked. `choose`: it labels and draws, rules and fixed forms
# decide what stands. `none`: it isn't asked.
Tier = Literal["none", "choose", "write"]

PURPOSES: tuple[Purpose, ...] = ("talk", "memory")
TIERS: tuple[Tier, ...] = ("none", "choose", "write")  # the least trust first
ANY = "any"  # stands for every language that is not named


class Abilities(Struct, frozen=True):
    """What one model can be trusted with."""

    unmeasured: Tier = "choose"  # for what no probe has measured
    measured: Mapping[tuple[Purpose, str], Tier] = field(default_factory=dict)  # by language: `de`

    def tier(self, purpose: Purpose, language: str) -> Tier:
        """Return how far the model is trusted with a purpose in a language."""
        of_any = self.measured.get((purpose, ANY), self.unmeasured)
        return self.measured.get((purpose, language), of_any)


ABLE = Abilities(unmeasured="write")
WRITES_FROM, CHOOSES_FROM = 3 * 10**9, 5 * 10**8  # parameters of a model
WRITES_FROM_BYTES = 2 * 10**9  # of a file that doesn't tell its parameters


def by_size(parameters: int) -> Tier:
    """Return how far a model of so many parameters is trusted before anybody measured it."""
    if parameters >= WRITES_FROM:
        return "write"
    return "choose" if parameters >= CHOOSES_FROM else "none"


def by_file(parameters: int | None, file_bytes: int) -> Tier:
    """Return how far a model in a file is trusted: by its parameters, else by its length."""
    if parameters is not None:
        return by_size(parameters)
    return "write" if file_bytes >= WRITES_FROM_BYTES else "choose"


class LateAbilities(Abilities, frozen=True, dict=True):
    """Abilities that are looked up when they are first asked for: most runs of a cycle never do."""

    look: Callable[[], Abilities] = Abilities

    @cached_property
    def _seen(self) -> Abilities:
        return self.look()

    def tier(self, purpose: Purpose, language: str) -> Tier:
        """Return how far the model is trusted with a purpose in a language."""
        return self._seen.tier(purpose, language)


def overruled(
    abilities: Abilities,
    wanted: Mapping[Purpose, Mapping[str, Tier]],
    only_lower: Collection[tuple[Purpose, str]] = (),
) -> Abilities:
    """Return abilities with some tiers as somebody wants them.

    Args:
        abilities: As they were measured.
        wanted: Tier by language, for each purpose; `any` for all languages that are not named.
        only_lower: Which of these may take trust away, but not give it.
    """
    measured = dict(abilities.measured)
    for purpose, tiers in wanted.items():
        known = {code for other, code in abilities.measured if other == purpose}
        for code in known | {ANY} | set(tiers):
            named = code if code in tiers else ANY
            if named not in tiers:
                continue
            choices = [tiers[named]]
            if (purpose, named) in only_lower:
                choices.append(abilities.tier(purpose, code))
            measured[purpose, code] = min(choices, key=TIERS.index)
    return replace(abilities, measured=measured)


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
