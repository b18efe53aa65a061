"""`bumble dream`: let the entity dream, if it is deep in the night and nobody talks."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.cli import listing, run_job, runtimes
from bumble.cli.entity_command import runs_job
from bumble.cli.models import chat_model
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.jobs import dream, working_memory
from bumble.runtime.runtime import Runtime

app = typer.Typer(rich_markup_mode=None)
ForceOption = Annotated[
    bool, typer.Option("--force", help="Go past the gates; the dream's record says so.")
]


@app.command()
@runs_job
def command(
    opened: Opened,
    flags: JobFlags,
    *,
    force: ForceOption = False,
    memory: Annotated[
        bool,
        typer.Option("--memory", help="Write working memory anew instead; `tick` does both."),
    ] = False,
) -> None:
    """Let the entity dream, if it is deep in the night and nobody talks.

    Off unless soma.dreams.enabled; safe to run every few minutes.
    """
    opened = chat_model.dreaming(opened)
    with runtimes.open_runtime(opened, "dream", yes=flags.yes) as runtime:
        if memory:
            look = partial(working_memory.check, force=force)
            run_job.carry_out(opened, runtime, "dream", look, working_memory.run, flags)
            return
        due = partial(dream.check, force=force, seed=opened.shell.seed)
        if flags.check:
            condition_report = due(runtime)
            data, line = _pairs(opened, runtime)
            run_job.show_check(opened, "dream", condition_report, data, [line])
            run_job.finish(condition_report.due, exit_code=flags.exit_code)
            return
        run_job.carry_out(opened, runtime, "dream", due, dream.run, flags)


def _pairs(opened: Opened, runtime: Runtime) -> tuple[dict[str, object], str]:
    """Say how many pairs of memories there are to dream of."""
    pool = dream.find(runtime, runtime.now())
    sentence = listing.counted(len(pool.pairs), "pair")
    line = f"{sentence} of memories may meet ({pool.similarity} similarity)"
    if pool.similarity == "none":
        line = f"{sentence} of memories may meet; {dream.TIME_ALONE}"
    return {"eligible_pairs": len(pool.pairs), "similarity": pool.similarity}, line
