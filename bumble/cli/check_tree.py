"""Doctor's checks of names, links and rights in the folder, and leftovers of killed writers.

Opens no file, locks excepted. `.git` is git's own and not looked into.
"""

from __future__ import annotations

import json
import os
import shlex
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TypeVar

from bumble.entity import changes, commits
from bumble.entity.folder import ENTITY_FILE, PRIVATE, Entity
from bumble.entity.write_ahead import INTENT
from bumble.errors import UnsafePathError
from bumble.files import disk
from bumble.history.findings import Finding
from bumble.records import kinds

FORBIDDEN = frozenset('<>:"|?*\\')  # in names, on Windows
LONGEST_NAME_BYTES = 255
MOST_SHOWN = 20  # paths in a sentence
MEND = "bumble doctor --fix"
# Why Windows takes no such name, and whether it is one.
UNSAFE: tuple[tuple[str, Callable[[str], bool]], ...] = (
    (
        "it holds a character that names can't have there",
        lambda name: any(char in FORBIDDEN or ord(char) < 32 for char in name),
    ),
    ("it ends with a space or a dot", lambda name: name.endswith((" ", "."))),
    (
        "it is the name of a device there",
        lambda name: name.split(".")[0].rstrip(" ").casefold() in disk.RESERVED_NAMES,
    ),
    ("it is too long", lambda name: len(os.fsencode(name)) > LONGEST_NAME_BYTES),
)
# What is wrong with what lies somewhere, by its mode and where that is.
ODD: tuple[tuple[str, Callable[[int, str], bool]], ...] = (
    (
        "it is a pipe, a device or a socket",
        lambda mode, _: not (S_ISREG(mode) or S_ISDIR(mode)),
    ),
    (
        "it is a folder, and a file belongs there",
        lambda mode, place: S_ISDIR(mode) and place in (ENTITY_FILE, *kinds.FILES),
    ),
    (
        "it is a file, and a folder belongs there",
        lambda mode, place: S_ISREG(mode) and place in kinds.FOLDERS,
    ),
)
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def check(entity: Entity) -> Iterator[Finding]:
    """Walk the folder and yield what is wrong with it, by path."""
    unlisted: list[OSError] = []
    for place, folders, names in os.walk(entity.root, onerror=unlisted.append):
        inside = Path(place).relative_to(entity.root).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        folders[:] = sorted(name for name in folders if name not in (".git", ".bumble"))
        entries = sorted([*folders, *names])
        yield from _find_clashes(prefix, entries)
        for name in entries:
            yield from _check_name(prefix, name)
            yield from _check_link(entity.root, prefix, name)
            yield from _check_kind(entity.root, prefix, name)
    for place, folders, names in os.walk(entity.root / PRIVATE):
        inside = Path(place).relative_to(entity.root).as_posix()
        for name in sorted([*folders, *names]):
            yield from _check_link(entity.root, f"{inside}/", name)
    yield from _check_link(entity.root, "", PRIVATE)
    for error in unlisted:
        where = entity.relative(Path(error.filename))
        yield Finding("folder-unreadable", f"can't be listed: {error.strerror}", where)
    if not os.access(entity.root, os.W_OK):
        yield Finding("folder-unwritable", "nothing can be remembered: check its permissions", ".")


def twice(keyed: Iterable[tuple[K, T]]) -> Iterator[tuple[T, T]]:
    """Yield what has the key of something before it, behind the first that has it."""
    first: dict[K, T] = {}
    for key, one in keyed:
        if key in first:
            yield first[key], one
        first.setdefault(key, one)


def _find_clashes(prefix: str, names: Sequence[str]) -> Iterator[Finding]:
    spelt = ((unicodedata.normalize("NFC", name).casefold(), name) for name in names)
    for first, name in twice(spelt):
        sentence = f"{first} is the same name on macOS and Windows: rename one of them"
        yield Finding("name-clash", sentence, prefix + name)


def _check_name(prefix: str, name: str) -> Iterator[Finding]:
    if not disk.is_text(name):
        yield Finding(
            "name-unread",
            "its name is not UTF-8, so it is passed over: rename it",
            disk.readable(prefix + name),
        )
        return
    if why := next((why for why, applies in UNSAFE if applies(name)), ""):
        yield Finding(
            "name-unsafe",
            f"can't exist on Windows, so a clone there fails: {why}; rename it",
            prefix + name,
        )


