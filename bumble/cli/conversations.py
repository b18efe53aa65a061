"""Finding a conversation by the id a user gives on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from bumble.cli import listing
from bumble.cli.opening import Opened
from bumble.records import session_files
from bumble.records.session_files import SessionInfo

OfSessionOption = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Of this conversation alone, or of `last`."),
]


def find(opened: Opened, session_id: str) -> SessionInfo:
    """Find a conversation by its id, by an end that no other id has, or as `last`.

    Raises:
        RecordMissingError: If there is none.
        UserError: If it could be more than one.
    """
    paths = session_files.paths(opened.entity.sessions)
    infos = listing.readable(opened, paths, session_files.read_info).records
    in_order = session_files.by_recency(infos, opened.shell.now())
    by_id = {info.id: opened.entity.sessions / info.id for info in in_order}
    wanted = listing.pick(by_id, session_id, "conversation").name
    return next(info for info in infos if info.id == wanted)
