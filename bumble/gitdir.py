"""The repository a folder lies in: found, and judged safe or foreign, by its files, without git.

An entity's folder may be somebody else's work, its `.git` included (an archive, a shared disk), so
where that leads and whom it belongs to is looked at before git is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG

MARK = ".git"
HOOKS = "hooks"  # bumble runs none, wherever they lie
MAX_BYTES = 1_000_000  # of a file that is looked into
UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


@dataclass(frozen=True)
class Repository:
    """A repository that an entity lies in."""

    folder: Path  # of the entity, links followed
    top: Path
    private: Path  # `.git`, or where a file or link of that name leads, links followed

    @property
    def prefix(self) -> str:
        """What git puts before the entity's paths: empty, or ending in a slash."""
        inner = self.folder.relative_to(self.top).as_posix()
        return "" if inner == "." else f"{inner}/"

    @property
    def under_way(self) -> str:
        """What git is in the middle of: `a merge`, `a rebase`; empty if nothing."""
        states = (what for name, what in UNDER_WAY.items() if (self.private / name).exists())
        return next(states, "")

    @property
    def common(self) -> Path:
        """What all worktrees share: the config, the objects and the branches."""
        inner = _line(self.private / "commondir")
        return _real(self.private / inner) if inner else self.private

    @property
    def configs(self) -> tuple[Path, ...]:
        """The files that git may read settings of this repository from, those that are there."""
        places = (self.common / "config", self.private / "config", self.private / "config.worktree")
        return tuple(place for place in dict.fromkeys(places) if os.path.lexists(place))

    @property
    def way_out(self) -> Path | None:
        """Where `.git` leads out of itself, by link or by what it says it shares."""
        roots = (self.private, self.common)
        if not (self.private.is_relative_to(self.common) or self.common.is_relative_to(roots[0])):
            return self.common
        try:
            links = [entry for entry in os.scandir(self.private) if entry.is_symlink()]
        except OSError:
            return self.private
        ends = (_real(Path(entry.path)) for entry in links if entry.name != HOOKS)
        return next((end for end in ends if not any(map(end.is_relative_to, roots))), None)

    @property
    def is_worktree(self) -> bool:
        """Whether it is a worktree that the repository it leads to knows of."""
        back = _line(self.private / "gitdir")
        mark = self.top / MARK
        return bool(back) and not mark.is_symlink() and _real(self.private / back) == mark

    def foreign(self, environ: Mapping[str, str]) -> Path | None:
        """Return what of it belongs to somebody else, as git judges that; None if nothing does."""
        users = {os.geteuid()}
        if os.geteuid() == 0 and environ.get("SUDO_UID", "").isdecimal():
            users.add(int(environ["SUDO_UID"]))
        places = (self.top, self.top / MARK, self.private, self.common, *self.configs)
        existing = (place for place in places if os.path.lexists(place))
        return next((place for place in existing if place.lstat().st_uid not in users), None)

    def settings_mention(self, words: Iterable[bytes]) -> bool:
        """Whether a word stands in a file of settings, in any case, or one can't be looked into.

        git knows no other way to spell the name of a section; where none stands, none is set.
        """
        return any(_mentions(place, words, unread=True) for place in self.configs)

    def attributes_mention(self, paths: Iterable[str], words: Iterable[bytes]) -> bool:
        """Whether a word stands in a file that says what git does with some of the files."""
        above = {parent for path in paths for parent in (self.folder / path).parents}
        places = [folder / ".gitattributes" for folder in above if folder.is_relative_to(self.top)]
        places.append(self.common / "info" / "attributes")
        return any(_mentions(place, words, unread=False) for place in places)


def find(folder: Path) -> Repository | None:
    """Return the repository that a folder lies in, by looking for `.git` from it upward.

    A bare repository is none to lie in: it may be the entity's own folder, made to look like one.
    """
    place = _real(folder)
    for top in (place, *place.parents):
        mark = top / MARK
        if S_ISDIR(_mode(mark)) and os.path.lexists(mark / "HEAD"):  # git, too, wants one to be
            return Repository(place, top, _real(mark))
        if S_ISREG(_mode(mark)):  # a worktree, or a submodule
            target = _line(mark).removeprefix("gitdir:").strip()
            return Repository(place, top, _real(top / target))
    return None


def _mentions(file: Path, words: Iterable[bytes], *, unread: bool) -> bool:
    """Whether a file holds one of some words; `unread` is the answer where that can't be seen."""
    if not S_ISREG(_mode(file)):
        return unread and os.path.lexists(file)
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1).lower()
    except OSError:
        return unread
    return len(data) > MAX_BYTES or any(word in data for word in words)


def _line(file: Path) -> str:
    """Return the one line of a file of git's; empty where there is none."""
    with suppress(OSError):
        if S_ISREG(_mode(file)):  # no pipe, which would be waited for
            with file.open("rb") as opened:
                return os.fsdecode(opened.read(MAX_BYTES).partition(b"\0")[0].strip())
    return ""


def _mode(place: Path) -> int:
    """Return what kind of file a path leads to; 0 where that can't be seen."""
    with suppress(OSError):
        return place.stat().st_mode
    return 0


def _real(place: Path) -> Path:
    return Path(os.path.realpath(place))
