"""What a model can be trusted with: measured by a probe, overruled by settings, or scripted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from bumble.cli import output, process
from bumble.cli.models import chat_model, weights
from bumble.cli.opening import Configured, Opened
from bumble.entity.config import AbilitiesConfig
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import RecordInvalidError, UserError
from bumble.files import disk
from bumble.llm import detect, protocol, scripted
from bumble.models import probe, tiers
from bumble.models.weights import choice
from bumble.records.sessions import Session
from bumble.runtime import job, locks, spoken
from bumble.runtime.runtime import Runtime
from bumble.text import languages, printable, schema

NOTICES = "ability_notices.json"  # models and languages of which it was said that they can't


class ModelStanding(Struct, frozen=True):
    """How far a model is trusted in a language, and why so far."""

    language: str
    talk: tiers.Tier
    memory: tiers.Tier
    why: str
    can_be_probed: bool  # there are cases, and no result of them

    @property
    def line(self) -> str:
        """Say it for people."""
        code = self.language
        name = "any other language" if code == tiers.ANY else languages.name(code)
        return f"{name}: talk {self.talk}, memory {self.memory} ({self.why})"


def of(opened: Opened, chosen: choice.Choice | None) -> Callable[[], tiers.Abilities]:
    """Return what looks up, once, what the model of an entity can be trusted with.

    Args:
        opened: The entity.
        chosen: The model; None: what the settings choose.
    """
    return cache(partial(_look, opened, chosen))


def _look(opened: Configured, chosen: choice.Choice | None) -> tiers.Abilities:
    try:
        chosen = chosen or chat_model.choose_model(opened)
        measured = measured_of(opened, chosen)
    except UserError:
        measured = tiers.Abilities()  # whoever asks the model hears why there is none
    wanted = _wanted(opened)
    of_folder = [
        (purpose, code)
        for purpose in tiers.PURPOSES
        for code in wanted[purpose]
        if not opened.settings.trusted
        and _place(opened, purpose, code).startswith(f"{ENTITY_FILE}:")
    ]
    abilities = tiers.overruled(measured, wanted, of_folder)
    for purpose, code in of_folder:
        if abilities.tier(purpose, code) != wanted[purpose][code]:
            output.warn(
                opened.shell,
                f"{_place(opened, purpose, code)}: `llm.abilities.{purpose}.{code}` is ignored: it "
                "trusts the model with more than was measured.\n"
                f"If you trust what is in it: bumble config trust {opened.root}",
            )
    return abilities


def _wanted(opened: Configured) -> dict[tiers.Purpose, Mapping[str, tiers.Tier]]:
    """Return what the owner says that the model may do, by language."""
    said = opened.config.llm.abilities
    return {"talk": said.talk, "memory": said.memory}


def measured_of(opened: Configured, chosen: choice.Choice) -> tiers.Abilities:
    """Return what a probe measured of a model, or a script says of its own; the rest by size."""
    if chosen.script is not None:
        path = chat_model.script_of(opened, chosen)
        if (listed := scripted.abilities(path)) is None:
            return tiers.ABLE
        try:
            schema.check(AbilitiesConfig, listed)
        except schema.ValueProblem as problem:
            raise RecordInvalidError(path, f"abilities: {problem}") from problem
        return tiers.overruled(
            tiers.ABLE, cast("Mapping[tiers.Purpose, Mapping[str, tiers.Tier]]", listed)
        )
    measured = result_of(opened.shell, chosen).abilities()
    return replace(measured, unmeasured=_unmeasured(opened, chosen)[0])


def _unmeasured(opened: Configured, chosen: choice.Choice) -> tuple[tiers.Tier, str]:
    """Return how far a model is trusted that nobody measured, and why so far.

    One that its owner named at an endpoint writes, unless the endpoint says that it is small.
    """
    if (parameters := chat_model.look(opened, chosen).parameters) is not None:
        return tiers.by_size(parameters), f"by its size, {parameters / 1e9:.1f} billion parameters"
    if chosen.entry is None:
        return tiers.by_size(tiers.WRITES_FROM), "its endpoint doesn't say that it is small"
    size = chosen.entry.files[0].bytes
    return tiers.by_file(size), f"by its size, a file of {output.size(size)}"


def identity_of(chosen: choice.Choice) -> str:
    """Return by what the results of a model are kept: the hash of its weights, else where it is."""
    if chosen.entry is not None:
        return f"{tiers.OF_WEIGHTS}{chosen.entry.files[0].sha256}"
    name = f"{printable.shown_url(chosen.url).rstrip('/')}#{chosen.model}"
    if chosen.backend != "ollama":
        return name
    return f"{name}@{detect.digest(chosen.url, chosen.model)}"  # a pull may bring another model


def result_of(shell: process.Shell, chosen: choice.Choice) -> tiers.ModelResult:
    """Return what a probe measured of a model."""
    return tiers.load(identity_of(chosen), chosen.model, shell.abilities)


def standings(
    opened: Configured, chosen: choice.Choice, codes: Sequence[str]
) -> list[ModelStanding]:
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


def _reason(
    opened: Configured, chosen: choice.Choice, result: tiers.LanguageResult | None, code: str
) -> str:
    places = [
        _place(opened, purpose, named)
        for purpose, own in _wanted(opened).items()
        if (named := code if code in own else tiers.ANY) in own
    ]
    overruling = "".join(f"; {place}" for place in dict.fromkeys(places))
    if chosen.script:
        return f"its script{overruling}"
    if result is None or not result.is_whole:
        return f"not probed; {_unmeasured(opened, chosen)[1]}{overruling}"
    return f"probed {result.at}{overruling}"


def summary(result: tiers.LanguageResult) -> str:
    """Say on one line what a model got right in a language, and what follows."""
    counts = ", ".join(
        f"{kind} {answers.count('1')} of {len(answers)}" for kind, answers in result.answers.items()
    )
    if not result.is_whole:
        return f"{counts}; not done"
    earned = tiers.tiers(result.answers)
    return f"talk {earned['talk']}, memory {earned['memory']} ({counts})"


def say_once(
    opened: Opened, runtime: Runtime, chosen: choice.Choice | None, session: Session, person: str
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
    found = runtime.abilities()
    if {found.unmeasured, *found.measured.values()} == {"write"}:
        return  # whatever the language is: to tell it, transcripts may have to be read
    code = spoken.language(runtime, session, person)
    said = {code, tiers.ANY} & opened.config.llm.abilities.talk.keys()  # whoever said so knows
    if said or found.tier("talk", code) == "write":
        return
    kept = opened.cached(NOTICES)
    seen = kept if isinstance(kept, list) else []  # damaged: it is said again
    notice = [identity_of(chosen), code]
    if notice in seen:
        return
    name, shell = languages.name(code), opened.shell
    result = result_of(shell, chosen).languages.get(code)
    first = f"{chosen.model} is a small model, so it isn't trusted to write {name} unchecked"
    if result is not None and result.is_whole:
        measured = f"{chosen.model} was measured, and can't be trusted to write {name}"
        first = f"{measured} (probed {result.at})"
    then = "what you tell it is kept in your own words, and it says little"
    output.say(f"{first}: {then}.\n{_better(opened, chosen)}")
    if runtime.writes:
        place = opened.entity.private / "cache" / NOTICES
        disk.write_cache(place, json.dumps([*seen, notice]).encode())


def _better(opened: Opened, chosen: choice.Choice) -> str:
    """Name the one command that leads this owner to a model that can."""
    if chosen.url:
        prefix = choice.OLLAMA if chosen.backend == "ollama" else ""
        return f"A larger one of that server: `bumble config set llm.model {prefix}NAME`."
    size = chosen.entry.bytes if chosen.entry else 0
    for better in weights.catalog_of(opened.shell).of_kind("chat", weights.memory_mb()):
        if better.bytes > size:
            auto = opened.config.llm.model == weights.AUTO
            takes = "model pull" if auto else "config set llm.model"
            return f"A larger one: `bumble {takes} {better.name}`."
    names = ", ".join(one.name for one in detect.providers())
    return (
        "It is the largest for this machine's memory. One elsewhere, to which what you say goes: "
        f"`bumble config set --user llm.provider NAME` ({names})."
    )


def _place(opened: Configured, purpose: tiers.Purpose, code: str) -> str:
    return opened.settings.origin(f"llm.abilities.{purpose}.{code}")


class StoppedError(Exception):
    """Somebody talks: the rest of a probe waits."""


def is_free(opened: Configured, chosen: choice.Choice) -> bool:
    """Whether asking a model costs nothing but time: it runs on this machine, and wants no key."""
    if not chat_model.stays_here(chosen):
        return False
    return chosen.backend != "endpoint" or not chat_model.has_key(opened.shell, chosen.key)


def unmeasured(result: tiers.ModelResult, codes: Sequence[str]) -> list[str]:
    """Return those of some languages that have cases, and no whole result of this probe."""
    return [
        code
        for code in codes
        if code in probe.languages()
        and not (
            (found := result.languages.get(code))
            and found.is_whole
            and found.version == probe.VERSION
        )
    ]


def measure(
    opened: Configured,
    chosen: choice.Choice,
    model: protocol.Model,
    language: str,
    note: probe.Note,
    *,
    again: bool = False,
) -> tiers.LanguageResult:
    """Ask a model what is left of the cases of a language, and keep what it got right.

    Args:
        opened: The settings.
        chosen: Which model it is.
        model: The same, to be asked.
        language: Code of one that there are cases in.
        note: Hears of each case; it may raise.
        again: Whether what was measured before doesn't count; it stays until all is measured anew.

    Raises:
        UserError: If the model can't be asked; what came until then is kept.
    """
    folder, identity = opened.shell.abilities, identity_of(chosen)
    before = tiers.own(identity, folder).get(language)
    result = probe.start(opened.shell.now().date().isoformat(), None if again else before)

    def keep(part: tiers.LanguageResult) -> None:
        if part.is_whole or before is None or not before.is_whole:
            languages = {**tiers.own(identity, folder), language: part}
            tiers.save(tiers.ModelResult(identity, chosen.model, languages), folder)
        note(part)

    return probe.run(model, probe.left(language, result), result, keep)


def as_pass(opened: Opened) -> job.Pass:
    """Return the pass of a tick that probes the entity's model in the languages spoken to it."""
    return job.Pass("probe", partial(_check, opened), partial(_run, opened))


