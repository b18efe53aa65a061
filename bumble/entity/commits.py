"""Each change set as one git commit of exactly its files; titles, trailers, what waits.

Before a set is written, what it will write is noted in `.bumble/uncommitted/`, and the note goes
with the commit: what a kill, or something of the owner's that is under way, leaves uncommitted is
caught up by the next set of the installation that noted it. What the owner edited by hand in the
files of a set is committed first, as theirs. Never pushes, never rewrites, runs no hooks: they are
made for people's commits.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import changes, companions, git_operations, uncommitted, write_ahead
from bumble.entity.folder import ENTITY_FILE
from bumble.entity.uncommitted import CYCLE, PendingCommit
from bumble.errors import MergeUnfinishedError
from bumble.files import disk, git, gitdir
from bumble.text import yaml_edit

BY_HAND = "by hand"
BEGUN = "begin: what was here before its first commit\n"  # with all that git did not know of it
REAL_NAME = ("-c", "user.useConfigOnly=true")  # a guessed name would stand there for ever
STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--no-renames")
# Records lie in folders by date: git must not take one folder for another's new name.
MERGING = ("-c", "merge.directoryRenames=false")
# What users have set for merges of their own (`merge.ff`, `branch.NAME.mergeOptions`) is not meant.
PLAINLY = ("--ff", "--commit", "--no-squash", "--no-verify-signatures", "--no-autostash")
# Two short records are so alike that git would take one for another by a new name.
EXACT_RENAMES = ("-X", "find-renames=100%")
MAX_BODY_LINES = 100
MAX_PATHSPECS = 500  # beyond, the whole folder is looked at
BUSY_TRIES, BUSY_WAIT_SECONDS = 10, 0.1  # another git holds the index


class CommitPolicy(Struct, frozen=True):
    """How commits are made; the settings and the process decide."""

    autocommit: bool  # git.autocommit
    name: str  # of the entity: the author, where git knows of none
    clock: Callable[[], datetime]
    tell: Callable[[str], None]  # hears why something was not committed
    trusted: bool = False  # whether what came with the folder may run programs


class Waiting(Struct, frozen=True):
    """What is written and can't be committed."""

    notes: tuple[PendingCommit, ...] = ()  # oldest first
    why: str = ""


class TreeEntry(Struct, frozen=True):
    """A file in which the index or the folder differs from the last commit."""

    path: str  # relative to the entity
    staged: bool  # the owner has prepared a version of it
    unmerged: bool
    unknown: bool  # git does not know the file


def apply(
    root: Path,
    change_set: changes.ChangeSet,
    policy: CommitPolicy,
    *,
    timeout_seconds: float = write_ahead.DEFAULT_LOCK_TIMEOUT_SECONDS,
) -> list[Path]:
    """Write a change set, all of it or nothing, and commit it where that is wanted.

    Raises:
        MergeUnfinishedError: If one of its files holds the two sides of a merge.
        UserError: As `changes.apply` does.
    """
    made = history(root, policy)
    return changes.apply(root, change_set, timeout_seconds=timeout_seconds, history=made)


def catch_up(
    root: Path,
    policy: CommitPolicy,
    *,
    turns: bool = False,
    timeout_seconds: float = write_ahead.DEFAULT_LOCK_TIMEOUT_SECONDS,
) -> Waiting:
    """Commit what earlier sets left uncommitted; touches nothing where nothing was left.

    Args:
        root: Of the entity.
        policy: How commits are made.
        turns: Whether a message is committed too whose turn may go on.
        timeout_seconds: How long to wait for another writer.

    Returns:
        What can't be committed now.
    """
    made = history(root, policy)
    if made is None or not uncommitted.notes(root):
        return Waiting()
    with changes.held(root, timeout_seconds=timeout_seconds):
        write_ahead.recover(root)
        made.settle()
        return made.catch_up(turns=turns)


