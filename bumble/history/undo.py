"""The inverse of one commit, planned on the files as they are now; what is never undone.

What has not moved on since goes back to what it was; where something else has been written to the
same file since, the two are told apart by meaning (`merge`), or the undo is refused. Conversations
stay word for word, but for those that an import brought: nobody said them here. What the cycles
have dealt with stays dealt with: an undo is no wish to have the same thing again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from bumble.entity import companions
from bumble.entity.changes import Change, ChangeSet, Version
from bumble.entity.commits import Waiting
from bumble.entity.folder import ENTITY_FILE
from bumble.entity.uncommitted import CYCLE, PendingCommit
from bumble.errors import RecordMissingError, RefusedError, UserError
from bumble.history import log, merge
from bumble.records import automations, jsonl, reminders, sessions, state
from bumble.records.session_files import HANDOVER_FILE

UNDO = "undo"
NOTED_IN = {
    "remind": reminders.REMINDER.folder,
    "automation": automations.AUTOMATION.folder,
}  # that it was done
NEVER_LAST = ("", "chat", "handover", "new", "person forget", UNDO)  # what `--last` passes over
FORGOTTEN = "a forgetting"  # why one is passed over
SETTLED = Waiting()


def plan(root: Path, commit: log.Commit, *, force: bool = False) -> merge.MergePlan:
    """Plan to take back what a commit did.

    Args:
        root: Of the entity.
        commit: What to take back.
        force: Whether what came of a conversation is taken back while its words stay.

    Raises:
        RefusedError: If it is not a change set's, holds what was said, or something that was
            written since stands in the way.
    """
    _check_kind(commit)
    why = f"undo {commit.title}"
    planned: list[Change] = []
    stays: list[str] = []
    blocked: list[str] = []
    for version in log.versions(root, commit):
        if version.path == ENTITY_FILE and version.before is None:
            raise RefusedError(f"{commit.short} made this entity; it can't be undone.")
        if not force and _is_said(commit, version.path) and _adds_messages(version):
            raise RefusedError(
                f"{commit.short} holds what was said ({version.path}), and conversations are not "
                "undone\nTake back what came of it with --force; the words stay."
            )
        if reason := _left_alone(commit, version.path):
            stays.append(f"{version.path}: {reason}")
            continue
        current = companions.read(root, version.path)
        if current is not None and version.before is None and version.after is None:
            stays.append(f"{version.path}: git did not have it yet")
            continue
        if merge.in_lf(current) == merge.in_lf(version.before):
            continue
        undoable, back = _taken_back(version, current)
        if not undoable:
            blocked.append(version.path)
        elif back == current:
            stays.append(f"{version.path}: it has been written anew since")
        else:
            read = companions.digest(version.path, current)
            planned.append(Change(version.path, why, back, read))
    if blocked:
        raise RefusedError(
            f"{', '.join(blocked)}: changed since {commit.short}, in the same place\n"
            f"Nothing was written. `bumble log {blocked[0]}` shows by what, `bumble diff` what is "
            "not committed yet; take that back first."
        )
    trailers = ((CYCLE, UNDO), (log.UNDOES, commit.id))
    return merge.MergePlan(
        ChangeSet(f"{UNDO}: {commit.title}", tuple(planned), trailers), tuple(stays)
    )


def _check_kind(commit: log.Commit) -> None:
    if commit.is_merge:
        raise RefusedError(
            f"{commit.short} ({commit.title}) is a merge\n"
            "Nothing was written. `bumble log` shows what it brought: take that back."
        )
    if not commit.cycle:
        raise RefusedError(
            f"{commit.short} ({commit.title}) was not made by bumble\n"
            f"Nothing was written. `git revert {commit.short}` takes back a commit of your own."
        )


def _is_said(commit: log.Commit, path: str) -> bool:
    """Whether a file that a commit touched holds what was said to this entity."""
    is_of_talk = path.startswith(f"{sessions.FOLDER}/") and not path.endswith(HANDOVER_FILE)
    return is_of_talk and commit.cycle != "import"  # which brings what was had elsewhere


def _adds_messages(version: Version) -> bool:
    if not version.path.endswith(sessions.FILE):
        return False
    added = (version.after or b"").removeprefix(version.before or b"").splitlines()
    return any(jsonl.loose(line).get("type") == "message" for line in added)


def _left_alone(commit: log.Commit, path: str) -> str:
    """Say why a file is not undone; empty if it is."""
    if _is_said(commit, path):
        return "conversations stay as they are"
    if path == state.PATH or path.startswith(f"{NOTED_IN.get(commit.cycle, path)}/"):
        return "what was dealt with is not done again"
    return ""


def _taken_back(version: Version, current: bytes | None) -> tuple[bool, bytes | None]:
    """Return whether the change can be taken out of a file, and what is left then."""
    before, after, now = map(merge.in_lf, (version.before, version.after, current))
    if current == version.after or (before is None and now == after):
        return True, version.before
    since = Version(version.path, after, now)
    if before is None and version.path.endswith(sessions.FILE) and not _adds_messages(since):
        return True, None  # what was noted of an import goes with it
    if before is None and version.path in companions.SECTIONS:  # it began with a part
        before = b""
    if current is None or before is None or after is None:
        return False, None
    sides = map(companions.decoded, (after, current, before))
    merged = merge.merge(version.path, *sides)
    return merged.clean, companions.encoded(merged.text)


def choose(
    root: Path, name: str | None, *, last: bool, cycle: str, waiting: Waiting = SETTLED
) -> log.Commit:
    """Return the commit that is meant.

    Args:
        root: Of the entity.
        name: A commit, or the id of a record that one commit alone has touched.
        last: Whether the newest change set is meant, conversations passed over.
        cycle: The newest of this kind is meant.
        waiting: What is written and not committed: newer than any commit.

    Raises:
        RecordMissingError: If there is no such commit.
        RefusedError: If what is meant may be something that waits.
        UserError: If there is nothing to undo, or more than one that could be meant.
    """
    if name is None:
        _check_settled(waiting, [note for note in waiting.notes if _may_be_meant(note, cycle)])
        undone = taken_back(log.read(root, cycle=UNDO))
        every = log.read(root, cycle=cycle)
        for commit in every:
            fits = commit.cycle not in NEVER_LAST if last else bool(commit.cycle)
            moves = any(not _left_alone(commit, path) for path in commit.touched)
            if fits and moves and commit.id not in undone:
                return commit
        raise UserError(f"There is no {cycle or 'change'} to undo.")
    try:
        return log.find(root, name)
    except RecordMissingError:
        wanted = log.pathspecs(name)
        every = log.read(root, wanted=wanted) if name.strip() else []  # none: it is in every name
        touching = [commit for commit in every if commit.cycle]
    if not touching:
        raise RecordMissingError("commit or record", name)
    if len(touching) > 1:
        # titles may tell what somebody else said
        told = (f"  {each.short}  {each.at:%Y-%m-%d %H:%M}  {each.cycle}" for each in touching[:8])
        lines = "\n".join(told)
        raise UserError(f"{len(touching)} changes touched {name}; name one of them:\n{lines}")
    paths = set(touching[0].touched)
    _check_settled(waiting, [note for note in waiting.notes if not paths.isdisjoint(note.after)])
    return touching[0]


def passed_over(root: Path, chosen: log.Commit) -> list[tuple[log.Commit, str]]:
    """Return the commits newer than the one that `--last` chose, each with why it stays."""
    undone = taken_back(log.read(root, cycle=UNDO))
    newer = itertools.takewhile(lambda commit: commit.id != chosen.id, log.read(root))
    return [(commit, _why_passed(commit, undone)) for commit in newer]


def _why_passed(commit: log.Commit, undone: set[str]) -> str:
    if commit.is_merge:
        return "a merge"
    if not commit.cycle:
        return "not made by bumble"
    if commit.id in undone:
        return "undone already"
    if commit.cycle == UNDO:
        return "an undo"
    passed = {"chat": "a conversation", "new": "how it began", "person forget": FORGOTTEN}
    return passed.get(commit.cycle, "nothing that is undone")


def _may_be_meant(note: PendingCommit, cycle: str) -> bool:
    """Whether a set that waits would be the newest, were it committed; an undo makes that hazy."""
    kinds = note.cycle.split(" and ")
    if cycle:
        return any(kind == UNDO or kind.startswith(cycle) for kind in kinds)
    return any(kind == UNDO or kind not in NEVER_LAST for kind in kinds)


def _check_settled(waiting: Waiting, meant: Sequence[PendingCommit]) -> None:
    if meant:
        titles = "\n".join(f"  {note.title}" for note in reversed(meant))
        raise RefusedError(
            f"What was written last is not committed yet: {waiting.why}\n{titles}\n"
            "Nothing was undone. Once that is committed, run this again; "
            "or name an earlier change by its commit, as `bumble log` shows it."
        )


def taken_back(commits: Sequence[log.Commit]) -> set[str]:
    """Return the ids of what some commits took back, and was not put back by a later one."""
    undone: set[str] = set()
    for commit in reversed(commits):
        target = commit.trailer(log.UNDOES)
        if target and commit.id:
            undone.add(target)
            again = next((other for other in commits if other.id == target), None)
            if again is not None:  # an undo was undone: what it took back stands again
                undone.discard(again.trailer(log.UNDOES))
    return undone
