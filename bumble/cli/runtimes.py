"""The runtime of an entity that was opened: for jobs between turns, for looks, for a talk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from zoneinfo import ZoneInfo

from bumble.cli import index_place, output
from bumble.cli.models import abilities, chat_model, weights
from bumble.cli.opening import Opened
from bumble.index.memory import Memory
from bumble.llm.protocol import Model
from bumble.models.embed.protocol import Embedder
from bumble.models.weights.choice import Choice
from bumble.runtime.job import JobResult
from bumble.runtime.runtime import TEMPERATURE, Runtime


@contextmanager
def open_runtime(
    opened: Opened, command: str, *, yes: bool = False, needs_model: bool = True
) -> Iterator[Runtime]:
    """Open everything a cycle needs; model and embedder only once they are asked for.

    Args:
        opened: The entity.
        command: For the ledger.
        yes: Whether weights may be fetched without asking.
        needs_model: False: nothing is fetched, and where there is none its window is not known.
    """
    asked = chat_model.lazy_model(opened, command, yes=yes, needed=needs_model)
    model = chat_model.budgeted(opened, asked, calls=None)
    try:
        yield runtime(opened, None, model, yes=yes, writes=True)
    finally:
        model.close()


def runtime(
    opened: Opened,
    chosen: Choice | None,
    model: Model,
    *,
    yes: bool,
    writes: bool,
    talks: bool = False,
) -> Runtime:
    """Put together the runtime of an entity.

    Args:
        opened: The entity.
        chosen: Which model that is; None: it isn't chosen yet.
        model: What answers.
        yes: Whether an embedder may be fetched without asking.
        writes: False: incognito.
        talks: Whether somebody waits for an answer: an index that can't be used doesn't stop it.
    """

    def open_embedder() -> Embedder | None:
        reads = not abilities.may_remember(opened, chosen)
        return weights.embedder(opened, fetch_with_yes=yes, reads=reads)

    memory = Memory(
        opened.entity,
        open_embedder,
        name=opened.identity.name,
        zone=ZoneInfo(opened.identity.timezone),
        place=index_place.place_of(opened.entity, opened.config.index, opened.donors),
        syncs=writes,
        optional=talks,
        open_reader=lambda own: weights.message_reader(opened, own, fetch_with_yes=yes),
    )
    run = chosen.entry.chat if chosen and chosen.entry else None
    return Runtime(
        entity=opened.entity,
        identity=opened.identity,
        config=opened.config,
        model=model,
        memory=memory,
        clock=opened.shell.now,
        rng=opened.shell.rng,
        writes=writes,
        environ=opened.shell.environ,
        abilities=abilities.of(opened, chosen),
        trusted=opened.settings.trusted,
        local=run is not None,
        temperature=run.temperature if run else TEMPERATURE,
        tell=lambda text: output.warn(opened.shell, text),
        flush=_flush,
    )


def _flush(runtime: Runtime, compaction: JobResult, limit: int) -> JobResult:
    from bumble.jobs import stretch

    return stretch.flush(runtime, compaction, limit)
