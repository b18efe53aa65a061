"""Other clones of an entity: what they did is fetched and merged, and ours pushed if asked.

git reaches out to the address that the branch follows. Nothing that only the repository's own
config names is run for that, unless the folder is trusted. A remote is set up for the branch that
is checked out; nothing is sent before the first push.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from bumble import patterns
from bumble.entity import approvals, changes, commits, companions, git_operations, settings
from bumble.entity.folder import ENTITY_FILE, PRIVATE
from bumble.errors import (
    FolderOutdatedError,
    HistoryMissingError,
    HistoryUnreadableError,
    MergeUnfinishedError,
    RefusedError,
    SettingInvalidError,
    SyncError,
    UsageError,
)
from bumble.files import disk, git, gitdir
from bumble.history import clone, log
from bumble.history.merge import merge as merge_file
from bumble.records import kinds
from bumble.text import printable

MOST_SHOWN = 5
NEEDED = (ENTITY_FILE, *approvals.MAPPINGS)
ODD_MODES = {"120000": "a link", "160000": "a repository within it"}


class Upstream(Struct, frozen=True):
    """What a branch follows."""

    remote: str
    branch: str  # on the remote: `refs/heads/main`
    tracking: str  # here: `refs/remotes/origin/main`


class Merging(Struct, frozen=True):
    """What a merge brought."""

    commits: int  # of other clones
    mended: clone.Mended
    before: str = ""  # the commit that was merged into; empty: nothing was merged


def place_of(root: Path, *, trusted: bool) -> git.Git:
    """Return git in the repository of a folder, if it may reach out there.

    Raises:
        HistoryMissingError: If there is no repository.
        SyncError: If it would obey what came with the folder.
    """
    place = git.at(root, trusted=trusted)
    if place is None:
        raise HistoryMissingError(root)
    if not git.installed():
        raise HistoryMissingError(root, "git is not installed here", "Install it, and try again.")
    if place.closed:
        raise SyncError(root, place.closed, "`bumble doctor` says more.")
    named = place.reaching_programs(but=clone.DRIVER_KEY)
    if not trusted and (named or place.strays):
        what = f"its own git config has {', '.join(named)}" if named else place.outside_repository
        advice = f"If that is yours: `bumble config trust {shlex.quote(str(root))}`, then again."
        raise SyncError(root, what, advice)
    return place


def upstream(root: Path, place: git.Git) -> Upstream:
    """Return what the branch that is checked out follows.

    Raises:
        SyncError: If it follows none, or none is.
    """
    head = place.call("symbolic-ref", "--quiet", "HEAD").text.strip()
    if not head and place.repository.under_way:
        raise _unended(root, place.repository.under_way)
    if not head:
        raise SyncError(root, "no branch is checked out", "`git switch main` goes back to one.")
    form = "%(upstream:remotename)%00%(upstream:remoteref)%00%(upstream)"
    row = place.call("for-each-ref", f"--format={form}", head).text.strip("\n")
    remote, _, rest = row.partition("\0")
    branch, _, tracking = rest.partition("\0")
    if not (remote and branch and tracking):
        advice = "`bumble sync --setup ADDRESS` gives it one, and says first what goes there."
        raise SyncError(root, "its branch follows none of a remote", advice)
    return Upstream(remote, branch, tracking)


def fetch(root: Path, place: git.Git, target: Upstream) -> None:
    """Fetch what other clones pushed; in a shallow clone all that a merge needs.

    Raises:
        SyncError: If that fails.
    """
    options = ("--no-recurse-submodules", "--no-auto-maintenance")
    with git_operations.noted(root, git_operations.Operation("fetch")):
        result = place.reach("fetch", *options, target.remote)
        shallow = result.code == 0 and (place.repository.common / "shallow").exists()
        if shallow and place.call("merge-base", "HEAD", target.tracking).code != 0:
            result = place.reach("fetch", *options, "--unshallow", target.remote)
    if result.code != 0:
        raise SyncError(root, result.why, "Nothing was changed; try `git fetch` there by hand.")


def merge(
    root: Path,
    place: git.Git,
    target: Upstream,
    policy: commits.CommitPolicy,
    *,
    timeout_seconds: float,
) -> Merging:
    """Merge what was fetched, by meaning; a kill on the way leaves the folder as it was before.

    Args:
        root: Of the entity.
        place: Its repository.
        target: What was fetched.
        policy: How commits are made.
        timeout_seconds: How long to wait for another writer.

    Raises:
        MergeUnfinishedError: If both sides changed one thing, and nothing says which is right.
        SyncError: If git refuses.
    """
    before = place.call("rev-parse", "HEAD").text.strip()
    count = int(place.call("rev-list", "--count", f"HEAD..{target.tracking}").text or 0)
    if place.repository.under_way:
        _go_on(root, place, policy, timeout_seconds=timeout_seconds)
    if place.call("merge-base", "--is-ancestor", target.tracking, "HEAD").code == 0:
        return Merging(count, clone.Mended(), before if count else "")
    _check_brought(root, place, target)
    with changes.held(root, timeout_seconds=timeout_seconds):
        git_operations.settle(root, place)
        try:
            with git_operations.noted(root, commits.merging(place, target.tracking)):
                mended = _merged(root, place, target, policy)
                return Merging(count, mended, before)
        finally:  # what git could not bring to an end, on a full disk say
            git_operations.settle(root, place)


def _go_on(
    root: Path, place: git.Git, policy: commits.CommitPolicy, *, timeout_seconds: float
) -> None:
    """Bring a merge to its end of which a person has settled all.

    Raises:
        MergeUnfinishedError: If something is not settled yet.
        SyncError: If something else is under way, or git refuses.
    """
    under_way = place.repository.under_way
    if under_way != "a merge":
        raise _unended(root, under_way)
    if left := sorted(clone.unmerged(place)):
        raise MergeUnfinishedError(root, left, gitdir.ENDINGS[under_way][1])
    with changes.held(root, timeout_seconds=timeout_seconds):
        if why := commits.conclude(place, policy):
            raise _unended(root, under_way, why)


def _unended(root: Path, under_way: str, why: str = "") -> SyncError:
    """Say that git is in the middle of something, how it goes on, and how that is taken back."""
    git_here = f"git -C {shlex.quote(str(root))}"
    on, back = gitdir.ENDINGS[under_way]
    advice = f"Go on with `{git_here} {on}`, or take it back with `{git_here} {back}`."
    return SyncError(root, why or f"{under_way} is under way", advice)


def _merged(
    root: Path, place: git.Git, target: Upstream, policy: commits.CommitPolicy
) -> clone.Mended:
    """Merge, to the end: what this returns is committed."""
    result = commits.merge(place, policy, target.tracking, clone.DRIVER_KEY, clone.driver_command())
    if result.code == 0:
        return clone.Mended()
    if not place.repository.under_way:
        advice = "Nothing was changed. `bumble diff` shows what is not committed."
        if result.killed:
            advice = "The next command that writes takes back what was begun; then sync again."
        if "unrelated histories" in result.err:
            advice = "One of them was begun anew, after forgetting say: clone that one afresh."
        edited = [line.strip() for line in result.err.splitlines() if line.startswith("\t")]
        raise SyncError(root, " ".join((result.why, *edited[:MOST_SHOWN])), advice)
    mended = clone.mend_conflicts(root, place, policy)
    if mended.left:
        raise MergeUnfinishedError(root, mended.left, gitdir.ENDINGS["a merge"][1])
    if place.repository.under_way:
        raise SyncError(root, result.why, "The merge was taken back; try it again.")
    return mended


def contested(root: Path, place: git.Git, target: Upstream, before: str) -> list[tuple[str, str]]:
    """Return where something stands that one side changed and the other took out.

    Args:
        root: Of the entity.
        place: Its repository.
        target: What was merged.
        before: The commit that it was merged into.

    Returns:
        The file of each, and the heading of the part; empty where it has none.
    """
    found = list[tuple[str, str]]()
    with suppress(HistoryUnreadableError):
        base = place.call("merge-base", before, target.tracking).text.strip()
        commits = (base, before, target.tracking)
        names = ("diff", "--name-only", "--no-renames", "--relative", "-z", base)
        listed = (place.call(*names, commit).text.split("\0") for commit in commits[1:])
        changed = [{companions.record_of(path) or path for path in each} for each in listed]
        paths = sorted(path for path in changed[0] & changed[1] if path.endswith(".md"))
        sides = (log.wholes(root, paths, commit) for commit in commits)
        for path, *data in zip(paths, *sides, strict=True):
            if None not in data:  # a whole file that stands is told of as it is kept
                merged = merge_file(path, *map(companions.decoded, data))
                found += [(path, heading) for heading in merged.stands]
    return found


def _kind_name(path: str) -> str | None:
    """Return the name of the kind of a record's file; None for what lies beside."""
    kind, place = kinds.of_path(path), PurePosixPath(path)
    if kind is None or kind.forgetting == "beside" or not any(map(place.match, kind.patterns)):
        return None
    return kind.name


