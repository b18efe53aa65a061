"""Where the index of an entity stands, as its owner set it, and bringing it up to date."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bumble.cli import output
from bumble.errors import (
    FolderUnwritableError,
    IndexUnusableError,
    PostgresMissingError,
    SettingInvalidError,
)
from bumble.files import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bumble.cli.opening import Opened
    from bumble.errors import RecordInvalidError
    from bumble.index.ingest import SyncReport
    from bumble.index.place import Place
    from bumble.models.embed.protocol import Embedder


def place_of(opened: Opened) -> Place:
    """Return where an entity's index stands.

    Raises:
        SettingInvalidError: If it is to stand on a server that has no address.
        PostgresMissingError: If nothing here can talk to Postgres.
        UnsafePathError: If a link leads out of the folder there.
    """
    from bumble.index import place

    config = opened.config.index  # no folder can make these settings
    local = replace(place.of(opened.entity), donors=opened.donors)
    if config.backend == "sqlite" or (config.backend == "auto" and not config.url):
        return local
    if not config.url:
        raise SettingInvalidError(
            "index.url",
            "the index is to stand in Postgres, but has no address; set it with"
            " `bumble config set --user index.url postgresql://USER@HOST/DATABASE`,"
            " or BUMBLE_INDEX_URL",
        )
    try:
        from bumble.index.postgres_server import PostgresServer
    except ModuleNotFoundError as error:
        raise PostgresMissingError from error
    fallback = local if config.fallback == "local" else None
    return replace(local, server=PostgresServer(config.url), local=fallback)


def described(server: Mapping[str, Any]) -> str:
    """Say of the facts of a server what it is, and how much of it an entity's index takes."""
    return (
        f"{server['address']} (PostgreSQL {server['postgres']}, pgvector {server['pgvector']},"
        f" {server['bytes'] / 1e6:,.1f} MB)"
    )


WAIT_SECONDS = 30.0  # for another process that is at the same


def up_to_date(
    opened: Opened,
    embedder: Embedder | None,
    *,
    rebuild: bool = False,
    wait_seconds: float = WAIT_SECONDS,
) -> tuple[SyncReport, Place]:
    """Bring the index up to date, with a bar on a terminal and a warning for each unreadable file.

    Returns:
        What was done, and where the index lies: in the user's cache, if the entity's folder can't
        be written and its own index is behind.

    Raises:
        FolderUnwritableError: If the system refuses a write there too.
    """
    from bumble.index import place

    at = place_of(opened)
    try:
        report = synced(opened, embedder, at, rebuild=rebuild, wait_seconds=wait_seconds)
    except FolderUnwritableError as error:
        reason = str(error).splitlines()[0]
        if not rebuild and (still := _still_good(opened, embedder, at)):
            return still, at
        at = place.elsewhere(opened.shell.cache_of("indexes", opened.root))
        disk.make_folder(at.database.parent)
        output.warn(opened.shell, f"{reason}\nThe index is kept in {at.database.parent} instead.")
        report = synced(opened, embedder, at, rebuild=rebuild, wait_seconds=wait_seconds)
    for note in report.notes:
        output.warn(opened.shell, note)
    tell_unreadable(opened, report.problems)
    return report, at.settled()


def tell_unreadable(opened: Opened, problems: Iterable[RecordInvalidError]) -> None:
    """Warn of each file that can't be read once; `status` counts them, and `doctor` names them."""
    told, file = list(map(str, problems)), opened.entity.told
    before = disk.read_cache(file)
    with suppress(ValueError):
        known = json.loads(before or b"[]")
        for problem in (one for one in told if not (isinstance(known, list) and one in known)):
            output.warn(opened.shell, problem)
    if (now := json.dumps(told).encode()) != (before or b"[]"):
        disk.write_cache(file, now)


def synced(
    opened: Opened,
    embedder: Embedder | None,
    at: Place,
    *,
    rebuild: bool = False,
    wait_seconds: float = WAIT_SECONDS,
) -> SyncReport:
    """Bring an index up to date, with a bar on a terminal."""
    from bumble.index import sync

    environ = opened.shell.environ
    return sync.sync(
        opened.entity,
        embedder,
        name=opened.identity.name,
        zone=opened.zone,
        rebuild=rebuild,
        where=at,
        progress=lambda stage, count, total: output.progress(stage, environ, count, total),
        wait_seconds=wait_seconds,
    )


def _still_good(opened: Opened, embedder: Embedder | None, at: Place) -> SyncReport | None:
    """Return a report that nothing had to be done, if the index is up to date as it lies there."""
    from bumble.index import ingest, rows, sync

    try:
        state = sync.state(opened.entity, at)
    except IndexUnusableError:
        return None
    wanted = rows.encoded(embedder.identity) if embedder else state.identity
    if not state.exists or state.stale or state.identity != wanted:
        return None
    return ingest.SyncReport(unchanged=len(ingest.scan(opened.entity)), waiting=state.waiting)
