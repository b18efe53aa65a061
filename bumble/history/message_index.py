"""Messages found by their ids among many conversations, without the index.

A message's id holds the time it was said, which leaves few transcripts to look into. Writes
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from bumble.errors import RecordInvalidError
from bumble.files import disk
from bumble.records import base, session_files
from bumble.records.session_files import SessionInfo
from bumble.records.sessions import Compaction, Message, Session

SLACK = timedelta(minutes=5)  # the clocks of two clones
_ID = re.compile(rb'"id"\s*:\s*"((?:msg|cmp)_[^"\\]+)"')


class FoundMessage(Struct, frozen=True):
    """A message or a summary, with the conversation and the line that hold it."""

    record: Message | Compaction
    session: Session
    line: int  # of the transcript


class MessageIndex:
    """Finds messages in the conversations of an entity; reads each once, when it is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sessions: dict[str, Session] = {}

    @cached_property
    def paths(self) -> dict[str, Path]:
        """Transcripts by the id of their conversation."""
        return {path.parent.name: path for path in session_files.paths(self.folder)}

    def session(self, session_id: str) -> Session | None:
        """Return a conversation; None if it is not here.

        Raises:
            RecordInvalidError: If its transcript can't be read.
        """
        if session_id not in self._sessions and session_id in self.paths:
            self._sessions[session_id] = session_files.load(self.paths[session_id])
        return self._sessions.get(session_id)

    def find(self, record_id: str) -> FoundMessage | None:
        """Return a message or a summary; None if no conversation holds it."""
        wanted = record_id.encode()
        for session_id in self._likely(record_id):
            if session_id in self._sessions or wanted in _read_bytes(self.paths[session_id]):
                session = self.session(session_id)
                found_message = _find_in(session, record_id) if session else None
                if found_message:
                    return found_message
        return None

    def ids(self) -> Iterator[str]:
        """Yield the ids of all messages and summaries, the oldest conversation first."""
        for path in self.paths.values():
            yield from (match.decode() for match in _ID.findall(_read_bytes(path)))

    def _likely(self, record_id: str) -> list[str]:
        """Order the conversations: first those that went on when the id was made."""
        at = base.time_of(record_id)
        if at is None:
            return list(self.paths)
        near = [info.id for info in self._infos if info.at - SLACK <= at <= info.last_at + SLACK]
        return [*near, *(session_id for session_id in self.paths if session_id not in set(near))]

    @cached_property
    def _infos(self) -> list[SessionInfo]:
        infos = []
        for path in self.paths.values():
            try:
                infos.append(session_files.read_info(path))
            except RecordInvalidError:  # still searched, after the others
                continue
        return infos


def _read_bytes(path: Path) -> bytes:
    return disk.read_if_there(path) or b""


def _find_in(session: Session, record_id: str) -> FoundMessage | None:
    entries: tuple[Message | Compaction, ...] = (*session.messages, *session.compactions)
    record = next((entry for entry in entries if entry.id == record_id), None)
    if record is None:
        return None
    mark = re.compile(rf'"id"\s*:\s*"{re.escape(record_id)}"')
    rows = enumerate(session.source.split("\n"), 1)
    return FoundMessage(
        record, session, next((line for line, text in rows if mark.search(text)), 1)
    )
