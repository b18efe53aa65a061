"""`bumble distill`: draw facts, beliefs and notes from conversations now."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.app import conversation
from bumble.app.opening import open_entity
from bumble.cli import run_job
from bumble.cli.options import (
    DryRunOption,
    EntityOption,
    JsonOption,
    LockTimeoutOption,
    NowOption,
    SeedOption,
    YesOption,
)
from bumble.cli.run_job import CheckOption, ExitCodeOption, VerboseOption
from bumble.facts import distill
from bumble.records import session_files

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def command(
    ctx: typer.Context,
    *,
    check: CheckOption = False,
    force: Annotated[
        bool, typer.Option("--force", help="Whatever the gates say; the last window, if need be.")
    ] = False,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="This conversation alone.")
    ] = None,
    judge: Annotated[
        bool, typer.Option(help="Ask the model again which of its items were really said.")
    ] = True,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="At most so many windows.")
    ] = None,
    exit_code: ExitCodeOption = False,
    verbose: VerboseOption = False,
    yes: YesOption = False,
    entity: EntityOption = None,
    dry_run: DryRunOption = False,
    lock_timeout: LockTimeoutOption = None,
    now: NowOption = None,
    seed: SeedOption = None,
    json: JsonOption = False,
) -> None:
    """Draw facts, beliefs and notes from what was said."""
    opened = open_entity(ctx, entity, limits__lock_timeout_seconds=lock_timeout)
    opened.shell.set_now(now)
    opened.shell.set_seed(seed)
    chosen = session_files.find(opened.entity.sessions, session).id if session else None
    with conversation.open_life(opened, "distill", yes=yes) as life:
        run_job.carry_out(
            opened,
            life,
            "distill",
            partial(distill.check, session_id=chosen, force=force),
            partial(distill.run, judge=judge),
            only_check=check,
            dry_run=dry_run,
            exit_code=exit_code,
            verbose=verbose,
            limit=limit,
        )
