"""`bumble noise`: the stray thoughts that pass while nobody talks."""

from __future__ import annotations

import typer

from bumble.body import noise
from bumble.cli import cycling, presence, records
from bumble.cli.cycling import CheckOption, ExitCodeOption, VerboseOption
from bumble.cli.opening import open_entity
from bumble.cli.options import (
    DryRunOption,
    EntityOption,
    JsonOption,
    LockTimeoutOption,
    NowOption,
    SeedOption,
    YesOption,
)
from bumble.cli.records import Found

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Look at stray thoughts, and let some come.",
)
NONE = "No stray thoughts yet. `bumble noise tick` lets some come."


@app.callback(invoke_without_command=True)
def list_(
    ctx: typer.Context,
    *,
    entity: EntityOption = None,
    now: NowOption = None,
    json: JsonOption = False,
) -> None:
    """Look at stray thoughts, and let some come.

    The newest is last.
    """
    if ctx.invoked_subcommand is not None:
        if entity is not None:
            ctx.obj.entity = entity
        return
    opened = open_entity(ctx, entity)
    opened.shell.set_now(now)
    held = presence.look(opened).soma.noise

    def line(fragment: noise.Fragment) -> list[str]:
        only = f"  (only for {', '.join(fragment.audience)})" if fragment.audience else ""
        return [records.when(fragment.at, opened), f"{noise.line(fragment)}{only}"]

    listing = Found(held, broken=0, more=False)
    records.show_list(opened, "noise", listing, presence.fragment_data, line, NONE)


@app.command()
def tick(
    ctx: typer.Context,
    *,
    entity: EntityOption = None,
    check: CheckOption = False,
    dry_run: DryRunOption = False,
    exit_code: ExitCodeOption = False,
    verbose: VerboseOption = False,
    lock_timeout: LockTimeoutOption = None,
    now: NowOption = None,
    seed: SeedOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Let one to three stray thoughts come, if the last are long enough ago."""
    from bumble.cli import minds
    from bumble.cycles import noise as cycle

    opened = open_entity(ctx, entity, limits__lock_timeout_seconds=lock_timeout)
    opened.shell.set_now(now)
    opened.shell.set_seed(seed)
    with minds.open_life(opened, "noise tick", yes=yes) as life:
        cycling.carry_out(
            opened,
            life,
            "noise tick",
            cycle.check,
            cycle.run,
            only_check=check,
            dry_run=dry_run,
            exit_code=exit_code,
            verbose=verbose,
        )