def keep_edits(
    root: Path,
    policy: CommitPolicy,
    readable: Callable[[Path, Iterable[str]], set[str]],
    *,
    timeout_seconds: float = write_ahead.DEFAULT_LOCK_TIMEOUT_SECONDS,
) -> str:
    """Commit what was edited, made or renamed by hand; return why that can't be done now.

    Args:
        root: Of the entity.
        policy: How commits are made.
        readable: Which of some files hold records; of those that git doesn't know, these alone are
            committed.
        timeout_seconds: How long to wait for another writer.
    """
    made = history(root, policy)
    if made is None or not made.commits:
        return ""
    with changes.held(root, timeout_seconds=timeout_seconds):
        made.settle()
        return made.keep_edits(readable)


def keep(root: Path, change_set: changes.ChangeSet, policy: CommitPolicy) -> None:
    """Commit the files of a change set that is written already: those of a new entity."""
    made = history(root, policy)
    if made is not None and made.commits:
        with changes.held(root):
            made.adopt(change_set)


def history(root: Path, policy: CommitPolicy) -> Commits | None:
    """Return what makes the commits of one change set; None where there is no repository."""
    place = git.at(root, trusted=policy.trusted)
    if place is None:
        return None
    top = place.repository.top
    wanted = policy.autocommit and (top == place.repository.folder or _is_asked_for(root))
    return Commits(root, place, policy, commits=wanted)


def _is_asked_for(root: Path) -> bool:
    """Whether the entity itself asks for commits, inside somebody's larger repository."""
    with suppress(OSError, ValueError):
        plain = yaml_edit.parse_mapping((root / ENTITY_FILE).read_text(encoding="utf-8"))
        section = plain.get("git")
        return isinstance(section, Mapping) and section.get("autocommit") is True
    return False


