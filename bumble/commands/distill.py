"""`bumble distill`: draw facts, beliefs and notes from conversations now.

Where the model may write, that is part of what it makes of a stretch, which then is made whole.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.app import runtimes
from bumble.app.opening import Opened
from bumble.cli import run_job
from bumble.cli.entity_command import runs_job
from bumble.cli.run_job import JobFlags
from bumble.facts import distill
from bumble.jobs import stretch
from bumble.records import session_files

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@runs_job
def command(
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
    chosen = session_files.find(opened.entity.sessions, session).id if session else None
    look, carry_out = stretch.with_stretches(
        partial(stretch.check, session_id=chosen, force=force),
        partial(distill.check, session_id=chosen, force=force),
        distill.run,
    )
    with runtimes.open_runtime(opened, "distill", yes=flags.yes) as runtime:
        run_job.carry_out(
            opened,
            runtime,
            "distill",
            look,
            carry_out,
            flags,
            limit=limit,
        )
