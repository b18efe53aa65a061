"""`bumble narrate`: have the entity tell its story anew."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.app import conversation
from bumble.app.opening import open_entity, shell_of
from bumble.cli import run_job
from bumble.cli.options import (
    DryRunOption,
    EntityOption,
    JsonOption,
    NowOption,
    SeedOption,
    YesOption,
)
from bumble.cli.run_job import CheckOption, ExitCodeOption, VerboseOption
from bumble.sleep import narrate

app = typer.Typer(rich_markup_mode=None)
ForceOption = Annotated[
    bool, typer.Option("--force", help="Tell it also where there is nothing new to tell.")
]


@app.command()
def command(
    ctx: typer.Context,
    *,
    check: CheckOption = False,
    force: ForceOption = False,
    exit_code: ExitCodeOption = False,
    dry_run: DryRunOption = False,
    verbose: VerboseOption = False,
    entity: EntityOption = None,
    now: NowOption = None,
    seed: SeedOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Have the entity tell its story anew, from its memories and the story so far.

    A telling that can't be used leaves narrative.md as it was.
    """
    shell = shell_of(ctx)
    shell.set_now(now)
    shell.set_seed(seed)
    opened = open_entity(ctx, entity)
    with conversation.open_life(opened, "narrate", yes=yes) as life:
        run_job.carry_out(
            opened,
            life,
            "narrate",
            partial(narrate.check, force=force),
            narrate.run,
            only_check=check,
            dry_run=dry_run,
            exit_code=exit_code,
            verbose=verbose,
        )
