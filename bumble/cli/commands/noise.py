"""`bumble noise`: the stray thoughts that pass while nobody talks."""

from __future__ import annotations

import typer

from bumble.body import noise
from bumble.cli import body_view, run_job
from bumble.cli.entity_command import runs_job, shows
from bumble.cli.listing import Listing, show_list, when
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Look at stray thoughts, and let some come.",
)
NONE = "No stray thoughts yet. `bumble noise tick` lets some come."


@app.callback(invoke_without_command=True)
@shows
def list_(opened: Opened) -> None:
    """Look at stray thoughts, and let some come.

    The newest is last.
    """
    held = body_view.look(opened).soma.noise

    def line(fragment: noise.Fragment) -> list[str]:
        only = f"  (only for {', '.join(fragment.audience)})" if fragment.audience else ""
        return [when(fragment.at, opened), f"{noise.line(fragment)}{only}"]

    listing = Listing(held, broken=0, more=False)
    show_list(opened, "noise", listing, body_view.fragment_data, line, NONE)


@app.command()
@runs_job
def tick(opened: Opened, flags: JobFlags) -> None:
    """Let one to three stray thoughts come, if the last are long enough ago."""
    from bumble.cli import runtimes
    from bumble.jobs import musings

    with runtimes.open_runtime(opened, "noise tick", yes=flags.yes) as runtime:
        run_job.carry_out(
            opened,
            runtime,
            "noise tick",
            musings.check_thoughts,
            musings.think,
            flags,
        )
