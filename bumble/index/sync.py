"""Bringing the index up to date: changed files read, new texts embedded.

Two steps, each safe to be killed in: the chunks of changed files go into the database with their
words; chunks without a vector get one. What a kill leaves undone, the next sync finds and does.
Knows nothing of queries.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import tzinfo
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.errors import (
    IndexServerError,
    IndexUnusableError,
    LockedError,
)
from bumble.files import disk
from bumble.index import chunks, ingest, place, sqlite
from bumble.index.rows import encoded
from bumble.index.store import Store
from bumble.models.embed.protocol import DocumentTokens, Embedder, Floats

CHUNKS_AT_ONCE = 256  # embedded and committed together
WAIT_SECONDS = 30.0
SWEEP = "index-sweep"  # in `.bumble/`: a server has yet to free what was forgotten
INSTEAD = "the index in the entity's folder is used instead."
BEHIND = "Another process is bringing the index up to date; what it has yet to reach is not found."


class IndexState(Struct, frozen=True):
    """How the index stands to the files, for those who only look."""

    exists: bool
    stale: int = 0  # files that are new, changed or gone since the last sync
    problems: int = 0  # files that can't be read
    chunks: int = 0
    waiting: int = 0  # chunks that have no vector yet
    orphans: int = 0  # rows that belong to no file, or no chunk, where they were counted
    words: int = 0  # chunks whose words are indexed
    identity: str = ""  # of the embedder, as JSON; empty if there are no vectors
    server: Mapping[str, Any] | None = None  # where it stands on one: what that is


def sync(
    entity: Entity,
    embedder: Embedder | None,
    *,
    name: str,
    zone: tzinfo,
    rebuild: bool = False,
    where: place.Place | None = None,
    progress: ingest.Progress | None = None,
    wait_seconds: float = WAIT_SECONDS,
    shreds: bool = False,
) -> ingest.SyncReport:
    """Bring the index up to date with the files.

    Args:
        entity: Whose files.
        embedder: Makes the vectors; without one, chunks wait for theirs and words find them.
        name: What the entity is called: the speaker of its own messages.
        zone: The entity's time zone.
        rebuild: Throw away what is there and start anew.
        where: Where the index lies, if not in the entity's folder.
        progress: Told after each step of a long sync.
        wait_seconds: How long to wait for another process that is at the same.
        shreds: Leave no byte of a text that is no longer in the files, in free pages or segments.

    Raises:
        FolderUnwritableError: If the system refuses a write.
    """
    at = where or place.of(entity)
    # what was forgotten may still lie on a server
    owes_sweep = at.server is not None and disk.read_if_there(entity.private / SWEEP) is not None
    shreds = shreds or owes_sweep
    tell = progress or (lambda *_: None)

    def bring(at: place.Place, note: str = "") -> ingest.SyncReport:
        try:
            with at.held(entity, wait_seconds):
                reading = ingest.IngestReading(name, zone, _now_ns(at))
                once = partial(_sync, entity, embedder, at, reading, tell, shreds=shreds)
                try:
                    report = once(rebuild=rebuild)
                except IndexUnusableError as error:
                    anew = f"The index is made anew: {str(error).splitlines()[0]}"
                    report = once(rebuild=True, note=anew)
        except LockedError:
            report = ingest.SyncReport(notes=(BEHIND,), complete=False)
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


def _now_ns(at: place.Place) -> int:
    """Return the time by the clock that files are stamped with."""
    if at.server:
        return time.time_ns()  # nothing is written to the folder; a sync is longer than a tick
    os.utime(at.lock)
    return at.lock.stat().st_mtime_ns


def _sync(
    entity: Entity,
    embedder: Embedder | None,
    at: place.Place,
    reading: ingest.IngestReading,
    tell: ingest.Progress,
    *,
    rebuild: bool,
    shreds: bool,
    note: str = "",
) -> ingest.SyncReport:
    fresh = rebuild or not at.exists(entity)
    with closing(at.to_write(entity, anew=fresh)) as database:
        if fresh:
            with database.transaction():  # what an empty index is for
                database.set_meta("chunker", chunks.VERSION)
                if not database.meta("token"):
                    database.set_meta("token", secrets.token_hex(8))
        elif database.meta("chunker") != chunks.VERSION:
            with database.transaction():  # what was embedded serves the same texts again
                database.distrust_files()
                database.set_meta("chunker", chunks.VERSION)
        filed = ingest.update(entity, database, reading, tell)
        embedded = _embed(database, embedder, at.donors, tell) if embedder else 0
        database.drop_unused_embeddings()
        remains = database.shred() if shreds else ""
        if at.server:
            disk.remove(entity.private / SWEEP)
        database.settle()
        return replace(
            filed,
            embedded=embedded,
            waiting=database.waiting(),
            notes=tuple(filter(None, (note, remains))),
        )


def _embed(
    database: Store, embedder: Embedder, donors: Sequence[Path], tell: ingest.Progress
) -> int:
    """Give every chunk its vector. Returns how many texts had to be embedded."""
    _forget_other_vectors(database, encoded(embedder.identity))
    pending = database.unembedded() if database.waiting() else []
    embedded, embedded_count, rest = 0, 0, iter(pending)
    while ids := list(islice(rest, CHUNKS_AT_ONCE)):
        batch = database.recipes(ids)
        hashes = sorted({key for _, recipe in batch for key, _ in recipe})
        ready = database.embeddings(hashes)
        made = _taken_over([key for key in hashes if key not in ready], embedder, donors)
        missing = [key for key in hashes if key not in ready and key not in made]
        texts = database.texts_by_hash(missing)
        keys = sorted(texts)
        with database.transaction():
            if keys:
                embeddings = embedder.embed_documents_by_token([texts[key] for key in keys])
                made |= dict(zip(keys, zip(*embeddings, strict=True), strict=True))
            for key, (vector, _) in made.items():  # as it is kept
                ready[key] = vector.astype(database.FLOAT).astype("f4")
            database.put_embeddings((key, ready[key]) for key in made)
            database.put_tokens([(key, tokens) for key, (_, tokens) in made.items()])
            database.put_vectors(_mixed(batch, ready))
        embedded, embedded_count = embedded + len(keys), embedded_count + len(batch)
        tell("embedding", embedded_count, len(pending))
    return embedded


def _taken_over(
    hashes: Sequence[str], embedder: Embedder, donors: Sequence[Path]
) -> dict[str, tuple[Floats, DocumentTokens]]:
    """Return what other indexes have of some texts, where the same model made it."""
    found: dict[str, tuple[Floats, DocumentTokens]] = {}
    width = (embedder.identity.dimensions + 7) // 8
    for path in filter(Path.exists, donors):
        wanted = [key for key in hashes if key not in found]
        with suppress(IndexUnusableError), closing(sqlite.open_to_read(path)) as store:
            if wanted and store.meta("identity") == encoded(embedder.identity):
                vectors, tokens = store.embeddings(wanted), store.tokens(wanted, width)
                found |= {key: (vectors[key], tokens[key]) for key in vectors.keys() & tokens}
    return found


def _forget_other_vectors(database: Store, identity: str) -> None:
    """Drop what another model made, or what was made without a vector for each token."""
    if database.meta("identity") == identity and database.meta("tokens"):
        return
    with database.transaction():
        database.forget_vectors()
        database.set_meta("identity", identity)
        database.set_meta("tokens", "signs")


def _mixed(
    batch: Iterable[tuple[int, tuple[tuple[str, float], ...]]], ready: dict[str, Floats]
) -> Iterator[tuple[int, Floats]]:
    """Make the vectors of chunks by their recipes, each of length 1."""
    import numpy as np

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


def embedded_by(entity: Entity, where: place.Place | None = None) -> str:
    """Return the model that made the vectors of what was said; empty if there are none.

    Raises:
        IndexUnusableError: If the index is damaged, or of another version.
    """
    at = (where or place.of(entity)).settled()
    if not at.exists(entity):
        return ""
    with closing(at.to_read(entity)) as database:
        identity = database.meta("identity")
        has_talks = any(kind == "message" for kind, *_ in database.lengths())
    return str(json.loads(identity)["model"]) if identity and has_talks else ""


def state(
    entity: Entity, where: place.Place | None = None, *, counts_orphans: bool = False
) -> IndexState:
    """Look how the index stands to the files; writes nothing.

    Args:
        entity: Whose index.
        where: Where it stands; None: where the folder says.
        counts_orphans: Whether to count rows that belong to nothing: that takes longer than all
            else.

    Raises:
        IndexUnusableError: If it is damaged, or of another version.
    """
    at = (where or place.of(entity)).settled()
    if not at.exists(entity):
        facts = at.server.facts(entity) if at.server else None
        return IndexState(exists=False, stale=len(ingest.scan(entity)), server=facts)
    with closing(at.to_read(entity)) as database:
        indexed = database.files()
        changed, removed = ingest.changes(ingest.scan(entity), database.stamps())
        unsettled = [path for path in changed if path in indexed and indexed[path].mtime_ns == -1]
        same = [
            path for path in unsettled if ingest.digest(entity.root, path) == indexed[path].sha256
        ]
        return IndexState(
            exists=True,
            stale=len(changed) - len(same) + len(removed),
            problems=sum(1 for row in indexed.values() if row.problem),
            chunks=database.size(),
            waiting=database.waiting(),
            orphans=database.orphans() if counts_orphans else 0,
            words=database.words_size(),
            identity=database.meta("identity"),
            server=at.server.facts(entity) if at.server else None,
        )
