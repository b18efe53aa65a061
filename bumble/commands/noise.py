"""`bumble noise`: the stray thoughts that pass while nobody talks."""

from __future__ import annotations

import typer

from bumble.app import body_view
from bumble.app.opening import open_entity
from bumble.body import noise
from bumble.cli import run_job
from bumble.cli.listing import Listing, show_list, when
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
    held = body_view.look(opened).soma.noise

    def line(fragment: noise.Fragment) -> list[str]:
        only = f"  (only for {', '.join(fragment.audience)})" if fragment.audience else ""
        return [when(fragment.at, opened), f"{noise.line(fragment)}{only}"]

    listing = Listing(held, broken=0, more=False)
    show_list(opened, "noise", listing, body_view.fragment_data, line, NONE)


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
    from bumble.app import conversation
    from bumble.sleep import stray_thoughts

    opened = open_entity(ctx, entity, limits__lock_timeout_seconds=lock_timeout)
    opened.shell.set_now(now)
    opened.shell.set_seed(seed)
    with conversation.open_life(opened, "noise tick", yes=yes) as life:
        run_job.carry_out(
            opened,
            life,
            "noise tick",
            stray_thoughts.check,
            stray_thoughts.run,
            only_check=check,
            dry_run=dry_run,
            exit_code=exit_code,
            verbose=verbose,
        )
