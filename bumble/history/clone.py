"""A clone of an entity: mended where git merged without knowing how, or can't know.

git leaves the sides of a conflict in its index, and marks in the file. What has a meaning is merged
from the sides; what one side changed and the other deleted stays, whichever side that was, and what
was forgotten goes again after that (`jobs/forgetting/forget`). Where both changed one thing, and
where somebody has been at the file since, it is left to them; marks that were committed are
settled all the same, with both sides of a text, since nothing reads a file that has them. A record
that two clones made, each under a name of its own, is made one, known by its id. Knows nothing of
commands.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce
from itertools import groupby
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import approvals, changes, commits, companions, git_operations, uncommitted
from bumble.entity.folder import PRIVATE, Entity
from bumble.errors import (
    FolderUnwritableError,
    HistoryUnreadableError,
    RecordInvalidError,
    UnsafePathError,
)
from bumble.files import disk, git, gitdir
from bumble.history import merge
from bumble.records import base, forgotten, kinds, session_files, sessions, state
from bumble.records.kind import Kind, RecordKind
from bumble.text import merge_marks, yaml_edit

MADE_TWICE = "two clones made this record"
_STAGES = _BASE, _OURS, _INCOMING = 1, 2, 3  # of git's index
MERGED = f"{PRIVATE}/merged"  # the merge that was looked through last
MERGES = ("pull", "merge ", "commit (merge)")  # what made a merge here, in git's log of HEAD
MOST_SINCE = 50  # of them that are asked for
_FILES = ("100644", "100755")  # modes of what is no link
_INCOMING_HEADS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "refs/stash")


class Mended(Struct, frozen=True):
    """What became of the conflicts of a merge."""

    paths: tuple[str, ...] = ()  # merged by meaning
    kept: tuple[str, ...] = ()  # changed on one side, deleted on the other
    left: tuple[str, ...] = ()  # for a person to settle
    under_way: str = ""  # what git is still in the middle of: "a rebase"
    again: tuple[str, ...] = ()  # written while it was, taken back with it, and written again
    lost: tuple[str, ...] = ()  # likewise, but the owner has gone on since: what shows each

    @property
    def sentence(self) -> str:
        """Say what was done; empty if nothing was."""
        lines = []
        if self.again:
            again = ", ".join(dict.fromkeys(self.again))
            lines += [f"What git took back of what was written meanwhile is there again: {again}."]
        if self.lost:
            lines += ["Written while git was in the middle of something, and in no commit since:"]
            lines += [f"  {shown}" for shown in self.lost]
        if not (self.paths or self.kept):
            return "\n".join(lines)
        if self.paths:
            lines += [f"What git left apart is merged by meaning now: {', '.join(self.paths)}."]
        if self.kept:
            records = (companions.record_of(path) or path for path in self.kept)
            kept = ", ".join(dict.fromkeys(records))
            lines += [f"Changed on one side and deleted on the other, so kept: {kept}."]
        if self.left:
            lines += [f"Yours to settle, then `git add`: {', '.join(self.left)}"]
        elif self.under_way:
            go_on = "git rebase --continue" if self.under_way == "a rebase" else "git commit"
            lines += [f"{self.under_way} is under way: go on with `{go_on}`."]
        return "\n".join(lines)


def mend(root: Path, policy: commits.CommitPolicy, *, timeout_seconds: float) -> Mended:
    """Merge by meaning what git left in conflict, and end the merge if nothing else is left.

    Marks are settled too where they were committed, or added to be: in the files of records.

    Args:
        root: Of the entity.
        policy: How commits are made.
        timeout_seconds: How long to wait for another writer.
    """
    place = git.at(root, trusted=policy.trusted)
    if place is None:
        return Mended()

    def write(title: str, planned: Sequence[changes.Change], *trailers: tuple[str, str]) -> None:
        change_set = changes.ChangeSet(title, tuple(planned), trailers)
        commits.apply(root, change_set, policy, timeout_seconds=timeout_seconds)

    # 1. what git has in conflict: all else reads files, and commits
    settled = _settled(root, place, policy, timeout_seconds=timeout_seconds)
    # 2. what is to be known of the history before the next commit
    back, made = _taken_back(root), () if settled.left else _merged(root)
    lost = tuple(_without_commit(root, [note for note, is_back in back if not is_back]))
    # 3. marks that were committed, and records that are there twice
    marks = (_without_marks(root, path) for path in _marked(place) if path not in settled.left)
    mended = [*filter(None, marks), *_made_one(root)]
    write("git-merge: what a merge left", mended)
    # 4. which talks wait, by what each side of a merge has of them: read from files without marks
    if made:
        heard = _waiting_again(root, made[1:])
        write("git-merge: what one side heard waits", [heard] if heard else [])
        disk.write_cache(root / MERGED, made[0].encode())
    # 5. what git took back with a merge that was given up
    again = list[str]()
    for note, is_back in back:
        planned = list(_again(root, note)) if is_back else []
        with changes.held(root, timeout_seconds=timeout_seconds):
            write(note.title, planned, *note.trailers)
            uncommitted.put(replace(note, staged={}))  # it counts for the rest of its files
        again += (change.path for change in planned)
    return replace(
        settled,
        paths=(*settled.paths, *(change.path for change in mended)),
        under_way=place.repository.under_way,
        again=tuple(again),
        lost=lost,
    )


def _settled(
    root: Path, place: git.Git, policy: commits.CommitPolicy, *, timeout_seconds: float
) -> Mended:
    """Settle what git has in conflict, and go on with what was begun without us or cut off.

    It is noted, so that a kill on the way ends nothing.
    """
    begun = {  # notes of those who went on with a merge and died, each with the commit that came
        note: operation.incoming
        for note, operation in git_operations.cut_off(root).items()
        if operation.what == git_operations.CONCLUDE
    }
    if place.unsafe or not (begun or unmerged(place)):
        return Mended()
    with changes.held(root, timeout_seconds=timeout_seconds):
        merging = place.repository.merging
        head = place.call("rev-parse", "HEAD").text.strip() if merging else ""
        noted = git_operations.Operation(git_operations.CONCLUDE, head=head, incoming=merging)
        with git_operations.noted(root, noted):
            settled = mend_conflicts(root, place, policy)
            if merging in begun.values() and not unmerged(place):
                _conclude(place, policy)
        for note in begun:
            disk.remove(note)
    return settled


def _merged(root: Path) -> tuple[str, ...]:
    """Return the newest merge since the last look, and its sides; empty: none, or it was looked at.

    Commits by hand may have followed it: before one of bumble's it is looked at.
    """
    repository = gitdir.find(root)
    rows = approvals.unseen(root, repository) if repository else []
    made = (
        commit
        for commit, what in reversed(rows)
        if what.startswith(MERGES) and not what.endswith("Fast-forward")
    )
    names = ["HEAD", *filter(approvals.OBJECT.fullmatch, made)][:MOST_SINCE]
    options = ("--ignore-missing", "--no-walk=unsorted", "--merges", "--parents")
    merges = git.run(root, "rev-list", *options, *names)
    found = tuple((merges or "").partition("\n")[0].split()[:3])
    if not found or found[0] == (disk.read_cache(root / MERGED) or b"").decode():
        return ()
    is_here = git.run(root, "merge-base", "--is-ancestor", found[0], "HEAD") is not None
    return found if is_here else ()


def hears_again(root: Path) -> bool:
    """Whether something waits again after a merge, which the next who writes sees to."""
    _, *sides = _merged(root) or ("",)
    return bool(sides) and _waiting_again(root, sides) is not None


def _waiting_again(root: Path, sides: Sequence[str]) -> changes.Change | None:
    """Plan to let wait what one side of a merge heard and neither has dealt with.

    What can't be read of a side says nothing.
    """
    firsts = dict[str, str]()
    with suppress(ValueError, HistoryUnreadableError, RecordInvalidError):
        texts = git.blobs(root, [f"{side}:./{state.PATH}" for side in sides])
        cursors = [state.waiting(state.parse(companions.decoded(text))) for text in texts]
        file = state.read(root / state.PATH)
        paths = {
            name: path
            for name in sorted({name for each in cursors for name in each})
            if (root / (path := f"{Entity(root).sessions.name}/{name}/{sessions.FILE}")).exists()
        }
        held = git.blobs(root, [f"{side}:./{path}" for path in paths.values() for side in sides])
        for number, (name, path) in enumerate(paths.items()):
            with suppress(ValueError, RecordInvalidError):
                heard = [
                    (sessions.parse(companions.decoded(text)) if text else None, each.get(name))
                    for text, each in zip(held[number * 2 : number * 2 + 2], cursors, strict=True)
                ]
                session = session_files.load(root / path)
                first, there = state.merged_waiting(session, heard), state.first_waiting(file, name)
                if first and (there is None or state.is_behind(session, there, first)):
                    firsts[name] = first
        return state.plan_write(file, {state.SECTION: firsts}, "wait again") if firsts else None
    return None


def taken_back(root: Path) -> list[str]:
    """Return the files of which git took back what was written; the next command has it again."""
    back = (note for note, is_back in _taken_back(root) if is_back)
    return [change.path for note in back for change in _again(root, note)]


def _taken_back(root: Path) -> list[tuple[uncommitted.PendingCommit, bool]]:
    """Return what git took back on this branch, each with whether it stands where that led.

    Where it doesn't, the owner has committed since, and may have taken out what was written.
    """
    repository, found = gitdir.find(root), list[tuple[uncommitted.PendingCommit, bool]]()
    for note in uncommitted.taken_back(root) if repository and not repository.under_way else ():
        branch, start = note.begun
        names = git.run(root, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD") or "- -"
        head, here = names.split()
        is_back = head == start and (branch == here or "HEAD" in (branch, here))  # detached, say
        is_kept = git.run(root, "rev-parse", "--quiet", "--verify", branch) is not None
        if is_back or not is_kept or branch in ("HEAD", here):
            found.append((note, is_back))
    return found


def _without_commit(root: Path, back: Sequence[uncommitted.PendingCommit]) -> Iterator[str]:
    """Yield how to see what was written, for each file of which no commit since has that."""
    gone = uncommitted.changed_since(root, uncommitted.notes(root))
    last = {path: (blobs, note.begun[1]) for note in back for path, blobs in note.staged.items()}
    for path, (blobs, start) in last.items():
        blob = blobs[1]
        asked = ("-1", "-m", "--format=%H", f"--find-object={blob}", f"{start}..HEAD")
        if path not in gone or not blob or git.run(root, "log", *asked):
            continue
        is_there = False  # a merge may have brought all of it
        with suppress(HistoryUnreadableError):  # git has swept it up
            is_there = _path_again(root, path, *blobs) is None
        if not is_there:
            yield f"{path}: git -C {shlex.quote(str(root))} show {blob[:12]}"


def _again(root: Path, note: uncommitted.PendingCommit) -> Iterator[changes.Change]:
    """Plan to have in the files of a note what it changed there."""
    return filter(None, (_path_again(root, path, *blobs) for path, blobs in note.staged.items()))


def _path_again(root: Path, path: str, before: str, after: str) -> changes.Change | None:
    """Plan to have in a file what changed between two of its versions; empty: it was not there."""
    names = [before or git.NOWHERE, after or git.NOWHERE]
    old, (was, new) = _there(root, path), git.blobs(root, names)
    data = new
    if old is not None and new is not None:
        data = companions.encoded(_of_both(path, *map(companions.decoded, (old, new, was))))
    # what was removed stays where it was changed since, and where git has swept up the new version
    if data == old or (data is None and (after or old != was)):
        return None
    read = None if old is None else disk.sha256(old)
    return changes.Change(path, "write again what git took back", data, read, alone=True)


def waiting(root: Path, *, trusted: bool) -> list[str]:
    """Return the files that `mend` would look at; nothing is changed."""
    place = git.at(root, trusted=trusted)
    if place is None:
        return []
    marked = [path for path in _marked(place) if _without_marks(root, path)]
    twins = (change.path for change in _made_one(root))
    return list(dict.fromkeys([*unmerged(place), *marked, *twins, *taken_back(root)]))


def _made_one(root: Path) -> Iterator[changes.Change]:
    """Plan to make one file of those that hold one record: two clones made and named it."""
    entity = Entity(root)
    for kind in kinds.KINDS:
        is_of_ids = isinstance(kind, RecordKind) and kind.prefix
        for _, files in groupby(kind.reachable(entity) if is_of_ids else (), kind.stem):
            paths = list(map(entity.relative, files))
            if len(paths) > 1:
                yield from _as_one(
                    kind, {path: companions.decoded(companions.read(root, path)) for path in paths}
                )


def _as_one(kind: Kind, held: Mapping[str, str]) -> Iterator[changes.Change]:
    first = next(iter(held))
    text = reduce(partial(_of_both, first), held.values())
    with suppress(ValueError):  # one can't be read: that is a finding of its own
        record = kind.parse(text, kind.stem(Path(first)))
        called = base.file_stem(record.filed_as, record.id)
        stays = next((path for path in held if PurePosixPath(path).stem == called), first)
        yield from (changes.delete(path, held[path], MADE_TWICE) for path in held if path != stays)
        yield changes.write(stays, text, held[stays], MADE_TWICE)


def _of_both(path: str, one: str, other: str, start: str = "") -> str:
    """Return what two sides become, both told where they clash."""
    merged = merge.merge(path, start, one, other)
    return merged.text if merged.clean else _with_both(path, merged.text)


def _conclude(place: git.Git, policy: commits.CommitPolicy) -> None:
    """End a merge.

    Raises:
        FolderUnwritableError: If git can't.
    """
    if place.repository.under_way == "a merge" and (why := commits.conclude(place, policy)):
        raise FolderUnwritableError(place.repository.private, why)


def mend_conflicts(root: Path, place: git.Git, policy: commits.CommitPolicy) -> Mended:
    """Settle what the index holds several stages of; call it with the entity's lock held."""
    prefix, stages_of = place.repository.prefix, unmerged(place)
    merged, kept, left, beside = list[str](), list[str](), list[str](), list[str]()
    for path, stages in stages_of.items():
        inner = path.removeprefix(prefix)
        if not path.startswith(prefix) or not stages:
            left.append(path)
        elif companions.record_of(inner) in merged and inner in beside:
            continue  # its record's sides were merged with it
        elif {_OURS, _INCOMING} <= stages.keys():
            joined = _merge_path(root, place, inner, stages)
            (merged if joined else left).append(inner)
            beside += joined[1:]
        else:
            back = _keep_path(root, place, inner, stages)
            (left if back is None else kept).append(inner)
            beside += back or ()
    settled = (*merged, *kept, *beside)
    if settled and not left and place.repository.under_way == "a merge":
        _conclude(place, policy)
    elif settled and not place.repository.under_way:  # a stash: what it held stays uncommitted
        _unstage(place, [prefix + path for path in settled])
    return Mended(tuple(merged), tuple(kept), tuple(left), place.repository.under_way)