def _check_brought(root: Path, place: git.Git, target: Upstream) -> None:
    """Look at what was fetched before anything of it lies in the folder.

    Raises:
        SyncError: If it holds what no clone of bumble's commits.
    """
    options = ("-r", "--raw", "-z", "--no-renames", "--no-abbrev", "--diff-filter=d")
    base = place.call("merge-base", "HEAD", target.tracking).text.strip()
    if not base:
        return  # of another beginning: the merge says so
    result = place.call("diff-tree", *options, base, target.tracking)
    if result.code != 0:
        raise SyncError(root, result.why, "Nothing was merged.")
    rows = result.text.split("\0")
    brought = zip((row.split(" ")[1] for row in rows[::2] if row), rows[1::2], strict=False)
    prefix = place.repository.prefix
    odd = [
        f"{path} ({why})"
        for mode, path in brought
        if path.startswith(prefix) and (why := _odd(mode, path.removeprefix(prefix)))
    ]
    names = (path.removeprefix(prefix) for path in rows[1::2] if path.startswith(prefix))
    odd += filter(None, (_broken(root, target, name) for name in names if name in NEEDED))
    if odd:
        more = f" and {len(odd) - MOST_SHOWN} more" if len(odd) > MOST_SHOWN else ""
        why = f"another clone would bring {', '.join(odd[:MOST_SHOWN])}{more}"
        by_hand = f"`git -C {shlex.quote(str(root))} merge {shlex.quote(target.tracking)}`"
        raise SyncError(root, why, f"Nothing was merged. If it is yours, merge it by {by_hand}.")


