"""The cycles by command: `catalysts`, `consolidate`, `distill`, `dream`, `narrate`, `reflect`…

What `tick` does when its time has come, done now; each imports its own job only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from bumble.cli import listing, output, people, run_job
from bumble.cli.command import JobFlags, runs_job
from bumble.cli.models import abilities, chat_model
from bumble.cli.opening import Opened
from bumble.entity import commits
from bumble.errors import UserError
from bumble.jobs import tick as upkeep
from bumble.llm.protocol import Model
from bumble.models.tiers import Abilities
from bumble.records import kinds, session_files
from bumble.runtime import locks, spoken
from bumble.runtime.job import Due, JobResult, Pass, Settled
from bumble.runtime.runtime import Runtime
from bumble.text import moments, words


@runs_job
def catalysts(
    opened: Opened,
    flags: JobFlags,
    topic: Annotated[
        str | None,
        typer.Argument(metavar="TOPIC", help="This topic alone, however little it recurs."),
    ] = None,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Draw them anew where nothing new mentions the topic.")
    ] = False,
) -> None:
    """Draw the questions that topics keep raising.

    They come from what was said in all the times of a topic, by a model that is trusted to write.
    """
    from bumble.jobs import musings as job

    check = partial(job.check_topics, name=topic or "", force=force)
    run_job.perform(opened, flags, "catalysts", check, job.run)


@runs_job
def consolidate(
    opened: Opened,
    flags: JobFlags,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Do it however short ago the last time was.")
    ] = False,
) -> None:
    """Put memory in order: what has faded, weak beliefs, the story.

    Does nothing where nothing has changed since the last time.
    """
    from bumble.jobs import consolidate as job

    check = partial(job.check, force=force)
    run_job.perform(opened, flags, "consolidate", check, job.run, quiet=not force)


@runs_job
def distill(
    opened: Opened,
    flags: JobFlags,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Whatever the gates say; also what still goes on.")
    ] = False,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="This conversation alone.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="At most so many windows.")
    ] = None,
) -> None:
    """Draw facts, beliefs and notes from what was said."""
    from bumble.jobs import stretch as job  # of which they are a part, which is made whole

    chosen = people.find_session(opened, session).id if session else None
    check = partial(job.check, session_id=chosen, force=force, gated=True)
    run_job.perform(opened, flags, "distill", check, job.run, limit=limit)


@runs_job
def dream(
    opened: Opened,
    flags: JobFlags,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Go past the gates; the dream's record says so.")
    ] = False,
    memory: Annotated[
        bool,
        typer.Option("--memory", help="Write working memory anew instead; `tick` does both."),
    ] = False,
) -> None:
    """Let the entity dream, if it is deep in the night and nobody talks.

    Off unless soma.dreams.enabled; safe to run every few minutes.
    """
    from bumble.jobs import dream as job
    from bumble.jobs import working_memory

    opened = chat_model.dreaming(opened)
    if memory:
        run_job.perform(
            opened, flags, "dream", partial(working_memory.check, force=force), working_memory.run
        )
    else:
        due = partial(job.check, force=force, seed=opened.shell.seed)
        run_job.perform(opened, flags, "dream", due, job.run, more=_pairs, quiet=not force)


def _pairs(runtime: Runtime) -> tuple[dict[str, object], str]:
    """Say how many pairs of memories there are to dream of."""
    from bumble.jobs import dream as job

    pool = job.find(runtime, runtime.now())
    how = f"({pool.similarity} similarity)"
    sentence = f"{words.counted(len(pool.pairs), 'pair')} of memories may meet"
    line = f"{sentence}; {job.TIME_ALONE}" if pool.similarity == "none" else f"{sentence} {how}"
    return {"eligible_pairs": len(pool.pairs), "similarity": pool.similarity}, line


@runs_job
def narrate(
    opened: Opened,
    flags: JobFlags,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Tell it also where there is nothing new to tell.")
    ] = False,
) -> None:
    """Have the entity tell its story anew, from its memories and the story so far.

    A telling that can't be used leaves narrative.md as it was.
    """
    from bumble.jobs import narrate as job

    run_job.perform(opened, flags, "narrate", partial(job.check, force=force), job.run)


@runs_job
def reflect(
    opened: Opened,
    flags: JobFlags,
    person: Annotated[
        str | None, typer.Argument(metavar="[PERSON]", help="Only this one. Default: everybody.")
    ] = None,
    *,
    allow_shrink: Annotated[
        bool,
        typer.Option(
            "--allow-shrink", help="Let a portrait lose more than memory.relational allows."
        ),
    ] = False,
) -> None:
    """Think about the people it talked with.

    Brings their portraits up to date. With a name, also works in the notes that wait in that
    person's file.
    """
    from bumble.jobs import portrait, stretch

    only = people.find(opened, person).id if person is not None else ""

    def check(runtime: Runtime) -> Due[Any]:
        due = stretch.check(runtime, force=True, person=only)
        if due.jobs:
            return due
        able = portrait.writes(runtime, only or opened.owner_id)
        return replace(due, conditions=(*due.conditions, able))

    with run_job.open_runtime(opened, "reflect", yes=flags.yes) as runtime:
        if only and not check(runtime).jobs and portrait.has_notes(runtime, only):
            noted = partial(portrait.check, only=only)
            run = partial(portrait.run, allow_shrink=allow_shrink)
            run_job.carry_out(opened, runtime, "reflect", noted, run, flags)
        else:
            made = partial(stretch.run, allow_shrink=allow_shrink)
            run_job.carry_out(opened, runtime, "reflect", check, made, flags)


@runs_job
def wake(opened: Opened, flags: JobFlags) -> None:
    """Let the entity wake by itself for a moment, if something calls it and nobody talks.

    Off unless wake.enabled; `tick` does the same. It writes, notes, looks something up, leaves a
    message, or rests; what it decided, and why, is in `bumble log` and the run ledger.
    """
    from bumble.chat import wake as job

    check = job.check if flags.check else job.check_tick
    run_job.perform(opened, flags, "wake", check, job.run, quiet=True)


@runs_job
def tick(
    opened: Opened,
    flags: JobFlags,
    *,
    settle: Annotated[
        bool,
        typer.Option("--settle", help="All that turns left, however much, and at once."),
    ] = False,
    settle_only: Annotated[
        bool,
        typer.Option(
            "--settle-only",
            help="Only what turns left, limits.passes_per_turn passes; "
            "a chat stops it, if the model is on this machine.",
        ),
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, metavar="N", help="At most N passes.")
    ] = None,
) -> None:
    """Do whatever is due: reminders, what turns left, sleep and dreams.

    Never asks a model while somebody talks, unless --settle says so. Run it as often as you like:
    where nothing is due, nothing changes.
    """
    from bumble.cli import registry

    dreaming = chat_model.dreaming(opened)
    asleep = chat_model.lazy_model(dreaming, "tick", yes=flags.yes)
    wanted = (
        registry.AFTER_TURN if settle_only else (*registry.everything(), abilities.as_pass(opened))
    )
    command = "settle" if settle_only else "tick"
    with run_job.open_runtime(opened, command, yes=flags.yes) as runtime, closing(asleep):
        if flags.check:
            _show_checks(opened, runtime, wanted, exit_code=flags.exit_code)
            return
        if settle_only:
            limit = opened.config.limits.passes_per_turn
        elif not flags.dry_run:
            locks.stop_settling(opened.entity)
        patience = locks.STOP_SECONDS if settle else locks.MOMENT_SECONDS  # a chat may just end
        with locks.hold_work(opened.entity, stoppable=settle_only, seconds=patience) as free:
            if not free:
                data = {"ran": False, "why": "another tick is at work"}
                run_job.tell(
                    opened, "tick", data, ["Another tick is at work."], verbose=flags.verbose
                )
                return
            if not flags.dry_run:
                wait = opened.config.limits.lock_timeout_seconds
                commits.keep_edits(
                    opened.root, opened.commit_policy, kinds.readable, timeout_seconds=wait
                )
            held = partial(_held, opened, at_once=settle or settle_only)
            calls = None if settle else opened.config.limits.calls_per_turn
            model = chat_model.budgeted(opened, runtime.model, calls=calls)
            if opened.config.soma.dreams.model:
                able = abilities.of(dreaming, None)
                wanted = tuple(
                    _asking(model.instead(asleep), able, each) if each.name == "dream" else each
                    for each in wanted
                )
            runtime = replace(runtime, model=model, writes=not flags.dry_run)
            run = run_job.settle(
                *(opened, runtime, command, wanted, limit), dry_run=flags.dry_run, held=held
            )
            settled_jobs = list(_warned(opened, run))
    _tell(opened, settled_jobs, dry_run=flags.dry_run, verbose=flags.verbose)
    if code := upkeep.exit_code(settled_jobs):
        raise typer.Exit(code)
    run_job.finish(any(map(upkeep.worked, settled_jobs)), exit_code=flags.exit_code)


def _held(opened: Opened, *, at_once: bool) -> str | None:
    """Say that somebody talks, so that no model may be asked; None: nobody does."""
    if locks.is_turn_running(opened.entity):
        return "a turn goes on"
    now = opened.shell.now()
    last = None if at_once else spoken.last_said(opened.entity, now, unprompted=False)
    if last is not None and moments.gap(last, now) < locks.RECENT:
        return "somebody spoke within the last minute"
    return None


def _asking(model: Model, abilities: Callable[[], Abilities], each: Pass) -> Pass:
    """Return a pass, asking another model."""

    def with_it(runtime: Runtime) -> Runtime:
        return replace(runtime, model=model, abilities=abilities)

    return replace(
        each,
        check=lambda runtime: each.check(with_it(runtime)),
        run=lambda runtime, job: each.run(with_it(runtime), job),
    )


def _warned(opened: Opened, run: Iterator[Settled]) -> Iterator[Settled]:
    """Say of each problem that a person has to see to, as soon as it is met; of each once."""
    said = set[str]()  # a model that is gone keeps what comes behind it waiting, too
    for settled in run:
        if settled.failure is not None and str(settled.failure) not in said:
            output.warn(opened.shell, f"{settled.name} waits: {settled.failure}")
            said.add(str(settled.failure))
        yield settled


def _tell(opened: Opened, settled_jobs: Sequence[Settled], *, dry_run: bool, verbose: bool) -> None:
    runs = [
        _run_data(opened, settled.name, settled.outcome, dry_run=dry_run)
        for settled in settled_jobs
        if settled.outcome is not None
    ]
    problems = [(job.name, job.problem) for job in settled_jobs if job.problem is not None]
    held = {settled.name: settled.held for settled in settled_jobs if settled.held}
    imports, imported = listing.imports(session_files.imports(opened.entity.sessions))
    data = {
        "ran": True,
        "dry_run": dry_run,
        "done": runs,
        "waiting": [
            {"pass": name, "kind": type(problem).__name__, "problem": str(problem)}
            for name, problem in problems
        ],
        "held": held,
        "imports": imports,
    }
    lines = [
        *(line for run in runs for line in run["lines"]),
        *(f"{name} waits: {problem}" for name, problem in problems),
    ]
    for why in dict.fromkeys(held.values()):  # once for all that wait for the same
        names = [name for name, its in held.items() if its == why]
        lines.append(f"{', '.join(names)} {'wait' if len(names) > 1 else 'waits'}: {why}")
    lines = list(dict.fromkeys(lines)) or ["Nothing was due."]
    lines += [f"imported: {imported}"] if imported else []
    run_job.tell(opened, "tick", data, lines, verbose=verbose or dry_run)


def _run_data(opened: Opened, name: str, outcome: JobResult, *, dry_run: bool) -> dict[str, Any]:
    data, told = run_job.told_of(opened, outcome, dry_run=dry_run)
    if not dry_run:
        data.pop("changes")  # of so many passes nobody reads them
    return {"pass": name, **data, "lines": [f"{name}: {line}" for line in told or (data["title"],)]}


def _show_checks(
    opened: Opened, runtime: Runtime, wanted: Sequence[Pass], *, exit_code: bool
) -> None:
    """Print the gates of every pass."""
    data: dict[str, Any] = {}
    rows: list[list[str]] = []
    for each in wanted:
        try:
            due = each.check(runtime)
        except UserError as error:
            output.warn(opened.shell, f"{each.name}: {error}")
            data[each.name] = {"due": False, "gates": [], "jobs": 0, "problem": str(error)}
            continue
        rows.append([each.name, f"due: {len(due.jobs)} to do" if due.due else "not due", "", ""])
        rows += [
            ["", "pass" if gate.passes else "wait", gate.name, f"{gate.value} (wants {gate.wants})"]
            for gate in due.conditions
        ]
        data[each.name] = {
            "due": due.due,
            "gates": run_job.gates(due),
            "jobs": len(due.jobs),
        }
    output.result(opened.shell, "tick", data, output.table(rows))
    run_job.finish(any(entry["due"] for entry in data.values()), exit_code=exit_code)
