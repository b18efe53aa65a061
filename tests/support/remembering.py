"""A conversation on disk that waits to be remembered."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from bumble.entity import changes
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.folder import Entity
from bumble.llm.scripted import Reply
from bumble.records import base, sessions, state
from bumble.records.sessions import Appraised, Message, Session
from bumble.runtime.runtime import Runtime
from tests.support.stretches import makes

TAG = "social=52% curiosity=68% creative=40% tension=15% comfort=65% mood=curious"
DOG = "I have a dog called Biscuit, and today he ran away from me at the lighthouse."
OURS = "Oh no! Did you find Biscuit again?"
FOUND = "Yes, after three hours. I was so afraid that I could not breathe."
GLAD = "I am glad he is back with you, Sam."


def held(
    entity: Entity,
    at: datetime,
    *turns: tuple[str, str, str],
    appraised: Sequence[Appraised] = (),
    chance: int = 0,
    tool: bool = False,
) -> Session:
    """Write a conversation: (name, what they said, the answer), a minute each."""
    rng = random.Random(f"{at} {chance}")
    first = turns[0][0].casefold() if turns else "sam"
    session = sessions.new(base.new_id(sessions.PREFIX, at, rng), at, first)
    said: list[Message] = []
    for n, (name, text, answer) in enumerate(turns):
        when = at + timedelta(minutes=n)
        trust = "owner" if name == "Sam" else "person"
        extra: dict[str, Any] = {"name": name}
        said.append(_message(rng, when, "user", text, name.casefold(), trust, extra))
        if tool:
            said.append(_message(rng, when, "tool", "a result", "", "tool", {"tool": "recall"}))
        soon = when + timedelta(seconds=20)
        said.append(_message(rng, soon, "assistant", answer, "", "entity", {"soma": TAG}))
    file = state.read(entity.state)
    heard = state.plan_heard(file, session, said[0].id, "")
    moved = [replace(one, message=said[2 * n].id) for n, one in enumerate(appraised)]
    planned: list[Change | None] = [
        sessions.plan_start(session, ""),
        sessions.plan_append(session, [*said, *moved], ""),
        heard,
    ]
    changes.apply(entity.root, ChangeSet("", tuple(filter(None, planned))))
    return sessions.appended(session, said)


def _message(
    rng: random.Random, at: datetime, role: str, text: str, who: str, trust: str, extra: Any
) -> Message:
    return Message(base.new_id("msg", at, rng), at, role, text, who, trust=trust, extra=extra)


def felt(emotion: str, intensity: float, at: datetime, **points: float) -> Appraised:
    return Appraised(at, "", points, "", emotion, intensity, "Biscuit")


def tells(narrative: str, reflection: str = "It mattered to me.", *, always: bool = False) -> Reply:
    return makes(narrative, reflection=reflection, always=always)


def waits(runtime: Runtime) -> Any:
    """Return what the file of the cursors holds."""
    return state.read(runtime.entity.state).get("sessions", default={})
