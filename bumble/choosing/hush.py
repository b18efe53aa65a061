"""What a message asks to be silent about that is not in itself: "tell nobody", "between us:".

People part what they tell from the request to be silent. Such a request covers what its speaker
said right before it, or right after it where it announces something, within minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from bumble.choosing import rules
from bumble.records.sessions import Message, Session

NEAR = timedelta(minutes=5)  # between a request and what it is about


def covers(session: Session, message: Message, language: str) -> bool:
    """Whether another message of its speaker asks to be silent about a message."""
    own = _own(session, message)
    near = (each for each in own if each.id != message.id and abs(each.at - message.at) <= NEAR)
    return any(message in covered(session, each, language) for each in near)


def covered(session: Session, message: Message, language: str) -> Sequence[Message]:
    """Return the other messages that a message asks to be silent about, nearest first."""
    way = rules.judge(message.text, language).hushes
    if not way:
        return ()
    own = _own(session, message)
    place = own.index(message)
    before, after = own[:place][::-1], own[place + 1 :]
    if way == "after":
        return _row(session, message, after)
    return _row(session, message, before) or _row(session, message, after)


def _own(session: Session, message: Message) -> list[Message]:
    return [
        each
        for each in session.messages
        if each.role == "user" and each.speaker == message.speaker and each.text.strip()
    ]


def _row(session: Session, message: Message, others: Iterable[Message]) -> list[Message]:
    """Return the nearest of some messages, and those beside it that nobody answered between."""
    places = {each.id: place for place, each in enumerate(session.messages)}
    row: list[Message] = []
    for each in others:
        if abs(each.at - message.at) > NEAR:
            break
        if row and abs(places[each.id] - places[row[-1].id]) > 1:
            break
        row.append(each)
    return row
