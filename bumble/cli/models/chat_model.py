"""The model of an entity: which the settings choose, what is known of it, and opening it."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bumble.cli import output, process
from bumble.cli.models import weights
from bumble.cli.opening import Configured, Opened
from bumble.entity import folder, installation
from bumble.errors import CredentialsError, UserError
from bumble.files import disk
from bumble.llm import detect, gguf, ledger, scripted, wire
from bumble.llm.protocol import LazyModel, Model
from bumble.models.weights import choice, store
from bumble.models.weights.catalog import CatalogEntry
from bumble.text import printable, tokens

if TYPE_CHECKING:
    from bumble.llm.http_model import HttpModel
    from bumble.records.sessions import Session


def choose_model(opened: Configured, *, yes: bool | None = None) -> choice.Choice:
    """Decide which model talks, fetching the weights of an embedded one if need be.

    Args:
        opened: The settings.
        yes: Whether fetching is agreed to; None fetches nothing, for commands that only look.
    """
    shell, config = opened.shell, opened.config.llm
    config = weights.with_own_file(shell, config, opened.settings.origin("llm.model"))
    if named := choice.named(config, opened.settings.origin("llm.model")):
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
    weights.require_engine()
    # where none is named the best that this machine can run and a source offers
    best = catalog.of_kind("chat", weights.memory_mb())
    wanted = best if config.model == weights.AUTO else [catalog.entry(chosen.model)]
    if not wanted:
        raise UserError("This machine has too little memory for any chat model in the catalog.")
    entry = weights.fetch(shell, wanted, yes=yes).entry
    return choice.Choice("embedded", entry.name, "it was just fetched", entry=entry)


def is_open(opened: Configured) -> bool:
    """Whether nothing was said about the model, and somebody is there to be asked."""
    config = opened.config.llm
    known = detect.provider_named(config.provider)
    said = config.model != weights.AUTO or config.base_url or known is not None
    return opened.shell.asks and not said


def window(opened: Configured) -> int:
    """Return the context window to ask for, in tokens."""
    return opened.config.llm.context_tokens or opened.config.cognition.max_context_tokens


def stable_tokens(opened: Opened, talk: Session | None) -> int:
    """Estimate the tokens of the system prompt of a conversation; of the owner's without one."""
    from bumble.chat import tool_list
    from bumble.prompt import system

    readers = talk.people if talk else (opened.owner_id,)
    declared = tool_list.declared(opened.config.tools)
    stable = system.of_entity(
        opened.entity, opened.identity, declared, opened.config.prompt, readers
    )
    return tokens.estimate_message(stable.text)


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
            return scripted.AbsentModel(error)
        return recorded(opened, model, command, writes=True)

    return LazyModel(opens)


def dreaming(opened: Opened) -> Opened:
    """Return an entity with the model that it dreams with, where that is another."""
    model = opened.config.soma.dreams.model
    return opened.with_settings(llm__model=model) if model else opened


def budgeted(opened: Opened, model: Model, *, calls: int | None) -> ledger.Budgeted:
    """Wrap a model so that it answers while the budget of the day lasts, and so many calls."""
    tokens = opened.config.limits.tokens_per_day
    spent = partial(ledger.today, opened.entity.ledger)
    return ledger.Budgeted(
        model, ledger.Limits(calls, tokens, lambda: spent(opened.shell.now(), opened.zone))
    )


def open_model(opened: Configured, chosen: choice.Choice, *, writes: bool) -> Model:
    """Open the model that was chosen; nothing is loaded or asked yet."""
    if chosen.script is not None:
        return scripted.ScriptedModel(scripted.read(script_of(opened, chosen)), name=chosen.model)
    if chosen.entry is not None:
        weights.require_engine()
        from bumble.llm.embedded import EmbeddedModel

        limit, root = opened.config.llm.prompt_cache_megabytes, opened.root
        return EmbeddedModel(
            store.require(opened.shell.weights, chosen.entry).weights,
            name=chosen.entry.name,
            sha256=chosen.entry.files[0].sha256,
            context_tokens=min(window(opened), chosen.entry.context_tokens),
            cache_dir=opened.shell.cache_of("prompts", root) if root and writes and limit else None,
            cache_limit_bytes=limit * 1_000_000,
            on_load=lambda: None,
        )
    require_key(opened.shell, chosen)
    return open_endpoint(opened, chosen, writes=writes)


