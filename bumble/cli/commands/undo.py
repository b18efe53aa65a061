"""`bumble undo`: take back one change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from bumble.cli import output
from bumble.cli.commit import apply
from bumble.cli.entity_command import writes
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption
from bumble.entity import companions
from bumble.entity.changes import Version
from bumble.errors import UsageError

if TYPE_CHECKING:
    from bumble.history.log import Commit
    from bumble.history.undo import UndoPlan

app = typer.Typer(rich_markup_mode=None)
PASSED_SHOWN = 5


@app.command()
@writes
def undo(
    opened: Opened,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="A commit, as `bumble log` shows it, or a record."),
    ] = None,
    *,
    last: Annotated[
        bool, typer.Option("--last", help="The newest change; conversations are passed over.")
    ] = False,
    cycle: Annotated[
        str, typer.Option(metavar="NAME", help="The newest of this kind: stretch, dream, …")
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Take back what came of a conversation, too.")
    ] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Take back one change.

    Its files become what they were, in a commit of its own. What was written to them since stays,
    or the undo is refused with exit code 13. Conversations stay word for word.
    """
    from bumble.cli import commits_view, listing
    from bumble.history import undo

    if sum((what is not None, last, bool(cycle))) != 1:
        raise UsageError("Say what to undo: an ID from `bumble log`, --last, or --cycle NAME.")
    waiting = commits_view.look(opened)
    root = opened.entity.root
    commit = undo.choose(root, what, last=last, cycle=cycle, waiting=waiting)
    passed = undo.passed_over(root, commit) if last else []
    plan = undo.plan(root, commit, force=force)
    changes = plan.change_set.changes
    versions = [
        Version(change.path, companions.read(root, change.path), change.data) for change in changes
    ]
    rows = commits_view.actions(versions, listing.reader(opened))
    if changes and not dry_run:
        # what comes back may be what a pull once brought
        apply(opened, plan.change_set, trusts=False)
    (shown,) = commits_view.seen(opened, [plan.commit])
    _tell(opened, replace(plan, commit=shown), rows, passed, dry_run=dry_run)


def _tell(
    opened: Opened,
    plan: UndoPlan,
    rows: list[dict[str, Any]],
    passed: Sequence[tuple[Commit, str]],
    *,
    dry_run: bool,
) -> None:
    """Say what was taken back, what was passed over on the way, and what stays."""
    from bumble.cli import commits_view

    changes = plan.change_set.changes
    title = f'"{plan.commit.title}" ({plan.commit.short})'
    lines = [
        f"Undid {title}:" if not dry_run else f"Would undo {title}:",
        *commits_view.lines(rows),
    ]
    data = {
        "changed": bool(changes) and not dry_run,
        "dry_run": dry_run,
        "undoes": commits_view.data(plan.commit),
        "changes": rows,
        "stays": list(plan.stays),
        "passed_over": [commits_view.data(newer) | {"why": why} for newer, why in passed],
    }
    output.result(
        opened.shell, "undo", data, lines if changes else [f"Nothing of {title} is left."]
    )
    for newer, why in passed[:PASSED_SHOWN]:
        output.say(f'passed over: "{newer.title}" ({newer.short}): {why}')
    if len(passed) > PASSED_SHOWN:
        output.say(f"passed over: {len(passed) - PASSED_SHOWN} more, as `bumble log` shows them")
    for kept_file in plan.stays:
        output.say(f"left as it is: {kept_file}")
    if changes and dry_run:
        output.say("Nothing was written: --dry-run.")
