"""`bumble log`: the commits of an entity, what became part of it, and when."""

from __future__ import annotations

from typing import Annotated

import typer

from bumble.cli import output
from bumble.cli.entity_command import shows
from bumble.cli.opening import Opened

app = typer.Typer(rich_markup_mode=None)


@app.command()
@shows
def log(
    opened: Opened,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[WHAT]", help="Only what touched this file, id or person."),
    ] = None,
    *,
    cycle: Annotated[
        str, typer.Option(metavar="NAME", help="Only what this made: dream, distill, chat, …")
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most this many.")
    ] = 20,
) -> None:
    """Show what became part of the entity, and when."""
    from bumble.cli import commits_view
    from bumble.history import undo
    from bumble.history.log import read

    commits_view.look(opened)
    wanted = commits_view.wanted(opened, what) if what else []
    root = opened.entity.root
    commits = commits_view.seen(opened, read(root, limit=limit, cycle=cycle, wanted=wanted))
    undone = undo.taken_back(read(root, cycle=undo.UNDO))
    rows = output.table([commits_view.line(opened, commit, undone) for commit in commits])
    output.result(
        opened.shell, "log", [commits_view.data(commit, undone) for commit in commits], rows
    )
    if not commits:
        output.say("Nothing in the history fits.")