def require_key(shell: process.Shell, chosen: choice.Choice | None) -> None:
    """See to it that there is a key where a provider wants one, before anything is sent there.

    Raises:
        CredentialsError: If there is none.
    """
    known = detect.provider_of(chosen.url) if chosen else None
    if chosen and known and not has_key(shell, chosen.key):
        raise CredentialsError(
            f"No key for {known.label}: {chosen.key or 'llm.api_key_env'} is not set.\n"
            f"Put it into your environment (`export {chosen.key or known.key}=…`), or into\n"
            "secrets.yaml, beside your own config file (`bumble config show --origin`)."
        )


def open_endpoint(opened: Configured, chosen: choice.Choice, *, writes: bool) -> HttpModel:
    """Open a model behind a server; nothing is asked yet."""
    from bumble.llm import http_model

    config, shell = opened.config.llm, opened.shell
    timeouts = wire.Timeouts(
        connect_seconds=config.connect_timeout_seconds,
        first_token_seconds=config.first_token_timeout_seconds,
        silence_seconds=config.silence_timeout_seconds,
    )
    habits = _habits(opened, chosen, writes=writes)
    if chosen.backend == "ollama":
        return http_model.ollama(
            chosen.model,
            host=chosen.url,
            window_tokens=window(opened),
            timeouts=timeouts,
            habits=habits,
            on_warning=lambda text: output.warn(shell, text),
        )
    return http_model.openai(
        chosen.url,
        chosen.model,
        api_key=installation.secret(chosen.key, shell.environ, shell.secrets_file),
        timeouts=timeouts,
        context_tokens=config.context_tokens,
        enforces=config.tool_choice == "required",
        habits=habits,
    )


def _habits(opened: Configured, chosen: choice.Choice, *, writes: bool = True) -> wire.HabitFile:
    key, shell = f"{printable.shown_url(chosen.url)}#{chosen.model}", opened.shell
    return wire.HabitFile(shell.habits, key, shell.now, writes=writes)


def script_of(opened: Configured, chosen: choice.Choice) -> Path:
    """Return where a script is; one that entity.yaml names lies in the entity's folder.

    Raises:
        UnsafePathError: If such a one does not.
    """
    named, root = chosen.script or "", opened.root
    if root is None or not opened.settings.origin("llm.model").startswith(f"{folder.ENTITY_FILE}:"):
        return opened.shell.path(Path(named))
    return disk.inside(root, os.path.relpath(root / named, root))


def recorded(opened: Opened, model: Model, command: str, *, writes: bool) -> ledger.Recorded:
    """Wrap a model so that each call is a line of the entity's ledger, if it may be written."""
    return ledger.Recorded(
        model,
        opened.entity.ledger if writes else None,
        opened.shell.now,
        detail={"command": command},
        prompts=opened.entity.prompts if writes and opened.config.log.prompts else None,
        prices=lambda: prices_of(opened, model),
    )


def prices_of(opened: Configured, model: Model | wire.Habits) -> ledger.Prices | None:
    """Return what a model's tokens cost: as the owner says, else as its endpoint does."""
    owners = opened.config.llm.prices
    if owners.prompt is not None or owners.completion is not None:
        return owners.prompt or 0.0, owners.completion or 0.0
    return getattr(model, "prices", None)


