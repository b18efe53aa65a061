"""Where the index of an entity stands, as its owner set it: in the folder, or on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bumble.errors import PostgresMissingError, SettingInvalidError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bumble.entity.config import IndexConfig
    from bumble.entity.folder import Entity
    from bumble.index.place import Place


def of(entity: Entity, config: IndexConfig) -> Place:
    """Return where an entity's index stands.

    Args:
        entity: Whose index.
        config: The settings in force; no folder can make these.

    Raises:
        SettingInvalidError: If it is to stand on a server that has no address.
        PostgresMissingError: If nothing here can talk to Postgres.
        UnsafePathError: If a link leads out of the folder there.
    """
    from bumble.index import place

    local = place.of(entity)
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
    server = PostgresServer(config.url)
    return replace(local, server=server, local=local if config.fallback == "local" else None)


def described(server: Mapping[str, Any]) -> str:
    """Say of the facts of a server what it is, and how much of it an entity's index takes."""
    return (
        f"{server['address']} (PostgreSQL {server['postgres']}, pgvector {server['pgvector']},"
        f" {server['bytes'] / 1e6:,.1f} MB)"
    )
