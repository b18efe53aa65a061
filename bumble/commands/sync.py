"""`bumble sync`: bring the folder together with its other clones: fetch, merge, doctor."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bumble.app import index_place, opening, output, weights
from bumble.app.opening import Opened
from bumble.cli.entity_command import writes
from bumble.entity import commits
from bumble.errors import RecordInvalidError
from bumble.records import forgotten, kinds, knowledge
from bumble.records.knowledge import Knowledge
from bumble.runtime import rules

if TYPE_CHECKING:
    from bumble.entity.approvals import Rule
    from bumble.history.remote import Merging
    from bumble.upkeep.doctor import DoctorReport
    from bumble.upkeep.findings import Finding

MOST_PATHS = 10  # that are named
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
    opening.settle_merges(opened, merging.mended.kept)
    changed = knowledge.changed_locked(locked, _locked(opened))
    for title in changed:
        output.warn(
            shell,
            f"another clone changed the locked section “{title}”:"
            f" `bumble diff {knowledge.PATH}` shows how",
        )
    gone, paths = remote.gone(root, place, merging.before) if merging.before else ({}, [])
    if gone:
        output.warn(shell, _sentence_of_gone(opened, gone, paths, merging.before))
    rules_waiting = opening.rules_from_elsewhere(opened)
    problems = _examine(opened).problems
    pushed = push and not problems
    if pushed:
        remote.push(root, place, target)
    _tell(opened, merging, gone, changed, rules_waiting, problems, pushed=pushed)
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


def _sentence_of_gone(
    opened: Opened, gone: Mapping[str, int], paths: Sequence[str], before: str
) -> str:
    """Say what was deleted elsewhere, and how to have it back."""
    root = opened.entity.root
    told = ", ".join(
        kind.file_name or f"{number:,} {kind.singular if number == 1 else kind.plural}"
        for name, number in gone.items()
        for kind in (kinds.BY_NAME[name],)
    )
    where, commit = f"git -C {shlex.quote(str(root))}", before[:12]
    shown = " ".join(shlex.quote(path) for path in paths[:MOST_PATHS])
    back = f"{where} restore --source={commit} --staged --worktree -- {shown}"
    lines = [f"deleted in another clone, and so gone here: {told}. This brings it back:"]
    lines += [f"    {back} && {where} commit -m 'bring back'"]
    if len(paths) > MOST_PATHS:
        more = f"{where} diff --name-only --diff-filter=D {commit} HEAD"
        lines += [f"and so {len(paths) - MOST_PATHS} more, which `{more}` names"]
    if (root / forgotten.PATH).exists():
        lines += ["`bumble doctor --fix` then forgets again who was forgotten."]
    return "\n".join(lines)


def _tell(
    opened: Opened,
    merging: Merging,
    gone: Mapping[str, int],
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
        "gone": dict(gone),
        "locked_changed": list(changed),
        "not_obeyed": [rule.name for rule in waiting],
        "pushed": pushed,
        "problems": [finding.code for finding in problems],
    }
    output.result(opened.shell, "sync", data, lines)
