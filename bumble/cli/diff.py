"""`bumble diff`: what changed, in memories rather than lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bumble.cli import output
from bumble.cli.opening import Opened, open_entity, shell_of
from bumble.cli.options import EntityOption, JsonOption, NowOption
from bumble.errors import RecordMissingError

if TYPE_CHECKING:
    from bumble.upkeep.past import Commit

app = typer.Typer(rich_markup_mode=None)
LAST = "last"


@app.command()
def diff(
    ctx: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHAT]",
            help="A commit, `last`, or a file, id or person: the last commit that touched it. "
            "Default: what is not committed yet.",
        ),
    ] = None,
    *,
    entity: EntityOption = None,
    now: NowOption = None,
    json: JsonOption = False,
) -> None:
    """Show what changed, in memories rather than lines."""
    from bumble.cli import history
    from bumble.upkeep import past

    shell = shell_of(ctx)
    shell.set_now(now)
    opened = open_entity(ctx, entity)
    history.look(opened)
    root = opened.entity.root
    commit = _meant(opened, what) if what else None
    actions = history.actions(past.versions(root, commit) if commit else past.uncommitted(root))
    head = [" ".join(history.line(opened, commit))] if commit else []
    data = {"commit": history.data(commit) if commit else None, "changes": actions}
    output.result(shell, "diff", data, [*head, *history.lines(actions)])
    if commit is None and not actions:
        output.say("Nothing has changed since the last commit; `bumble diff last` shows that one.")


def _meant(opened: Opened, what: str) -> Commit:
    """Return the commit that a word of the user's stands for.

    Raises:
        RecordMissingError: If there is none.
    """
    from bumble.cli import history
    from bumble.upkeep import past

    root = opened.entity.root
    if what == LAST:
        commits = past.read(root, limit=1)
    else:
        try:
            return past.find(root, what)
        except RecordMissingError:
            commits = past.read(root, limit=1, wanted=history.wanted(opened, what))
    if not commits:
        raise RecordMissingError("commit, record or person", what)
    return commits[0]
