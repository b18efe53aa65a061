"""Bringing the index up to date: changed files read, new texts embedded, full text renewed.

Three steps, each safe to be killed in: the chunks of changed files go into the database together
with a queue of what the full-text index has to take; the queue is worked off; chunks without a
vector get one. What a kill leaves undone, the next sync finds and does. Knows nothing of queries.
"""
# ruff: noqa: S608  (statements are put together from constants; values are bound)

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import tzinfo
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import companions
from bumble.entity.folder import Entity
from bumble.errors import (
    IndexDamagedError,
    IndexServerError,
    IndexUnusableError,
    LockedError,
    RecordInvalidError,
)
from bumble.files import disk
from bumble.index import backend, chunks, fulltext, ingest, links, place
from bumble.index.database import Database
from bumble.index.database_reader import TAKEN
from bumble.index.fulltext import IndexedTerms, Stamp
from bumble.index.ingest import IngestReading, Progress
from bumble.index.place import Place
from bumble.index.rows import encoded
from bumble.index.scan import scan
from bumble.index.store import Store
from bumble.models.embed.protocol import DocumentTokens, Embedder, Floats

T = TypeVar("T")
CHUNKS_AT_ONCE = 256  # embedded and committed together
WAIT_SECONDS = 30.0
SWEEP = "index-sweep"  # in `.bumble/`: a server has yet to free what was forgotten
INSTEAD = "the index in the entity's folder is used instead."
BEHIND = "Another process is bringing the index up to date; what it has yet to reach is not found."


class SyncReport(Struct, frozen=True):
    """What a sync did."""

    added: int = 0  # files
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0  # texts that went through the embedder
    waiting: int = 0  # chunks that have no vector yet: words alone find them
    problems: tuple[RecordInvalidError, ...] = ()  # files that can't be read; not in the index
    notes: tuple[str, ...] = ()  # what the user should hear
    complete: bool = True  # False: another process was at it, the index may be behind


class IndexState(Struct, frozen=True):
    """How the index stands to the files, for those who only look."""

    exists: bool
    stale: int = 0  # files that are new, changed or gone since the last sync
    problems: int = 0  # files that can't be read
    chunks: int = 0
    waiting: int = 0  # chunks that have no vector yet
    orphans: int = 0  # rows that belong to no file, or no chunk
    queued: int = 0  # chunks that the full-text index has yet to take
    identity: str = ""  # of the embedder, as JSON; empty if there are no vectors
    server: Mapping[str, Any] | None = None  # where it stands on one: what that is


def sync(
    entity: Entity,
    embedder: Embedder | None,
    *,
    name: str,
    zone: tzinfo,
    by_token: bool = True,
    rebuild: bool = False,
    where: Place | None = None,
    progress: Progress | None = None,
    wait_seconds: float = WAIT_SECONDS,
    shreds: bool = False,
) -> SyncReport:
    """Bring the index up to date with the files.

    Args:
        entity: Whose files.
        embedder: Makes the vectors; without one, chunks wait for theirs and words find them.
        name: What the entity is called: the speaker of its own messages.
        zone: The entity's time zone.
        by_token: Whether a vector for each token is kept as well, for late interaction.
        rebuild: Throw away what is there and start anew.
        where: Where the index lies, if not in the entity's folder.
        progress: Told after each step of a long sync.
        wait_seconds: How long to wait for another process that is at the same.
        shreds: Leave no byte of a text that is no longer in the files, in free pages or segments.

    Raises:
        FolderUnwritableError: If the system refuses a write.
    """
    at = where or place.of(entity)
    shreds = shreds or (at.server is not None and owes_sweep(entity))
    making = _Making(embedder, by_token=by_token, shreds=shreds)

    def bring(at: Place, note: str = "") -> SyncReport:
        try:
            with backend.held(entity, at, wait_seconds):
                reading = IngestReading(name, zone, _now_ns(at))
                report = _whole(entity, making, at, reading, progress or _quiet, rebuild=rebuild)
        except LockedError:
            report = SyncReport(notes=(BEHIND,), complete=False)
        return replace(report, notes=(note, *report.notes)) if note else report

    try:
        return bring(at)
    except IndexServerError as error:
        if at.local is None:
            raise
        return bring(at.local, f"{str(error).splitlines()[0]}; {INSTEAD}")


def owe_sweep(entity: Entity) -> None:
    """Have the next sync with a server free what is deleted there, whichever gets that far."""
    disk.write_atomic(entity.private / SWEEP, b"")


def owes_sweep(entity: Entity) -> bool:
    """Whether what was forgotten may still lie on a server."""
    return disk.read_if_there(entity.private / SWEEP) is not None


