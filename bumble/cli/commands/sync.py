"""`bumble sync`: bring the folder together with its other clones: fetch, merge, doctor."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer
from msgspec.structs import asdict

from bumble.cli import command, doctor, opening, output, writing
from bumble.entity import approvals, commits
from bumble.errors import RecordInvalidError, RefusedError
from bumble.history import findings, remote
from bumble.records import kinds, knowledge
from bumble.text import printable, words


@command.writes
def sync(
    opened: opening.Opened,
    *,
    push: Annotated[
        bool, typer.Option("--push", help="Push what this clone has, once it is merged.")
    ] = False,
    setup: Annotated[
        str | None,
        typer.Option(
            "--setup",
            metavar="REMOTE",
            help="Let the folder follow this git repository, and upload it there. A folder that "
            "isn't there yet is made one.",
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Set it up though anybody can read what lies there.")
    ] = False,
    yes: command.YesOption = False,
) -> None:
    """Fetch what other clones did, merge it by meaning, and check the folder.

    --setup begins it: it says what would be uploaded, asks, and refuses a place that anybody can
    read. Nothing is uploaded before that. Else it commits what was written by hand, reaches out to
    the remote that the branch follows, and pushes only with --push. Ends with exit code 12 if
    something is wrong with the folder then; it is not pushed in that case.
    """
    if setup is not None:
        _set_up(opened, setup, public=public, yes=yes)
        return
    shell, root = opened.shell, opened.entity.root
    place = remote.place_of(root, trusted=opened.settings.trusted)
    target = remote.upstream(root, place)
    _keep(opened, tells=not place.repository.under_way)  # that is brought to its end here
    remote.fetch(root, place, target)
    before = knowledge.readable(opened.entity.knowledge)
    merging = remote.merge(
        root,
        place,
        target,
        opened.commit_policy,
        timeout_seconds=opened.config.limits.lock_timeout_seconds,
    )
    opening.settle_merges(opened, merging.mended.kept)
    _keep(opened)  # what was edited while a merge waited for its owner
    after = knowledge.readable(opened.entity.knowledge)
    changed = knowledge.changed_locked(before, after)
    for title in changed:
        output.warn(
            shell,
            f"another clone changed the locked section “{title}”:"
            f" `bumble diff {knowledge.PATH}` shows how",
        )
    for title in knowledge.narrowed(before, after):
        output.warn(shell, f"“{title}” {knowledge.NARROWED}, as another clone has it")
    contested = remote.contested(root, place, target, merging.before) if merging.before else ()
    for path, heading in contested:
        where = f"“{heading}” of {path}" if heading else path
        output.warn(
            shell,
            f"{where} was changed in one clone where the other took something out, or gave it a"
            " new title: what was changed stands",
        )
    rules_waiting = opening.rules_from_elsewhere(opened)
    problems = doctor.examine(opened.shell, opened.entity).problems
    pushed = push and not problems
    if pushed:
        remote.push(root, place, target.remote, target.branch)
    own = 0 if pushed else remote.unpushed(place, target)
    _tell(opened, merging, changed, rules_waiting, problems, own=own, pushed=pushed)
    if problems:
        raise typer.Exit(RecordInvalidError.exit_code)


def _keep(opened: opening.Opened, *, tells: bool = True) -> None:
    """Commit what was written or edited by hand; say what can't be, if that is to be told."""
    root, policy = opened.entity.root, opened.commit_policy
    timeout = opened.config.limits.lock_timeout_seconds
    waiting = commits.catch_up(root, policy, timeout_seconds=timeout)
    if waiting.notes and tells:
        output.warn(opened.shell, f"written, but not committed yet: {waiting.why}")
    if why := commits.keep_edits(root, policy, kinds.readable, timeout_seconds=timeout):
        output.warn(opened.shell, f"edited by hand, but not committed: {why}")


def _set_up(opened: opening.Opened, text: str, *, public: bool, yes: bool) -> None:
    """Let the branch follow a remote, once the owner has seen what goes there."""
    shell, root = opened.shell, opened.entity.root
    place = remote.place_of(root, trusted=opened.settings.trusted)
    target = remote.address(text, shell.cwd)
    _keep(opened)
    for problem in doctor.examine(opened.shell, opened.entity).problems[:1]:
        why = f"{root}: {problem.where}: {problem.sentence}"
        raise RefusedError(f"{why}\nNothing was uploaded; `bumble doctor` says what helps.")
    found = remote.upload(root, place)
    remote.refuse_another(root, place, target)
    shown = printable.shown_url(target)
    if not public and remote.is_public(root, target):
        raise RefusedError(
            f"{shown}: anybody can read what lies there, and it would be all that"
            f" {opened.identity.name} knows.\nMake it private first; or, if you mean it: --public"
        )
    versions = f"all earlier versions ({found.commits:,} of them)"
    records = ", ".join(
        kind.file_name or f"{count:,} {kind.singular if count == 1 else kind.plural}"
        for kind in kinds.KINDS
        if (count := found.records.get(kind.name, 0))
    )
    where = f"{shown}, a new folder," if remote.is_new(target) else shown
    output.say(
        f"To {where} would go:\n  {records}\n"
        f"  {found.others:,} other files, and {versions}\n"
        "  as plain text, readable by whoever runs that place"
    )
    writing.confirm(shell, "Upload it?", "Nothing was uploaded; --yes does it.", yes=yes)
    remote.connect(root, place, target, found.branch)
    remote.push_first(root, place, found.branch)
    data = {"remote": shown, "branch": found.branch, "uploaded": asdict(found)}
    elsewhere = (
        f"On the other machine: git clone {shlex.quote(shown)}, then bumble config trust it."
    )
    output.result(shell, "sync setup", data, [f"Uploaded to {shown}.", elsewhere])


def _tell(
    opened: opening.Opened,
    merging: remote.Merging,
    changed: Sequence[str],
    waiting: Sequence[approvals.Rule],
    problems: Sequence[findings.Finding],
    *,
    own: int,
    pushed: bool,
) -> None:
    brought, waits = words.counted(merging.commits, "commit"), words.counted(own, "commit")
    unheard = words.counted(len(waiting), "rule")  # named in a warning, with the way to trust it
    whole = f"`bumble config trust --dry-run {shlex.quote(str(opened.root))}` shows it whole"
    lines = [
        f"Merged {brought} of other clones." if merging.commits else "Nothing new elsewhere.",
        *([f"{waits} of this clone to be pushed; --push does it."] if own and not problems else []),
        *([f"{unheard} not obeyed until you trust it; {whole}."] if waiting else []),
        *(["Pushed."] if pushed else []),
        *(f"{finding.where}: {finding.sentence} [{finding.code}]" for finding in problems),
        *(["Nothing was pushed; `bumble doctor` says what helps."] if problems else []),
    ]
    data = {
        "merged": merging.commits,
        "mended": list(merging.mended.paths),
        "locked_changed": list(changed),
        "not_obeyed": [rule.name for rule in waiting],
        "pushed": pushed,
        "problems": [finding.code for finding in problems],
    }
    output.result(opened.shell, "sync", data, lines)
