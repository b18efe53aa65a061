"""How `bumble model show` shows a model behind a server, or a script; what any is trusted with."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from bumble.cli import output, runtimes
from bumble.cli.models import abilities, chat_model
from bumble.cli.models.abilities import ModelStanding
from bumble.cli.models.chat_model import Facts
from bumble.cli.opening import Configured, Opened
from bumble.entity import installation
from bumble.models.abilities.tiers import ANY
from bumble.models.weights.choice import Choice
from bumble.runtime import spoken
from bumble.text import urls

Rows = list[tuple[str, str]]


def trusted(opened: Configured, chosen: Choice) -> list[ModelStanding]:
    """Say what a model is trusted with: in languages that are spoken or measured, and others."""
    if chosen.entry is not None and chosen.entry.kind != "chat":
        return []
    codes: list[str] = []
    if isinstance(opened, Opened):
        with runtimes.open_runtime(opened, "model", needs_model=False) as runtime:
            codes = spoken.latest(runtime)
    return abilities.standings(opened, chosen, [*codes, ANY])


def shown(opened: Configured, chosen: Choice) -> tuple[dict[str, Any], list[str]]:
    """Return what is known of a model that no file of the catalog holds: as data, and as lines."""
    facts, standings = chat_model.look(opened, chosen), trusted(opened, chosen)
    has_key = bool(chosen.key) and _has_key(opened, chosen)
    data = {
        "name": chosen.model,
        "backend": chosen.backend,
        "why": chosen.why,
        "url": urls.shown(chosen.url) or None,
        "key": {"name": chosen.key, "set": has_key} if chosen.key else None,
        "stays_here": chat_model.stays_here(chosen),
        **asdict(facts),
        "trusted": [asdict(one) for one in standings],
    }
    rows: Rows = [("backend", chosen.backend), *_place(opened, chosen, has_key=has_key)]
    rows += [*_facts(chosen, facts), *(("trusted with", one.line) for one in standings)]
    lines = output.table([row for row in rows if row[1]], indent="  ")
    return data, [f"{chosen.model}: {chosen.why}", *lines]


def _has_key(opened: Configured, chosen: Choice) -> bool:
    shell = opened.shell
    return installation.secret(chosen.key, shell.environ, shell.secrets_file) is not None


def _place(opened: Configured, chosen: Choice, *, has_key: bool) -> Rows:
    if chosen.script is not None:
        return [("file", str(chat_model.script_of(opened, chosen)))]
    stays = "what is said stays on this machine"
    leaves = "what is said leaves this machine, with what is remembered for it"
    return [
        ("address", urls.shown(chosen.url)),
        ("key", f"{chosen.key}, {'set' if has_key else 'not set'}" if chosen.key else ""),
        ("private", stays if chat_model.stays_here(chosen) else leaves),
    ]


def _facts(chosen: Choice, facts: Facts) -> Rows:
    size = f"{facts.parameters / 1e9:.1f} billion" if facts.parameters else ""
    costs = ""
    if facts.prices is not None:
        costs = "${:g} a million tokens read, ${:g} written".format(*facts.prices)
    return [
        ("lacks", chat_model.missing(chosen, facts.names)),
        ("window", facts.window_line),
        ("parameters", size),
        ("prices", costs),
    ]
