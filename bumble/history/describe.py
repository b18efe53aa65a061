"""Changes of files in the entity's terms: a new memory, a firmer belief, a moved body.

Takes a file before and after; the words are those of its kind. What can't be read as a record is
shown as lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from bumble.entity.changes import Version
from bumble.entity.folder import ENTITY_FILE
from bumble.records import kinds
from bumble.records.kind import changed_lines
from bumble.records.provenance import EVERYTHING, Reader, withheld
from bumble.runtime import audiences

SETTINGS = ("settings", "settings")
WORKSPACE = ("file of the workspace", "files of the workspace")
OTHER = ("file", "files")
# what a file holds, for one and for several, in the order of a list
NAMES = (
    *((kind.file_name, kind.file_name) for kind in kinds.KINDS if kind.file_name),
    SETTINGS,
    *((kind.singular, kind.plural) for kind in kinds.KINDS if not kind.file_name),
    WORKSPACE,
    OTHER,
)
BODY_WORDS = ("body:", "feels ", "no longer feels ")  # what lines begin with that quote nobody


def kind_names(path: str) -> tuple[str, str]:
    """Return what a file holds, for one and for several; the same where there is only one."""
    kind = kinds.of_path(path)
    if kind is not None:
        return (kind.file_name,) * 2 if kind.file_name else (kind.singular, kind.plural)
    if path == ENTITY_FILE:
        return SETTINGS
    return WORKSPACE if path.startswith("workspace/") else OTHER


def list_kinds(paths: Sequence[str]) -> str:
    """Say what some files hold: `1 episode, body, 2 beliefs`."""
    counts: dict[tuple[str, str], int] = {}
    for path in paths:
        counts[kind_names(path)] = counts.get(kind_names(path), 0) + 1
    phrases = []
    for name in sorted(counts, key=NAMES.index):
        is_alone = name[0] == name[1]
        phrases.append(name[0] if is_alone else f"{counts[name]} {name[counts[name] > 1]}")
    return ", ".join(phrases)


def describe(version: Version, reader: Reader = EVERYTHING) -> list[str]:
    """Say what changed in a file, one line a change or a few; of the rest that it did."""
    hidden = audiences.hides(reader, [version])
    if hidden is None:
        return _described(version)
    kind, some = kinds.of_path(version.path), Version(version.path, None, None)
    if kind is not None and kind.name in audiences.SECTIONED:
        before, after = (
            audiences.without(version.path, data, reader)
            for data in (version.before, version.after)
        )
        some = Version(version.path, before, after)
    told = _described(some) if some.before != some.after else []
    if kind is kinds.SOMA:
        told = [line for line in _described(version) if line.startswith(BODY_WORDS)]
    name = PurePosixPath(audiences.named(version.path, hidden)).stem
    return [*told, f"{kind_names(version.path)[0]} {name}: {withheld(hidden)}"]


def _described(version: Version) -> list[str]:
    before, after = (
        None if data is None else data.decode(errors="replace")
        for data in (version.before, version.after)
    )
    kind, lines = kinds.of_path(version.path), list[str]()
    if kind is not None:
        with suppress(ValueError):  # not such a record, before or after
            lines = list(kind.tell(PurePosixPath(version.path).stem, before, after))
    return lines or list(changed_lines(before, after))