def unmerged(place: git.Git) -> dict[str, dict[int, str]]:
    """Return the files in conflict, from the top of the repository: a blob for each stage.

    What is a link or a repository on a side has none.
    """
    result = place.call("ls-files", "--unmerged", "--full-name", "-z")
    found: dict[str, dict[int, str]] = {}
    odd = set()
    for row in filter(None, result.text.split("\0")):
        about, _, path = row.partition("\t")
        mode, name, stage = about.split(" ")
        found.setdefault(path, {})[int(stage)] = name
        odd |= {path} if mode not in _FILES else set()
    return {path: {} if path in odd else stages for path, stages in found.items()}


def _blob(place: git.Git, name: str) -> bytes:
    return git.blobs(place.repository.folder, [name])[0] or b""


def _there(root: Path, path: str) -> bytes | None:
    """Return a file's bytes; None where there is none, or a link leads out."""
    with suppress(UnsafePathError, OSError):
        return disk.read_if_there(disk.inside(root, path))
    return None


def _add(place: git.Git, *paths: str) -> bool:
    return place.call("--literal-pathspecs", "add", "--", *paths).code == 0


def _kind(path: str) -> Kind | None:
    """Return the kind of a record by its path, or by that of its companion."""
    return kinds.of_path(companions.record_of(path) or path)


