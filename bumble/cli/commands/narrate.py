"""`bumble narrate`: have the entity tell its story anew."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.cli import run_job, runtimes
from bumble.cli.entity_command import runs_job
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.jobs import narrate

app = typer.Typer(rich_markup_mode=None)
ForceOption = Annotated[
    bool, typer.Option("--force", help="Tell it also where there is nothing new to tell.")
]


@app.command()
@runs_job
def command(opened: Opened, flags: JobFlags, *, force: ForceOption = False) -> None:
    """Have the entity tell its story anew, from its memories and the story so far.

    A telling that can't be used leaves narrative.md as it was.
    """
    with runtimes.open_runtime(opened, "narrate", yes=flags.yes) as runtime:
        run_job.carry_out(
            opened,
            runtime,
            "narrate",
            partial(narrate.check, force=force),
            narrate.run,
            flags,
        )
