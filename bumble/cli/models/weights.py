"""Weights for a command: which are here, asking the person, and fetching what is missing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bumble.cli import index_place, output
from bumble.cli.process import Shell
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import EngineMissingError, UsageError, UserError, WeightsMissingError
from bumble.llm import detect
from bumble.models.weights import catalog, own_models, store
from bumble.text import words

if TYPE_CHECKING:
    from bumble.cli.opening import Configured, Opened
    from bumble.entity.config import LlmConfig
    from bumble.models.embed.protocol import Embedder
    from bumble.models.embed.reader import MessageReader
    from bumble.models.weights.choice import Choice
    from bumble.models.weights.pull import Offer

AUTO = "auto"  # what is left open by a setting
READING = "multilingual-e5-small"  # reads messages, in any language


def catalog_of(shell: Shell) -> catalog.Catalog:
    """Read the catalog, the user's own entries first."""
    own = shell.models_file
    return catalog.load(own if own.exists() else None)


def with_own_file(shell: Shell, config: LlmConfig, origin: str) -> LlmConfig:
    """Make a model of the file that `llm.model` names, if it does, and return what opens it.

    Raises:
        UsageError: If there is no such file, or a folder names it that may be somebody else's.
        WeightsMissingError: If it is no model that talks, or another than it was.
    """
    names_file = own_models.is_file_name(config.model)
    # servers name their models as they like
    if not names_file or (config.base_url and not shell.path(Path(config.model)).is_file()):
        return config
    if origin.startswith(f"{ENTITY_FILE}:"):
        raise UsageError(
            f"{origin}: which file of this machine is opened is for you to say, not for a folder.\n"
            f"Name it with --model, or `bumble config set --user llm.model {config.model}`."
        )
    return replace(config, model=str(adopt(shell, config.model)[1]), base_url="")


def adopt(shell: Shell, name: str, *, anew: bool = False) -> tuple[catalog.CatalogEntry, Path]:
    """Make a model of a file on this machine; see `own_models.adopt`. Returns its path too."""
    path = Path(os.path.abspath(shell.path(Path(name))))  # noqa: PTH100  (links stay as they are)
    known = catalog_of(shell)
    if path.is_file() and (anew or own_models.of_file(known, path) is None):
        output.say(f"Reading {path} once, for its hash.")
    return own_models.adopt(path, known, shell.weights, shell.models_file, anew=anew), path


def on_hub(shell: Shell, reference: str) -> catalog.CatalogEntry:
    """Return the entry of what `hf:OWNER/REPO[:FILE]` names, held to what it was at first.

    Raises:
        UsageError: If nothing is named by it.
        WeightsMissingError: If the hub does not tell, or has another file now.
    """
    from bumble.models.weights import hub

    name, wanted = hub.parse(reference)
    repository = hub.look_up(name, means(shell))
    return own_models.from_hub(
        catalog_of(shell), repository, hub.choose(repository, wanted, memory_mb())
    )


def fetch_own(shell: Shell, entry: catalog.CatalogEntry, *, yes: bool) -> store.Installed:
    """Pull a model of the hub that the user named, and keep it in the user's own catalog.

    It is kept before it comes, so that a pull that broke off goes on with the same file.
    """

    def keep(one: catalog.CatalogEntry) -> None:
        if one not in catalog_of(shell):
            own_models.keep(shell.models_file, one)

    installed = fetch(shell, [entry], yes=yes, agreed=keep)
    keep(own_models.as_its_file_says(entry, installed.weights))
    return installed


