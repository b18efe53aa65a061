"""An entity with a conversation in its folder, for tests of what is drawn from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.records import sessions, state
from bumble.records.sessions import Message, Session

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)


def message(n: int, speaker: str, text: str, trust: str = "") -> Message:
    """One message; `Ada` is the entity, `tool` a tool, everybody else a person."""
    role = {"Ada": "assistant", "tool": "tool"}.get(speaker, "user")
    known = {"Ada": "entity", "tool": "tool", "Sam": "owner"}
    return Message(
        id=f"msg_{n:03}",
        at=NOON + timedelta(minutes=n),
        role=role,
        text=text,
        speaker=speaker.lower() if role == "user" else "",
        trust=trust or known.get(speaker, "person"),
        extra={"name": speaker} if role == "user" else {},
    )


def said(
    entity: Entity,
    lines: Sequence[tuple[str, ...]],
    name: str = "ses_1",
    by: str = "sam",
) -> Session:
    """Put a conversation into the folder, all of it waiting to be distilled."""
    messages = [message(n, *line) for n, line in enumerate(lines, 1)]
    new = sessions.new(name, NOON, by)
    waits = state.plan_heard(state.read(entity.state), new, messages[0].id, "wait")
    planned = [sessions.plan_start(new, ""), sessions.plan_append(new, messages, ""), waits]
    changes.apply(entity.root, ChangeSet("", tuple(one for one in planned if one is not None)))
    return sessions.appended(new, messages)


TALK = (
    ("Sam", "Hi Ada. I finally moved to Lisbon."),
    ("Ada", "How do you like it there, and how is Biscuit?"),
    ("Sam", "My dog loves the river."),
    ("Ada", "Is Biscuit an old dog?"),
    ("Sam", "Nine years old, a beagle."),
    ("Ada", "A beagle by the river!"),
    ("Sam", "I prefer tea to coffee."),
    ("Ada", "Tea it is."),
)
