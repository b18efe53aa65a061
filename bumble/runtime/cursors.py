"""Of which messages nothing was made yet, by conversation, in `state.yaml`.

For each conversation with something left, the id of the first message that waits; it and all after
it do. Ids alone tell no order: a message stands where it stands in its conversation.

    sessions:
      ses_01J…: msg_01J…
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from bumble.entity.changes import Change
from bumble.records import state
from bumble.records.base import MappingFile
from bumble.records.sessions import Message, Session
from bumble.text import words

SECTION = "sessions"


def waiting(file: MappingFile) -> dict[str, str]:
    """Return the first message that waits of each conversation, oldest conversation first."""
    listed = file.get(SECTION, default={})
    return {name: first for name in sorted(listed) if (first := _earliest(listed[name]))}


def _earliest(value: Any) -> str:
    """Return the id in a value; folders made before one cursor told all have several, nested."""
    if isinstance(value, Mapping):
        return min(filter(None, map(_earliest, value.values())), default="")
    return value if isinstance(value, str) else ""


def first(file: MappingFile, session_id: str) -> str | None:
    """Return the id of the first message that waits, None if none does."""
    return _earliest(file.get(SECTION, session_id)) or None


def messages(file: MappingFile, session: Session) -> tuple[Message, ...]:
    """Return the messages that wait, oldest first, without what people only passed on in them."""
    start = first(file, session.id)
    waiting_messages = () if start is None else session.messages[_before(session, start) :]
    return tuple(
        replace(message, text=words.own_words(message.text)) if message.role == "user" else message
        for message in waiting_messages
    )


def is_behind(session: Session, message_id: str, other_id: str) -> bool:
    """Whether a message comes after another."""
    return _before(session, message_id) > _before(session, other_id)


def _before(session: Session, message_id: str) -> int:
    """Return how many messages come before one; where it is gone, by its id, which holds its time.

    Otherwise by its place: ids of one millisecond are in no order.
    """
    ids = [message.id for message in session.messages]
    if message_id in ids:
        return ids.index(message_id)
    return sum(id_ < message_id for id_ in ids)


def plan_heard(file: MappingFile, session: Session, message_id: str, why: str) -> Change | None:
    """Plan to let a new message wait, behind the older ones that wait already."""
    if first(file, session.id) is not None:
        return None
    return state.plan_write(file, {SECTION: {session.id: message_id}}, why)


def plan_moved(
    file: MappingFile,
    session: Session,
    last: str,
    values: Mapping[str, Any],
    why: str,
    *,
    remove: Sequence[Sequence[str]] = (),
) -> Change | None:
    """Plan to move the cursor behind a message that was dealt with, and change the file with it.

    Args:
        file: As it was read.
        session: With all its messages as they are now.
        last: Id of the last message that was dealt with.
        values: Further values of the file, nested as in it.
        why: For the change set.
        remove: Further keys that go.
    """
    start, gone = first(file, session.id), list(remove)
    rest = session.messages[_before(session, last) :]
    rest = rest[1:] if rest and rest[0].id == last else rest
    if start is None or _before(session, start) > _before(session, last):
        pass  # another process was faster
    elif rest:
        values = {**values, SECTION: {session.id: rest[0].id}}
    else:
        alone = len(file.get(SECTION, default={})) == 1
        gone.append((SECTION,) if alone else (SECTION, session.id))
    return state.plan_write(file, values, why, remove=gone)
