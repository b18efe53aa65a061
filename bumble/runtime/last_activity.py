"""When somebody last said something, in any conversation."""

from __future__ import annotations

from datetime import datetime

from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.records import session_files, sessions


def last_said(entity: Entity) -> datetime | None:
    """Return the time of the newest message; what cycles add to a transcript says nothing."""
    newest: datetime | None = None
    infos = sorted(
        session_files.infos(entity.sessions), key=lambda info: info.last_at, reverse=True
    )
    for info in infos:
        if newest is not None and info.last_at <= newest:
            break
        try:
            messages = session_files.load(entity.sessions / info.id / sessions.FILE).messages
        except RecordInvalidError:  # silence is not broken by what can't be read
            continue
        if messages and (newest is None or messages[-1].at > newest):
            newest = messages[-1].at
    return newest