def _merge_path(root: Path, place: git.Git, path: str, stages: Mapping[int, str]) -> list[str]:
    """Merge one file by meaning, where that takes it with its companion.

    Returns:
        The files that are merged; none: that could not be done.
    """
    kind, there = _kind(path), _there(root, path)
    if kind is None or not kind.merging or there is None:
        return []
    shown = [_blob(place, stages[stage]) if stage in stages else b"" for stage in _STAGES]
    beside = _companions(place, path, stages) if kind.paired else None
    sides = list(map(companions.decoded, shown))
    if beside is not None:
        sides = [companions.joined(path, *side) for side in zip(sides, beside, strict=True)]
    merged = merge.merge(path, sides[0], sides[1], sides[2])
    data = companions.encoded(merged.text)
    files: list[tuple[str, bytes | None]] = [(path, data)]
    if beside is not None:
        files = companions.parted(path, data, shown[1], companions.encoded(beside[1]))
    is_open = merge_marks.line_of(companions.decoded(there)) is not None
    if not merged.clean or not (is_open or there == files[0][1]):  # somebody has been at it
        return []
    written = [(name, new) for name, new in files if new is not None]
    for name, new in written:
        disk.write_atomic(disk.inside(root, name), new)
    names = [name for name, _ in written]
    return names if _add(place, *names) else []


