"""Whether what the index holds of a record stands in its file now: asked of what is shown.

An index that is behind its file shows less; one that says it knows the file as it is, and quotes
what does not stand there, is damaged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC
from typing import TYPE_CHECKING

from bumble.entity.folder import Entity
from bumble.errors import IndexDamagedError, RecordInvalidError, UnsafePathError
from bumble.index import chunks, ingest
from bumble.index.rows import packed, storable, unpacked
from bumble.index.store import Store
from bumble.records import journal, knowledge, session_files

if TYPE_CHECKING:
    from bumble.index.place import Place
    from bumble.index.search import Hit

HEADING = "## "


class Standing:
    """The files of an entity, as far as they were asked for; each is read once."""

    def __init__(self, entity: Entity, store: Store, at: Place) -> None:
        self._entity, self._store, self._place = entity, store, at
        self._lines: dict[str, list[str]] = {}
        self._wholes: dict[str, list[chunks.RecordText]] = {}

    def holds(self, hit: Hit) -> bool:
        """Whether a passage stands in its file, for those who may meet it.

        Raises:
            IndexDamagedError: If it does not, though the index knows the file as it is.
        """
        with suppress(RecordInvalidError, UnsafePathError, StopIteration):  # no file that is read
            if self._is_near(hit) or _says(self._whole(hit.path), hit):
                return True
        if self._is_known(hit.path):
            raise IndexDamagedError(self._place.shown, f"quotes what {hit.path} does not say")
        return False

    def _is_near(self, hit: Hit) -> bool:
        """Whether it stands where it should in a file of many records, most of them not read."""
        kind, path = ingest.kind_of(hit.path), self._entity.root / hit.path
        if kind not in _NEAR:
            return False
        if hit.path not in self._lines:
            self._lines[hit.path] = chunks.source(kind, path).split("\n")
        part = _NEAR[kind](self._lines[hit.path], hit)
        with suppress(RecordInvalidError):  # it is no whole record
            return _says(chunks.texts(kind, path, zone=UTC, part=part), hit)
        return False

    def _whole(self, path: str) -> list[chunks.RecordText]:
        if path not in self._wholes:
            texts = chunks.texts(ingest.kind_of(path), self._entity.root / path, zone=UTC)
            self._wholes[path] = list(texts)
        return self._wholes[path]

    def _is_known(self, path: str) -> bool:
        row = self._store.file(path)
        known = row.sha256 if row else ""
        return bool(known) and known == ingest.digest(self._entity.root, path)


def _says(texts: Iterable[chunks.RecordText], hit: Hit) -> bool:
    record, text, audience = storable(hit.id), storable(hit.text), frozenset(hit.audience)
    return any(
        storable(part.record) == record
        and frozenset(unpacked(packed(part.origin.audience))) == audience
        and any(storable(part.shown(piece)) == text for piece in part.passages)
        for part in texts
    )


def _section(lines: Sequence[str], hit: Hit) -> str:
    """Return the section that holds a passage."""
    at = min(hit.line, len(lines))
    start = next((n for n in range(at - 1, 0, -1) if lines[n].startswith(HEADING)), 0)
    end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith(HEADING)), None)
    return "\n".join(lines[start:end]) + "\n"


def _talk(lines: Sequence[str], hit: Hit) -> str:
    """Return the lines of a transcript that say a passage, and that those who may meet it spoke."""
    wanted = {0, min(hit.line, len(lines)) - 1}
    for person in hit.audience:
        named = json.dumps(person, ensure_ascii=False)
        wanted |= {next((n for n, line in enumerate(lines) if named in line), 0)}
    return "\n".join(lines[n] for n in sorted(wanted)) + "\n"


_NEAR = {
    knowledge.KNOWLEDGE.passages: _section,
    journal.JOURNAL.passages: _section,
    session_files.SESSION.passages: _talk,
}