def memory_mb() -> int | None:
    """Return the memory of this machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    except (AttributeError, ValueError, OSError):
        return None


def installed(shell: Shell, entries: Sequence[catalog.CatalogEntry]) -> list[catalog.CatalogEntry]:
    """Return those of some models whose weights are here and whole."""
    present = []
    for entry in entries:
        try:
            if store.find(shell.weights, entry):
                present.append(entry)
        except WeightsMissingError as error:
            output.warn(shell, str(error))
    return present


def require_engine() -> None:
    """See to it that weights of a chat model could be opened, before anything is fetched for them.

    Raises:
        EngineMissingError: If they could not.
    """
    if problem := detect.problem():
        raise EngineMissingError(problem)


def offer_of(shell: Shell, entries: Sequence[catalog.CatalogEntry]) -> Offer | None:
    """Return the first of some models that a source has; None if none has any."""
    from bumble.models.weights import pull

    return pull.choose(entries, means(shell))


def told(offer: Offer) -> str:
    """Say what would be fetched, how large, and from where."""
    entry = offer.entry
    return f"{entry.name} ({output.size(entry.bytes)}, {entry.licence}) from {offer.source}"


def fetch(
    shell: Shell,
    entries: Sequence[catalog.CatalogEntry],
    *,
    yes: bool,
    agreed: Callable[[catalog.CatalogEntry], None] = lambda _: None,
) -> store.Installed:
    """Pull the first of some models that a source offers and gives, after asking.

    Args:
        shell: The process.
        entries: The models, the best first.
        yes: Whether nobody is to be asked.
        agreed: Hears which it is to be, before it comes.

    Raises:
        WeightsMissingError: If nobody said yes, or no source gives any.
    """
    left, failed = list(entries), None
    while (offer := offer_of(shell, left)) is not None:
        what, name = told(offer), offer.entry.name
        if not (yes or (shell.interactive and output.agrees(f"Fetch {what}?", default=True))):
            advice = f"{name} was not fetched.\nGet it with `bumble model pull {name}`."
            hint = f"{name} is not on this machine yet.\nSay --yes to fetch {what}."
            raise WeightsMissingError(advice if shell.interactive else hint)
        agreed(offer.entry)
        output.say(f"Fetching {what}.")
        try:
            return bring(shell, offer.entry)
        except WeightsMissingError as error:
            if (shell.weights / f"{offer.entry.name}{store.PART}").exists():
                raise  # it broke off: better the rest of it later than a lesser model now
            failed, left = error, left[left.index(offer.entry) + 1 :]
    if failed is None and len(entries) == 1:
        return bring(shell, entries[0])  # to say what each source said
    names = ", ".join(entry.name for entry in entries)
    raise failed or WeightsMissingError(
        f"No source that answers has any of {names}.\n"
        "Connect this machine, or bring the files from another one: "
        f"`bumble model pull {entries[-1].name} --from PATH`."
    )


def bring(shell: Shell, entry: catalog.CatalogEntry, own: Path | None = None) -> store.Installed:
    """Pull a model without asking, and say how long it took.

    Args:
        shell: The process.
        entry: The model.
        own: A file or folder on this machine to look in before any other source.

    Raises:
        WeightsMissingError: If no source gives it.
    """
    from bumble.models.weights import pull

    started = time.monotonic()
    bar = partial(output.progress, entry.name, shell.environ, in_bytes=True)
    try:
        result = pull.pull(entry, shell.weights, means(shell, bar), own=own)
    except KeyboardInterrupt:
        output.say(f"What has come is kept: `bumble model pull {entry.name}` goes on from there.")
        raise
    output.say(f"{entry.name} is here, after {time.monotonic() - started:.0f} s.")
    return result


def means(shell: Shell, bar: Callable[[int, int], None] = lambda *_: None) -> store.PullOptions:
    """Return what pulls of this process may use of the world; they share what sources answered."""
    if shell.means is None:
        endpoint = shell.environ.get("HF_ENDPOINT")  # as the hub's own library takes it
        shell.means = store.PullOptions(environment=shell.environ, endpoint=endpoint or None)

    return replace(shell.means, progress=bar, note=partial(output.warn, shell))


def embedder(
    opened: Opened, *, fetch_with_yes: bool | None = None, reads: bool = False
) -> Embedder | None:
    """Open the embedding model, or none: then words alone find things, which is said.

    Args:
        opened: The entity.
        fetch_with_yes: None fetches nothing; else whether --yes was given.
        reads: Whether messages are read by it, too; see `embedding_models`.
    """
    shell = opened.shell
    if opened.config.embedding.model == "none":
        return None
    named = embedding_models(opened, reads=reads)
    here, lacking = installed(shell, named), named  # any of them, where none is here
    if here:  # before anything was embedded, one for other languages, where such a one goes first
        others = [one for one in named if _is_multilingual(one)]
        wants = named[0] in others and not any(map(_is_multilingual, here))
        lacking = others if wants and not embedded_by(opened) else []
    try:
        if lacking and fetch_with_yes is not None:
            here = [fetch(shell, lacking, yes=fetch_with_yes).entry, *here]
    except WeightsMissingError as error:
        alone = "words alone find memories, not their meaning"
        otherwise = f"{here[0].name} is used, which knows English" if here else alone
        output.warn(shell, f"{error}\nUntil then {otherwise}.")
    if not here:
        if fetch_with_yes is None:
            names = " or ".join(entry.name for entry in named[:2])
            output.warn(
                shell,
                "No embedding model is here: words alone find things, not their meaning.\n"
                f"Get one with `bumble model pull NAME`: {names}.",
            )
        return None
    entry = here[0]
    widths = entry.embedding.dimensions if entry.embedding else ()
    asked = opened.config.memory.embedding_dimensions
    return _opened(shell, entry, partial(output.warn, shell), asked if asked in widths else None)


def _opened(
    shell: Shell, entry: catalog.CatalogEntry, warn: Callable[[str], None], width: int | None = None
) -> Embedder:
    from bumble.models.weights.embedders import open_embedder  # only now: it loads onnxruntime

    return open_embedder(shell.weights, entry, width, warn)


def message_reader(
    opened: Opened, own: Embedder | None, *, fetch_with_yes: bool | None = None
) -> MessageReader | None:
    """Open what reads messages where no model may write.

    It reads over the embedder that knows every language, whatever the entity searches with; where
    that can't be had, over the entity's own, if there is a head for that.

    Args:
        opened: The entity.
        own: Its embedder; None: it wants none, and nothing is read.
        fetch_with_yes: As for `embedder`.
    """
    from bumble.models.embed import reader

    shell = opened.shell
    entry = catalog_of(shell).entry(READING)
    if own is None or own.identity.model == READING:
        return reader.over(own)
    try:
        if not installed(shell, [entry]):
            if fetch_with_yes is None:
                return reader.over(own)
            fetch(shell, [entry], yes=fetch_with_yes)
    except WeightsMissingError as error:
        found = reader.over(own)
        less = "Until then only English is read" if found else "Until then nothing that is said"
        rest = ", and less well." if found else " is kept by itself."
        output.warn(shell, f"{error}\n{less}{rest}")
        return found
    return reader.over(_opened(shell, entry, partial(output.warn, shell)))


def reader_here(opened: Opened) -> MessageReader | None:
    """Open what reads messages if its weights are here; fetches, asks and says nothing."""
    from bumble.models.embed import reader

    entry = catalog_of(opened.shell).entry(READING)
    is_here = opened.config.embedding.model != "none" and installed(opened.shell, [entry])
    return reader.over(_opened(opened.shell, entry, lambda _: None)) if is_here else None


def embedding_models(opened: Opened, *, reads: bool = False) -> list[catalog.CatalogEntry]:
    """List the embedding models that the settings ask for, the one to prefer first.

    Where they leave it open, the one that has embedded what was said so far goes on, so that no
    word in another language has everything embedded anew; where none has, an owner who speaks
    another language than English gets one that knows more.

    Args:
        opened: The entity.
        reads: Whether no model writes, so that messages have to be read: then the one that reads
            them goes first, and nobody is asked for a second one in the middle of a talk.

    Returns:
        Nothing where none is wanted.
    """
    wanted = opened.config.embedding.model
    if wanted == "none":
        return []
    known = catalog_of(opened.shell)
    if wanted != AUTO:
        return [known.entry(wanted)]
    models, before = known.of_kind("embedding"), embedded_by(opened)
    language = opened.config.language
    if reads and not before:
        return sorted(models, key=lambda entry: entry.name != READING)
    if language == AUTO and before:
        return sorted(models, key=lambda entry: entry.name != before)
    if language == AUTO:
        from bumble.runtime import spoken  # where nothing was embedded yet

        language = spoken.by_person(opened.entity, AUTO, opened.owner_id, opened.shell.now())
    is_english = language == words.DEFAULT_LANGUAGE
    return models if is_english else sorted(models, key=lambda one: not _is_multilingual(one))


def embedded_by(opened: Opened) -> str:
    """Return the model that made the index; empty if there is none that can be read."""
    from bumble.index import sync

    with suppress(UserError):  # whoever needs the index says what is in the way
        return sync.embedded_by(opened.entity, index_place.place_of(opened))
    return ""


def _is_multilingual(entry: catalog.CatalogEntry) -> bool:
    return entry.embedding is not None and entry.embedding.multilingual


def is_here(opened: Configured, chosen: Choice) -> bool:
    """Whether a model can be asked without fetching its weights first."""
    return chosen.entry is None or bool(installed(opened.shell, [chosen.entry]))
