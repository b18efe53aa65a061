"""A clone of an entity: told how to merge, and mended where git merged without that.

git leaves the sides of a conflict in its index, and markers in the file. What has a meaning is
merged from the sides; where both changed one thing, and where somebody has been at the file since,
it is left to them. Knows nothing of commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bumble import files, git
from bumble.entity import changes, commits
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.commits import Keeping
from bumble.errors import UnsafePathError
from bumble.git import Git
from bumble.history import merge
from bumble.records import kinds, soma, state

MAPPINGS = (soma.PATH, state.PATH)  # nothing works while these can't be read
MARKERS = re.compile(
    r"^<{7} [^\n]*\n(.*?)(?:^\|{7}[^\n]*\n(.*?))?^={7}\n(.*?)^>{7} [^\n]*(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_BASE, _OURS, _INCOMING = 1, 2, 3  # stages of git's index


class Mended(Struct, frozen=True):
    """What became of the conflicts of a merge."""

    paths: tuple[str, ...] = ()  # merged by meaning
    left: tuple[str, ...] = ()  # for a person to settle
    under_way: str = ""  # what git is still in the middle of: "a rebase"

    @property
    def sentence(self) -> str:
        """Say what was done; empty if nothing was."""
        if not self.paths:
            return ""
        text = f"git merged without bumble; merged by meaning now: {', '.join(self.paths)}."
        if self.left:
            return f"{text}\nYours to settle, then `git add`: {', '.join(self.left)}"
        if not self.under_way:
            return text
        go_on = "git rebase --continue" if self.under_way == "a rebase" else "git commit"
        return f"{text}\n{self.under_way} is under way: go on with `{go_on}`."


def mend(root: Path, keeping: Keeping, *, timeout_seconds: float) -> Mended:
    """Merge by meaning what git left in conflict, and end the merge if nothing else is left.

    Args:
        root: Of the entity.
        keeping: How commits are made.
        timeout_seconds: How long to wait for another writer.
    """
    place = git.at(root, trusted=keeping.trusted)
    if place is None:
        return Mended()
    if not place.repository.under_way:
        return _mend_markers(root, keeping, timeout_seconds)
    if place.foreign or place.trap or (place.strays and not keeping.trusted):
        return Mended()
    with files.lock(changes.lock_path(root), place=root, timeout_seconds=timeout_seconds):
        return mend_conflicts(root, place, keeping)


def mend_conflicts(root: Path, place: Git, keeping: Keeping) -> Mended:
    """Merge by meaning what git left in conflict; call it with the entity's lock held."""
    paths, left = [], []
    for path, stages in _unmerged(place).items():
        inner = path.removeprefix(place.repository.prefix)
        is_inside = path.startswith(place.repository.prefix)
        if is_inside and _mend_path(root, place, inner, stages):
            paths.append(inner)
        else:
            left.append(path)
    if paths and not left and place.repository.under_way == "a merge":
        commits.conclude(place, keeping)
    return Mended(tuple(paths), tuple(left), place.repository.under_way)


def _unmerged(place: Git) -> dict[str, dict[int, str]]:
    """Return the files in conflict, from the top of the repository: a blob for each stage."""
    result = place.call("ls-files", "--unmerged", "--full-name", "-z")
    unmerged: dict[str, dict[int, str]] = {}
    for row in filter(None, result.text.split("\0")):
        about, _, path = row.partition("\t")
        _, name, stage = about.split(" ")
        unmerged.setdefault(path, {})[int(stage)] = name
    return unmerged


def _mend_path(root: Path, place: Git, path: str, stages: Mapping[int, str]) -> bool:
    """Merge one file by meaning; whether that could be done."""
    kind = kinds.of_path(path)
    if kind is None or not kind.merging or not {_OURS, _INCOMING} <= stages.keys():
        return False
    file = files.inside(root, path)
    there = files.read_if_there(file, anew=True) or b""
    if not MARKERS.search(there.decode(errors="surrogateescape")):
        return False  # somebody has been at it
    names = [stages.get(stage, git.NOWHERE) for stage in (_BASE, _OURS, _INCOMING)]
    texts = [
        (data or b"").decode(errors="surrogateescape")
        for data in git.blobs(place.repository.folder, names)
    ]
    merged = merge.merge(path, texts[0], texts[1], texts[2])
    if not merged.clean:
        return False
    files.write_atomic(file, merged.text.encode(errors="surrogateescape"))
    return place.call("--literal-pathspecs", "add", "--", path).code == 0


def _mend_markers(root: Path, keeping: Keeping, timeout_seconds: float) -> Mended:
    """Merge the files without which nothing works, where their markers were committed."""
    planned = [change for path in MAPPINGS if (change := _without_markers(root, path))]
    if planned:
        change_set = ChangeSet("git-merge: what a merge left", tuple(planned))
        commits.apply(root, change_set, keeping, timeout_seconds=timeout_seconds)
    return Mended(tuple(change.path for change in planned))


def _without_markers(root: Path, path: str) -> Change | None:
    try:
        old = files.read_if_there(files.inside(root, path)) or b""
    except UnsafePathError:  # a link leads out: a finding of doctor's
        return None
    if b"<<<<<<< " not in old:
        return None
    text = old.decode(errors="surrogateescape")
    merged = merge.merge(path, *sides(text))
    if not merged.clean or merged.text == text:
        return None
    data = merged.text.encode(errors="surrogateescape")
    return Change(path, "merge what both sides changed", data, files.sha256(old))


def sides(text: str) -> tuple[str, str, str]:
    """Take a text with markers apart: as it was before, where that is told, and both sides."""
    ours = MARKERS.sub(lambda match: match[1], text)
    incoming = MARKERS.sub(lambda match: match[3], text)
    has_base = all(match[2] is not None for match in MARKERS.finditer(text))
    base = MARKERS.sub(lambda match: match[2] or "", text) if has_base else ""
    return base, ours, incoming
