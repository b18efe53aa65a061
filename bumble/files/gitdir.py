"""The repository a folder lies in: found, and judged safe or foreign, by its files, without git.

An entity's folder may be somebody else's work, its `.git` included (an archive, a shared disk), so
where that leads and whom it belongs to is looked at before git is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISREG

from msgspec import Struct

MARK = ".git"
HOOKS = "hooks"  # bumble runs none, wherever they lie
MAX_BYTES = 1_000_000  # of a file that is looked into
MAX_ENTRIES = 100_000  # of what git may write; with more, no commit is made
MESSAGE = "COMMIT_EDITMSG"
WRITTEN_FLAT = ("info", "objects", "objects/info", "objects/pack")
WRITTEN_DEEP = ("logs", "refs")
TREE_FILES = (".gitignore", ".gitattributes")
UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
# How git goes on with it, and how it is taken back.
ENDINGS = {
    "a merge": ("merge --continue", "merge --abort"),
    "a rebase": ("rebase --continue", "rebase --abort"),
    "a cherry-pick": ("cherry-pick --continue", "cherry-pick --abort"),
    "a revert": ("revert --continue", "revert --abort"),
    "a bisection": ("bisect log", "bisect reset"),
}


class Repository(Struct, frozen=True):
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
    def merging(self) -> str:
        """The commit that is being merged; empty if none is."""
        return _line(self.private / "MERGE_HEAD").partition("\n")[0]

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
        # git adds to these or empties them, and does not put a new file in their place
        logs = [os.fspath(root / "logs") for root in roots]
        in_place = {*logs, os.fspath(self.private / MESSAGE)}
        below = tuple(os.path.join(log, "") for log in logs)  # noqa: PTH118
        for number, entry in enumerate(self._entries()):
            if number >= MAX_ENTRIES:
                return self.private
            is_link = entry.is_symlink()
            is_in_place = entry.path in in_place or entry.path.startswith(below)
            if is_in_place and (is_link or _has_other_names(Path(entry.path))):
                return Path(entry.path)
            if is_link and not any(map(_real(Path(entry.path)).is_relative_to, roots)):
                return _real(Path(entry.path))
        return None

    def trap(self, paths: Iterable[str] = ()) -> Path | None:
        """Return a pipe or a device where git opens a file, which it would wait for.

        Args:
            paths: Files of the entity that git is asked about.
        """
        folders = {one for path in paths for one in (self.folder / path).parents}
        folders |= {self.folder, *self.folder.parents}
        folders = {one for one in folders if one.is_relative_to(self.top)}
        with suppress(OSError):
            folders |= {Path(one.path) for one in os.scandir(self.folder) if one.is_dir()}
        places = (folder / name for folder in folders for name in TREE_FILES)
        entries = islice(self._entries(), MAX_ENTRIES)
        its = (
            Path(entry.path)
            for entry in entries
            if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False))
        )
        return next(filter(_keeps_waiting, chain(its, places)), None)

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        """Return what git may open or write in `.git`, hooks and single objects left out."""
        tops = tuple(dict.fromkeys((self.private, self.common)))
        flat = [*tops, *(top / name for top in tops for name in WRITTEN_FLAT)]
        deep = [top / name for top in tops for name in WRITTEN_DEEP]
        while flat or deep:
            place, goes_on = (flat.pop(0), False) if flat else (deep.pop(), True)
            try:
                entries = list(os.scandir(place))
            except OSError:
                continue
            for entry in entries:
                if entry.name != HOOKS or place not in tops:
                    yield entry
                if goes_on and entry.is_dir(follow_symlinks=False):
                    deep.append(Path(entry.path))

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
    data = content(file, MAX_BYTES + 1)
    if data is None:
        return unread and os.path.lexists(file)
    data = data.lower()
    return len(data) > MAX_BYTES or any(word in data for word in words)


def content(file: Path, most: int = -1, *, start: int = 0) -> bytes | None:
    """Return what a plain file of git's holds; None where there is none that can be read.

    Args:
        file: Which.
        most: How many bytes of it at most; by default all.
        start: From which on; in a file that has become shorter than that, from the first.
    """
    with suppress(OSError):
        if S_ISREG(_mode(file)):  # no pipe, which would be waited for
            with file.open("rb") as opened:
                opened.seek(start if start <= os.fstat(opened.fileno()).st_size else 0)
                return opened.read(most)
    return None


def _line(file: Path) -> str:
    """Return the one line of a file of git's; empty where there is none."""
    return os.fsdecode((content(file, MAX_BYTES) or b"").partition(b"\0")[0].strip())


def _keeps_waiting(place: Path) -> bool:
    """Whether who opens a file may wait for ever; a socket can't be opened, so git goes on."""
    mode = _mode(place)
    return S_ISFIFO(mode) or S_ISCHR(mode) or S_ISBLK(mode)


def _has_other_names(place: Path) -> bool:
    with suppress(OSError):
        found = place.lstat()
        return S_ISREG(found.st_mode) and found.st_nlink > 1
    return False


def _mode(place: Path) -> int:
    """Return what kind of file a path leads to; 0 where that can't be seen, or no name holds it."""
    with suppress(OSError, ValueError):
        return place.stat().st_mode
    return 0


def _real(place: Path) -> Path:
    return Path(os.path.realpath(place))
