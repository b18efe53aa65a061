"""`bumble reflect`: update the portraits of the people the entity talked with."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.app import conversation
from bumble.app.opening import open_entity
from bumble.cli import people, run_job
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

app = typer.Typer(add_completion=False, rich_markup_mode=None)
AllowShrinkOption = Annotated[
    bool,
    typer.Option("--allow-shrink", help="Let a portrait lose more than memory.relational allows."),
]


@app.command()
def reflect(
    ctx: typer.Context,
    person: Annotated[
        str | None, typer.Argument(metavar="[PERSON]", help="Only this one. Default: everybody.")
    ] = None,
    *,
    entity: EntityOption = None,
    check: CheckOption = False,
    dry_run: DryRunOption = False,
    exit_code: ExitCodeOption = False,
    verbose: VerboseOption = False,
    allow_shrink: AllowShrinkOption = False,
    yes: YesOption = False,
    lock_timeout: LockTimeoutOption = None,
    now: NowOption = None,
    seed: SeedOption = None,
    json: JsonOption = False,
) -> None:
    """Think about the people it talked with.

    Brings their portraits up to date. With a name, also works in the notes and the own words that
    wait in that person's file.
    """
    from bumble.portraits import reflect

    opened = open_entity(ctx, entity, limits__lock_timeout_seconds=lock_timeout)
    opened.shell.set_now(now)
    opened.shell.set_seed(seed)
    only = people.find(opened, person).id if person is not None else ""
    with conversation.open_life(opened, "reflect", yes=yes) as life:
        run_job.carry_out(
            opened,
            life,
            "reflect",
            partial(reflect.check, only=only),
            partial(reflect.run, allow_shrink=allow_shrink),
            only_check=check,
            dry_run=dry_run,
            exit_code=exit_code,
            verbose=verbose,
        )