class Commits:
    """Makes the commits of one change set; its methods are called with the lock held."""

    def __init__(self, root: Path, place: git.Git, policy: CommitPolicy, *, commits: bool) -> None:
        self.root, self.git, self.policy = root, place, policy
        self.repository = place.repository
        self.commits = commits
        self.waits = ""  # why nothing can be committed now
        self.blind = False  # git could not be asked how the files stand
        self.own: list[PendingCommit] = []  # what goes into the commit of this set
        self.stored: dict[str, str] | None = None  # the blobs of its files as they were

    def settle(self) -> None:
        """Bring to an end what git was cut off in: a file may become what it was before."""
        git_operations.settle(self.root, self.git)

    def begin(self, change_set: changes.ChangeSet, steps: Sequence[write_ahead.IntentStep]) -> None:
        """Commit what was there before, and note what comes.

        Raises:
            MergeUnfinishedError: If a file is to be written that holds the sides of a merge.
        """
        if not self.commits and not self.repository.under_way:
            return
        after = dict[str, str | None]()
        for step in steps:
            path = self._place(step.path)
            if path:
                after[path] = step.after
        # with the pages of which it writes the companion alone: a hand may have made those
        pages = filter(None, (companions.record_of(step.path) for step in steps))
        touched = {*after, *filter(None, map(self._place, pages))}
        waiting = uncommitted.notes(self.root)
        noted = {path for note in waiting for path in note.after}
        self._begin(noted)
        entries = self._look({*touched, *noted})
        settled = {self._place(each.path) for each in change_set.changes if each.settles}
        unmerged = (entry.path for entry in entries if entry.unmerged)
        if clash := [path for path in unmerged if path in after and path not in settled]:
            _, back = gitdir.ENDINGS.get(self.repository.under_way, ("", ""))
            raise MergeUnfinishedError(self.root, clash, back)
        if not self.commits:
            return
        if not self.waits:
            self._commit_earlier(entries, waiting, touched)
        self.own.append(self._noted(change_set, after))
        self.stored = self._store(after)

    def end(self) -> None:
        """Commit what was written."""
        if not self.own or (self.own[-1].opens and not self.waits):
            return
        if not self.waits:
            self._commit(self.own, self._look(path for note in self.own for path in note.after))
        if self.waits:
            self._stage()
            self.policy.tell(f"written, but not committed yet: {self.waits}")

    def _stage(self) -> None:
        """Have what git is in the middle of go on with what was written, and keep that.

        It refuses to go on where files differ from its index, and takes back what is in there, and
        what the owner adds. So git stores what was written, whether it can add that now or not.
        """
        note = self.own[-1]
        before, after = self.stored, self._store(note.after)
        if before is None or after is None:
            return
        staged = {p: (before.get(p, ""), after.get(p, "")) for p in sorted({*before, *after})}
        uncommitted.put(replace(note, staged=staged, begun=git_operations.begun(self.git)))
        waits, listed = self.waits, ("--literal-pathspecs", "ls-files", "-z", "--", *note.after)
        if known := self.git.call(*listed).text.split("\0")[:-1]:
            self._git(["add", "--all"], known)
        self.waits = waits

    def _store(self, paths: Iterable[str]) -> dict[str, str] | None:
        """Have git store some files as they are, those that are there; return the blob of each.

        None if git is in the middle of nothing that could take them back, or can't.
        """
        there = [path for path in paths if self._digest(path) is not None]
        is_open = self.repository.under_way not in ("", "a bisection")
        if self.blind or not is_open or self._unfiltered(there):
            return None
        stored = self.git.call("hash-object", "-w", "--stdin-paths", stdin=git.listed(there, "\n"))
        return dict(zip(there, stored.text.split(), strict=True)) if stored.code == 0 else None

    def adopt(self, change_set: changes.ChangeSet) -> None:
        """Commit the files of a set as they lie in the folder."""
        paths = [path for change in change_set.changes if (path := self._place(change.path))]
        self._noted(change_set, {path: self._digest(path) for path in paths})
        if why := self.catch_up(turns=False).why:
            self.policy.tell(f"made, but not committed yet: {why}")

    def catch_up(self, *, turns: bool) -> Waiting:
        """Commit what is noted, without a set of its own; return what has to wait."""
        waiting = [note for note in uncommitted.notes(self.root) if turns or not note.opens]
        entries = self._look([path for note in waiting for path in note.after])
        if not self.waits:
            self._commit_earlier(entries, waiting, [])
        if not self.waits:
            return Waiting()
        changed = {entry.path for entry in entries}
        left = (note for note in waiting if self.blind or not changed.isdisjoint(note.after))
        return Waiting(tuple(left), self.waits)

    def keep_edits(self, readable: Callable[[Path, Iterable[str]], set[str]]) -> str:
        """Commit what differs from the last commit and is of no set; return why it can't."""
        if self.repository.under_way:
            return ""  # whoever goes on with that says so
        noted = {path for note in uncommitted.notes(self.root) for path in note.after}
        self._begin(noted)
        edited = changed(self.git) - noted
        every = self._look(edited) if edited else []
        records = readable(self.root, (entry.path for entry in every if entry.unknown))
        entries = [entry for entry in every if not entry.unknown or entry.path in records]
        if entries and not self.waits:
            self._record(_by_hand(entries), entries)
        return self.waits if entries else ""

    def _begin(self, noted: Collection[str]) -> None:
        """Commit the entity whole where git knows nothing of it: a part of it is no entity.

        It was made before there was a repository, or in somebody's larger one.
        """
        place = self.repository
        named = f"{place.prefix}{ENTITY_FILE}\0".encode(errors="surrogateescape")
        index = gitdir.content(place.private / "index") or b""  # git is asked if need be
        if not self.commits or ENTITY_FILE in noted or named in index:
            return
        if git.tracked(self.root, ENTITY_FILE) or not (place.folder / ENTITY_FILE).exists():
            return
        new = (path for path in changed(self.git).difference(noted) if write_ahead.is_written(path))
        kept = [path for path in new if path.partition("/")[0] != write_ahead.WORKSPACE]
        entries = self._look(path for path in kept if self._place(path))
        unknown = [entry for entry in entries if entry.unknown]
        if unknown and not self.waits:
            self._record(BEGUN, unknown)

    def _commit_earlier(
        self, entries: Sequence[TreeEntry], waiting: Sequence[PendingCommit], paths: Collection[str]
    ) -> None:
        """Commit what was written earlier, then what was edited by hand in the set's files."""
        changed = {entry.path for entry in entries}
        as_written = {
            path
            for note in waiting
            for path, after in note.after.items()
            if path in changed and self._digest(path) == after
        }
        # whoever knows how files merge writes that again
        gone = uncommitted.taken_back(self.root)
        waiting = [note for note in waiting if note not in gone]
        self.own = [
            note for note in waiting if note.opens and any(path in paths for path in note.after)
        ]
        own_paths = {path for note in self.own for path in note.after}
        if earlier := [note for note in waiting if note not in self.own]:
            left = {path for note in earlier for path in note.after} & as_written - own_paths
            self._commit(earlier, [entry for entry in entries if entry.path in left])
        edited = [
            entry for entry in entries if entry.path in paths and entry.path not in as_written
        ]
        if edited and not self.waits:
            self._record(_by_hand(edited), edited)

    def _commit(self, sets: Sequence[PendingCommit], entries: Sequence[TreeEntry]) -> None:
        """Commit some sets as one, and drop their notes."""
        if entries:
            self._record(_message(sets), entries)
        if not self.waits:
            for note in sets:
                disk.remove(note.file)

    def _look(self, paths: Iterable[str]) -> list[TreeEntry]:
        """Ask git how some files stand, and whether it is free to take a commit."""
        wanted = sorted(set(paths))
        self.waits = self._closed(wanted)
        self.blind = bool(self.waits)
        if self.blind:
            return []
        self._let_others_finish()
        specs = wanted if len(wanted) <= MAX_PATHSPECS else ["."]
        status = self.git.call(
            "--no-optional-locks",
            "--literal-pathspecs",
            *STATUS,
            *("--untracked-files=all", "--ignore-submodules=all", "--", *specs),
        )
        self.blind = status.code != 0
        if self.blind:
            self.waits = f"git refuses: {status.why}"
            self.commits = self.commits and status.code != git.NOT_INSTALLED
            return []
        detached, every = _entries(status, self.repository.prefix)
        entries = [entry for entry in every if entry.path in wanted]
        self.waits = self._in_the_way(entries, detached=detached)
        return entries

    def _let_others_finish(self) -> None:
        """Wait a moment for another git, such as that of a writer which was killed."""
        for _ in range(BUSY_TRIES):
            self.settle()
            if not git_operations.locks(self.repository):
                break
            time.sleep(BUSY_WAIT_SECONDS)

    def _in_the_way(self, entries: Sequence[TreeEntry], *, detached: bool) -> str:
        if self.repository.under_way:
            return f"{self.repository.under_way} is under way; finish it first"
        if (self.repository.private / "index.lock").exists():
            return self._busy
        if detached:
            return "no branch is checked out (`git switch main` goes back to one)"
        if apart := [entry.path for entry in entries if entry.unmerged]:
            return (
                f"git could not join the two sides of {', '.join(apart)}; keep one, and commit it"
            )
        if staged := [entry.path for entry in entries if entry.staged]:
            return f"you have staged {', '.join(staged)}; commit or unstage it"
        return self._unfiltered([entry.path for entry in entries])

    def _unfiltered(self, paths: Sequence[str]) -> str:
        """Say what a commit would need that came with the folder; empty if nothing."""
        try:
            path, name = self.git.unfiltered(paths) or ("", "")
        except ValueError as error:
            return str(error)
        if not path:
            return ""
        if self.policy.trusted:
            return f"{path} needs git's filter `{name}`, which is not set up here"
        return (
            f"{path} needs git's filter `{name}`, which is not yours; set it up, or {self._advice}"
        )

    def _closed(self, paths: Sequence[str]) -> str:
        """Say what git would wait for without end, or that a commit would go elsewhere."""
        if trap := self.repository.trap(paths):
            return f"{trap} is no plain file; git would wait for it"
        outside = "" if self.policy.trusted else self.git.outside_repository
        return f"{outside}; {self._advice}" if outside else ""

    @property
    def _advice(self) -> str:
        return f"if you trust this folder: `bumble config trust {shlex.quote(str(self.root))}`"

    def _record(self, message: str, entries: Sequence[TreeEntry]) -> None:
        """Make one commit of some files as they are in the folder, and of nothing else."""
        new = [entry.path for entry in entries if entry.unknown]
        if new:  # a commit of chosen files takes only those git knows
            self._git(["add", "--intent-to-add"], new)
        if not self.waits:
            options = ["--only", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace"]
            paths = [entry.path for entry in entries]
            made = self._git(["commit", *options, "-m", message], paths)
            if not (made or self.waits):  # else no merge would pass what differs by line ends alone
                self._git(["add", "--all"], paths)

    def _git(self, command: Sequence[str], paths: Sequence[str]) -> bool:
        """Run a command that writes, on some files; why it fails is why they wait.

        Returns:
            Whether there was something to do.
        """
        options = ("-c", "i18n.commitEncoding=UTF-8", "--literal-pathspecs", *command)
        for _ in range(BUSY_TRIES):
            with git_operations.noted(self.root, git_operations.Operation("commit")):
                named = (*options, "--pathspec-from-file=-", "--pathspec-file-nul")
                result = signed(self.git, self.policy, *named, stdin=git.listed(paths))
            is_refused = any(not line.startswith("warning: ") for line in result.err.splitlines())
            if result.code == 0 or (result.code == 1 and not is_refused):
                # or there is nothing to commit: line ends alone, or a killed writer did it
                return result.code == 0
            if not _is_held(result):
                break
            time.sleep(BUSY_WAIT_SECONDS)
        self.waits = self._busy if _is_held(result) else f"git refuses: {result.why}"
        return False

    @property
    def _busy(self) -> str:
        locks = git_operations.locks(self.repository)
        lock = next(iter(locks), self.repository.private / "index.lock")
        return f"another git is at work; if none is, remove {lock}"

    def _noted(
        self, change_set: changes.ChangeSet, after: Mapping[str, str | None]
    ) -> PendingCommit:
        """Put down what is about to be written."""
        folder = self.root / ".bumble" / uncommitted.NOTES
        numbers = [int(file.stem) for file in folder.glob("*.json") if file.stem.isdigit()]
        note = uncommitted.note_of(
            folder / f"{max(numbers, default=0) + 1:08}.json", change_set, after
        )
        uncommitted.put(note)
        return note

    def _place(self, path: str) -> str | None:
        return committed_path(self.root, self.repository, path)

    def _digest(self, path: str) -> str | None:
        return write_ahead.digest(disk.read_if_there(self.repository.folder / path))


def committed_path(root: Path, repository: gitdir.Repository, path: str) -> str | None:
    """Return a path as git names it in the entity's folder; None for what is never committed."""
    place = disk.inside(root, path).relative_to(repository.folder)
    if place.parts[0] in (".bumble", str(changes.HISTORY)):
        return None
    above = [repository.folder / folder for folder in place.parents if folder.parts]
    return None if any((folder / ".git").exists() for folder in above) else place.as_posix()


def changed(place: git.Git) -> set[str]:
    """Return the files of a folder that differ from what is committed, as git names them there."""
    options = ("--no-optional-locks", *STATUS, "--untracked-files=all", "--", ".")
    _, entries = _entries(place.call(*options), place.repository.prefix)
    return {entry.path for entry in entries}


def signed(place: git.Git, policy: CommitPolicy, *command: str, **more: Any) -> git.GitResult:
    """Run a command that makes a commit: in the name git knows its owner by, else the entity's.

    Args:
        place: Where.
        policy: How commits are made.
        command: And its options.
        more: As `Git.call` takes it.
    """
    at = policy.clock().isoformat(timespec="seconds")
    dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    for author in ({}, _author(policy.name)):
        result = place.call(*REAL_NAME, *command, environ={**dates, **author}, **more)
        if "ident" not in result.err and "email" not in result.err:
            break
    return result


def conclude(place: git.Git, policy: CommitPolicy) -> str:
    """End a merge of which nothing is in conflict any more; return why that failed, or nothing."""
    result = signed(place, policy, "commit", "--no-edit", "--quiet", "--no-verify", "--no-gpg-sign")
    return "" if result.code == 0 else result.why


def merging(place: git.Git, incoming: str) -> git_operations.Operation:
    """Return what is to be noted of a merge: where it begins, and what is edited there."""
    head, commit = place.call("rev-parse", "HEAD", incoming).text.split()
    status = place.call("--no-optional-locks", *STATUS, "--untracked-files=all")
    edited = tuple(entry.path for entry in _entries(status, "")[1])
    return git_operations.Operation(git_operations.MERGE, head=head, incoming=commit, edited=edited)


def merge(
    place: git.Git, policy: CommitPolicy, commit: str, key: str, driver: str
) -> git.GitResult:
    """Merge a commit, in one of ours; conflicts stay in the index.

    Args:
        place: Where.
        policy: How commits are made.
        commit: What is merged.
        key: The setting that names our merge driver.
        driver: Its command line.
    """
    options = ("--no-edit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-stat", *EXACT_RENAMES)
    command = (*MERGING, "-c", f"{key}={driver}", "merge", *PLAINLY, *options, commit)
    # our driver runs once a file
    return signed(place, policy, *command, timeout_seconds=git.NETWORK_TIMEOUT_SECONDS)


def _is_held(result: git.GitResult) -> bool:
    """Whether git found another's lock; a full disk makes it name its own."""
    return ".lock'" in result.err and "File exists" in result.err


def _entries(status: git.GitResult, prefix: str) -> tuple[bool, list[TreeEntry]]:
    """Read what `git status` says: whether no branch is checked out, and the files."""
    detached, entries = False, []
    for row in status.text.split("\0"):
        kind, _, rest = row.partition(" ")
        if kind == "#":
            detached = detached or rest == "branch.head (detached)"
        elif kind == "?":
            entries.append(TreeEntry(rest.removeprefix(prefix), False, False, True))
        elif kind in ("1", "u"):
            path = rest.split(" ", 7 if kind == "1" else 9)[-1]
            staged = kind == "1" and rest[0] != "."
            entries.append(TreeEntry(path.removeprefix(prefix), staged, kind == "u", False))
    return detached, entries


def _author(name: str) -> dict[str, str]:
    """Name the entity as the author, where the owner has told git no name; writes no config."""
    plain = "".join(c for c in name if c.isprintable() and c not in "<>").strip() or "bumble"
    who = {"NAME": plain, "EMAIL": "bumble@localhost"}
    return {f"GIT_{role}_{key}": who[key] for role in ("AUTHOR", "COMMITTER") for key in who}


def _by_hand(entries: Sequence[TreeEntry]) -> str:
    paths = [entry.path for entry in entries]
    shown = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    return f"{BY_HAND}: {shown}\n\nCommitted by bumble before it wrote there.\n"


def message(change_set: changes.ChangeSet) -> str:
    """Write the message of a commit of one set."""
    return _message([uncommitted.note_of(Path(), change_set, {})])


def _message(sets: Sequence[PendingCommit]) -> str:
    """Write the message of a commit of one set or of several."""
    title = sets[-1].title
    others = [note for note in sets if not note.opens and note is not sets[-1]]
    if others:
        title += f" (and {len(others)} more)"
    lines = dict.fromkeys(line for note in sets for line in note.body)
    body = [line for line in lines if line not in title]
    left = len(body) - MAX_BODY_LINES
    shown = [*body[:MAX_BODY_LINES], *([f"and {left} more"] if left > 0 else [])]
    trailers = list(dict.fromkeys(pair for note in sets for pair in note.trailers))
    if all(key != CYCLE for key, _ in trailers):
        kinds = dict.fromkeys(note.cycle for note in (*others, sets[-1]))
        trailers.append((CYCLE, " and ".join(kinds)))
    tail = [f"{key}: {uncommitted.line(value)}" for key, value in trailers]
    return "\n\n".join(filter(None, [title, "\n".join(shown), "\n".join(tail)])) + "\n"
