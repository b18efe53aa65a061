"""How job commands run: `--check`, `--dry-run`, `--exit-code`, and printing what was done.

Under cron they are quiet; at a terminal, with `-v` or with `--json` they tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from bumble.cli import commit, listing, output
from bumble.cli.opening import Opened
from bumble.cli.options import NOTHING_DUE
from bumble.errors import UserError
from bumble.records import sessions
from bumble.records.base import Provenance
from bumble.records.provenance import withheld
from bumble.records.session_files import find
from bumble.runtime import audiences, job
from bumble.runtime.job import Condition, Due, JobResult

if TYPE_CHECKING:
    from bumble.runtime.job import Pass, Settled
    from bumble.runtime.runtime import Runtime


class JobFlags(Struct, frozen=True):
    """How a job is asked for by command."""

    check: bool = False  # only say what is due
    dry_run: bool = False
    exit_code: bool = False  # tell by the exit code where nothing was due
    verbose: bool = False
    yes: bool = False  # weights may be fetched without asking


def carry_out(
    opened: Opened,
    runtime: Runtime,
    command: str,
    check: Callable[[Runtime], Due[Any]],
    run: Callable[[Runtime, Any], JobResult],
    flags: JobFlags,
    *,
    limit: int | None = None,
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
    """
    due = check(runtime)
    if flags.check:
        show_check(opened, command, due)
        finish(due.due, exit_code=flags.exit_code)
        return
    ran = False
    runs: list[dict[str, Any]] = []
    lines: list[str] = []
    for settled in _settled(opened, runtime, command, due, run, limit, dry_run=flags.dry_run):
        if settled.outcome is None:
            raise settled.problem or TypeError("a command's job is not held back")
        outcome = seen(opened, settled.outcome)
        late = {"late": list(outcome.late)} if outcome.late else {}
        held = {"review": True} if outcome.held else {}
        data = {**outcome.report, **late, **held}
        runs.append({**data, "changes": outcome.written})
        ran = ran or outcome.ran  # a job may find that there was nothing in it
        lines += outcome.told
        lines += described(outcome.written) if flags.dry_run else []
    if not due.due:
        lines = [f"Nothing to do: {why_not(due)}."]
    data = {"ran": ran, "dry_run": flags.dry_run, "gates": gates(due), "done": runs}
    tell(opened, command, data, lines, verbose=flags.verbose or flags.dry_run)
    finish(due.due, exit_code=flags.exit_code)


def _settled(
    opened: Opened,
    runtime: Runtime,
    command: str,
    due: Due[Any],
    run: Callable[[Runtime, Any], JobResult],
    limit: int | None,
    *,
    dry_run: bool,
) -> Iterator[Settled]:
    """Run the jobs that were due at the beginning; what is written is a line of the run ledger."""
    from bumble.jobs import tick
    from bumble.runtime import job

    passes = [job.Pass(command.split(maxsplit=1)[0], lambda _: due, run)]
    if not due.due:
        return iter(())
    if dry_run:
        return job.settle(runtime, passes, limit, partial(planned, opened))
    return tick.run(runtime, command, passes, limit, partial(_written, opened))


def planned(opened: Opened, runtime: Runtime, outcome: JobResult) -> JobResult:
    """Show the changes of a result as data, with their diffs; nothing is written."""
    result, change_set = outcome.planned()
    shown = [commit.shown_change(opened, change) for change in change_set.changes]
    origins = audiences.of_changes(opened.entity.root, change_set.changes)
    return replace(result, written=shown, origins=origins)


def seen(opened: Opened, outcome: JobResult) -> JobResult:
    """Return a result as whoever looks may see it: of what is for others only that it was made."""
    viewer = listing.Viewer(opened)
    hidden = next((one for one in _origins(opened, outcome) if not viewer.may_see(one)), None)
    if hidden is None:
        return outcome
    said, paths = withheld(hidden), (one for one in outcome.written if isinstance(one, Mapping))
    return replace(
        outcome,
        title=f"{outcome.title.partition(':')[0]}: {said}",
        lines=(said,),
        late=(),
        data={},
        written=[{"path": one["path"], "why": said, "diff": []} for one in paths],
    )


def _origins(opened: Opened, outcome: JobResult) -> Iterator[Provenance]:
    yield from outcome.origins
    if not outcome.about.startswith(f"{sessions.PREFIX}_"):
        yield Provenance(audience=tuple(filter(None, [outcome.about])))
        return
    with suppress(UserError):  # a person forgot it meanwhile
        yield Provenance(audience=find(opened.entity.sessions, outcome.about).people)


def _written(opened: Opened, runtime: Runtime, outcome: JobResult) -> JobResult:
    shown = planned(opened, runtime, outcome).written  # before: what each file is made of
    bare = [{key: value for key, value in change.items() if key != "diff"} for change in shown]
    return replace(job.apply(runtime, outcome), written=bare)


def described(changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of planned changes."""
    return [
        line
        for change in changes
        for line in (f"{change['path']}: {change['why']}", *change["diff"])
    ]


def tell(
    opened: Opened, command: str, data: dict[str, Any], lines: Sequence[str], *, verbose: bool
) -> None:
    """Print what was done: nothing where nobody watches and nobody asked."""
    watched = verbose or sys.stdout.isatty()
    if opened.shell.json or watched:
        output.result(opened.shell, command, data, list(lines))


def show_check(
    opened: Opened,
    command: str,
    due: Due[Any],
    more: Mapping[str, Any] | None = None,
    lines: Sequence[str] = (),
) -> None:
    """Print gates and verdict, and what else a cycle has to say of itself."""
    rows = [
        ["pass" if gate.passes else "wait", gate.name, gate.value, f"({gate.wants})"]
        for gate in due.conditions
    ]
    verdict = f"due: {len(due.jobs)} to do" if due.due else f"not due: {why_not(due)}"
    data = {"due": due.due, "gates": gates(due), "jobs": len(due.jobs)}
    data |= more or {}
    output.result(opened.shell, command, data, [*output.table(rows), *lines, verdict])


def gates(due: Due[Any]) -> list[dict[str, Any]]:
    """Return conditions as JSON tells them, under the name that owners know them by."""
    return [
        {
            "name": condition.name,
            "value": condition.value,
            "wants": condition.wants,
            "passes": condition.passes,
        }
        for condition in due.conditions
    ]


def showing_reminders(opened: Opened, each: Pass) -> Pass:
    """Return a pass; on a terminal, that of the reminders prints those for the owner."""
    if each.name != "reminders" or not sys.stdout.isatty():
        return each
    from bumble.jobs import reminders

    say = None if opened.shell.json else output.line  # as JSON it stands in the result
    return replace(
        each,
        check=partial(reminders.check, watched=True),
        run=partial(reminders.run, say=say),
    )


def why_not(due: Due[Any]) -> str:
    """Say what stands in the way."""
    closed: list[Condition] = [gate for gate in due.conditions if not gate.passes]
    if closed:
        return "; ".join(f"{gate.name}: {gate.value}, wants {gate.wants}" for gate in closed)
    return "nothing is waiting"


def finish(due: bool, *, exit_code: bool) -> None:
    """Leave with the code that scripts asked for."""
    if exit_code and not due:
        raise typer.Exit(NOTHING_DUE)
