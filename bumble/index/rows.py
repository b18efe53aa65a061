"""The rows of an index, alike in every store: a file's, a chunk's, and which are met.

Ids are hashes of path, record and ordinal, the same in every index of the same files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from bumble.index.chunks import Chunk
from bumble.models.embed.protocol import EmbedderIdentity

CHUNK_COLUMNS = (
    *("file", "kind", "record", "ordinal", "line", "at", "people", "tags", "audience", "trust"),
    *("session", "speaker", "active", "language", "own_terms", "around_terms", "turn", "asks"),
    *("own", "hash", "recipe"),
)
TEXT_COLUMNS = ("text", "embedded", "terms", "around")
HASH = -2  # where a row of a chunk has its hash, counted from the end
SHORT = timedelta(days=8)  # of a time that is named
NEAR_PERIOD = 0.5  # what the days around a time count beside its own
ALL_TEXTS = -1  # the row of `pieces` that counts the texts themselves
Row = tuple[Any, ...]
# Of a file: when it was written, when it was changed in any way, both in ns, and its size. So many
# are made before each search that a plain tuple is worth its while.
Stamp = tuple[int, int, int]


class Filter(Struct, frozen=True):
    """Which chunks a search may meet. Empty fields let everything pass."""

    kinds: tuple[str, ...] = ()
    people: tuple[str, ...] = ()  # ids; about, or with, at least one of them
    tags: tuple[str, ...] = ()  # that it has, each of them
    audience: tuple[str, ...] = ()  # ids of all who will read it; each must be allowed to
    sessions: tuple[str, ...] = ()  # the messages of these sessions alone
    not_session: str = ""  # a session whose messages are known already
    unseen: tuple[str, ...] = ()  # ids of messages of that session that are not
    after: datetime | None = None  # what is from then or newer
    before: datetime | None = None  # what is older than that, and what has no time
    dormant: bool = False  # dormant and archived records too


class Period(Struct, frozen=True):
    """The time that a question names, with the days around it in which people tell of it, too."""

    start: datetime
    end: datetime  # the first moment after it
    before: timedelta = timedelta()  # so much of it lies before what is named, and behind it
    after: timedelta = timedelta()

    def weight(self, at: datetime | None) -> float:
        """Say how much a time counts: 1 in what is named, less in the days around it, else 0."""
        if at is None or not self.start <= at < self.end:
            return 0.0
        start, end = self.start + self.before, self.end - self.after
        is_short = end - start < SHORT  # of a day people tell on the next
        return 1.0 if is_short or start <= at < end else NEAR_PERIOD


class IndexedText(Struct, frozen=True):
    """What the index holds of a record, or of a passage of one."""

    kind: str  # of its passages: `message`
    id: str  # the record's: `ep_…`, `msg_…`, a section's title
    path: str  # relative to the entity folder
    line: int
    text: str
    at: datetime | None
    audience: tuple[str, ...]
    trust: str
    session: str
    speaker: str  # of a message, as shown


class FileRow(NamedTuple):  # ten thousand of them are read before each search
    """What is known of an indexed file."""

    id: int
    kind: str
    mtime_ns: int  # -1: written too close to the sync to be told from a later write; read it again
    ctime_ns: int
    size: int
    sha256: str
    problem: str  # why it could not be read; empty if it could
    problem_line: int | None


def passage_id(path: str, record: str = "", ordinal: int = 0) -> int:
    """Return the id of a record's passage of a number, or of a file: 63 bits of those alone."""
    key = f"{path}\0{record}\0{ordinal}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1


def packed(names: Sequence[str]) -> str:
    """Write names so that SQL can look one up: a line each, a line end before and after."""
    return "\n" + "\n".join(names) + "\n" if names else ""


def unpacked(text: str) -> tuple[str, ...]:
    """Read what `packed` wrote."""
    return tuple(text.strip("\n").split("\n")) if text else ()


def encoded(identity: EmbedderIdentity) -> str:
    """Write all that decides which vector a text gets."""
    return json.dumps(asdict(identity), sort_keys=True)


def row_of(file: int, chunk: Chunk) -> Row:
    """Return a chunk as its row, in the order of CHUNK_COLUMNS."""
    values = (
        file,
        chunk.kind,
        chunk.record,
        chunk.ordinal,
        chunk.line,
        chunk.at,
        packed(chunk.people),
        packed(chunk.tags),
        packed(chunk.audience),
        chunk.trust,
        chunk.session,
        chunk.speaker,
        int(chunk.active),
        chunk.language,
        len(chunk.terms),
        len(chunk.around),
        chunk.turn,
        chunk.form.asks,
        int(chunk.form.own),
        chunk.hash,
        json.dumps(chunk.recipe),
    )
    return tuple(storable(value) if isinstance(value, str) else value for value in values)


def texts_of(chunk: Chunk) -> Row:
    """Return the texts of a chunk: as shown, as embedded, its terms and those around it."""
    parts = (chunk.text, chunk.embedded, " ".join(chunk.terms), " ".join(chunk.around))
    return tuple(storable(part) for part in parts)


def storable(value: str) -> str:
    """Return a text as every store gives it back: some take no NUL, none half a character."""
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def recipe_of(text: str) -> tuple[tuple[str, float], ...]:
    """Read of which texts, by hash, a vector is made, and how much each counts."""
    return tuple((str(key), float(weight)) for key, weight in json.loads(text))