IN_THE_CLOUD = "cloud"  # at the end of the names of models that Ollama asks elsewhere
NEAREST, LIKENESS = 3, 0.5  # names that are suggested, and how like they are at least
SHOWN_NAMES = 12  # of an endpoint's models
_TOLD_BY: dict[wire.WindowSource, str] = {
    "setting": "llm.context_tokens",
    "file": "its file says so",
    "family": "as others of its family; the endpoint doesn't tell",
    "default": "nobody tells: cognition.max_context_tokens",
}


class Facts(Struct, frozen=True):
    """What is known of a model."""

    window: int  # its tokens
    used: int  # how many of these are used
    window_source: wire.WindowSource
    parameters: int | None = None
    prices: ledger.Prices | None = None
    names: tuple[str, ...] = ()  # of the endpoint's models where it lists them without this one

    @property
    def window_line(self) -> str:
        """Say how large its window is, and who says so."""
        told = _TOLD_BY.get(self.window_source, "the endpoint says so")
        used = "" if self.used >= self.window else f", of which {self.used:,} are used"
        return f"{self.window:,} tokens{used} ({told})"


def look(opened: Configured, chosen: choice.Choice) -> Facts:
    """Find out what is known of a model that was chosen; nothing is loaded."""
    told = wire.Habits()  # of a script nobody tells anything
    if chosen.entry is not None:
        # read the file; where it isn't here, or can't be read, the catalog says what is known
        most = chosen.entry.context_tokens
        tokens = _read(opened, chosen.entry, gguf.context_tokens) or most
        parameters = _read(opened, chosen.entry, gguf.parameters)
        told = wire.Habits(context_tokens=min(tokens, most), parameters=parameters)
    elif chosen.script is None:
        told = _habits(opened, chosen).load()
        if not told.asked or told.names:  # else nobody has to be asked
            with closing(open_endpoint(opened, chosen, writes=True)) as endpoint:
                told = endpoint.told
    (known, source), asked = told.window, opened.config.llm.context_tokens
    limit = opened.config.cognition.max_context_tokens
    window, source = known or limit, source if chosen.entry is None else "file"
    if asked is not None and (asked <= window or chosen.backend == "endpoint"):
        window, source = asked, "setting"
    prices = prices_of(opened, told) if chosen.url else None
    return Facts(window, min(limit, window), source, told.parameters, prices, told.names)


def has_key(shell: process.Shell, name: str) -> bool:
    """Whether the user has a key of a name."""
    return installation.secret(name, shell.environ, shell.secrets_file) is not None


def stays_here(chosen: choice.Choice) -> bool:
    """Whether what a model is asked stays on this machine."""
    if chosen.backend in ("embedded", "script"):
        return True
    return printable.is_loopback(chosen.url) and not chosen.model.endswith(IN_THE_CLOUD)


def works_here(opened: Configured) -> bool:
    """Whether the model works on this machine, which does one thing at a time."""
    with suppress(UserError):
        named = choice.named(opened.config.llm, "")
        return named is None or stays_here(named)
    return True  # whoever opens it says what is wrong


def _read(
    opened: Configured, entry: CatalogEntry, look: Callable[[Path], int | None]
) -> int | None:
    try:
        return look(opened.shell.weights / entry.name / entry.files[0].name)
    except (OSError, ValueError):
        return None  # not here, or damaged: what is wrong with it is said when it is loaded


def missing(chosen: choice.Choice, names: tuple[str, ...]) -> str:
    """Say that an endpoint doesn't have a model, and which it may be; empty where it may have it.

    Args:
        chosen: The model.
        names: Of those that the endpoint lists without it.
    """
    if not names:
        return ""
    near = difflib.get_close_matches(chosen.model, names, NEAREST, LIKENESS)
    near = near or [one for one in names if chosen.model.lower() in one.lower()][:NEAREST]
    meant = (
        f"did you mean {' or '.join(near)}?"
        if near
        else f"it has {output.few(sorted(names), SHOWN_NAMES)}"
    )
    return f"the endpoint does not list it; {meant}"
