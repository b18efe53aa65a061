"""Probing the model of an entity, or any that can be named: by command, and by `tick`.

What came of it is written after each case, so that whatever stops a probe loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from bumble.app import abilities, model_facts, weights
from bumble.app.model_choice import choose_model
from bumble.entity import installation
from bumble.errors import UserError
from bumble.jobs import locks
from bumble.models.abilities import probe, probe_cases, results
from bumble.models.abilities.probe import Note
from bumble.models.abilities.results import LanguageResult, ModelResult
from bumble.models.abilities.tiers import ANY
from bumble.runtime import spoken
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobResult
from bumble.runtime.runner import Pass

if TYPE_CHECKING:
    from bumble.app.opening import Configured, Opened
    from bumble.llm.protocol import Model
    from bumble.models.weights.choice import Choice
    from bumble.runtime.runtime import Runtime


class ProbeJob(Struct, frozen=True):
    """One language to be probed by `tick`."""

    language: str


class StoppedError(Exception):
    """Somebody talks: the rest of a probe waits."""


def is_free(opened: Configured, chosen: Choice) -> bool:
    """Whether asking a model costs nothing but time: it runs on this machine, and wants no key."""
    if not model_facts.stays_here(chosen):
        return False
    if chosen.backend != "endpoint":
        return True
    shell = opened.shell
    return installation.secret(chosen.key, shell.environ, shell.secrets_file) is None


def unmeasured(result: ModelResult, codes: Sequence[str]) -> list[str]:
    """Return those of some languages that have cases, and no whole result of this probe."""
    return [
        code
        for code in codes
        if code in probe_cases.languages() and not _is_measured(result.languages.get(code))
    ]


def _is_measured(result: LanguageResult | None) -> bool:
    return result is not None and result.is_whole and result.version == probe.VERSION


def measure(
    opened: Configured,
    chosen: Choice,
    model: Model,
    language: str,
    note: Note,
    *,
    again: bool = False,
) -> LanguageResult:
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
    folder, identity = opened.shell.abilities, abilities.identity(chosen)
    before = results.own(identity, folder).get(language)
    result = probe.start(opened.shell.now().date().isoformat(), None if again else before)

    def keep(part: LanguageResult) -> None:
        if part.is_whole or before is None or not before.is_whole:
            others = results.own(identity, folder)
            results.save(ModelResult(identity, chosen.model, {**others, language: part}), folder)
        note(part)

    return probe.run(model, probe.left(language, result), result, keep)


def as_pass(opened: Opened) -> Pass:
    """Return the pass of a tick that probes the entity's model in the languages spoken to it."""

    def check(runtime: Runtime) -> Due[ProbeJob]:
        if not runtime.writes:  # a dry run: the answers would be lost
            return Due((), ())
        return _check(opened, runtime)

    def run(runtime: Runtime, job: ProbeJob) -> JobResult:
        return _run(opened, runtime, job)

    return Pass("probe", check, run)


def _check(opened: Opened, runtime: Runtime) -> Due[ProbeJob]:
    try:
        chosen = choose_model(opened)
        reason = _obstacle(opened, chosen)
    except UserError as error:
        return Due((_ready(str(error).splitlines()[0]),), ())
    if reason:
        return Due((_ready(reason),), ())
    known = results.load(abilities.identity(chosen), chosen.model, opened.shell.abilities)
    missing = [
        code
        for code in unmeasured(known, probe_cases.languages()) and spoken.latest(runtime)
        if unmeasured(known, [code]) and not _is_overruled(opened, code)
    ]
    value = ", ".join(missing) or "none"
    languages = Condition("languages", value, "one that is spoken, not probed", bool(missing))
    return Due((_ready(""), languages), tuple(map(ProbeJob, missing)))


def _is_overruled(opened: Opened, code: str) -> bool:
    """Whether the owner said what the model may do in a language: nothing is left to measure."""
    config = opened.config.llm.abilities
    return all({code, ANY} & wanted.keys() for wanted in (config.talk, config.memory))


def _ready(obstacle: str) -> Condition:
    value = obstacle or "it is on this machine"
    return Condition("model", value, "one on this machine, without a key", not obstacle)


def _obstacle(opened: Opened, chosen: Choice) -> str:
    """Say why a model is not probed unasked; empty: it may be."""
    if chosen.script is not None:
        return "a script says itself what it may do"
    if not weights.is_here(opened, chosen):
        return f"{chosen.model} is not here"
    if abilities.writes_by_size(opened, chosen):
        return f"{chosen.model} is large enough to be trusted without"
    return "" if is_free(opened, chosen) else "it may cost money: `bumble model probe` asks it"


def _run(opened: Opened, runtime: Runtime, job: ProbeJob) -> JobResult:
    name = probe_cases.name(job.language)
    chosen = choose_model(opened)

    def note(_: LanguageResult) -> None:
        if locks.is_turn_running(opened.entity):
            raise StoppedError

    try:
        result = measure(opened, chosen, runtime.model, job.language, note)
    except StoppedError:
        return _result(f"{name}: somebody talks, the rest waits")
    except NO_ANSWER as error:
        return _result(f"{name} waits: {str(error).splitlines()[0]}")
    return _result(f"{name}: {abilities.summary(result)}")


def _result(line: str) -> JobResult:
    return JobResult(f"probe: {line}", lambda: (), (line,))