def _check_link(root: Path, prefix: str, name: str) -> Iterator[Finding]:
    path = root / prefix / name
    if not path.is_symlink():
        return
    target = os.path.realpath(path)
    if Path(target).is_symlink():
        yield Finding(
            "link-round", "leads round to itself", prefix + name, fix=f"rm {shlex.quote(str(path))}"
        )
    elif not Path(target).is_relative_to(os.path.realpath(root)):
        yield Finding(
            "link-out",
            f"leads out of the folder, to {target}: nothing behind it is read or written",
            prefix + name,
            fix=f"rm {shlex.quote(str(path))}",
        )
    elif not path.exists():
        yield Finding("link-broken", f"leads to {target}, where nothing is", prefix + name)


def _check_kind(root: Path, prefix: str, name: str) -> Iterator[Finding]:
    """Yield what lies where a file or a folder belongs and is none."""
    relative, path = prefix + name, root / prefix / name
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # a link that leads nowhere
    if why := next((why for why, applies in ODD if applies(mode, relative)), ""):
        yield Finding(
            "file-odd",
            f"{why}: nothing is read or written there",
            relative,
            fix=f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}.aside')}",
        )


def check_leftovers(entity: Entity) -> Iterator[Finding]:
    """Yield what killed writers left; while somebody writes nothing can be told from their work."""
    try:
        disk.settled(entity.root / changes.FOLDER)
    except UnsafePathError:
        return  # what the link is, is said elsewhere
    if disk.is_locked(changes.lock_path(entity.root)):
        yield Finding(
            "lock-held",
            "another process is writing; what it leaves for a moment was not looked at",
            ".bumble/lock",
        )
        return
    left = changes.leftovers(entity.root)
    readable = [folder for folder in left.foreign if _is_readable(folder / INTENT)]
    for path in (*readable, *commits.foreign_notes(entity.root)):
        yield Finding(
            "change-foreign",
            f"a change another installation left half done, {_targets(path)}; if it is yours, take"
            " it over",
            entity.relative(path),
            fix="bumble doctor --adopt",
        )
    untrack = f"git -C {shlex.quote(str(entity.root))} rm -r --cached {PRIVATE}"
    brought = "git brought a half-done change: nothing of it is used"
    cut_off = "a change was cut off; the next command that writes finishes or drops it"
    for folder in left.tracked:
        yield Finding("change-tracked", brought, entity.relative(folder), fix=untrack)
    for folder in left.own:
        yield Finding("change-unfinished", cut_off, entity.relative(folder), fix=MEND)
    for folder in (one for one in left.foreign if one not in readable):
        yield Finding(
            "change-unreadable",
            "a cut-off change can't be read: move it away",
            f"{entity.relative(folder)}/{INTENT}",
            fix=f"mv {shlex.quote(str(folder))} {shlex.quote(str(entity.private))}",
        )
    stray = "a temporary file of a killed writer; the file itself is whole"
    for relative in map(entity.relative, changes.stray_files(entity.root)):
        if relative.startswith(f"{PRIVATE}/"):
            yield Finding("cache-stray", stray, relative, fix=MEND)
        else:
            yield Finding("file-stray", stray, relative, fix=MEND)


def _targets(place: Path) -> str:
    """Name the files that an intent or a note is about."""
    paths: list[str] = []
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        if place.is_dir():
            paths = [str(step["path"]) for step in json.loads(disk.read(place / INTENT))["steps"]]
        else:
            paths = list(map(str, json.loads(json.loads(disk.read(place))["note"])["after"]))
    shown = ", ".join(disk.readable(path[:200]) for path in paths[:MOST_SHOWN])
    more = f" and {len(paths) - MOST_SHOWN} more" if len(paths) > MOST_SHOWN else ""
    return f"of {shown}{more}" if paths else "of no file"


def _is_readable(intent: Path) -> bool:
    """Whether an intent can be finished, or was never begun."""
    if not intent.exists():
        return True
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        return isinstance(json.loads(disk.read(intent))["steps"], list)
    return False
