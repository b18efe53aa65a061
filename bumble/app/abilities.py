"""What the model of an entity can be trusted with: measured, overruled by settings, or scripted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from bumble.app import model_facts, output, weights
from bumble.app.model_choice import choose_model
from bumble.entity.config import AbilitiesConfig
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import RecordInvalidError, UserError
from bumble.files import disk
from bumble.llm import detect, providers
from bumble.models.abilities import probe, results, tiers
from bumble.models.abilities.results import LanguageResult, ModelResult
from bumble.models.abilities.tiers import (
    ABLE,
    ANY,
    PURPOSES,
    WRITES_FROM,
    Abilities,
    LateAbilities,
    Purpose,
    Tier,
    by_file,
    by_size,
    overruled,
)
from bumble.models.weights import choice
from bumble.runtime import spoken
from bumble.text import schema, urls

if TYPE_CHECKING:
    from bumble.app.opening import Configured, Opened
    from bumble.app.process import Shell
    from bumble.models.weights.choice import Choice
    from bumble.records.sessions import Session
    from bumble.runtime.runtime import Runtime


NOTICES = "ability_notices.json"  # models and languages of which it was said that they can't


class ModelStanding(Struct, frozen=True):
    """How far a model is trusted in a language, and why so far."""

    language: str
    talk: Tier
    memory: Tier
    why: str
    can_be_probed: bool  # there are cases, and no result of them

    @property
    def line(self) -> str:
        """Say it for people."""
        name = "any other language" if self.language == ANY else probe.name(self.language)
        return f"{name}: talk {self.talk}, memory {self.memory} ({self.why})"


def of(opened: Opened, chosen: Choice | None) -> LateAbilities:
    """Return what the model of an entity can be trusted with, looked up once it is asked for.

    Args:
        opened: The entity.
        chosen: The model; None: what the settings choose.
    """
    return LateAbilities(look=lambda: _look(opened, chosen))


def _look(opened: Configured, chosen: Choice | None) -> Abilities:
    try:
        chosen = chosen or choose_model(opened)
        measured = measured_of(opened, chosen)
    except UserError:
        measured = Abilities()  # whoever asks the model hears why there is none
    return _as_wanted(opened, measured)


def measured_of(opened: Configured, chosen: Choice) -> Abilities:
    """Return what a probe measured of a model, or a script says of its own; the rest by size."""
    if chosen.script is not None:
        return _scripted(opened, chosen)
    measured = result_of(opened.shell, chosen).abilities()
    return replace(measured, unmeasured=_unmeasured(opened, chosen)[0])


def _unmeasured(opened: Configured, chosen: Choice) -> tuple[Tier, str]:
    """Return how far a model is trusted that nobody measured, and why so far.

    One that its owner named at an endpoint writes, unless the endpoint says that it is small.
    """
    parameters = model_facts.parameters(opened, chosen)
    if parameters is not None:
        return by_size(parameters), f"by its size, {parameters / 1e9:.1f} billion parameters"
    if chosen.entry is None:
        return by_size(WRITES_FROM), "its endpoint doesn't say that it is small"
    size = chosen.entry.files[0].bytes
    return by_file(None, size), f"by its size, a file of {output.size(size)}"


def writes_by_size(opened: Configured, chosen: Choice) -> bool:
    """Whether a model is trusted to write before anybody measured it."""
    return _unmeasured(opened, chosen)[0] == "write"


def identity(chosen: Choice) -> str:
    """Return by what the results of a model are kept: the hash of its weights, else where it is."""
    if chosen.entry is not None:
        return f"{results.OF_WEIGHTS}{chosen.entry.files[0].sha256}"
    name = f"{urls.shown(chosen.url).rstrip('/')}#{chosen.model}"
    if chosen.backend != "ollama":
        return name
    return f"{name}@{detect.digest(chosen.url, chosen.model)}"  # a pull may bring another model


def result_of(shell: Shell, chosen: Choice) -> ModelResult:
    """Return what a probe measured of a model."""
    return results.load(identity(chosen), chosen.model, shell.abilities)


def standings(opened: Configured, chosen: Choice, codes: Sequence[str]) -> list[ModelStanding]:
    """Say how far a model is trusted in some languages, and in those that were measured."""
    seen = _look(opened, chosen)
    known = {} if chosen.script else result_of(opened.shell, chosen).languages
    return [
        ModelStanding(
            code,
            seen.tier("talk", code),
            seen.tier("memory", code),
            _reason(opened, chosen, known.get(code), code),
            chosen.script is None
            and code in probe.languages()
            and not (code in known and known[code].is_whole),
        )
        for code in dict.fromkeys((*codes, *sorted(known)))
    ]


def _reason(opened: Configured, chosen: Choice, result: LanguageResult | None, code: str) -> str:
    config = opened.config.llm.abilities
    wanted: tuple[tuple[Purpose, Mapping[str, Tier]], ...] = (
        ("talk", config.talk),
        ("memory", config.memory),
    )
    places = [
        _place(opened, purpose, named)
        for purpose, tiers in wanted
        if (named := code if code in tiers else ANY) in tiers
    ]
    overruling = "".join(f"; {place}" for place in dict.fromkeys(places))
    if chosen.script:
        return f"its script{overruling}"
    if result is None or not result.is_whole:
        return f"not probed; {_unmeasured(opened, chosen)[1]}{overruling}"
    return f"{measured_on(result)}{overruling}"


def measured_on(result: LanguageResult | None) -> str:
    """Say when a language was probed."""
    if result is None or not result.is_whole:
        return "not probed"
    return f"probed {result.at}"


def summary(result: LanguageResult) -> str:
    """Say on one line what a model got right in a language, and what follows."""
    counts = ", ".join(
        f"{kind} {answers.count('1')} of {len(answers)}" for kind, answers in result.answers.items()
    )
    if not result.is_whole:
        return f"{counts}; not done"
    earned = tiers.tiers(result.answers)
    return f"talk {earned['talk']}, memory {earned['memory']} ({counts})"


def say_once(
    opened: Opened, runtime: Runtime, chosen: Choice | None, session: Session, person: str
) -> None:
    """Say, in the first talk in a language that the model can't be trusted to write, that it can't.

    Args:
        opened: The entity.
        runtime: The same, to work with.
        chosen: The model.
        session: The conversation, with what the person said.
        person: Id of who speaks.
    """
    if chosen is None or chosen.script is not None:
        return
    code = spoken.language(runtime, session, person)
    if {code, ANY} & opened.config.llm.abilities.talk.keys():
        return  # whoever said so knows
    if runtime.abilities.tier("talk", code) == "write":
        return
    place = opened.entity.private / "cache" / NOTICES
    seen = _notices(place)
    notice = [identity(chosen), code]
    if notice in seen:
        return
    output.say(_notice(opened, chosen, code))
    if runtime.writes:
        disk.write_atomic(place, json.dumps([*seen, notice]).encode())


def _notices(place: Path) -> list[Any]:
    raw = disk.read_cache(place)
    try:
        seen = json.loads(raw) if raw else []
    except (ValueError, RecursionError):
        return []  # damaged: it is said again
    return seen if isinstance(seen, list) else []


def _notice(opened: Opened, chosen: Choice, code: str) -> str:
    name, shell = probe.name(code), opened.shell
    result = result_of(shell, chosen).languages.get(code)
    if result is not None and result.is_whole:
        first = f"{chosen.model} was measured, and can't be trusted to write {name} "
        first += f"({measured_on(result)})"
    else:
        first = f"{chosen.model} is a small model, so it isn't trusted to write {name} unchecked"
    then = "what you tell it is kept in your own words, and it says little"
    return f"{first}: {then}.\n{_better(opened, chosen)}"


def _better(opened: Opened, chosen: Choice) -> str:
    """Name the one command that leads this owner to a model that can."""
    if chosen.url:
        return _better_there(chosen)
    shell = opened.shell
    size = chosen.entry.bytes if chosen.entry else 0
    for better in weights.catalog_of(shell).of_kind("chat", weights.memory_mb()):
        if better.bytes > size:
            auto = opened.config.llm.model == weights.AUTO
            takes = "model pull" if auto else "config set llm.model"
            return f"A larger one: `bumble {takes} {better.name}`."
    names = ", ".join(one.name for one in providers.known())
    return (
        "It is the largest for this machine's memory. One elsewhere, to which what you say goes: "
        f"`bumble config set --user llm.provider NAME` ({names})."
    )


def _better_there(chosen: Choice) -> str:
    """Name another model of the same server; one on this machine is asked which it has."""
    prefix = choice.OLLAMA if chosen.backend == "ollama" else ""
    names = detect.names_at(chosen.url)
    others = [name for name in names if name != chosen.model]
    if len(names) == 1:  # it, by whatever name
        return (
            "That server has no other model: give it a larger one, and name that by "
            f"`bumble config set llm.model {prefix}NAME`."
        )
    if not others:
        return f"A larger one of that server: `bumble config set llm.model {prefix}NAME`."
    which = f" It has {model_facts.listed(tuple(others))}." if others[1:] else ""
    return f"Another one of that server: `bumble config set llm.model {prefix}{others[0]}`.{which}"


def _scripted(opened: Configured, chosen: Choice) -> Abilities:
    from bumble.app import models
    from bumble.llm import scripted

    path = models.script_of(opened, chosen)
    listed = scripted.abilities(path)
    if listed is None:
        return ABLE
    try:
        schema.check(AbilitiesConfig, listed)
    except schema.ValueProblem as problem:
        raise RecordInvalidError(path, f"abilities: {problem}") from problem
    return overruled(ABLE, cast("Mapping[Purpose, Mapping[str, Tier]]", listed))


def _as_wanted(opened: Configured, measured: Abilities) -> Abilities:
    """Put the settings over what was measured; a folder that isn't trusted may only lower it."""
    config = opened.config.llm.abilities
    wanted: dict[Purpose, Mapping[str, Tier]] = {"talk": config.talk, "memory": config.memory}
    of_folder = [
        (purpose, code)
        for purpose in PURPOSES
        for code in wanted[purpose]
        if not opened.settings.trusted
        and _place(opened, purpose, code).startswith(f"{ENTITY_FILE}:")
    ]
    abilities = overruled(measured, wanted, of_folder)
    for purpose, code in of_folder:
        if abilities.tier(purpose, code) != wanted[purpose][code]:
            output.warn(
                opened.shell,
                f"{_place(opened, purpose, code)}: `llm.abilities.{purpose}.{code}` is ignored: it "
                "trusts the model with more than was measured.\n"
                f"If you trust what is in it: bumble config trust {opened.root}",
            )
    return abilities


def _place(opened: Configured, purpose: Purpose, code: str) -> str:
    return opened.settings.origin(f"llm.abilities.{purpose}.{code}")