def _quiet(stage: str, count: int, total: int) -> None:
    """Tell nobody."""


def _now_ns(at: Place) -> int:
    """Return the time by the clock that files are stamped with."""
    if at.server:
        return time.time_ns()  # nothing is written to the folder; a sync is longer than a tick
    os.utime(at.lock)
    return at.lock.stat().st_mtime_ns


class _Making(Struct, frozen=True):
    """What makes vectors, and which."""

    embedder: Embedder | None
    by_token: bool
    shreds: bool  # whether the files of the index are written anew


def _whole(
    entity: Entity,
    making: _Making,
    at: Place,
    reading: IngestReading,
    tell: Progress,
    *,
    rebuild: bool,
) -> SyncReport:
    """Bring the index up to date; where it can't be used as it is, make it anew."""
    try:
        return _sync(entity, making, at, reading, tell, rebuild=rebuild)
    except IndexUnusableError as error:
        note = f"The index is made anew: {str(error).splitlines()[0]}"
        return _sync(entity, making, at, reading, tell, rebuild=True, note=note)


def _sync(
    entity: Entity,
    making: _Making,
    at: Place,
    reading: IngestReading,
    tell: Progress,
    *,
    rebuild: bool,
    note: str = "",
) -> SyncReport:
    fresh = rebuild or not backend.exists(entity, at)
    with closing(backend.to_write(entity, at, anew=fresh)) as database:
        if fresh:
            _begin(database)
        if database.meta("chunker") != chunks.VERSION:
            raise IndexUnusableError(at.shown, "it was made by another version of bumble")
        filed = ingest.update(entity, database, reading, tell)
        if making.shreds:
            with database.transaction():
                database.set_meta(TAKEN, "0")  # a kill from here on leaves none, not a damaged one
            disk.clear(at.fulltext)
        anew = _update_fulltext(database, at.fulltext) if isinstance(database, Database) else ""
        embedded = 0
        if making.embedder:
            embedded = _embed(database, making.embedder, tell, by_token=making.by_token)
            links.refresh(database)
        if database.has_loose():
            with database.transaction():
                database.drop_unused_embeddings()
        remains = database.shred() if making.shreds else ""
        if at.server:
            disk.remove(entity.private / SWEEP)
        database.settle()
        return SyncReport(
            filed.added,
            filed.changed,
            filed.removed,
            filed.unchanged,
            embedded,
            database.waiting(),
            filed.problems,
            tuple(filter(None, (note, "" if making.shreds else anew, remains))),
        )


def _begin(database: Store) -> None:
    """Write down what an empty index is for."""
    with database.transaction():
        database.set_meta("chunker", chunks.VERSION)
        if not database.meta("token"):
            database.set_meta("token", secrets.token_hex(8))


def _update_fulltext(database: Database, folder: Path) -> str:
    """Work off the queue; where the full-text index is not this database's own, make it anew.

    Returns:
        What a person is told of it; empty: nothing was wrong.
    """
    token, generation = database.meta("token"), database.generation()
    queue = [int(row[0]) for row in database.rows("select id from queue order by id")]
    stamp = fulltext.read_stamp(folder)
    ours = (
        stamp
        and stamp.token == token
        and database.fulltext_generation() <= stamp.generation <= generation
    )
    try:
        if ours and not queue and stamp and stamp.generation == generation:
            if fulltext.open_to_read(folder).size == database.size():
                return ""
            ours = None
        if ours:
            fulltext.write(folder, queue, _entries(database, "id in (select id from queue)"))
    except IndexUnusableError:
        ours = None
    note = (
        ""
        if ours or not database.fulltext_generation()
        else f"{folder} was damaged and is made anew"
    )
    if not ours:
        fulltext.create(folder)
        fulltext.write(folder, (), _entries(database, "1"))
    fulltext.write_stamp(folder, Stamp(token, generation))
    with database.transaction():
        database.run("delete from queue")
        database.set_meta(TAKEN, str(generation))
    return note


def mended(look: Callable[[], T], folder: Path, again: Callable[[bool], object]) -> T:
    """Look something up; where the index turns out to be damaged, after it was made anew.

    Args:
        look: What to do.
        folder: Of the full-text index, which is made anew first: that takes the least time.
        again: Brings the index up to date, or makes all of it anew.

    Raises:
        IndexUnusableError: If it can't be used then, either.
    """
    for rebuild in (False, True):
        try:
            return look()
        except IndexDamagedError:
            fulltext.distrust(folder)
            again(rebuild)
    return look()


