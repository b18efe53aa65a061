"""What a model can be trusted with, by language: results of a probe, and the tiers they come to."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from bumble.files import disk

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


def by_file(file_bytes: int) -> Tier:
    """Return how far a model is trusted whose file doesn't tell its parameters: by its length."""
    return "write" if file_bytes >= WRITES_FROM_BYTES else "choose"


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


def tiers(answers: Answers) -> dict[Purpose, Tier]:
    """Return the tier of each purpose, by answers to all cases of a language."""

    def reach(least: float, kinds: Iterable[Kind]) -> bool:
        told = (answers[kind] for kind in kinds)
        return all(each.count("1") / len(each) >= least for each in told)

    draws: Tier = "choose" if reach(DRAWS, ("whose_i", "language")) else "none"
    return {
        "talk": "write" if reach(SURE, TALK_KINDS) else draws,
        "memory": "write" if reach(SURE, MEMORY_KINDS) else "none",
    }


SHIPPED = Path(__file__).parent / "shipped"
SCHEMA = 1  # of the files
OF_WEIGHTS = "sha256:"  # how the identity of weights begins


class LanguageResult(Struct, frozen=True):
    """What a model did with the cases of one language."""

    version: int  # of the probe
    at: str  # the day, as ISO has it
    answers: Answers  # by kind: `1` for each case that was right, `0` for each that was not
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether there are enough answers of every kind to tell a tier by."""
        return all(len(self.answers.get(kind, "")) >= LEAST_CASES for kind in KINDS)


class ModelResult(Struct, frozen=True):
    """What a model did, by language."""

    identity: str  # `sha256:…` of weights, else address and name
    model: str  # as people call it
    languages: Mapping[str, LanguageResult] = field(default_factory=dict)
    schema: int = SCHEMA  # of its file

    def abilities(self) -> Abilities:
        """Return the tiers that follow; a language that was not probed to its end has none."""
        measured = {
            (purpose, code): tier
            for code, result in self.languages.items()
            if result.is_whole
            for purpose, tier in tiers(result.answers).items()
        }
        return Abilities(measured=measured)


def load(identity: str, model: str, folder: Path) -> ModelResult:
    """Return all that is known of a model: what ships, and over it what was measured here.

    Args:
        identity: The model's.
        model: As people call it.
        folder: Where results of this machine lie.
    """
    shipped = _read(SHIPPED / _file_name(identity), identity)
    here = own(identity, folder)
    whole = {code: result for code, result in here.items() if result.is_whole}
    return ModelResult(identity, model, {**here, **shipped, **whole})


def own(identity: str, folder: Path) -> dict[str, LanguageResult]:
    """Return what was measured on this machine, to its end or not."""
    return _read(folder / _file_name(identity), identity)


def save(result: ModelResult, folder: Path) -> Path:
    """Write the file of a model, all of it or nothing."""
    path, languages = folder / _file_name(result.identity), dict(sorted(result.languages.items()))
    data = msgspec.json.encode(replace(result, languages=languages))
    disk.write_atomic(path, msgspec.json.format(data, indent=2) + b"\n")
    return path


def _file_name(identity: str) -> str:
    if identity.startswith(OF_WEIGHTS):
        return f"{identity.removeprefix(OF_WEIGHTS)}.json"
    return f"{hashlib.sha256(identity.encode()).hexdigest()}.json"


def _read(path: Path, identity: str) -> dict[str, LanguageResult]:
    """Read the results in a file; one that is damaged holds none: a probe makes it anew."""
    nothing = ModelResult(identity, "")
    try:
        raw = disk.read_cache(path)
        found = nothing if raw is None else msgspec.json.decode(raw, type=ModelResult)
    except (ValueError, RecursionError):  # what is no JSON, or no UTF-8
        return {}
    return dict(found.languages) if (found.schema, found.identity) == (SCHEMA, identity) else {}
