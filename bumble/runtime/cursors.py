"""Which messages each job has still to deal with, by conversation, in `state.yaml`.

In `state.yaml`, for each conversation with something left, the id of the first message that a pass
has not dealt with: that one and all after it wait. A key that is missing has nothing waiting.

    sessions:
      ses_01J…:
        appraise: msg_01J…
        reflect: {sam: msg_01J…}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from bumble.entity.changes import Change
from bumble.records import state
from bumble.records.mapping_files import MappingFile
from bumble.records.sessions import Message, Session
from bumble.text import passed_on

SECTION = "sessions"
APPRAISE, REMEMBER, REFLECT, DISTILL = "appraise", "remember", "reflect", "distill"

Key = tuple[str, ...]  # ("appraise",), or ("reflect", person id)


def waiting(file: MappingFile) -> Mapping[str, Mapping[str, Any]]:
    """Return what is left of each conversation, oldest conversation first."""
    positions = file.get(SECTION, default={})
    return {
        name: positions[name] for name in sorted(positions) if isinstance(positions[name], Mapping)
    }


def first(file: MappingFile, session_id: str, key: Key) -> str | None:
    """Return the id of the first message that waits, None if none does."""
    message_id = file.get(SECTION, session_id, *key)
    return message_id if isinstance(message_id, str) else None


def messages(file: MappingFile, session: Session, key: Key) -> tuple[Message, ...]:
    """Return the messages that wait, oldest first; of people's, what they say themselves."""
    start = first(file, session.id, key)
    return () if start is None else _own(session.messages[_before(session, start) :])


def between(session: Session, first: str, last: str) -> tuple[Message, ...]:
    """Return the messages from one to another, both with them; of people's, their own words."""
    end = _before(session, last)
    reached = session.messages[end : end + 1]
    more = 1 if reached and reached[0].id == last else 0
    return _own(session.messages[_before(session, first) : end + more])


def _own(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Leave out what people only passed on: nothing that is made of a talk rests on it."""
    return tuple(
        replace(message, text=passed_on.own(message.text)) if message.role == "user" else message
        for message in messages
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


def plan_heard(
    file: MappingFile, session: Session, keys: Iterable[Key], message_id: str, why: str
) -> Change | None:
    """Plan to let a new message wait for some passes; behind the older ones that wait already."""
    new: dict[str, Any] = {}
    for key in keys:
        if first(file, session.id, key) is None:
            _set(new, (session.id, *key), message_id)
    return state.plan_write(file, {SECTION: new}, why) if new else None


def plan_moved(
    file: MappingFile,
    session: Session,
    moves: Sequence[tuple[Key, str]],
    values: Mapping[str, Any],
    why: str,
) -> Change | None:
    """Plan to move cursors behind messages that were dealt with, and change other values with it.

    Args:
        file: As it was read.
        session: With all its messages as they are now.
        moves: Cursors, each with the id of the last message dealt with.
        values: Further values of the file, nested as in it.
        why: For the change set.
    """
    left = {key: _leaf(value) for key, value in _flat(file.get(SECTION, session.id, default={}))}
    remove: list[Sequence[str]] = []
    new: dict[str, Any] = {}
    for key, last in moves:
        rest = session.messages[_before(session, last) :]
        rest = rest[1:] if rest and rest[0].id == last else rest
        behind = rest[0].id if rest else None
        if key in left and _before(session, left[key]) > _before(session, last):
            continue  # another process was faster
        if behind is None:
            if left.pop(key, None) is not None:
                remove.append((SECTION, session.id, *key))
        else:
            _set(new, (session.id, *key), behind)
            left[key] = behind
    if not left and remove:
        whole = len(file.get(SECTION, default={})) == 1
        remove = [(SECTION,) if whole else (SECTION, session.id)]
    remove = _without_empty(file, remove, session.id, left)
    together = dict(values) | ({SECTION: new} if new else {})
    return state.plan_write(file, together, why, remove=remove)


def _without_empty(
    file: MappingFile, remove: list[Sequence[str]], session_id: str, left: Mapping[Key, str]
) -> list[Sequence[str]]:
    """Take out a mapping whose last key goes, rather than leave it empty."""
    out: list[Sequence[str]] = []
    for keys in remove:
        above = tuple(keys)[:-1]
        inside = above[2:]
        if inside and not any(key[: len(inside)] == inside for key in left):
            keys = above
        if keys not in out:
            out.append(keys)
    return out


def _flat(value: Any, above: Key = ()) -> list[tuple[Key, Any]]:
    if not isinstance(value, Mapping):
        return [(above, value)]
    return [pair for key, inner in value.items() for pair in _flat(inner, (*above, str(key)))]


def _leaf(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _set(values: dict[str, Any], keys: Sequence[str], value: str) -> None:
    for key in keys[:-1]:
        values = values.setdefault(key, {})
    values[keys[-1]] = value
