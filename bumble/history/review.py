"""Proposals that wait for their owner's word: read, merged into the folder by meaning, rejected.

What the owner, or another cycle, has written to the same files since stays; where both changed one
thing, the proposal is refused and nothing of it is written. Locked knowledge stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from bumble.entity import companions, installation, review_branch
from bumble.entity.changes import Change, ChangeSet, Version
from bumble.entity.uncommitted import CYCLE
from bumble.errors import RecordMissingError, RefusedError, UsageError
from bumble.files import git
from bumble.history import log, merge
from bumble.records import kinds, knowledge
from bumble.runtime import review_queue
from bumble.text import markdown, merge_marks

ACCEPTS = "Accepts"  # the trailer that names the commit a proposal was
CLASH = "changed since, in the same place"


class HeldProposal(Struct, frozen=True):
    """What a cycle would have written."""

    name: str  # of its branch: `dream-1f0c3a5e`
    at: datetime
    commit: log.Commit | None  # None: its branch is in another clone, or was deleted
    versions: tuple[Version, ...] = ()
    is_own: bool = True  # False: it is not here, or another installation made it, or says so

    @property
    def title(self) -> str:
        """Say what it is, in one line."""
        return self.commit.title if self.commit else "its branch is not here"

    @property
    def added(self) -> list[str]:
        """The lines that it would bring, and the names of its files."""
        lines = [version.path for version in self.versions]
        for version in self.versions:
            before = set(companions.decoded(version.before).splitlines())
            lines += [
                row for row in companions.decoded(version.after).splitlines() if row not in before
            ]
        return lines


def waiting(root: Path) -> list[HeldProposal]:
    """Return what waits, the oldest first.

    Raises:
        RecordInvalidError: If `state.yaml` can't be read.
        HistoryUnreadableError: If git can't give what a proposal holds.
    """
    return [_read(root, name, at) for name, at in review_queue.waiting(root).items()]


def _read(root: Path, name: str, at: datetime) -> HeldProposal:
    commit_id = review_branch.find(root, name)
    # without a remote there is no other clone that could have it
    nowhere = HeldProposal(name, at, None, is_own=not git.call(root, "remote").text.strip())
    if not commit_id:
        return nowhere
    try:
        commit = log.find(root, commit_id)
    except RecordMissingError:  # it touches nothing of this folder
        return nowhere
    versions = tuple(log.versions(root, commit))
    marked, mark = review_branch.marked(name, versions), commit.trailer(review_branch.MARK)
    return HeldProposal(name, at, commit, versions, installation.is_own(marked, mark))


def choose(
    proposals: Sequence[HeldProposal], wanted: Sequence[str], *, every: bool
) -> list[HeldProposal]:
    """Return the proposals that are meant, in the order in which they were made.

    One that was not made here, or lies in another clone, is meant only by its whole name: nobody
    has read it here.

    Args:
        proposals: All that wait.
        wanted: Names, or ends or beginnings of names; none: the only one that waits.
        every: Whether all are meant.

    Raises:
        RecordMissingError: If nothing of a name waits.
        UsageError: If it is not clear which are meant.
    """
    own = [proposal for proposal in proposals if proposal.is_own]
    if (every and wanted) or not (every or wanted or len(own) < 2):
        raise UsageError(f"Say which, or --all: {_listed(own)}.")
    if not own and proposals and not wanted:
        raise UsageError(
            f"Name what you mean in full: {passed_over(proposals)}.\n"
            "`bumble review reject NAME` drops one whose branch is gone."
        )
    if not wanted:
        return own
    chosen = {_one_of(proposals, name).name for name in wanted}
    return [proposal for proposal in proposals if proposal.name in chosen]


def _one_of(proposals: Sequence[HeldProposal], wanted: str) -> HeldProposal:
    exact = [proposal for proposal in proposals if proposal.name == wanted]
    fitting = exact or [
        proposal
        for proposal in proposals
        if wanted
        and proposal.is_own
        and (proposal.name.startswith(wanted) or proposal.name.endswith(wanted))
    ]
    if not fitting:
        raise RecordMissingError("proposal", wanted)
    if len(fitting) > 1:
        raise UsageError(f"{wanted} may be any of {_listed(fitting)}.")
    return fitting[0]


def passed_over(proposals: Sequence[HeldProposal]) -> str:
    """Name proposals that only their whole name means, each with why."""
    return ", ".join(
        f"{one.name} ({'not made here' if one.commit else one.title})" for one in proposals
    )


def _listed(proposals: Sequence[HeldProposal]) -> str:
    return ", ".join(proposal.name for proposal in proposals) or "nothing waits"


def plan_accept(root: Path, proposal: HeldProposal) -> merge.MergePlan:
    """Plan to write a proposal on the files as they are now.

    Raises:
        RefusedError: If it is not here, or what was written since is in the way.
    """
    commit = proposal.commit
    if commit is None:
        raise RefusedError(
            f"{proposal.name} can't be accepted: no branch {review_branch.FOLDER}/{proposal.name} "
            "is here\nIt waits in the clone that made it; or reject it, if it is gone there too."
        )
    planned: list[Change] = []
    stays: list[str] = []
    clashes: list[str] = []
    # a reason for each file, so that all of them stand in the commit again
    last = len(proposal.versions) - 1
    whys = [*commit.body[:last], "; ".join(commit.body[last:])]
    for version, why in zip(proposal.versions, (whys + [""] * last)[: last + 1], strict=True):
        current = companions.read(root, version.path)
        reason, merged = _merged(version, current)
        if reason:
            (clashes if reason == CLASH else stays).append(f"{version.path}: {reason}")
        if merged != current:
            read = companions.digest(version.path, current)
            planned.append(Change(version.path, why, merged, read))
    if clashes:
        raise RefusedError(
            f"{proposal.name} can't be accepted: {'; '.join(clashes)}\n"
            f"Nothing of it was written. `bumble review show {proposal.name}` shows it: take over "
            "by hand what you want of it, then reject it."
        )
    decided = review_queue.plan_decided(root, proposal.name, f"{proposal.name} is accepted")
    dropped = (ACCEPTS, review_branch.MARK)
    trailers = tuple(pair for pair in commit.trailers if pair[0] not in dropped)
    change_set = ChangeSet(
        commit.title,
        (*planned, *([decided] if decided else [])),
        (*trailers, (ACCEPTS, commit.id)),
    )
    return merge.MergePlan(change_set, tuple(stays))


def _merged(version: Version, current: bytes | None) -> tuple[str, bytes | None]:
    """Return why a file stays as it is, or not all of it is taken, and what it becomes."""
    kind = kinds.of_path(version.path)
    if kind is None or review_queue.stays(version.path):
        return "no cycle writes it", current
    if current == version.after:
        return "it says so already", current
    if current is None and version.before is not None:
        return "it was removed since, and stays so", None
    merged = version.after
    if current != version.before:
        texts = [companions.decoded(data) for data in (version.before, current, version.after)]
        joined = merge.merge(version.path, *texts)
        text = joined.text if joined.clean else None
        if text is None and version.path.endswith(".md"):
            text = _with_both(texts[0], joined.text)
        if text is None:
            return CLASH, current
        emptied = version.after is None and not text.strip()
        merged = None if emptied else companions.encoded(text)
    return _with_locked(current, merged) if kind is knowledge.KNOWLEDGE else ("", merged)


def _with_both(base: str, merged: str) -> str | None:
    """Hold what both sides added to one place of a text, what is there first.

    Returns:
        None if a side changed or removed a line there, or it is no text but a value.
    """
    try:
        before = markdown.parse(base).body.splitlines()
        values = merged[: markdown.parse(merged).body_start]
    except ValueError:
        return None
    beside = merge_marks.replaced(merged, lambda _: "", fenced=True).splitlines()
    is_value = merge_marks.line_of(values) is not None
    if is_value or Counter(filter(str.strip, before)) - Counter(beside):
        return None
    return merge_marks.replaced(merged, lambda sides: f"{sides[1]}\n{sides[3]}", fenced=True)


def _with_locked(current: bytes | None, merged: bytes | None) -> tuple[str, bytes | None]:
    """Put what is locked back into the knowledge that a proposal would make."""
    text = companions.decoded(merged)
    try:
        sections = {knowledge.key(part.title): part for part in knowledge.parse(text).sections}
        locked = [
            part for part in knowledge.parse(companions.decoded(current)).sections if part.locked
        ]
    except ValueError:  # nothing can be told of it
        return CLASH, current
    for section in locked:
        after = sections.get(knowledge.key(section.title))
        if after is None:
            return CLASH, current
        if after.source.strip() != section.source.strip():
            tail = after.source[len(after.source.rstrip()) :]
            text = text.replace(after.source, section.source.rstrip() + tail, 1)
    if text == companions.decoded(merged):
        return "", merged
    return "what is locked in it stays as it is", companions.encoded(text)


def plan_reject(root: Path, proposal: HeldProposal) -> merge.MergePlan:
    """Plan to drop a proposal; how far its cycle has come stays, so that it does not come again."""
    decided = review_queue.plan_decided(root, proposal.name, f"{proposal.name} is rejected")
    title = f"review: {proposal.name} is rejected"
    return merge.MergePlan(ChangeSet(title, (decided,) if decided else (), ((CYCLE, "review"),)))
