"""When somebody last said something, in any conversation."""

from __future__ import annotations

from datetime import datetime, timedelta

from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.records import session_files, sessions
from bumble.text import moments


def last_said(entity: Entity, now: datetime) -> datetime | None:
    """Return the time of the newest message; what cycles add to a transcript says nothing."""
    newest: datetime | None = None
    for info in sorted(session_files.infos(entity.sessions), key=lambda info: moments.gap(info.last_at, now)):
        if newest is not None and moments.gap(info.last_at, now) >= moments.gap(newest, now):
            break
        try:
            messages = session_files.load(entity.sessions / info.id / sessions.FILE).messages
        except RecordInvalidError:  # silence is not broken by what can't be read
            continue
        times = [message.at for message in messages[-1:]] + ([newest] if newest else [])
        newest = min(times, key=lambda at: moments.gap(at, now), default=None)
    return newest


def silence(entity: Entity, now: datetime) -> timedelta | None:
    """Return for how long nobody has said anything; None: nobody ever has."""
    newest = last_said(entity, now)
    return None if newest is None else moments.gap(newest, now)
