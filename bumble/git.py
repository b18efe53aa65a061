"""The few git commands bumble runs. Never pushes, never rewrites history.

Works, by doing nothing, where git is not installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_SECONDS = 30
NOT_INSTALLED = 127  # as a shell says it
# Set where git runs us, as it does in a hook: they would point our own calls elsewhere.
FOREIGN = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
)
UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


@dataclass(frozen=True)
class Done:
    """What a git command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """What it printed."""
        return self.out.decode(errors="surrogateescape")

    @property
    def why(self) -> str:
        """The first line of what it complained of."""
        lines = self.err.strip().splitlines() or [f"git ended with code {self.code}"]
        return lines[0].removeprefix("fatal: ").removeprefix("error: ")


@dataclass(frozen=True)
class Repository:
    """A repository that an entity lies in, found without running git."""

    folder: Path  # of the entity, links followed
    top: Path
    private: Path  # `.git`, or where a file of that name points

    @property
    def prefix(self) -> str:
        """What git puts before the entity's paths: empty, or ending in a slash."""
        inner = self.folder.relative_to(self.top).as_posix()
        return "" if inner == "." else f"{inner}/"

    @property
    def under_way(self) -> str:
        """What git is in the middle of: `a merge`, `a rebase`; empty if nothing."""
        found = (what for name, what in UNDER_WAY.items() if (self.private / name).exists())
        return next(found, "")


def find(folder: Path) -> Repository | None:
    """Return the repository that a folder lies in, by looking for `.git` from it upward."""
    place = Path(os.path.realpath(folder))
    for top in (place, *place.parents):
        mark = top / ".git"
        if mark.is_dir():
            return Repository(place, top, mark)
        if mark.is_file():  # a worktree, or a submodule
            target = mark.read_text(errors="replace").strip().removeprefix("gitdir:").strip()
            return Repository(place, top, (top / target).resolve())
    return None


def call(
    folder: Path,
    *arguments: str,
    given: bytes | None = None,
    environ: Mapping[str, str] | None = None,
) -> Done:
    """Run git in a folder.

    No hooks run, nothing is signed and no question is asked: bumble may be called by cron.

    Args:
        folder: Where.
        arguments: The command and its options.
        given: Its standard input.
        environ: Variables to add to those of this process.
    """
    around = {key: value for key, value in os.environ.items() if key not in FOREIGN}
    around |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", **(environ or {})}
    options = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=false")
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *options, *arguments],
            input=given if given is not None else b"",
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
            env=around,
        )
    except FileNotFoundError as error:
        return Done(NOT_INSTALLED, b"", str(error))
    except (OSError, subprocess.TimeoutExpired) as error:
        return Done(1, b"", str(error))
    return Done(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def tracked(folder: Path, below: str) -> dict[str, str]:
    """Return the files below a path that git keeps, and the hash of each; runs git only if need be.

    Args:
        folder: Where; paths are relative to it.
        below: The path, in plain letters.
    """
    found = find(folder)
    if found is None or not _names(found.private / "index", f"{below}/"):
        return {}
    done = call(folder, "--literal-pathspecs", "ls-files", "--stage", "-z", "--", below)
    rows = [row.partition("\t") for row in done.text.split("\0") if row] if done.code == 0 else []
    return {path: about.split(" ")[1] for about, _, path in rows}


def unchanged(folder: Path, below: str) -> list[Path]:
    """Return the files below a path that are as git brought them, byte for byte."""
    return [
        folder / path
        for path, name in tracked(folder, below).items()
        if name in _object_names(folder / path)
    ]


def _object_names(path: Path) -> tuple[str, ...]:
    """Return what git may call the content of a file, by either of its hashes; no filter runs."""
    try:
        data = path.read_bytes() if path.is_file() else b""
    except OSError:
        return ()
    data = b"blob %d\0" % len(data) + data
    sha1 = hashlib.sha1(data, usedforsecurity=False)  # git's own choice
    return sha1.hexdigest(), hashlib.sha256(data).hexdigest()


def shared_rights(folder: Path) -> int:
    """Return what `core.sharedRepository` gives the group of the repository that a folder is in."""
    found = find(folder)
    if found is None:
        return 0
    try:
        source = (found.private / "config").read_text(errors="replace")
    except OSError:
        return 0
    match = re.search(r"^\s*sharedrepository\s*=\s*(\w+)", source, re.IGNORECASE | re.MULTILINE)
    value = match[1].lower() if match else "umask"
    if re.fullmatch(r"0[0-7]{3}", value):
        bits = int(value, 8) & 0o060
        return bits | (0o010 if bits else 0)
    shared = ("group", "true", "yes", "on", "1", "all", "world", "everybody", "2", "3")
    return 0o070 if value in shared else 0


def _names(index: Path, text: str) -> bool:
    """Whether the index may name a path that holds a text: one that does not spell names may."""
    try:
        data = index.read_bytes()
    except OSError:
        return False
    return text.encode() in data or data[4:8] == b"\0\0\0\4" or b"link" in data


def run(folder: Path, *arguments: str) -> str | None:
    """Run git in a folder; None if it is not installed, fails, or takes too long."""
    done = call(folder, *arguments)
    return done.out.decode(errors="replace") if done.code == 0 else None


def installed() -> bool:
    """Whether there is a git to run."""
    return run(Path.cwd(), "--version") is not None


def repository(folder: Path) -> Path | None:
    """Return the top folder of the repository that a folder lies in."""
    top = run(folder, "rev-parse", "--show-toplevel")
    return Path(top.strip()) if top else None


def init(folder: Path) -> bool:
    """Make a folder a repository of its own; whether that worked."""
    return run(folder, "init", "--quiet", "--initial-branch=main") is not None


def blobs(folder: Path, names: Sequence[str]) -> list[bytes | None]:
    """Return the bytes of objects, `<commit>:./<path>` say; None for each that is not there."""
    given = "".join(f"{name}\n" for name in names).encode(errors="surrogateescape")
    done = call(folder, "cat-file", "--batch", given=given)
    found: list[bytes | None] = []
    at = 0
    for _ in names:
        end = done.out.find(b"\n", at)
        head = done.out[at:end].split(b" ")
        at = end + 1
        if len(head) < 3 or not head[-1].isdigit() or head[-2] != b"blob":
            found.append(None)
            continue
        size = int(head[-1])
        found.append(done.out[at : at + size])
        at += size + 1
    return found
