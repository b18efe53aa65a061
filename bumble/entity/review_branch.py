"""Proposals as branches of git: made and dropped without touching a file of the folder.

A proposal is the newest commit of a branch `bumble-review/NAME`; its parent holds the same files as
they were when it was planned, by hand edits included, so that the two differ by the proposal and by
nothing else. Which proposals wait is not known here: `state.yaml` says so.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from bumble import patterns
from bumble.entity import changes, commits, companions, git_operations, installation
from bumble.errors import ReviewError
from bumble.files import git

FOLDER = "bumble-review"  # of branches
HEADS = f"refs/heads/{FOLDER}/"
NAME = patterns.compile(r"[a-z-]{1,40}-[0-9a-f]{8}")
MARK = "Made-here"  # the trailer that only this installation can write
AS_IT_WAS = "as it was: what the next commit was planned on"
MAIL = "bumble@localhost"  # of the entity, who proposes
FILE_MODE = "100644"


def place_of(root: Path, cycle: str, *, trusted: bool) -> git.Git:
    """Return git in the repository of a folder, if it can hold a cycle's proposals.

    Raises:
        ReviewError: If it can't.
    """
    place = git.at(root, trusted=trusted)
    if place is None:
        advice = f"`git init {shlex.quote(str(root))}` makes one"
        raise ReviewError(root, cycle, "it is in no git repository", advice)
    if not git.installed():
        raise ReviewError(root, cycle, "git is not installed here", "Install it")
    if place.unsafe:
        raise ReviewError(root, cycle, place.unsafe, "`bumble doctor` says what to do")
    return place


def make(
    root: Path, place: git.Git, name: str, proposed: changes.ChangeSet, policy: commits.CommitPolicy
) -> None:
    """Make the branch of a proposal; call it with the entity's lock held.

    Raises:
        FileChangedError: If a file moved on since the proposal was planned.
        ReviewError: If git can't hold it.
    """
    versions = _named(root, place, proposed, changes.versions(root, proposed.changes))
    records = _named(root, place, proposed, changes.wholes(root, proposed.changes))
    own = (MARK, installation.mark(marked(name, records)))
    proposed = replace(proposed, trailers=(*proposed.trailers, own))
    why = ""
    try:
        for path, name in place.filtered([version.path for version in versions]):
            why = f"{path} goes through git's filter `{name}`, and a proposal would not"
    except ValueError as error:
        why = str(error)
    if not why:
        stream = b"".join(_stream(place, name, versions, commits.message(proposed), policy))
        with git_operations.noted(root, git_operations.Operation("review")):
            done = place.call("fast-import", "--quiet", "--done", stdin=stream)
        why = f"git refuses: {done.why}" if done.code != 0 else ""
    if why:
        cycle = proposed.title.partition(":")[0]
        raise ReviewError(root, cycle, why, "`bumble doctor` says what is wrong with the folder")


def marked(name: str, versions: Sequence[changes.Version]) -> str:
    """Return what the mark of a proposal is of: what its records say before and after."""
    told = sorted(
        (one.path, *(companions.digest(one.path, data) for data in (one.before, one.after)))
        for one in versions
        if one.before != one.after
    )
    return repr((name, told))


def _named(
    root: Path, place: git.Git, proposed: changes.ChangeSet, versions: Sequence[changes.Version]
) -> list[changes.Version]:
    """Return what a proposal makes of each file, or record, named as git names it.

    Raises:
        ReviewError: If one of them is never committed.
    """
    named = []
    for version in versions:
        if version.path.startswith(f"{changes.HISTORY}/"):  # the branch has the earlier version
            continue
        path = commits.committed_path(root, place.repository, version.path)
        if path is None:
            cycle, why = proposed.title.partition(":")[0], f"{version.path} lies outside of it"
            raise ReviewError(root, cycle, why, "Put the file where the link leads from")
        named.append(changes.Version(path, version.before, version.after))
    return named


def _stream(
    place: git.Git,
    name: str,
    versions: Sequence[changes.Version],
    message: str,
    policy: commits.CommitPolicy,
) -> Iterator[bytes]:
    """Yield what `git fast-import` reads: the files as they were, if need be, and the proposal."""
    head = place.call("rev-parse", "--verify", "--quiet", "HEAD^{commit}").text.strip()
    folder = place.repository.folder
    names = [f"{head or git.NOWHERE}:./{version.path}" for version in versions]
    committed = git.blobs(folder, names) if head else [None] * len(names)
    stale = [
        changes.Version(version.path, data, version.before)
        for version, data in zip(versions, committed, strict=True)
        if data != version.before
    ]
    prefix = place.repository.prefix
    parent = head
    if stale:
        yield from _commit(name, stale, AS_IT_WAS, policy, prefix, parent)
        parent = ""  # it goes on from there
    yield from _commit(name, versions, message, policy, prefix, parent)
    yield b"done\n"


def _commit(
    name: str,
    versions: Sequence[changes.Version],
    message: str,
    policy: commits.CommitPolicy,
    prefix: str,
    parent: str,
) -> Iterator[bytes]:
    at = policy.clock()
    who = "".join(c for c in policy.name if c.isprintable() and c not in "<>").strip() or "bumble"
    yield f"commit {HEADS}{name}\n".encode()
    yield f"committer {who} <{MAIL}> {int(at.timestamp())} {at:%z}\n".encode(errors="replace")
    yield _data(message.encode(errors="replace"))
    if parent:
        yield f"from {parent}\n".encode()
    for version in versions:
        # write a path as git reads it, whatever letters it has
        plain = (prefix + version.path).encode(errors="surrogateescape")
        escaped = plain.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        path = b'"' + escaped + b'"'
        if version.after is None:
            yield b"D " + path + b"\n"
        else:
            yield f"M {FILE_MODE} inline ".encode() + path + b"\n" + _data(version.after)
    yield b"\n"


def _data(data: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(data), data)


def find(root: Path, name: str) -> str:
    """Return the commit of a proposal, here or as another clone pushed it; empty if there is none.

    Args:
        root: Of the entity.
        name: Of the branch, below its folder.
    """
    if not NAME.fullmatch(name):
        return ""
    wanted = (f"{HEADS}{name}", f"refs/remotes/*/{FOLDER}/{name}")
    return next(iter(_refs(root, "objectname", *wanted)), "")


def names(root: Path) -> list[str]:
    """Return the branches of proposals that are here, whether or not they still wait."""
    found = (row.removeprefix(HEADS) for row in _refs(root, "refname", HEADS))
    return [name for name in found if NAME.fullmatch(name)]


def _refs(root: Path, field: str, *wanted: str) -> list[str]:
    """Return what git says of some branches; nothing where it can't."""
    result = git.call(root, "for-each-ref", f"--format=%({field})", *wanted)
    # only a newline ends a name: the owner's may hold any other space, and any bytes
    return result.text.rstrip("\n").split("\n") if result.code == 0 and result.text else []


def named_nowhere(root: Path, path: str, names: Collection[str]) -> set[str]:
    """Return which names a file has on no branch of the owner's, as it was committed there.

    Where git can't read all of those branches, none is sure.
    """
    listed = _refs(root, "refname", "refs/heads")
    heads = [row for row in listed if not row.startswith(HEADS)]
    if not heads:  # nothing listed: git failed, for the proposals have branches, too
        return set(names) if listed else set()
    options = ("--no-color", "-h", "-o", "-E", "-e", NAME.pattern)
    left = set(names)
    for start in range(0, len(heads), git.MAX_NAMES):
        some = heads[start : start + git.MAX_NAMES]
        result = git.call(root, "grep", *options, *some, "--", f"./{path}")
        is_read = result.code in (0, 1)  # 1: nothing was found
        left = left.difference(result.text.split()) if is_read else set()
    return left


def drop(root: Path, which: Collection[str]) -> None:
    """Remove branches of proposals; one that is checked out somewhere stays."""
    place = git.at(root)
    if place is None:
        return
    for name in which:
        if NAME.fullmatch(name):
            with git_operations.noted(root, git_operations.Operation("review")):
                place.call("branch", "--delete", "--force", "--quiet", f"{FOLDER}/{name}")