def _odd(mode: str, path: str) -> str:
    """Say why a file of another clone is not taken; empty if it is."""
    parts = path.split("/")
    if mode in ODD_MODES:
        return ODD_MODES[mode]
    if parts[0] == PRIVATE:
        return "it is each clone's own"
    if any(str(folder) in kinds.FILES for folder in PurePosixPath(path).parents):
        return "it would make a folder of a file"
    return "it would take a folder's place" if path in kinds.FOLDERS else ""


def _broken(root: Path, target: Upstream, name: str) -> str:
    """Name a file of another clone that can't be read, and without which nothing works."""
    data = git.blobs(root, [f"{target.tracking}:./{name}"])[0] or b""
    kind = kinds.of_path(name)
    try:
        if kind is None:
            settings.entity_layer(Path(name), data)
        else:
            kind.parse(data.decode("utf-8"), "")
    except FolderOutdatedError:  # an older clone's, which the merge brings along
        return ""
    except SettingInvalidError as error:
        return str(error).splitlines()[0]
    except ValueError as error:
        return f"{name} ({error})"
    return ""


def unpushed(place: git.Git, target: Upstream) -> int:
    """Count the commits that the remote doesn't have."""
    return int(place.call("rev-list", "--count", f"{target.tracking}..HEAD").text or 0)


def push(
    root: Path,
    place: git.Git,
    remote: str,
    branch: str,
    advice: str = "It was merged here; push again.",
) -> None:
    """Push the branch to one of a remote, `refs/heads/main` say; hooks do not run.

    Raises:
        SyncError: If that fails.
    """
    with git_operations.noted(root, git_operations.Operation("push")):
        options = ("--no-verify", "--no-signed", "--no-follow-tags")
        result = place.reach("push", *options, remote, f"HEAD:{branch}")
    if result.code != 0:
        raise SyncError(root, result.why, advice)


REMOTE = "origin"
_SCHEME = patterns.compile(r"(https?|ssh|git|file)://", re.IGNORECASE)
_HOST_AND_PATH = patterns.compile(
    r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!//)([^\s]+)"
)  # as ssh has it
_SSH = patterns.compile(r"ssh://(?:[^@/]+@)?([^/:]+)(?::\d+)?/(.+)", re.IGNORECASE)


class Upload(Struct, frozen=True):
    """What a push would send."""

    branch: str
    commits: int
    records: dict[str, int]  # by kind
    others: int  # files that are no records, of the whole repository


def address(text: str, folder: Path) -> str:
    """Return an address as git takes it; a folder of this machine by its whole path.

    Raises:
        UsageError: If it is none that git reaches out to.
    """
    if _SCHEME.match(text) or _HOST_AND_PATH.fullmatch(text):
        return text
    if not text.strip() or text.startswith("-") or "::" in text:
        raise UsageError(f"{text or 'an empty text'}: that is no address of a git repository.")
    return os.path.normpath(folder / Path(text).expanduser())


