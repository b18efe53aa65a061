"""`bumble tick`: whatever is due between turns; what cron runs every ten minutes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bumble.app import output
from bumble.app.opening import Opened, open_entity
from bumble.cli import commit, run_job
from bumble.cli.options import (
    DryRunOption,
    EntityOption,
    JsonOption,
    NowOption,
    SeedOption,
    YesOption,
)
from bumble.cli.run_job import CheckOption, ExitCodeOption, VerboseOption
from bumble.errors import UserError

if TYPE_CHECKING:
    from bumble.llm.budget import Budgeted
    from bumble.llm.protocol import Model
    from bumble.runtime.job import JobResult
    from bumble.runtime.runner import Pass, Settled
    from bumble.runtime.runtime import Runtime
    from bumble.upkeep.tick import Work

app = typer.Typer(rich_markup_mode=None)


@app.command()
def tick(
    ctx: typer.Context,
    *,
    settle: Annotated[
        bool,
        typer.Option("--settle", help="All that turns left, however much, and at once."),
    ] = False,
    settle_only: Annotated[
        bool,
        typer.Option(
            "--settle-only",
            help="Only what turns left, limits.passes_per_turn passes; a chat stops it.",
        ),
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, metavar="N", help="At most N passes.")
    ] = None,
    check: CheckOption = False,
    dry_run: DryRunOption = False,
    exit_code: ExitCodeOption = False,
    verbose: VerboseOption = False,
    entity: EntityOption = None,
    yes: YesOption = False,
    now: NowOption = None,
    seed: SeedOption = None,
    json: JsonOption = False,
) -> None:
    """Do whatever is due: reminders, what turns left, sleep and dreams.

    Never asks a model while somebody talks, unless --settle says so. Run it as often as you like:
    where nothing is due, nothing changes.
    """
    from contextlib import closing

    from bumble.app import conversation, models
    from bumble.commands import dream
    from bumble.upkeep import jobs, locks

    opened = open_entity(ctx, entity)
    opened.shell.set_now(now)
    opened.shell.set_seed(seed)
    asleep = models.lazy_model(dream.dreaming(ctx, entity, opened), "tick", yes=yes)
    wanted = jobs.AFTER_TURN if settle_only else jobs.everything()
    command = "settle" if settle_only else "tick"
    with conversation.open_life(opened, command, yes=yes) as life, closing(asleep):
        if check:
            _show_checks(opened, life, wanted, exit_code=exit_code)
            return
        if settle_only:
            limit = opened.config.limits.passes_per_turn
        elif not dry_run:
            locks.stop_settling(opened.entity)
        with locks.hold_work(opened.entity, stoppable=settle_only) as free:
            if not free:
                data = {"ran": False, "why": "another tick is at work"}
                run_job.tell(opened, "tick", data, ["Another tick is at work."], verbose=verbose)
                return
            held = _held(opened, at_once=settle or settle_only)
            calls = None if settle else opened.config.limits.calls_per_turn
            model = models.budgeted(opened, life.model, calls=calls)
            if opened.config.soma.dreams.model:
                wanted = tuple(_asking(model.instead(asleep), each, "dream") for each in wanted)
            life = replace(life, model=model, writes=not dry_run)
            into = _run(opened, life, command, model, wanted, limit, held, dry_run=dry_run)
    _tell(opened, into, dry_run=dry_run, verbose=verbose)
    if into.exit_code:
        raise typer.Exit(into.exit_code)
    run_job.finish(bool(into.done or into.waiting), exit_code=exit_code)


def _held(opened: Opened, *, at_once: bool) -> Callable[[], str | None]:
    """Return what says whether somebody talks, so that no model may be asked."""
    from bumble.upkeep import locks

    def held() -> str | None:
        if locks.is_turn_running(opened.entity):
            return "a turn goes on"
        if not at_once and locks.has_recent_message(opened.entity, opened.shell.now()):
            return "somebody spoke within the last minute"
        return None

    return held


def _asking(model: Model, each: Pass, name: str) -> Pass:
    """Return a pass, asking another model if it is the one of a name."""
    if each.name != name:
        return each
    return replace(each, run=lambda life, job: each.run(replace(life, model=model), job))


def _run(
    opened: Opened,
    life: Runtime,
    command: str,
    model: Budgeted,
    wanted: Sequence[Pass],
    limit: int | None,
    held: Callable[[], str | None],
    *,
    dry_run: bool,
) -> Work:
    from contextlib import ExitStack

    from bumble.runtime import job
    from bumble.upkeep import tick as upkeep

    into = upkeep.Work()

    def apply(life: Runtime, outcome: JobResult) -> Sequence[object]:
        if not dry_run:
            return job.apply(life, outcome)
        return outcome.change_set().changes

    with ExitStack() as stack:
        if not dry_run:
            stack.enter_context(upkeep.recorded(life, command, model, into))
        for one in upkeep.run(life, wanted, into, limit=limit, held=held, apply=apply):
            if one.problem is not None and not isinstance(one.problem, upkeep.WAITS):
                output.warn(opened.shell, f"{one.name} waits: {one.problem}")
    return into


def _tell(opened: Opened, into: Work, *, dry_run: bool, verbose: bool) -> None:
    done = [_done(opened, one, dry_run=dry_run) for one in into.done]
    waiting = [
        {"pass": one.name, "kind": type(one.problem).__name__, "problem": str(one.problem)}
        for one in into.waiting
    ]
    data = {"ran": True, "dry_run": dry_run, "done": done, "waiting": waiting, "held": into.held}
    lines = [line for one in done for line in one["lines"]]
    lines += [f"{name} waits: {why}" for name, why in into.held.items()]
    lines += [f"{one['pass']} waits: {one['problem']}" for one in waiting]
    lines = list(dict.fromkeys(lines)) or ["Nothing was due."]
    run_job.tell(opened, "tick", data, lines, verbose=verbose or dry_run)


def _done(opened: Opened, one: Settled, *, dry_run: bool) -> dict[str, Any]:
    outcome = one.outcome
    if outcome is None:
        raise TypeError("a pass that was made has an outcome")
    lines = [f"{one.name}: {line}" for line in outcome.lines or (outcome.title,)]
    told: dict[str, Any] = {"pass": one.name, "title": outcome.title, **outcome.data}
    if dry_run:
        changed = [commit.shown_change(opened, change) for change in outcome.change_set().changes]
        told["changes"] = changed
        lines += [line for each in changed for line in (f"{each['path']}:", *each["diff"])]
    return {**told, "lines": lines}


def _show_checks(opened: Opened, life: Runtime, wanted: Sequence[Pass], *, exit_code: bool) -> None:
    """Print the gates of every pass."""
    data: dict[str, Any] = {}
    rows: list[list[str]] = []
    for each in wanted:
        try:
            found = each.check(life)
        except UserError as error:
            output.warn(opened.shell, f"{each.name}: {error}")
            data[each.name] = {"due": False, "gates": [], "jobs": 0, "problem": str(error)}
            continue
        due = f"due: {len(found.jobs)} to do" if found.due else "not due"
        rows.append([each.name, due, "", ""])
        rows += [
            ["", "pass" if gate.passes else "wait", gate.name, f"{gate.value} (wants {gate.wants})"]
            for gate in found.conditions
        ]
        data[each.name] = {
            "due": found.due,
            "gates": run_job.gates(found),
            "jobs": len(found.jobs),
        }
    output.result(opened.shell, "tick", data, output.table(rows))
    run_job.finish(any(one["due"] for one in data.values()), exit_code=exit_code)
