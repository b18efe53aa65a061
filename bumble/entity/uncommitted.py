"""What is written and not committed yet: a note in `.bumble/uncommitted/` for each change set.

A note is put down before its set is written, and goes with the commit. What another installation
noted counts for nothing here. Knows nothing of how commits are made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble.entity import changes, installation, write_ahead
from bumble.errors import UnsafePathError
from bumble.files import disk, git
from bumble.text.words import shorten

CYCLE = "Cycle"  # the trailer that every commit of a change set has
NOTES = "uncommitted"  # below `.bumble/`
MAX_LINE_CHARS = 300


class PendingCommit(Struct, frozen=True):
    """A set that is written, or about to be, and not committed yet."""

    file: Path
    title: str
    body: tuple[str, ...]
    trailers: tuple[tuple[str, str], ...]
    after: Mapping[str, str | None]  # SHA-256 by path
    opens: bool
    # what git has of it, by path, if it was in the middle of something: blobs before and after
    staged: Mapping[str, Sequence[str]] = {}
    # on which branch that began, and the commit that the way back leads to
    begun: Sequence[str] = ("", "")

    @property
    def cycle(self) -> str:
        """What made it, as the trailer of its commit will say."""
        return dict(self.trailers).get(CYCLE) or self.title.partition(":")[0]


def notes(root: Path) -> list[PendingCommit]:
    """Return what is not committed yet, oldest first; what this installation did not note is not.

    One that can't be read is passed over too.
    """
    return [note for file in _files(root) if (note := _read(file)) is not None]


def taken_back(root: Path) -> list[PendingCommit]:
    """Return what was written while git was in the middle of something, and is not there since."""
    found = notes(root)
    gone = changed_since(root, found)
    return [note for note in found if not gone.isdisjoint(note.staged)]


def changed_since(root: Path, found: Sequence[PendingCommit]) -> set[str]:
    """Return the files of some notes, all there are, that are not as the last of these has them."""
    last = {path: digest for note in found for path, digest in note.after.items()}
    staged = {path for note in found for path in note.staged}
    return {
        path for path in staged if write_ahead.digest(disk.read_if_there(root / path)) != last[path]
    }


def foreign(root: Path) -> list[Path]:
    """Return what another installation noted, or nobody can read: nothing of it is committed."""
    return [file for file in _files(root) if _read(file) is None]


def adopt(root: Path) -> None:
    """Make our own what another installation noted, at the owner's word; drop what is no note."""
    with changes.held(root):
        for file in foreign(root):
            note = _read(file, adopts=True)
            if note is None:
                disk.remove(file)
            else:
                put(note)


def reword(root: Path, tells: Callable[[str], bool]) -> None:
    """Take the words out of what waits to be committed, where they tell of somebody forgotten.

    Args:
        root: Of the entity.
        tells: Whether a text does.
    """
    if not notes(root):
        return
    with changes.held(root):
        for note in notes(root):
            if any(map(tells, (note.title, *note.body))):
                put(replace(note, title=f"{note.cycle}: words that were forgotten", body=()))


def _files(root: Path) -> list[Path]:
    place = root / ".bumble" / NOTES
    if place.is_symlink() or not disk.settled(place).is_dir():  # no writer makes it a link
        return []
    numbered = sorted(file for file in place.glob("*.json") if file.stem.isdecimal())
    tracked = git.tracked(root, f".bumble/{NOTES}") if numbered else {}
    return [file for file in numbered if f".bumble/{NOTES}/{file.name}" not in tracked]


def note_of(
    file: Path, change_set: changes.ChangeSet, after: Mapping[str, str | None]
) -> PendingCommit:
    """Return the note of a change set; `after`: the SHA-256 of each file as it will be."""
    body = [line(change.why) for change in change_set.changes if change.why.strip()]
    title, trailers = line(change_set.title), change_set.trailers
    return PendingCommit(file, title, tuple(dict.fromkeys(body)), trailers, after, change_set.opens)


def put(note: PendingCommit) -> None:
    """Write a note into its file, whole or not at all."""
    data: dict[str, Any] = asdict(note)
    del data["file"]
    text = json.dumps(data, sort_keys=True).encode(errors="replace").decode()
    disk.write_atomic(note.file, installation.signed(note.file.name, text))


def _read(file: Path, *, adopts: bool = False) -> PendingCommit | None:
    try:
        data = json.loads(installation.note_in(file.name, disk.read(file), adopts=adopts))
        return msgspec.convert({**data, "file": file}, PendingCommit)
    except (OSError, UnsafePathError, ValueError, TypeError, RecursionError):
        return None


def line(text: str) -> str:
    """Return a text as one line that git's log and ours can show."""
    return shorten("".join(c if c.isprintable() else " " for c in text), MAX_LINE_CHARS)
