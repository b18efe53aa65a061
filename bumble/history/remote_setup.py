"""A remote for an entity: looked at, and set up for the branch that is checked out.

Nothing is sent before `push`; what only the repository's own config names does not run (git.py).
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from pathlib import Path

from msgspec import Struct

from bumble.entity import git_operations
from bumble.entity.git_operations import Operation
from bumble.errors import RefusedError, SyncError, UsageError
from bumble.files import git
from bumble.files.git import Git
from bumble.records import kinds
from bumble.text import urls

REMOTE = "origin"
_SCHEME = re.compile(r"(https?|ssh|git|file)://", re.IGNORECASE)
_HOST_AND_PATH = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!//)([^\s]+)")  # as ssh has it
_SSH = re.compile(r"ssh://(?:[^@/]+@)?([^/:]+)(?::\d+)?/(.+)", re.IGNORECASE)


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
    web = f"https://{ssh[1]}/{ssh[2]}" if ssh else urls.bare(place)
    return web if web.lower().startswith(("http://", "https://")) else ""


def is_public(place: str) -> bool:
    """Whether anybody can read a repository: it answers who has neither key nor password."""
    web = on_the_web(place)
    return bool(web) and git.answers_anybody(web)


def upload(root: Path, place: Git) -> Upload:
    """Tell what a push would send: all that is committed, and all earlier versions of it.

    Raises:
        SyncError: If nothing is committed yet, or no branch is checked out.
    """
    branch = place.call("symbolic-ref", "--quiet", "--short", "HEAD").text.strip()
    count = place.call("rev-list", "--count", "HEAD").text.strip()
    if not branch or not count.isdigit():
        raise SyncError(root, "there is no branch with a commit", "`bumble doctor` says more.")
    names = place.call("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD").text.split("\0")
    prefix = place.repository.prefix
    found = [
        kinds.of_path(name.removeprefix(prefix)) if name.startswith(prefix) else None
        for name in names
        if name
    ]
    records = Counter(kind.name for kind in found if kind is not None)
    return Upload(branch, int(count), dict(records), found.count(None))


def connect(root: Path, place: Git, target: str, branch: str) -> None:
    """Give the repository its remote; the same again changes nothing.

    Raises:
        RefusedError: If it has another.
        SyncError: If the remote doesn't answer, or holds something else.
    """
    known = place.call("config", "--get", f"remote.{REMOTE}.url").text.strip()
    if known and known != target:
        raise RefusedError(
            f"{root} has a remote already: {urls.shown(known)}\n"
            f"To take it away: `git -C {shlex.quote(str(root))} remote remove {REMOTE}`"
        )
    heads = place.reach("ls-remote", "--heads", target)
    if heads.code != 0:
        raise SyncError(
            root, heads.why, f"Does {urls.shown(target)} exist, and may you write there?"
        )
    if not known:
        added = place.call("remote", "add", REMOTE, target)
        if added.code != 0:
            raise SyncError(root, added.why, "Nothing was changed.")
    ref = f"refs/heads/{branch}"
    if f"\t{ref}" not in heads.text:
        return
    with git_operations.noted(root, Operation("fetch")):
        fetched = place.reach("fetch", "--no-recurse-submodules", "--no-auto-maintenance", REMOTE)
    tracking = f"refs/remotes/{REMOTE}/{branch}"
    if fetched.code != 0 or place.call("merge-base", "HEAD", tracking).code != 0:
        place.call("remote", "remove", REMOTE)
        why = f"{urls.shown(target)} holds another beginning"
        raise SyncError(root, why, "Clone it to have that one here, or choose an empty place.")


def push(root: Path, place: Git, branch: str) -> None:
    """Push the branch, and let it follow the remote; hooks do not run.

    Raises:
        SyncError: If that fails.
    """
    pushed = f"HEAD:refs/heads/{branch}"
    with git_operations.noted(root, Operation("push")):
        result = place.reach("push", "--no-verify", REMOTE, pushed)
    if result.code != 0:
        raise SyncError(root, result.why, "Nothing was uploaded; say it again once it can be.")
    place.call("config", f"branch.{branch}.remote", REMOTE)
    place.call("config", f"branch.{branch}.merge", f"refs/heads/{branch}")
