"""`bumble diff`: what a commit, or what is not committed yet, changed, in memories, not lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bumble.cli import output
from bumble.cli.entity_command import shows
from bumble.cli.opening import Opened
from bumble.errors import RecordMissingError

if TYPE_CHECKING:
    from bumble.history.log import Commit

app = typer.Typer(rich_markup_mode=None)
LAST = "last"


@app.command()
@shows
def diff(
    opened: Opened,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHAT]",
            help="A commit, `last`, or a file, id or person: the last commit that touched it. "
            "Default: what is not committed yet.",
        ),
    ] = None,
) -> None:
    """Show what changed, in memories rather than lines."""
    from bumble.cli import commits_view, listing
    from bumble.history import log

    commits_view.look(opened)
    root = opened.entity.root
    commit = _meant(opened, what) if what else None
    versions = log.versions(root, commit) if commit else log.uncommitted(root)
    actions = commits_view.actions(versions, listing.reader(opened))
    commit = commits_view.seen(opened, [commit])[0] if commit else None
    head = [" ".join(commits_view.line(opened, commit))] if commit else []
    data = {"commit": commits_view.data(commit) if commit else None, "changes": actions}
    output.result(opened.shell, "diff", data, [*head, *commits_view.lines(actions)])
    if commit is None and not actions:
        output.say("Nothing has changed since the last commit; `bumble diff last` shows that one.")


def _meant(opened: Opened, what: str) -> Commit:
    """Return the commit that a word of the user's stands for.

    Raises:
        RecordMissingError: If there is none.
    """
    from bumble.cli import commits_view
    from bumble.history import log

    root = opened.entity.root
    if what == LAST:
        commits = log.read(root, limit=1)
    else:
        try:
            return log.find(root, what)
        except RecordMissingError:
            commits = log.read(root, limit=1, wanted=commits_view.wanted(opened, what))
    if not commits:
        raise RecordMissingError("commit, record or person", what)
    return commits[0]
