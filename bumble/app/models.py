"""Opening the model that the settings choose: embedded, on a server, or a script; its ledger."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from bumble.app import output, weights
from bumble.app.model_choice import choose_model, window
from bumble.app.opening import Configured, Opened, with_settings
from bumble.entity import installation
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import UserError
from bumble.files import disk
from bumble.llm import budget
from bumble.llm.budget import Budgeted, Limits
from bumble.llm.ledger import Prices, Recorded
from bumble.llm.protocol import Model
from bumble.llm.stream_timeouts import Timeouts
from bumble.llm.wrappers import AbsentModel, LazyModel
from bumble.models.weights import store
from bumble.models.weights.choice import Choice
from bumble.text import urls

if TYPE_CHECKING:
    from bumble.llm.http_model import HttpModel


def lazy_model(opened: Opened, command: str, *, yes: bool, needed: bool = True) -> LazyModel:
    """Return the model of an entity's settings, opened once it is asked something.

    Args:
        opened: The entity.
        command: For the ledger.
        yes: Whether weights may be fetched without asking.
        needed: False: nothing is fetched, and where there is none an absent model stands for it.
    """

    def opens() -> Model:
        try:
            chosen = choose_model(opened, yes=yes if needed else None)
            model = open_model(opened, chosen, writes=True)
        except UserError as error:
            if needed:
                raise
            return AbsentModel(error)
        return recorded(opened, model, command, writes=True)

    return LazyModel(opens)


def dreaming(opened: Opened) -> Opened:
    """Return an entity with the model that it dreams with, where that is another."""
    model = opened.config.soma.dreams.model
    return with_settings(opened, llm__model=model) if model else opened


def budgeted(opened: Opened, model: Model, *, calls: int | None) -> Budgeted:
    """Wrap a model so that it answers while the budget of the day lasts, and so many calls."""
    now, zone = opened.shell.now, ZoneInfo(opened.identity.timezone)
    limits = Limits(
        calls,
        opened.config.limits.tokens_per_day,
        lambda: budget.today(opened.entity.ledger, now(), zone),
    )
    return Budgeted(model, limits)


def open_model(opened: Configured, chosen: Choice, *, writes: bool) -> Model:
    """Open the model that was chosen; nothing is loaded or asked yet."""
    if chosen.script is not None:
        from bumble.llm import scripted

        script = script_of(opened, chosen)
        return scripted.ScriptedModel(scripted.read(script), name=chosen.model)
    if chosen.backend == "embedded":
        return _embedded(opened, chosen, writes=writes)
    return open_endpoint(opened, chosen, writes=writes)


def open_endpoint(opened: Configured, chosen: Choice, *, writes: bool) -> HttpModel:
    """Open a model behind a server; nothing is asked yet."""
    from bumble.llm import ollama, openai_compatible
    from bumble.llm.habits import HabitFile

    config, shell = opened.config.llm, opened.shell
    timeouts = Timeouts(
        connect_seconds=config.connect_timeout_seconds,
        first_token_seconds=config.first_token_timeout_seconds,
        silence_seconds=config.silence_timeout_seconds,
    )
    key = f"{urls.shown(chosen.url)}#{chosen.model}"
    habits = HabitFile(shell.habits, key, shell.now, writes=writes)
    if chosen.backend == "ollama":
        return ollama.connect(
            chosen.model,
            host=chosen.url,
            window_tokens=window(opened),
            timeouts=timeouts,
            habits=habits,
            on_warning=lambda text: output.warn(shell, text),
        )
    return openai_compatible.connect(
        chosen.url,
        chosen.model,
        api_key=installation.secret(chosen.key, shell.environ, shell.secrets_file),
        timeouts=timeouts,
        context_tokens=config.context_tokens,
        enforces=config.tool_choice == "required",
        habits=habits,
    )


def script_of(opened: Configured, chosen: Choice) -> Path:
    """Return where a script is; one that entity.yaml names lies in the entity's folder.

    Raises:
        UnsafePathError: If such a one does not.
    """
    named = chosen.script
    if named is None:
        raise TypeError("the choice names no script")
    root = opened.root
    if root is None or not opened.settings.origin("llm.model").startswith(f"{ENTITY_FILE}:"):
        return opened.shell.path(Path(named))
    return disk.inside(root, os.path.relpath(root / named, root))


def _embedded(opened: Configured, chosen: Choice, *, writes: bool) -> Model:
    weights.require_engine()
    from bumble.llm.embedded import EmbeddedModel

    if chosen.entry is None:
        raise TypeError("an embedded choice names its entry")
    installed = store.require(opened.shell.weights, chosen.entry)
    limit, root = opened.config.llm.prompt_cache_megabytes, opened.root
    return EmbeddedModel(
        installed.weights,
        name=chosen.entry.name,
        sha256=chosen.entry.files[0].sha256,
        context_tokens=min(window(opened), chosen.entry.context_tokens),
        cache_dir=opened.shell.prompt_cache(root) if root and writes and limit else None,
        cache_limit_bytes=limit * 1_000_000,
        on_load=lambda: None,
    )


def recorded(opened: Opened, model: Model, command: str, *, writes: bool) -> Recorded:
    """Wrap a model so that each call is a line of the entity's ledger, if it may be written."""
    detail: Mapping[str, Any] = {"command": command}
    ledger = opened.entity.ledger if writes else None
    prompts = opened.entity.prompts if writes and opened.config.log.prompts else None
    now, prices = opened.shell.now, lambda: prices_of(opened, model)
    return Recorded(model, ledger, now, detail=detail, prompts=prompts, prices=prices)


def prices_of(opened: Configured, model: Model) -> Prices | None:
    """Return what a model's tokens cost: as the owner says, else as its endpoint does."""
    owners = opened.config.llm.prices
    if owners.prompt is not None or owners.completion is not None:
        return owners.prompt or 0.0, owners.completion or 0.0
    return getattr(model, "prices", None)
