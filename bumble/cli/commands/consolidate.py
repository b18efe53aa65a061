"""`bumble consolidate`: put memory in order now."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.cli import run_job, runtimes
from bumble.cli.entity_command import runs_job
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.jobs import consolidate

app = typer.Typer(rich_markup_mode=None)
ForceOption = Annotated[
    bool, typer.Option("--force", help="Do it however short ago the last time was.")
]


@app.command()
@runs_job
def command(opened: Opened, flags: JobFlags, *, force: ForceOption = False) -> None:
    """Put memory in order: what has faded, weak beliefs, the story.

    Does nothing where nothing has changed since the last time.
    """
    with runtimes.open_runtime(opened, "consolidate", yes=flags.yes) as runtime:
        run_job.carry_out(
            opened,
            runtime,
            "consolidate",
            partial(consolidate.check, force=force),
            consolidate.run,
            flags,
        )