def _check(opened: Opened, runtime: Runtime) -> job.Due[str]:
    """Find the languages to be probed, by their codes."""
    if not runtime.writes:  # a dry run: the answers would be lost
        return job.Due((), ())
    try:
        chosen = chat_model.choose_model(opened)
        reason = _obstacle(opened, chosen)
    except UserError as error:
        reason = str(error).splitlines()[0]
    if reason:
        return job.Due((_ready(reason),), ())
    known, said = result_of(opened.shell, chosen), _wanted(opened).values()
    missing = [
        code
        for code in unmeasured(known, probe.languages()) and opened.spoken
        # what the owner said of all of it leaves nothing to measure
        if unmeasured(known, [code]) and not all({code, tiers.ANY} & own.keys() for own in said)
    ]
    value = ", ".join(missing) or "none"
    languages = job.Condition("languages", value, "one that is spoken, not probed", bool(missing))
    return job.Due((_ready(""), languages), tuple(missing))


def _ready(obstacle: str) -> job.Condition:
    value = obstacle or "it is on this machine"
    return job.Condition("model", value, "one on this machine, without a key", not obstacle)


def _obstacle(opened: Opened, chosen: choice.Choice) -> str:
    """Say why a model is not probed unasked; empty: it may be."""
    if chosen.script is not None:
        return "a script says itself what it may do"
    if not weights.is_here(opened, chosen):
        return f"{chosen.model} is not here"
    if _unmeasured(opened, chosen)[0] == "write":
        return f"{chosen.model} is large enough to be trusted without"
    return "" if is_free(opened, chosen) else "it may cost money: `bumble model probe` asks it"


def _run(opened: Opened, runtime: Runtime, code: str) -> job.JobResult:
    name, chosen = languages.name(code), chat_model.choose_model(opened)

    def note(_: tiers.LanguageResult) -> None:
        if locks.is_turn_running(opened.entity):
            raise StoppedError

    try:
        result = measure(opened, chosen, runtime.model, code, note)
    except StoppedError:
        return _result(f"{name}: somebody talks, the rest waits")
    except job.NO_ANSWER as error:
        return _result(f"{name} waits: {str(error).splitlines()[0]}")
    return _result(f"{name}: {summary(result)}")


def _result(line: str) -> job.JobResult:
    return job.JobResult(f"probe: {line}", lambda: (), (line,))
