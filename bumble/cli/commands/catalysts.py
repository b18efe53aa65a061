"""`bumble catalysts`: draw the questions that topics keep raising."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bumble.cli import run_job, runtimes
from bumble.cli.entity_command import runs_job
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.recall import catalysts

app = typer.Typer(rich_markup_mode=None)
TopicArgument = Annotated[
    str | None, typer.Argument(metavar="TOPIC", help="This topic alone, however little it recurs.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Draw them anew where nothing new mentions the topic.")
]


@app.command()
@runs_job
def command(
    opened: Opened, flags: JobFlags, topic: TopicArgument = None, *, force: ForceOption = False
) -> None:
    """Draw the questions that topics keep raising.

    They come from what was said in all the times of a topic. Where no model is trusted to write,
    they are questions that people asked, quoted.
    """
    with runtimes.open_runtime(opened, "catalysts", yes=flags.yes) as runtime:
        run_job.carry_out(
            opened,
            runtime,
            catalysts.PURPOSE,
            partial(catalysts.check, name=topic or "", force=force),
            catalysts.run,
            flags,
        )
