"""How `bumble model` shows a model of a server or a script, and probes it; which one shall talk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import asdict

from bumble.cli import listing, opening, output, process, setting_files, writing
from bumble.cli.models import abilities, chat_model, weights
from bumble.entity import settings
from bumble.errors import CredentialsError
from bumble.llm import detect, protocol
from bumble.models import probe, tiers
from bumble.models.weights.catalog import CatalogEntry
from bumble.models.weights.choice import OLLAMA, Backend, Choice
from bumble.text import languages, printable

Rows = list[tuple[str, str]]


def trusted(opened: opening.Configured, chosen: Choice) -> list[abilities.ModelStanding]:
    """Say what a model is trusted with: in languages that are spoken or measured, and others."""
    if chosen.entry is not None and chosen.entry.kind != "chat":
        return []
    return abilities.standings(opened, chosen, [*opened.spoken, tiers.ANY])


def shown(opened: opening.Configured, chosen: Choice) -> tuple[dict[str, Any], list[str]]:
    """Return what is known of a model that no file of the catalog holds: as data, and as lines."""
    facts, standings = chat_model.look(opened, chosen), trusted(opened, chosen)
    has_key = bool(chosen.key) and chat_model.has_key(opened.shell, chosen.key)
    data = {
        "name": chosen.model,
        "backend": chosen.backend,
        "why": chosen.why,
        "url": printable.shown_url(chosen.url) or None,
        "key": {"name": chosen.key, "set": has_key} if chosen.key else None,
        "stays_here": chat_model.stays_here(chosen),
        **asdict(facts),
        "trusted": [asdict(one) for one in standings],
    }
    costs = "${:g} a million tokens read, ${:g} written"
    rows: Rows = [
        ("backend", chosen.backend),
        *_place(opened, chosen, has_key=has_key),
        ("lacks", chat_model.missing(chosen, facts.names)),
        ("window", facts.window_line),
        ("parameters", f"{facts.parameters / 1e9:.1f} billion" if facts.parameters else ""),
        ("prices", costs.format(*facts.prices) if facts.prices else ""),
        *(("trusted with", one.line) for one in standings),
    ]
    lines = output.table([row for row in rows if row[1]], indent="  ")
    return data, [f"{chosen.model}: {chosen.why}", *lines]


def _place(opened: opening.Configured, chosen: Choice, *, has_key: bool) -> Rows:
    if chosen.script is not None:
        return [("file", str(chat_model.script_of(opened, chosen)))]
    stays = "what is said stays on this machine"
    leaves = "what is said leaves this machine, with what is remembered for it"
    return [
        ("address", printable.shown_url(chosen.url)),
        ("key", f"{chosen.key}, {'set' if has_key else 'not set'}" if chosen.key else ""),
        ("private", stays if chat_model.stays_here(chosen) else leaves),
    ]


def probe_model(
    shell: process.Shell,
    entity: Path | None,
    name: str | None,
    languages: Sequence[str],
    *,
    again: bool,
    yes: bool,
) -> None:
    """Probe a model in some languages, one after the other, and say what came of it.

    Args:
        shell: The process.
        entity: --entity.
        name: Of the model; None: the one that talks.
        languages: Codes; none: those spoken, else all.
        again: Whether what was measured before doesn't count.
        yes: Whether a paid model may be asked, and weights fetched.
    """
    opened = opening.configured(shell, entity, llm__model=name)
    known = [code for code in opened.spoken if code in probe.languages()]
    codes = list(languages) or known or probe.languages()
    for code in codes:
        listing.choice("language with cases", code, probe.languages())
    chosen = meant(opened, name, yes=yes)
    missing = codes if again else abilities.unmeasured(abilities.result_of(shell, chosen), codes)
    if missing and not abilities.is_free(opened, chosen):
        asked = sum(len(probe.load(code)) for code in missing)
        writing.confirm(
            shell,
            f"Ask {chosen.model} at {printable.shown_url(chosen.url)} {asked} short questions, "
            "which may cost money?",
            "Say --yes to ask it without being asked.",
            yes=yes,
        )
    with closing(chat_model.open_model(opened, chosen, writes=False)) as model:
        for code in missing:
            _measure(opened, chosen, model, code, again=again)
    result = abilities.result_of(shell, chosen)
    measured = output.table(probed_rows(result), indent="  ")
    output.result(
        shell, "model probe", {**probed_data(result), "probed": missing}, [chosen.model, *measured]
    )


def meant(opened: opening.Configured, name: str | None, *, yes: bool | None = None) -> Choice:
    """Return the model; one of the catalog is meant by its name, whatever endpoint is set.

    Args:
        opened: The settings.
        name: Of the model; None: the one that talks.
        yes: Whether weights are fetched without asking; None fetches nothing.
    """
    for entry in weights.catalog_of(opened.shell):
        if entry.name == name:
            if yes is not None and not weights.installed(opened.shell, [entry]):
                weights.fetch(opened.shell, [entry], yes=yes)
            return Choice("embedded", entry.name, "it was named", entry=entry)
    return chat_model.choose_model(opened, yes=yes)


def _measure(
    opened: opening.Configured, chosen: Choice, model: protocol.Model, code: str, *, again: bool
) -> None:
    name, total = languages.name(code), len(probe.load(code))
    environ, started = opened.shell.environ, time.monotonic()

    try:
        result = abilities.measure(
            opened,
            chosen,
            model,
            code,
            lambda part: output.progress(
                name, environ, sum(map(len, part.answers.values())), total
            ),
            again=again,
        )
    except KeyboardInterrupt:
        output.say(f"{name}: what is done is kept; `bumble model probe` goes on from there.")
        raise
    output.say(
        f"{name}: {time.monotonic() - started:.0f} s, {result.cpu_seconds:.0f} s of processor time"
    )


def probed_rows(result: tiers.ModelResult) -> list[tuple[str, str]]:
    """Say for a list what a model got right, by language."""
    return [
        (
            languages.name(code),
            f"{f'probed {one.at}' if one.is_whole else 'not probed'}: {abilities.summary(one)}",
        )
        for code, one in sorted(result.languages.items())
    ]


def probed_data(result: tiers.ModelResult) -> dict[str, Any]:
    """Return what a model can be trusted with as data."""
    return {
        "model": result.model,
        "identity": result.identity,
        "languages": {
            code: {
                "at": one.at,
                "version": one.version,
                "done": one.is_whole,
                "tiers": tiers.tiers(one.answers) if one.is_whole else None,
                "right": {kind: answers.count("1") for kind, answers in one.answers.items()},
                "of": {kind: len(answers) for kind, answers in one.answers.items()},
                "seconds": one.seconds,
                "cpu_seconds": one.cpu_seconds,
            }
            for code, one in sorted(result.languages.items())
        },
    }


MOST_OF_A_SERVER = 5  # models that are offered of one
HERE = "on this machine, which nothing leaves"
LEAVES = "what you say, and what is remembered for it, goes to"


class Option(Struct, frozen=True):
    """A model that may be chosen, and what it would mean."""

    line: str
    settings: dict[str, str]  # what is to be set
    fetches: CatalogEntry | None = None  # weights that come with it


def ask(opened: opening.Configured) -> bool:
    """Ask which model shall talk, if there is a choice, and keep the answer; whether it was kept.

    Args:
        opened: The settings, in which nothing is said about it.
    """
    shell = opened.shell
    output.sign("looks for models …", shell.environ)
    servers, leaving = list(_of_servers(opened)), list(_of_providers(shell))
    own = _embedded(shell) if servers or leaving else ()
    local, cloud = ([one for is_here, one in servers if is_here is here] for here in (True, False))
    offered = [*local, *own, *cloud, *leaving]  # first what is chosen without asking
    if len(offered) <= 1:
        return False
    options = {str(number): option for number, option in enumerate(offered, 1)}
    output.say("Which model shall talk?")
    for number, option in options.items():
        output.say(f"  {number}  {option.line}")
    check = partial(listing.choice, "number", offered=options)
    chosen = options[output.asked(f"By number, 1 to {len(options)}", "1", check)]
    place = setting_files.users(shell)

    def plan(text: str) -> str:
        for key, value in chosen.settings.items():
            text = settings.plan_set(text, key, value, file=str(place.path))
        return text

    setting_files.edit(shell, place, plan, "config: the model that talks", dry_run=False)
    output.say(f"Kept in {place.path}; `bumble config set --user llm.model NAME` changes it.")
    if chosen.fetches is not None:
        weights.fetch(shell, [chosen.fetches], yes=True)
    return True


def _of_servers(opened: opening.Configured) -> Iterator[tuple[bool, Option]]:
    """Yield the models of the servers that answer, each with whether what is said stays here."""
    config = opened.config.llm
    for server in detect.servers(detect.addresses(config.ollama_url, config.probe_urls)):
        kind: Backend = "ollama" if server.address.kind == "ollama" else "endpoint"
        is_here = printable.is_loopback(server.base_url)
        cloud = "Ollama's cloud" if is_here else printable.shown_url(server.base_url)
        for name in server.models[:MOST_OF_A_SERVER]:
            stays = chat_model.stays_here(Choice(kind, name, "", url=server.base_url))
            size = f", {output.size(server.sizes[name])}" if name in server.sizes else ""
            where = f"{HERE}{size}" if stays else f"{LEAVES} {cloud}, which may cost money"
            settings = {"llm.model": f"{OLLAMA}{name}"}
            if kind == "endpoint":  # nobody meant a key for it
                settings = {
                    "llm.base_url": server.base_url,
                    "llm.api_key_env": "",
                    "llm.model": name,
                }
            yield stays, Option(f"{name} of {server.address.label}: {where}", settings)


def _embedded(shell: process.Shell) -> Iterator[Option]:
    """Yield the model that bumble would run itself: the best that is here, or can be fetched."""
    if detect.problem():
        return
    entries = weights.catalog_of(shell).of_kind("chat", weights.memory_mb())
    here = weights.installed(shell, entries)
    offer = None if here else weights.offer_of(shell, entries)
    entry = here[0] if here else offer.entry if offer else None
    if entry is None:
        return
    size = output.size(entry.bytes)
    what = f"{size}, is here" if here else f"{size} to be fetched once, {entry.licence}"
    line = f"{entry.name} inside bumble: {HERE}, {what}"
    yield Option(line, {"llm.model": entry.name}, None if here else entry)


def _of_providers(shell: process.Shell) -> Iterator[Option]:
    """Yield a model of each provider that there is a key for; nothing is asked of any."""
    for provider in detect.providers():
        try:
            has_key = chat_model.has_key(shell, provider.key)
        except CredentialsError as error:
            output.warn(shell, str(error))
            continue
        if has_key:
            host = urlsplit(provider.url).hostname
            where = f"{LEAVES} {host}, at its prices, by your {provider.key}"
            settings = {"llm.provider": provider.name, "llm.model": provider.model}
            yield Option(f"{provider.model} of {provider.label}: {where}", settings)
