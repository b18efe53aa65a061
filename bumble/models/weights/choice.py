"""Which model talks: what the settings name, else a server or weights that are there.

A pure decision; asking servers and opening models is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bumble.entity.config import LlmConfig
from bumble.errors import UsageError
from bumble.llm import detect
from bumble.models.weights import own_models
from bumble.models.weights.catalog import Catalog, CatalogEntry
from bumble.text import printable

Backend = Literal["endpoint", "ollama", "embedded", "script"]
SCRIPT = "script:"  # `script:FILE`: answers from a file, for tests
OLLAMA = "ollama:"  # `ollama:MODEL`
DEFAULT_KEY = "OPENAI_API_KEY"  # `llm.api_key_env` as it is shipped; a provider has its own


class Choice(Struct, frozen=True):
    """The model that talks, and why it is that one."""

    backend: Backend
    model: str  # as its backend names it
    why: str
    url: str = ""  # backends "endpoint" and "ollama"; it may hold a password
    key: str = ""  # backend "endpoint": the variable, or the entry of the secrets, with its key
    entry: CatalogEntry | None = None  # backend "embedded"
    script: Path | None = None  # backend "script"


def named(config: LlmConfig, origin: str) -> Choice | None:
    """Return the model that settings name where no catalog is asked; None: choose among it.

    Args:
        config: What the settings say.
        origin: Where `llm.model` comes from, for the reason.

    Raises:
        UsageError: If an endpoint is named without a model.
    """
    name = config.model
    if name.startswith(SCRIPT):
        return Choice("script", name, origin, script=Path(name.removeprefix(SCRIPT)))
    if name.startswith(OLLAMA):
        model = name.removeprefix(OLLAMA)
        return Choice("ollama", model, f"llm.model ({origin})", url=config.ollama_url)
    if config.base_url or detect.provider_named(config.provider):
        return _endpoint(config, origin)
    return None


def choose(
    config: LlmConfig,
    catalog: Catalog,
    installed: Sequence[CatalogEntry],
    servers: Callable[[], Sequence[detect.LocalServer]],
    origin: str,
    memory_mb: int | None = None,
) -> Choice:
    """Decide.

    Args:
        config: What the settings say.
        catalog: All models that can be fetched.
        installed: Chat models that are here, best first.
        servers: Asks this machine's servers; called only if nothing is named.
        origin: Where `llm.model` comes from, for the reason.
        memory_mb: Of this machine; None: not known.

    Raises:
        RecordMissingError: If a model is named that nobody knows.
        UsageError: If it is one that can't talk, or a file that is not known yet.
    """
    if (chosen := named(config, origin)) is not None:
        return chosen
    name = config.model
    if name != "auto":
        entry = _entry(catalog, name)
        return Choice("embedded", entry.name, f"llm.model ({origin})", entry=entry)
    for server in servers():
        backend: Backend = "ollama" if server.address.kind == "ollama" else "endpoint"
        why = f"{server.address.label} is running at {printable.shown_url(server.address.url)}"
        # No key goes along: nobody named this server, so nobody meant one for it.
        return Choice(backend, server.models[0], why, url=server.base_url)
    if installed:
        return Choice("embedded", installed[0].name, "the best that is here", entry=installed[0])
    default = (catalog.of_kind("chat", memory_mb) or catalog.of_kind("chat"))[0]
    return Choice("embedded", default.name, "nothing else is here", entry=default)


def _endpoint(config: LlmConfig, origin: str) -> Choice:
    """Choose a model behind an address: the one that is set, else the provider's."""
    known = detect.provider_named(config.provider)
    if not config.base_url and known is not None:
        key = known.key if config.api_key_env in ("", DEFAULT_KEY) else config.api_key_env
        why = f"llm.provider {known.name}, llm.model ({origin})"
        if config.model == "auto":
            why = f"{known.label}'s by default: llm.provider, and llm.model is auto"
        model = known.model if config.model == "auto" else config.model
        return Choice("endpoint", model, why, url=known.url, key=key)
    if config.model == "auto":
        raise UsageError(
            f"llm.base_url is {printable.shown_url(config.base_url)}, but llm.model is auto.\n"
            "Say which of its models to use: bumble config set --user llm.model NAME"
        )
    why = f"llm.base_url ({origin})"
    return Choice("endpoint", config.model, why, url=config.base_url, key=config.api_key_env)


def _entry(catalog: Catalog, name: str) -> CatalogEntry:
    if name.startswith(own_models.HUB):
        raise UsageError(
            f"{name} is a place on the hub.\nFetch it with `bumble model pull {name}`, which says "
            "by what name it is known here."
        )
    if own_models.is_file_name(name):
        found = own_models.of_file(catalog, Path(name))
        if found is None:
            raise UsageError(f"{name}: bumble has not read this file yet; a chat does.")
        return found
    entry = catalog.entry(name)
    if entry.kind != "chat":
        raise UsageError(f"{name} is an embedding model; it can't talk.")
    return entry
