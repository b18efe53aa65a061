"""How jobs run by command: the runtime of an entity, `--check`, `--dry-run`, and what is told.

Under cron they are quiet; at a terminal, with `-v` or with `--json` they tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import typer
from msgspec.structs import asdict, replace

from bumble.cli import index_place, listing, output, writing
from bumble.cli.command import NOTHING_DUE, JobFlags
from bumble.cli.models import abilities, chat_model, weights
from bumble.cli.opening import Opened
from bumble.errors import UserError
from bumble.index.memory import Memory
from bumble.jobs import tick
from bumble.llm.protocol import Model
from bumble.models import tiers
from bumble.models.embed.protocol import Embedder
from bumble.models.weights.choice import Choice
from bumble.records import provenance, session_files, sessions
from bumble.records.base import Provenance
from bumble.runtime import audiences, job
from bumble.runtime.runtime import TEMPERATURE, Runtime

Check = Callable[[Runtime], job.Due[Any]]  # finds what is due
Run = Callable[[Runtime, Any], job.JobResult]  # does one job, writing nothing
More = Callable[[Runtime], tuple[dict[str, Any], str]]  # what else a check has to say


def perform(
    opened: Opened,
    flags: JobFlags,
    command: str,
    check: Check,
    run: Run,
    *,
    limit: int | None = None,
    more: More | None = None,
    quiet: bool = False,
) -> None:
    """Open the runtime, and do in it what a cycle finds due; see `carry_out`."""
    with open_runtime(opened, command, yes=flags.yes) as made:
        carry_out(opened, made, command, check, run, flags, limit=limit, more=more, quiet=quiet)


def carry_out(
    opened: Opened,
    runtime: Runtime,
    command: str,
    check: Check,
    run: Run,
    flags: JobFlags,
    *,
    limit: int | None = None,
    more: More | None = None,
    quiet: bool = False,
) -> None:
    """Do what a cycle finds due, one job after another.

    Args:
        opened: The entity.
        runtime: The same, to work with.
        command: For JSON.
        check: Finds what is due.
        run: Does one job, writing nothing.
        flags: How it was asked for.
        limit: At most this many jobs; None: all that were due at the beginning.
        more: Says what else `--check` tells.
        quiet: Whether it may be asked every few minutes, and says nothing where nothing is done.
    """
    runtime = replace(runtime, writes=not flags.dry_run)
    due = check(runtime)
    if flags.check:
        _show_check(opened, command, due, more(runtime) if more else None)
        finish(due.due, exit_code=flags.exit_code)
        return
    runs, lines, worked = list[dict[str, Any]](), list[str](), False
    passes = [job.Pass(command.split(maxsplit=1)[0], lambda _: due, run)] if due.due else []
    written = partial(_written, opened)
    for settled in settle(opened, runtime, command, passes, limit, written, dry_run=flags.dry_run):
        if settled.outcome is None:
            raise settled.problem or TypeError("a command's job is not held back")
        worked = worked or tick.worked(settled)
        data, told = told_of(opened, settled.outcome, dry_run=flags.dry_run)
        runs.append(data)
        lines += told
    why = None if due.due else why_not(due)
    if why is not None:
        lines = [f"Nothing to do: {why}."]
    ran = any(run["ran"] for run in runs)  # a job may find that there was nothing in it
    data = {"ran": ran, "dry_run": flags.dry_run, "gates": gates(due), "why": why, "done": runs}
    # whoever asks by hand hears why nothing was done; a script asks by the exit code
    by_hand_for_nothing = not (ran or quiet or flags.exit_code)
    shows = flags.verbose or flags.dry_run or by_hand_for_nothing
    tell(opened, command, data, lines, verbose=shows)
    finish(worked, exit_code=flags.exit_code)


def told_of(
    opened: Opened, outcome: job.JobResult, *, dry_run: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return what is told of a job that was done, as data and as lines."""
    outcome = seen(opened, outcome)
    data = {
        **outcome.report,
        **({"late": list(outcome.late)} if outcome.late else {}),
        **({"review": True} if outcome.held else {}),
        "changes": outcome.written,
    }
    return data, [*outcome.told, *(writing.described(outcome.written) if dry_run else ())]


def settle(
    opened: Opened,
    runtime: Runtime,
    command: str,
    passes: Sequence[job.Pass],
    limit: int | None,
    write: job.Apply = job.apply,
    *,
    dry_run: bool,
    held: job.Held = job.never,
) -> Iterator[job.Settled]:
    """Run what passes find due: what is written is a line of the run ledger; a dry run shows it."""
    if dry_run or not passes:
        return job.settle(runtime, passes, limit, partial(planned, opened), held=held)
    return tick.run(runtime, command, passes, limit, write, held=held)


