"""How `bumble model probe` runs and shows what a model can be trusted with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from bumble.cli import commit, opening, output, runtimes
from bumble.cli.models import abilities, chat_model, weights
from bumble.cli.models.chat_model import choose_model
from bumble.cli.opening import Configured, Opened, shell_of
from bumble.errors import UsageError
from bumble.llm.protocol import Model
from bumble.models.abilities import probe, tiers
from bumble.models.abilities.results import LanguageResult, ModelResult
from bumble.models.weights.choice import Choice
from bumble.runtime import spoken
from bumble.text import urls


def run(
    ctx: typer.Context,
    entity: Path | None,
    name: str | None,
    languages: Sequence[str],
    *,
    again: bool,
    yes: bool,
) -> None:
    """Probe a model in some languages, one after the other, and say what came of it.

    Args:
        ctx: Of the command.
        entity: --entity.
        name: Of the model; None: the one that talks.
        languages: Codes; none: those spoken, else all.
        again: Whether what was measured before doesn't count.
        yes: Whether a paid model may be asked, and weights fetched.
    """
    shell = shell_of(ctx)
    opened = opening.configured(ctx, entity, llm__model=name)
    codes = list(languages) or _spoken(opened) or probe.languages()
    for code in codes:
        if code not in probe.languages():
            offered = ", ".join(probe.languages())
            raise UsageError(f"There are no cases in {code}: choose of {offered}.")
    chosen = _choose(opened, name, yes=yes)
    missing = codes if again else abilities.unmeasured(abilities.result_of(shell, chosen), codes)
    if missing and not abilities.is_free(opened, chosen):
        asked = sum(len(probe.load(code)) for code in missing)
        commit.confirm(
            shell,
            f"Ask {chosen.model} at {urls.shown(chosen.url)} {asked} short questions, which may "
            "cost money?",
            "Say --yes to ask it without being asked.",
            yes=yes,
        )
    model = chat_model.open_model(opened, chosen, writes=False)
    try:
        for code in missing:
            _measure(opened, chosen, model, code, again=again)
    finally:
        model.close()
    result = abilities.result_of(shell, chosen)
    shown = {**data(result), "probed": missing}
    measured = output.table(rows(result), indent="  ")
    output.result(shell, "model probe", shown, [chosen.model, *measured])


def _spoken(opened: Configured) -> list[str]:
    if not isinstance(opened, Opened):
        return []
    with runtimes.open_runtime(opened, "probe", needs_model=False) as runtime:
        codes = spoken.latest(runtime)
    return [code for code in codes if code in probe.languages()]


def _choose(opened: Configured, name: str | None, *, yes: bool) -> Choice:
    """Return the model; one of the catalog is meant by its name, whatever endpoint is set."""
    shell = opened.shell
    for entry in weights.catalog_of(shell).of_kind("chat"):
        if entry.name == name:
            if not weights.installed(shell, [entry]):
                weights.fetch(shell, entry, yes=yes)
            return Choice("embedded", entry.name, "it was named", entry=entry)
    return choose_model(opened, yes=yes)


def _measure(opened: Configured, chosen: Choice, model: Model, code: str, *, again: bool) -> None:
    name = probe.name(code)
    total = len(probe.load(code))
    bar = output.Progress(name, opened.shell.environ)
    started = time.monotonic()

    def note(part: LanguageResult) -> None:
        bar(sum(map(len, part.answers.values())), total)

    try:
        result = abilities.measure(opened, chosen, model, code, note, again=again)
    except KeyboardInterrupt:
        bar.clear()
        output.say(f"{name}: what is done is kept; `bumble model probe` goes on from there.")
        raise
    finally:
        bar.clear()
    output.say(
        f"{name}: {time.monotonic() - started:.0f} s, {result.cpu_seconds:.0f} s of processor time"
    )


def rows(result: ModelResult) -> list[tuple[str, str]]:
    """Say for a list what a model got right, by language."""
    return [
        (
            probe.name(code),
            f"{abilities.measured_on(one)}: {abilities.summary(one)}",
        )
        for code, one in sorted(result.languages.items())
    ]


def data(result: ModelResult) -> dict[str, Any]:
    """Return what a model can be trusted with as data."""
    return {
        "model": result.model,
        "identity": result.identity,
        "languages": {code: _language(one) for code, one in sorted(result.languages.items())},
    }


def _language(result: LanguageResult) -> dict[str, Any]:
    return {
        "at": result.at,
        "version": result.version,
        "done": result.is_whole,
        "tiers": tiers.tiers(result.answers) if result.is_whole else None,
        "right": {kind: answers.count("1") for kind, answers in result.answers.items()},
        "of": {kind: len(answers) for kind, answers in result.answers.items()},
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
    }
