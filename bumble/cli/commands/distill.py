"""`bumble distill`: draw facts, beliefs and notes from conversations now.

They are part of what is made of a stretch of talk, which is made whole.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.cli import run_job, runtimes
from bumble.cli.entity_command import runs_job
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
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
    look = partial(stretch.check, session_id=chosen, force=force, gated=True)
    with runtimes.open_runtime(opened, "distill", yes=flags.yes) as runtime:
        run_job.carry_out(
            opened,
            runtime,
            "distill",
            look,
            stretch.run,
            flags,
            limit=limit,
        )