def planned(opened: Opened, runtime: Runtime, outcome: job.JobResult) -> job.JobResult:
    """Show the changes of a result as data, with their diffs; nothing is written."""
    result, change_set = outcome.planned()
    shown = [writing.shown_change(opened, change) for change in change_set.changes]
    return replace(
        result, written=shown, origins=audiences.of_changes(opened.entity.root, change_set.changes)
    )


def seen(opened: Opened, outcome: job.JobResult) -> job.JobResult:
    """Return a result as whoever looks may see it: of what is for others only that it was made."""
    viewer = listing.Viewer(opened)
    hidden = next((one for one in _origins(opened, outcome) if not viewer.may_see(one)), None)
    if hidden is None:
        return outcome
    said = provenance.withheld(hidden)
    return replace(
        outcome, title=f"{outcome.title.partition(':')[0]}: {said}", lines=(said,), late=(), data={}
    )


def _origins(opened: Opened, outcome: job.JobResult) -> Iterator[Provenance]:
    yield from outcome.origins
    if not outcome.about.startswith(f"{sessions.PREFIX}_"):
        yield Provenance(audience=tuple(filter(None, [outcome.about])))
        return
    with suppress(UserError):  # a person forgot it meanwhile
        yield Provenance(audience=session_files.find(opened.entity.sessions, outcome.about).people)


def _written(opened: Opened, runtime: Runtime, outcome: job.JobResult) -> job.JobResult:
    shown = planned(opened, runtime, outcome).written  # before: what each file is made of
    return replace(job.apply(runtime, outcome), written=list(map(writing.without_diff, shown)))


def tell(
    opened: Opened, command: str, data: dict[str, Any], lines: Sequence[str], *, verbose: bool
) -> None:
    """Print what was done: nothing where nobody watches and nobody asked."""
    if opened.shell.json or verbose or sys.stdout.isatty():
        output.result(opened.shell, command, data, list(lines))


def _show_check(
    opened: Opened, command: str, due: job.Due[Any], more: tuple[dict[str, Any], str] | None
) -> None:
    """Print gates and verdict, and what else a cycle has to say of itself."""
    rows = [
        ["pass" if gate.passes else "wait", gate.name, gate.value, f"({gate.wants})"]
        for gate in due.conditions
    ]
    verdict = f"due: {len(due.jobs)} to do" if due.due else f"not due: {why_not(due)}"
    data, line = more or ({}, "")
    data = {"due": due.due, "gates": gates(due), "jobs": len(due.jobs), **data}
    output.result(
        opened.shell, command, data, [*output.table(rows), *([line] if line else []), verdict]
    )


def gates(due: job.Due[Any]) -> list[dict[str, Any]]:
    """Return conditions as JSON tells them, under the name that owners know them by."""
    return [asdict(condition) for condition in due.conditions]


def why_not(due: job.Due[Any]) -> str:
    """Say what stands in the way."""
    closed = (gate for gate in due.conditions if not gate.passes)
    told = "; ".join(f"{gate.name}: {gate.value}, wants {gate.wants}" for gate in closed)
    return told or "nothing is waiting"


def finish(due: bool, *, exit_code: bool) -> None:
    """Leave with the code that scripts asked for."""
    if exit_code and not due:
        raise typer.Exit(NOTHING_DUE)


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
        yield make_runtime(opened, None, model, yes=yes, writes=True)
    finally:
        model.close()


def make_runtime(
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
        # where no model writes memories in any language, messages have to be read
        remembers = abilities.of(opened, chosen)().tier("memory", tiers.ANY) == "write"
        return weights.embedder(opened, fetch_with_yes=yes, reads=not remembers)

    run = chosen.entry.chat if chosen and chosen.entry else None
    return Runtime(
        entity=opened.entity,
        identity=opened.identity,
        config=opened.config,
        model=model,
        memory=Memory(
            opened.entity,
            open_embedder,
            name=opened.identity.name,
            zone=ZoneInfo(opened.identity.timezone),
            place=index_place.place_of(opened),
            syncs=writes,
            optional=talks,
            open_reader=lambda own: weights.message_reader(opened, own, fetch_with_yes=yes),
        ),
        clock=opened.shell.now,
        rng=opened.shell.rng,
        writes=writes,
        environ=opened.shell.environ,
        abilities=abilities.of(opened, chosen),
        trusted=opened.settings.trusted,
        local=run is not None,
        temperature=run.temperature if run else TEMPERATURE,
        tell=lambda text: output.warn(opened.shell, text),
        show=_printer(opened),
        flush=_flush,
    )


def _printer(opened: Opened) -> Callable[[str], None] | None:
    """Return what prints a line for the owner; None: nobody sees what is printed."""
    if not sys.stdout.isatty():
        return None
    # as JSON it is in the result
    return lambda text: None if opened.shell.json else output.piece(f"{text}\n")


def _flush(runtime: Runtime, compaction: job.JobResult, limit: int) -> job.JobResult:
    from bumble.jobs import stretch

    return stretch.flush(runtime, compaction, limit)