def _entries(database: Database, where: str) -> Iterator[IndexedTerms]:
    rows = database.stream(f"select id, terms, around from texts where {where} order by id")
    return (IndexedTerms(int(chunk_key), f"{terms} {around}") for chunk_key, terms, around in rows)


def _embed(database: Store, embedder: Embedder, tell: Progress, *, by_token: bool) -> int:
    """Give every chunk its vector. Returns how many texts had to be embedded."""
    _forget_other_vectors(database, encoded(embedder.identity), by_token=by_token)
    pending = database.unembedded() if database.waiting() else []
    embedded, embedded_count, rest = 0, 0, iter(pending)
    while ids := list(islice(rest, CHUNKS_AT_ONCE)):
        batch = database.recipes(ids)
        hashes = sorted({key for _, recipe in batch for key, _ in recipe})
        ready = database.embeddings(hashes)
        missing = sorted(
            database.texts_by_hash([key for key in hashes if key not in ready]).items()
        )
        texts, keys = [text for _, text in missing], [key for key, _ in missing]
        tokens = list[DocumentTokens]()
        if by_token and texts:
            vectors, tokens = embedder.embed_documents_by_token(texts)
        else:
            vectors = embedder.embed_documents(texts)
        new = dict(zip(keys, map(database.rounded, vectors), strict=True))
        with database.transaction():
            database.put_embeddings(new.items())
            if tokens:
                database.put_tokens(list(zip(keys, tokens, strict=True)))
            database.put_vectors(_mixed(batch, ready | new))
        embedded, embedded_count = embedded + len(missing), embedded_count + len(batch)
        tell("embedding", embedded_count, len(pending))
    return embedded


def _forget_other_vectors(database: Store, identity: str, *, by_token: bool) -> None:
    """Drop what another model made, or what was made without tokens where they are wanted."""
    same = database.meta("identity") == identity
    if same and database.keeps_tokens() == by_token:
        return
    with database.transaction():
        if same and not by_token:
            database.forget_tokens()
        else:
            database.forget_vectors()
        database.set_meta("identity", identity)
        database.set_meta("tokens", "signs" if by_token else "")


def _mixed(
    batch: Iterable[tuple[int, tuple[tuple[str, float], ...]]], ready: dict[str, Floats]
) -> Iterator[tuple[int, Floats]]:
    """Make the vectors of chunks by their recipes, each of length 1."""
    for chunk_key, recipe in batch:
        own = ready[recipe[0][0]]
        if len(recipe) == 1:
            yield chunk_key, own
            continue
        parts: Floats = np.stack([np.float32(weight) * ready[key] for key, weight in recipe])
        total: Floats = parts.sum(axis=0, dtype=np.float32)
        length = float(np.linalg.norm(total))
        mixed: Floats = np.divide(total, length, dtype=np.float32) if length > 0 else own
        yield chunk_key, mixed


def embedded_by(entity: Entity, where: Place | None = None) -> str:
    """Return the model that made the vectors of what was said; empty if there are none.

    Raises:
        IndexUnusableError: If the index is damaged, or of another version.
    """
    at = backend.settled(where or place.of(entity))
    if not backend.exists(entity, at):
        return ""
    with closing(backend.to_read(entity, at)) as database:
        identity = database.meta("identity")
        has_talks = any(kind == "message" for kind, *_ in database.lengths())
    return str(json.loads(identity)["model"]) if identity and has_talks else ""


def state(entity: Entity, where: Place | None = None) -> IndexState:
    """Look how the index stands to the files; writes nothing.

    Raises:
        IndexUnusableError: If it is damaged, or of another version.
    """
    at = backend.settled(where or place.of(entity))
    if not backend.exists(entity, at):
        facts = at.server.facts(entity) if at.server else None
        return IndexState(exists=False, stale=len(scan(entity)), server=facts)
    with closing(backend.to_read(entity, at)) as database:
        indexed = database.files()
        changed, removed = ingest.changes(scan(entity), database.stamps())
        unsettled = [path for path in changed if path in indexed and indexed[path].mtime_ns == -1]
        same = [
            path
            for path in unsettled
            if disk.sha256(companions.read(entity.root, path) or b"") == indexed[path].sha256
        ]
        return IndexState(
            exists=True,
            stale=len(changed) - len(same) + len(removed),
            problems=sum(1 for row in indexed.values() if row.problem),
            chunks=database.size(),
            waiting=database.waiting(),
            orphans=database.orphans(),
            queued=database.queued(),
            identity=database.meta("identity"),
            server=at.server.facts(entity) if at.server else None,
        )
