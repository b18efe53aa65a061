"""`bumble reflect`: update the portraits of the people the entity talked with.

That is part of what is made of a stretch of talk, which is made whole; and with a name, of looking
at all that is known of that person again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from bumble.cli import people, run_job, runtimes
from bumble.cli.entity_command import runs_job
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.runtime.job import Due, JobResult

app = typer.Typer(add_completion=False, rich_markup_mode=None)
Check = Callable[..., Due[Any]]
Run = Callable[..., JobResult]
AllowShrinkOption = Annotated[
    bool,
    typer.Option("--allow-shrink", help="Let a portrait lose more than memory.relational allows."),
]


@app.command()
@runs_job
def reflect(
    opened: Opened,
    flags: JobFlags,
    person: Annotated[
        str | None, typer.Argument(metavar="[PERSON]", help="Only this one. Default: everybody.")
    ] = None,
    *,
    allow_shrink: AllowShrinkOption = False,
) -> None:
    """Think about the people it talked with.

    Brings their portraits up to date. With a name, also works in the notes that wait in that
    person's file.
    """
    from bumble.jobs import portrait_review, stretch

    only = people.find(opened, person).id if person is not None else ""
    look: Check = partial(stretch.check, force=True, person=only)
    carry_out: Run = partial(stretch.run, allow_shrink=allow_shrink)
    with runtimes.open_runtime(opened, "reflect", yes=flags.yes) as runtime:
        if only and not look(runtime).jobs and portrait_review.has_notes(runtime, only):
            look = partial(portrait_review.check, only=only)
            carry_out = partial(portrait_review.run, allow_shrink=allow_shrink)
        run_job.carry_out(opened, runtime, "reflect", look, carry_out, flags)