def _companions(place: git.Git, path: str, stages: Mapping[int, str]) -> list[str] | None:
    """Return what stands beside a record on each of its sides; None where nothing tells."""
    head, companion = _incoming_head(place), companions.place(path)
    if not head or companion is None:
        return None
    merging = ("merge-base", "HEAD", head) if head == "MERGE_HEAD" else ("rev-parse", f"{head}^")
    start = place.call(*merging).text.strip()
    wanted = [f"{side}:./{path}" for side in ("HEAD", head)]
    held = place.call("rev-parse", *wanted).text.split()
    if held != [stages[_OURS], stages[_INCOMING]]:  # of another name there, or of something else
        return None
    names = [f"{side}:./{companion}" for side in (start, "HEAD", head)]
    before, *sides = git.blobs(place.repository.folder, names)
    if before is not None and None in sides:  # it is lost on a side
        return None
    return [companions.decoded(data) for data in (before, *sides)]


def _incoming_head(place: git.Git) -> str:
    """Return what names the commit that git brings in; empty where nothing does."""
    private = place.repository.private
    return next((head for head in _INCOMING_HEADS if (private / head).exists()), "")


def _keep_path(
    root: Path, place: git.Git, path: str, stages: Mapping[int, str]
) -> list[str] | None:
    """Keep what one side changed or named so and the other did not; None if that can't be done.

    Returns:
        What came back with it.
    """
    stage = next((stage for stage in (_OURS, _INCOMING) if stage in stages), None)
    if stage is None:  # both took it away, or gave it another name each
        removed = place.call("--literal-pathspecs", "rm", "--cached", "-q", "--", path)
        return [] if removed.code == 0 else None
    if _there(root, path) != _blob(place, stages[stage]):
        return None  # somebody has been at it
    back = _bring_beside(root, place, path, ours=stage == _OURS)
    return back if _add(place, path, *back) else None


