"""A folder as it may have been at some time, by the times that its records hold themselves.

For a folder without a history. What came later is left out; what was changed or taken out since
can't be known, and what holds only the present, the body above all, is left out as a whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path, PurePosixPath

from bumble.entity import companions
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.files import disk
from bumble.history import past
from bumble.records import base, kinds
from bumble.records.kind import Kind, RecordView

MOST_BYTES = 4_000_000  # of a file that no kind of record reads
NOT_MEMORY = ("workspace",)
BEGINNINGS = ("first_met", "formed", "at")  # times of a record, that of its beginning first


def copy(entity: Entity, folder: Path, moment: datetime, zone: tzinfo) -> None:
    """Write what was there at a time, as far as its own times tell, below a new folder.

    Raises:
        FolderUnwritableError: If the system refuses a write.
    """
    of_records: set[Path] = set()
    for kind in kinds.KINDS:
        for path in kind.paths(entity):
            of_records.add(path)
            data = None if kind.of_now else _then(entity, kind, path, moment, zone)
            if data:
                for name, part in companions.parted(entity.relative(path), data):
                    if part is not None:
                        past.put(folder, PurePosixPath(name), part)
    for path in _plain_files(entity.root):
        if companions.record_of(entity.relative(path)) is not None:
            continue
        if path not in of_records and path.stat().st_size <= MOST_BYTES:
            data = disk.read_if_there(path)
            if data is not None:
                past.put(folder, PurePosixPath(entity.relative(path)), data)


def listing(entity: Entity) -> str:
    """Return what changes with any file that `copy` reads."""
    rows = []
    for path in _plain_files(entity.root):
        stat = path.stat()
        rows.append(f"{entity.relative(path)} {stat.st_size} {stat.st_mtime_ns}")
    return "\n".join(rows)


def _plain_files(root: Path) -> Iterator[Path]:
    """Yield the files of a folder that are its own; no link is followed."""
    for place, folders, names in os.walk(root):
        inner = PurePosixPath(Path(place).relative_to(root).as_posix())
        folders[:] = sorted(
            name
            for name in folders
            if past.is_used(inner / name) and (inner / name).parts[0] not in NOT_MEMORY
        )
        for name in sorted(names):
            path = Path(place) / name
            with suppress(UnsafePathError):
                if past.is_used(inner / name) and path.is_file() and not path.is_symlink():
                    yield path


def _then(entity: Entity, kind: Kind, path: Path, moment: datetime, zone: tzinfo) -> bytes | None:
    """Return the whole of a file of records without what is later; None if nothing was there."""
    data = companions.read(entity.root, entity.relative(path))
    if data is None:
        return None
    if kind is kinds.SESSION:
        return _transcript(data, moment)
    try:
        views = kind.read(path, zone)
    except RecordInvalidError:
        return data  # whoever reads it says what is wrong with it
    if kind.forgetting == "parts":
        return _parts(base.read_text(path), views, moment).encode()
    if any(_is_later(view, moment) for view in views):
        return None
    return data


def _is_later(view: RecordView, moment: datetime) -> bool:
    """Whether something began after a time, by its own times, its id, or all that it rests on."""
    begun = next((view.times[key] for key in BEGINNINGS if key in view.times), None)
    begun = begun or min(filter(None, (base.time_of(view.id), view.at)), default=None)
    if begun is not None:
        return begun > moment
    known_times = [at for at in map(base.time_of, view.sources) if at is not None]
    return bool(known_times) and min(known_times) > moment


def _parts(text: str, views: Sequence[RecordView], moment: datetime) -> str:
    pieces, end = list[str](), 0
    for view in views:
        start = text.index(view.source, end)
        pieces += [text[end:start], "" if _is_later(view, moment) else view.source]
        end = start + len(view.source)
    return "".join((*pieces, text[end:]))


def _transcript(data: bytes, moment: datetime) -> bytes | None:
    """Return the lines of a conversation up to a time; what is about a later message goes too."""
    lines, later = list[bytes](), set[str]()
    for line in data.splitlines(keepends=True):
        entry = _entry(line)
        at = _at(entry)
        about = {str(entry.get(key, "")) for key in ("message", "first", "last")} - {""}
        if not entry or (at is not None and at > moment) or about & later:
            later.add(str(entry.get("id", "")))
            continue
        lines.append(line)
    return b"".join(lines) if lines and _entry(lines[0]).get("type") == "session" else None


def _entry(line: bytes) -> Mapping[str, object]:
    with suppress(ValueError, RecursionError):
        entry = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        if isinstance(entry, dict):
            return entry
    return {}


def _at(entry: Mapping[str, object]) -> datetime | None:
    with suppress(ValueError):
        return base.field(entry, "at", datetime, None)
    return None
