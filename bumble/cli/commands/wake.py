"""`bumble wake`: let the entity wake by itself for a moment, if something calls it."""

from __future__ import annotations

import typer

from bumble.cli import run_job, runtimes
from bumble.cli.entity_command import runs_job
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.jobs import wake as cycle

app = typer.Typer(rich_markup_mode=None)


@app.command()
@runs_job
def wake(opened: Opened, flags: JobFlags) -> None:
    """Let the entity wake by itself for a moment, if something calls it and nobody talks.

    Off unless wake.enabled; `tick` does the same. It writes, notes, looks something up, leaves a
    message, or rests; what it decided, and why, is in `bumble log` and the run ledger.
    """
    with runtimes.open_runtime(opened, "wake", yes=flags.yes) as runtime:
        if flags.check:
            due = cycle.check(runtime)
            run_job.show_check(opened, "wake", due)
            run_job.finish(due.due, exit_code=flags.exit_code)
            return
        run_job.carry_out(opened, runtime, "wake", cycle.check_tick, cycle.run, flags)
