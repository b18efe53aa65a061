"""What is known of a model before it is asked anything: window, parameters, prices, its own name.

A model behind a server is asked about itself, once a week; what only informs may stay unknown.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bumble.cli.models import models
from bumble.cli.opening import Configured
from bumble.llm import gguf
from bumble.llm.ledger import Prices
from bumble.llm.wire import WindowSource
from bumble.models.weights.choice import Choice
from bumble.text import urls

if TYPE_CHECKING:
    from bumble.llm.http_model import HttpModel
    from bumble.models.weights.catalog import CatalogEntry

IN_THE_CLOUD = "cloud"  # at the end of the names of models that Ollama asks elsewhere
NEAREST, LIKENESS = 3, 0.5  # names that are suggested, and how like they are at least
SHOWN_NAMES = 12  # of an endpoint's models
_TOLD_BY: dict[WindowSource, str] = {
    "setting": "llm.context_tokens",
    "file": "its file says so",
    "family": "as others of its family; the endpoint doesn't tell",
    "default": "nobody tells: cognition.max_context_tokens",
}


class Facts(Struct, frozen=True):
    """What is known of a model."""

    window: int  # its tokens
    used: int  # how many of these are used
    window_source: WindowSource
    parameters: int | None = None
    prices: Prices | None = None
    names: tuple[str, ...] = ()  # of the endpoint's models where it lists them without this one

    @property
    def window_line(self) -> str:
        """Say how large its window is, and who says so."""
        told = _TOLD_BY.get(self.window_source, "the endpoint says so")
        used = "" if self.used >= self.window else f", of which {self.used:,} are used"
        return f"{self.window:,} tokens{used} ({told})"


def look(opened: Configured, chosen: Choice) -> Facts:
    """Find out what is known of a model that was chosen; nothing is loaded."""
    if chosen.entry is not None:
        return _of_file(opened, chosen.entry)
    if chosen.script is not None:
        return _facts(opened, None, "default")
    endpoint = models.open_endpoint(opened, chosen, writes=True)
    try:
        return _of_endpoint(opened, endpoint)
    finally:
        endpoint.close()


def stays_here(chosen: Choice) -> bool:
    """Whether what a model is asked stays on this machine."""
    if chosen.backend in ("embedded", "script"):
        return True
    return urls.is_loopback(chosen.url) and not chosen.model.endswith(IN_THE_CLOUD)


def _of_endpoint(opened: Configured, endpoint: HttpModel) -> Facts:
    tokens, source = endpoint.window
    return _facts(
        opened,
        tokens,
        source,
        most=endpoint.context_tokens,
        parameters=endpoint.parameters,
        prices=models.prices_of(opened, endpoint),
        names=endpoint.other_names,
    )


def _of_file(opened: Configured, entry: CatalogEntry) -> Facts:
    """Read the file; where it isn't here, or can't be read, the catalog says what is known."""
    most = entry.context_tokens
    tokens = _read(opened, entry, gguf.context_tokens) or most
    parameters = _read(opened, entry, gguf.parameters)
    return _facts(opened, min(tokens, most), "file", parameters=parameters)


def _read(
    opened: Configured, entry: CatalogEntry, look: Callable[[Path], int | None]
) -> int | None:
    try:
        return look(opened.shell.weights / entry.name / entry.files[0].name)
    except (OSError, ValueError):
        return None  # not here, or damaged: what is wrong with it is said when it is loaded


def parameters(opened: Configured, chosen: Choice) -> int | None:
    """Return how many parameters a model has, where its file or its server says it."""
    if chosen.entry is not None:
        return _read(opened, chosen.entry, gguf.parameters)
    endpoint = models.open_endpoint(opened, chosen, writes=True)
    try:
        return endpoint.parameters
    finally:
        endpoint.close()


def _facts(
    opened: Configured,
    tokens: int | None,
    source: WindowSource,
    *,
    most: int | None = None,
    parameters: int | None = None,
    prices: Prices | None = None,
    names: tuple[str, ...] = (),
) -> Facts:
    limit, asked = opened.config.cognition.max_context_tokens, opened.config.llm.context_tokens
    window = tokens or limit
    if asked is not None and asked <= window:
        window, source = asked, "setting"
    used = min(limit, window, most or limit)
    return Facts(window, used, source, parameters, prices, names)


def nearest(name: str, names: tuple[str, ...]) -> list[str]:
    """Return those of some names that may have been meant, the likeliest first."""
    near = difflib.get_close_matches(name, names, NEAREST, LIKENESS)
    return near or [one for one in names if name.lower() in one.lower()][:NEAREST]


def missing(chosen: Choice, names: tuple[str, ...]) -> str:
    """Say that an endpoint doesn't have a model, and which it may be; empty where it may have it.

    Args:
        chosen: The model.
        names: Of those that the endpoint lists without it.
    """
    if not names:
        return ""
    near = nearest(chosen.model, names)
    meant = f"did you mean {' or '.join(near)}?" if near else f"it has {listed(names)}"
    return f"the endpoint does not list it; {meant}"


def listed(names: tuple[str, ...]) -> str:
    """Name an endpoint's models, not more than anybody reads."""
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(sorted(names)[:SHOWN_NAMES]) + more
