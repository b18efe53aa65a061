"""Which model talks, from the settings, this machine's servers and weights; its window.

Imports neither models nor memory, so that `status` can tell without opening either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bumble.cli.models import weights
from bumble.cli.opening import Configured, Opened
from bumble.llm import detect, providers
from bumble.models.weights import choice
from bumble.models.weights.choice import Choice

if TYPE_CHECKING:
    from bumble.models.weights.catalog import Catalog, CatalogEntry
    from bumble.records.sessions import Session


def choose_model(opened: Configured, *, yes: bool | None = None) -> Choice:
    """Decide which model talks, fetching the weights of an embedded one if need be.

    Args:
        opened: The settings.
        yes: Whether fetching is agreed to; None fetches nothing, for commands that only look.
    """
    shell, config = opened.shell, opened.config.llm
    config = weights.with_own_file(shell, config, opened.settings.origin("llm.model"))
    named = choice.named(config, opened.settings.origin("llm.model"))
    if named is not None:
        return named
    catalog = weights.catalog_of(shell)
    here = weights.installed(shell, catalog.of_kind("chat"))
    chosen = choice.choose(
        config,
        catalog,
        here,
        lambda: detect.servers(detect.addresses(config.ollama_url, config.probe_urls)),
        opened.settings.origin("llm.model"),
        weights.memory_mb(),
    )
    if chosen.entry is None or chosen.entry in here or yes is None:
        return chosen
    return _fetched(opened, catalog, chosen, yes=yes)


def _fetched(opened: Configured, catalog: Catalog, chosen: Choice, *, yes: bool) -> Choice:
    entry: CatalogEntry
    weights.require_engine()
    if opened.config.llm.model == "auto":
        entry = weights.chat_model(opened.shell, catalog, yes=yes)
    else:
        entry = catalog.entry(chosen.model)
        weights.fetch(opened.shell, entry, yes=yes)
    return Choice("embedded", entry.name, "it was just fetched", entry=entry)


def is_open(opened: Configured) -> bool:
    """Whether nothing was said about the model, and somebody is there to be asked."""
    config = opened.config.llm
    known = providers.named(config.provider)
    said = config.model != weights.AUTO or config.base_url or known is not None
    return opened.shell.interactive and not opened.shell.json and not said


def window(opened: Configured) -> int:
    """Return the context window to ask for, in tokens."""
    return opened.config.llm.context_tokens or opened.config.cognition.max_context_tokens


def stable_tokens(opened: Opened, talk: Session | None) -> int:
    """Estimate the tokens of the system prompt of a conversation; of the owner's without one."""
    from bumble.chat import tools
    from bumble.prompt import system
    from bumble.runtime.people import owner_id
    from bumble.text import tokens

    readers = talk.people if talk else (owner_id(opened.entity, opened.identity),)
    declared = tools.declared(opened.config.tools)
    stable = system.of_entity(
        opened.entity, opened.identity, declared, opened.config.prompt, readers
    )
    return tokens.estimate_message(stable.text)