def on_the_web(place: str) -> str:
    """Return where anybody would look for a repository; empty for one that is not on the web."""
    ssh = _SSH.fullmatch(place) or _HOST_AND_PATH.fullmatch(place)
    web = f"https://{ssh[1]}/{ssh[2]}" if ssh else printable.bare_url(place)
    return web if web.lower().startswith(("http://", "https://")) else ""


def is_public(root: Path, place: str) -> bool:
    """Whether anybody can read a repository: it answers who has neither key nor password.

    Raises:
        SyncError: If it is on the web and says nothing at all.
    """
    web = on_the_web(place)
    if not web:
        return False
    found = git.ask_as_anybody(web)
    if found.killed and web == printable.bare_url(place):
        raise SyncError(
            root, found.why, f"{printable.shown_url(place)} says nothing; nothing was uploaded."
        )
    return found.code == 0


def upload(root: Path, place: git.Git) -> Upload:
    """Tell what a push would send: all that is committed, and all earlier versions of it.

    Raises:
        SyncError: If nothing is committed yet, or not the entity, or no branch is checked out.
    """
    branch = place.call("symbolic-ref", "--quiet", "--short", "HEAD").text.strip()
    count = place.call("rev-list", "--count", "HEAD").text.strip()
    if not branch or not count.isdigit():
        raise SyncError(root, "there is no branch with a commit", "`bumble doctor` says more.")
    names = place.call("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD").text.split("\0")
    prefix = place.repository.prefix
    if f"{prefix}{ENTITY_FILE}" not in names:
        why = f"{ENTITY_FILE} is not committed, without which a clone is no entity"
        raise SyncError(root, why, "`bumble doctor` says what keeps it back.")
    found = [
        _kind_name(name.removeprefix(prefix)) if name.startswith(prefix) else None
        for name in names
        if name
    ]
    records = Counter(name for name in found if name is not None)
    return Upload(branch, int(count), dict(records), found.count(None))


def is_new(target: str) -> bool:
    """Whether it is a folder of this machine that can be made: only the one above it is there."""
    place = Path(target)
    return place.is_absolute() and not place.exists() and place.parent.is_dir()


def refuse_another(root: Path, place: git.Git, target: str) -> str:
    """Return the remote that the repository has already, if it is this one, else nothing.

    Raises:
        RefusedError: If it has another.
    """
    known = place.call("config", "--get", f"remote.{REMOTE}.url").text.strip()
    if known and known != target:
        raise RefusedError(
            f"{root} has a remote already: {printable.shown_url(known)}\n"
            f"To take it away: `git -C {shlex.quote(str(root))} remote remove {REMOTE}`"
        )
    return known


def connect(root: Path, place: git.Git, target: str, branch: str) -> None:
    """Give the repository its remote, made where it is a new folder; again, it changes nothing.

    Raises:
        RefusedError: If it has another.
        SyncError: If the remote doesn't answer, or holds something else.
    """
    known = refuse_another(root, place, target)
    if is_new(target):
        with disk.translate_os_errors(Path(target)):
            disk.make_folder(Path(target))
        git.init(Path(target), branch, bare=True)  # where that fails, it doesn't answer
    heads = place.reach("ls-remote", "--heads", target)
    if heads.code != 0:
        raise SyncError(
            root, heads.why, f"Does {printable.shown_url(target)} exist, and may you write there?"
        )
    if not known:
        added = place.call("remote", "add", REMOTE, target)
        if added.code != 0:
            raise SyncError(root, added.why, "Nothing was changed.")
    ref = f"refs/heads/{branch}"
    if f"\t{ref}" not in heads.text:
        return
    with git_operations.noted(root, git_operations.Operation("fetch")):
        fetched = place.reach("fetch", "--no-recurse-submodules", "--no-auto-maintenance", REMOTE)
    tracking = f"refs/remotes/{REMOTE}/{branch}"
    if fetched.code != 0 or place.call("merge-base", "HEAD", tracking).code != 0:
        place.call("remote", "remove", REMOTE)
        why = f"{printable.shown_url(target)} holds another beginning"
        raise SyncError(root, why, "Clone it to have that one here, or choose an empty place.")


def push_first(root: Path, place: git.Git, branch: str) -> None:
    """Push the branch, and let it follow the remote; hooks do not run.

    Raises:
        SyncError: If that fails.
    """
    ref = f"refs/heads/{branch}"
    push(root, place, REMOTE, ref, "Nothing was uploaded; say it again once it can be.")
    place.call("config", f"branch.{branch}.remote", REMOTE)
    place.call("config", f"branch.{branch}.merge", ref)
