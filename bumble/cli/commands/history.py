"""`bumble log`, `diff`, `undo`: what became part of an entity, in commits; one taken back."""

from __future__ import annotations

from typing import Annotated

import typer

from bumble.cli import commit, commits_view, listing, output
from bumble.cli.command import DryRunOption, LimitOption, shows, writes
from bumble.cli.opening import Opened
from bumble.errors import RecordMissingError, UsageError
from bumble.history import log as commit_log
from bumble.history import undo as undoing

LAST = "last"
PASSED_SHOWN = 5


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
    limit: LimitOption = 20,
) -> None:
    """Show what became part of the entity, and when."""
    commits_view.look(opened)
    wanted, root = commits_view.pathspecs(opened, what) if what else [], opened.root
    found = commits_view.seen(
        opened, commit_log.read(root, limit=limit, cycle=cycle, wanted=wanted)
    )
    undone = undoing.taken_back(commit_log.read(root, cycle=undoing.UNDO))
    rows = output.table([commits_view.commit_line(opened, each, undone) for each in found])
    output.result(
        opened.shell, "log", [commits_view.commit_data(each, undone) for each in found], rows
    )
    if not found:
        output.say("Nothing in the history fits.")


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
    commits_view.look(opened)
    meant = [_meant(opened, what)] if what else []
    versions = [one for each in meant for one in commit_log.versions(opened.root, each)]
    rows = commits_view.actions(
        versions if meant else commit_log.uncommitted(opened.root), listing.reader(opened)
    )
    shown = commits_view.seen(opened, meant)
    head = [" ".join(commits_view.commit_line(opened, each)) for each in shown]
    data = {"commit": commits_view.commit_data(shown[0]) if shown else None, "changes": rows}
    output.result(opened.shell, "diff", data, [*head, *commits_view.action_lines(rows)])
    if not (meant or rows):
        output.say("Nothing has changed since the last commit; `bumble diff last` shows that one.")


def _meant(opened: Opened, what: str) -> commit_log.Commit:
    """Return the commit that a word of the user's stands for.

    Raises:
        RecordMissingError: If there is none.
    """
    found = commit_log.read(opened.root, limit=1) if what == LAST else []
    if what != LAST:
        try:
            return commit_log.find(opened.root, what)
        except RecordMissingError:
            found = commit_log.read(
                opened.root, limit=1, wanted=commits_view.pathspecs(opened, what)
            )
    if not found:
        raise RecordMissingError("commit, record or person", what)
    return found[0]


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
    if sum((what is not None, last, bool(cycle))) != 1:
        raise UsageError("Say what to undo: an ID from `bumble log`, --last, or --cycle NAME.")
    waiting, root = commits_view.look(opened), opened.root
    chosen = undoing.choose(root, what, last=last, cycle=cycle, waiting=waiting)
    passed = undoing.passed_over(root, chosen) if last else []
    plan = undoing.plan(root, chosen, force=force)
    changes = plan.change_set.changes
    rows = commits_view.actions(commits_view.versions_of(opened, changes), listing.reader(opened))
    if changes and not dry_run:
        # what comes back may be what a pull once brought
        commit.apply(opened, plan.change_set, trusts=False)
    (undone,) = commits_view.seen(opened, [plan.commit])
    title = f'"{undone.title}" ({undone.short})'
    head = f"Would undo {title}:" if dry_run else f"Undid {title}:"
    data = {
        "changed": bool(changes) and not dry_run,
        "dry_run": dry_run,
        "undoes": commits_view.commit_data(undone),
        "changes": rows,
        "stays": list(plan.stays),
        "passed_over": [commits_view.commit_data(newer) | {"why": why} for newer, why in passed],
    }
    lines = (
        [head, *commits_view.action_lines(rows)] if changes else [f"Nothing of {title} is left."]
    )
    output.result(opened.shell, "undo", data, lines)
    for newer, why in passed[:PASSED_SHOWN]:
        output.say(f'passed over: "{newer.title}" ({newer.short}): {why}')
    if len(passed) > PASSED_SHOWN:
        output.say(f"passed over: {len(passed) - PASSED_SHOWN} more, as `bumble log` shows them")
    for kept_file in plan.stays:
        output.say(f"left as it is: {kept_file}")
    if changes and dry_run:
        output.say("Nothing was written: --dry-run.")


# What these and `review` show of commits
