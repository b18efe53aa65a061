"""`bumble sync`: bring the folder together with its other clones: fetch, merge, doctor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bumble.app import index_place, opening, output, weights
from bumble.app.opening import Opened
from bumble.cli.entity_command import writes
from bumble.entity import commits
from bumble.errors import RecordInvalidError
from bumble.records import knowledge
from bumble.records.knowledge import Knowledge
from bumble.runtime import rules

if TYPE_CHECKING:
    from bumble.entity.approvals import Rule
    from bumble.history.remote import Merging
    from bumble.upkeep.doctor import DoctorReport
    from bumble.upkeep.findings import Finding

app = typer.Typer(rich_markup_mode=None)
PushOption = Annotated[
    bool, typer.Option("--push", help="Push what this clone has, once it is merged.")
]


def _locked(opened: Opened) -> Knowledge:
    """Read the knowledge; what can't be read says so elsewhere."""
    try:
        return knowledge.read(opened.entity.knowledge)
    except RecordInvalidError:
        return Knowledge("", (), None)


@app.command()
@writes
def sync(opened: Opened, *, push: PushOption = False) -> None:
    """Fetch what other clones did, merge it by meaning, and check the folder.

    Reaches out to the remote that the branch follows, and pushes only with --push. Ends with exit
    code 12 if something is wrong with the folder then; it is not pushed in that case.
    """
    from bumble.history import remote

    shell, root = opened.shell, opened.entity.root
    timeout = opened.config.limits.lock_timeout_seconds
    place = remote.place_of(root, trusted=opened.settings.trusted)
    target = remote.upstream(root, place)
    keeping = opening.keeping(opened)
    waiting = commits.catch_up(root, keeping, timeout_seconds=timeout)
    if waiting.notes:
        output.warn(shell, f"written, but not committed yet: {waiting.why}")
    remote.fetch(root, place, target)
    locked = _locked(opened)
    merging = remote.merge(root, place, target, keeping, timeout_seconds=timeout)
    if merging.mended.sentence:
        output.warn(shell, merging.mended.sentence)
    changed = knowledge.changed_locked(locked, _locked(opened))
    for title in changed:
        output.warn(
            shell,
            f"another clone changed the locked section “{title}”:"
            f" `bumble diff {knowledge.PATH}` shows how",
        )
    opening.forget_again(opened)
    rules_waiting = opening.rules_from_elsewhere(opened)
    problems = _examine(opened).problems
    pushed = push and not problems
    if pushed:
        remote.push(root, place, target)
    _tell(opened, merging, changed, rules_waiting, problems, pushed=pushed)
    if problems:
        raise typer.Exit(RecordInvalidError.exit_code)


def _examine(opened: Opened) -> DoctorReport:
    """Check the folder as `doctor` does."""
    from bumble.upkeep import doctor

    shell = opened.shell
    catalog = weights.catalog_of(shell)
    return doctor.examine(
        doctor.DoctorInput(
            opened.entity,
            shell.now(),
            shell.environ,
            shell.user_file,
            shell.secrets_file,
            shell.weights,
            catalog,
            index_place.of,
            weights.embedders_of(shell, opened.entity, catalog),
        ),
        lambda done, total: None,
    )


def _tell(
    opened: Opened,
    merging: Merging,
    changed: Sequence[str],
    waiting: Sequence[Rule],
    problems: Sequence[Finding],
    *,
    pushed: bool,
) -> None:
    brought = f"{merging.commits} commits" if merging.commits != 1 else "1 commit"
    lines = [f"Merged {brought} of other clones." if merging.commits else "Nothing new elsewhere."]
    lines += [f"not obeyed until you trust it: {rules.line(rule)}" for rule in waiting]
    lines += ["Pushed."] if pushed else []
    lines += [f"{finding.where}: {finding.sentence} [{finding.code}]" for finding in problems]
    data = {
        "merged": merging.commits,
        "mended": list(merging.mended.paths),
        "locked_changed": list(changed),
        "not_obeyed": [rule.name for rule in waiting],
        "pushed": pushed,
        "problems": [finding.code for finding in problems],
    }
    output.result(opened.shell, "sync", data, lines)
