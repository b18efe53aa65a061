"""Doctor's checks of names, links and rights in the folder, and leftovers of killed writers.

Opens no file, locks excepted. `.git` is git's own and not looked into.
"""

from __future__ import annotations

import json
import os
import shlex
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Sequence
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
        where = Path(error.filename)
        yield Finding(
            "folder-unreadable", f"can't be listed: {error.strerror}", entity.relative(where)
        )
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
    stem = name.split(".")[0].rstrip(" ").casefold()
    why = ""
    if not disk.is_text(name):
        yield Finding(
            "name-unread",
            "its name is not UTF-8, so it is passed over: rename it",
            disk.readable(prefix + name),
        )
        return
    if FORBIDDEN & set(name) or any(ord(char) < 32 for char in name):
        why = "it holds a character that names can't have there"
    elif name.endswith((" ", ".")):
        why = "it ends with a space or a dot"
    elif stem in disk.RESERVED_NAMES:
        why = "it is the name of a device there"
    elif len(os.fsencode(name)) > LONGEST_NAME_BYTES:
        why = "it is too long"
    if why:
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
    why = ""
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        why = "it is a pipe, a device or a socket"
    elif S_ISDIR(mode) and relative in (ENTITY_FILE, *kinds.FILES):
        why = "it is a folder, and a file belongs there"
    elif S_ISREG(mode) and relative in kinds.FOLDERS:
        why = "it is a file, and a folder belongs there"
    if why:
        yield Finding(
            "file-odd",
            f"{why}: nothing is read or written there",
            relative,
            fix=f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}.aside')}",
        )


def check_leftovers(entity: Entity) -> Iterator[Finding]:
    """Yield what killed writers left; while somebody writes nothing can be told from their work."""
    if _leads_out(entity.root / changes.FOLDER):
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
        sentence = f"a change another installation left half done, {_targets(path)}; "
        sentence += "if it is yours, take it over"
        yield Finding(
            "change-foreign", sentence, entity.relative(path), fix="bumble doctor --adopt"
        )
    for folder in left.tracked:
        yield Finding(
            "change-tracked",
            "git brought a half-done change: nothing of it is used",
            entity.relative(folder),
            fix=f"git -C {shlex.quote(str(entity.root))} rm -r --cached {PRIVATE}",
        )
    for folder in left.own:
        yield Finding(
            "change-unfinished",
            "a change was cut off; the next command that writes finishes or drops it",
            entity.relative(folder),
            fix=MEND,
        )
    for folder in left.foreign:
        if folder not in readable:
            sentence = "a cut-off change can't be read: move it away"
            fix = f"mv {shlex.quote(str(folder))} {shlex.quote(str(entity.private))}"
            where = f"{entity.relative(folder)}/{INTENT}"
            yield Finding("change-unreadable", sentence, where, fix=fix)
    for path in changes.stray_files(entity.root):
        relative = entity.relative(path)
        sentence = "a temporary file of a killed writer; the file itself is whole"
        if relative.startswith(f"{PRIVATE}/"):
            yield Finding("cache-stray", sentence, relative, fix=MEND)
        else:
            yield Finding("file-stray", sentence, relative, fix=MEND)


def _leads_out(path: Path) -> bool:
    try:
        disk.settled(path)
    except UnsafePathError:
        return True
    return False


def _targets(place: Path) -> str:
    """Name the files that an intent or a note is about."""
    paths: list[str] = []
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        if place.is_dir():
            paths = [str(step["path"]) for step in json.loads(disk.read(place / INTENT))["steps"]]
        else:
            paths = [
                str(path) for path in json.loads(json.loads(disk.read(place))["note"])["after"]
            ]
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