def _bring_beside(root: Path, place: git.Git, path: str, *, ours: bool) -> list[str]:
    """Bring back what went with a file: a record and its companion are one, and so is a folder."""
    record = companions.record_of(path) or path
    kind, file = kinds.of_path(record), PurePosixPath(record)
    side = "HEAD" if ours else _incoming_head(place)
    companion = companions.place(record)
    if not side or not (kind or companion):
        return []
    folder = [f"{file.parent}/"] if kind and file.name == kind.folder_file else []
    beside = [*folder, record, companion or record]
    listed = place.call("--literal-pathspecs", "ls-tree", "-rz", "--name-only", side, *beside)
    gone = [
        name
        for name in filter(None, listed.text.split("\0"))
        if not (root / name).exists() and _kind(name) is not None
    ]
    for name in gone:
        disk.write_atomic(disk.inside(root, name), _blob(place, f"{side}:./{name}"))
    return gone


def _unstage(place: git.Git, paths: Sequence[str]) -> None:
    """Make the index hold of some files what the last commit does; `git reset` would run filters.

    Args:
        place: Where.
        paths: From the top of the repository.
    """
    head = place.call("--literal-pathspecs", "ls-tree", "-z", "--full-tree", "HEAD", "--", *paths)
    nothing = "".join(f"0 {git.NOWHERE}\t{path}\0" for path in paths)
    stdin = f"{nothing}{head.text}".encode(errors="surrogateescape")
    place.call("update-index", "-z", "--index-info", stdin=stdin)


def _marked(place: git.Git) -> list[str]:
    """Return the files of the folder that git knows and that may hold marks."""
    options = ("-l", "-z", "-I", "--no-textconv", "--no-recurse-submodules")
    result = place.call("grep", *options, "-e", f"^{merge_marks.BEGIN}")
    return list(filter(None, result.text.split("\0")))


def _without_marks(root: Path, path: str) -> changes.Change | None:
    """Plan to merge what the marks in a record tell apart; None where that can't be done."""
    kind, old = _kind(path), _there(root, path)
    text = companions.decoded(old)
    if old is None or merge_marks.line_of(text) is None:
        return None
    base, ours, incoming = merge_marks.sides(text)
    merges = [merge.merge(path, start, ours, incoming) for start in (base, "")]
    merged = next((one for one in merges if one.clean), merges[0])
    new = merged.text if merged.clean else _with_both(path, merged.text)
    try:
        if companions.record_of(path):
            yaml_edit.parse_mapping(new)
        elif kind is not None:
            kind.parse(new, kind.stem(Path(path)))
        elif path != forgotten.PATH:
            return None  # no record: whoever wrote it knows
    except ValueError:
        return None
    data, read = companions.encoded(new), disk.sha256(old)
    return changes.Change(path, "merge what both sides changed", data, read, alone=True)


def _with_both(path: str, text: str) -> str:
    """Hold both sides of what clashes in a text, but one of a value; from either side the same."""
    values_end = len(text) if path.endswith(".yaml") else 0
    if text.startswith("---\n"):
        values_end = text.find("\n---\n", 3)

    def settled(match: re.Match[str]) -> str:
        if match.start() < values_end:
            return max(match[1], match[3])
        return "".join(sorted({match[1], match[3]}))

    return merge_marks.replaced(text, settled, fenced=True)


DRIVER = "bumble"
DRIVER_KEY = f"merge.{DRIVER}.driver"
# The newer way of git to merge obeys the first only since 2.50; `recursive` is the older way before
# that, and another name of the newer one since. A rebase before 2.50 takes neither.
NO_RENAMES = {"merge.renames": "false", "pull.twohead": "recursive"}


def driver_command() -> str:
    """Return the command line git is to run; it works where no `bumble` is on the PATH.

    `-P` because git runs it in the top of the repository: a folder there must not be imported.
    """
    return f"{shlex.quote(sys.executable)} -P -m bumble git-merge %O %A %B %P"


def install_driver(root: Path) -> bool:
    """Tell the repository that a folder lies in; whether all of that worked."""
    values = {f"merge.{DRIVER}.name": "bumble: by meaning", DRIVER_KEY: driver_command()}
    values |= NO_RENAMES if _is_alone(root) else {}
    with git_operations.noted(root, git_operations.Operation("config")):
        return all(git.run(root, "config", *pair) is not None for pair in values.items())


def _is_alone(root: Path) -> bool:
    repository = gitdir.find(root)
    return repository is not None and is_own(repository)


def has_driver(root: Path) -> bool:
    """Whether the repository has the driver, and not a program of that name that came with it."""
    if (git.run(root, "config", DRIVER_KEY) or "").rstrip("\n") != driver_command():
        return False
    return not _is_alone(root) or all(
        git.run(root, "config", "--local", key) is not None for key in NO_RENAMES
    )


def lacks_driver(root: Path, repository: gitdir.Repository) -> bool:
    """Whether a folder's files name our way to merge, and git has not been told what that is."""
    attributes = gitdir.content(root / ".gitattributes") or b""
    if f"merge={DRIVER}".encode() not in attributes:
        return False
    config = gitdir.content(repository.common / "config") or b""
    is_told = driver_command().encode() in config and (
        b"twohead" in config or not is_own(repository)
    )
    return not is_told and not has_driver(root)


def is_own(repository: gitdir.Repository) -> bool:
    """Whether nothing but this folder lies in the repository."""
    return repository.top == repository.folder
