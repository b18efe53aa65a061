"""A life for tests of cycles: Ada, who belongs to Sam, with a scripted model."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bumble.entity import changes
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.folder import Entity
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import relationships, session_files, sessions, state
from bumble.records.base import Provenance
from bumble.records.relationships import Relationship
from bumble.records.sessions import Appraised, Message, Record, Session
from bumble.runtime.runtime import Runtime
from tests.support import lives, newborns
from tests.support.lives import NOON as NOON


def ada(folder: Path) -> Entity:
    return newborns.ada(folder / "ada")


def runtime_of(entity: Entity, *replies: Reply, at: datetime = NOON, **values: Any) -> Runtime:
    flags = {key.replace("__", "."): value for key, value in values.items()}
    return lives.runtime_of(entity, ScriptedModel(replies), lambda: at, flags)


def model_of(runtime: Runtime) -> ScriptedModel:
    assert isinstance(runtime.model, ScriptedModel)
    return runtime.model


def asked(runtime: Runtime, purpose: str = "") -> list[str]:
    """What the model was asked."""
    return [
        one.messages[-1].content
        for one in model_of(runtime).requests
        if purpose in ("", one.purpose)
    ]


def told(purpose: str, **value: Any) -> Reply:
    return Reply(json.dumps(value), purpose=purpose)


def write(entity: Entity, *planned: Change | None) -> None:
    changes.apply(entity.root, ChangeSet("", tuple(one for one in planned if one is not None)))


def talked(
    entity: Entity,
    session_id: str,
    *lines: tuple[str, str],
    by: str = "sam",
    present: tuple[str, ...] = (),
    at: datetime = NOON - timedelta(hours=1),
    felt: Appraised | None = None,
) -> Session:
    """Store a conversation of (speaker, text), `ada` being the entity, and let it all wait."""
    session = sessions.new(session_id, at, by, present)
    messages = []
    for n, (speaker, text) in enumerate(lines):
        own = speaker == "ada"
        messages.append(
            Message(
                id=f"msg_{session_id[4:]}{n:03}",
                at=at + timedelta(seconds=n),
                role="assistant" if own else "user",
                text=text,
                speaker="" if own else speaker,
                trust="entity" if own else "owner" if speaker == "sam" else "person",
                extra={} if own else {"name": speaker.title()},
            )
        )
    records: list[Record] = [*messages, *([felt] if felt else [])]
    write(entity, sessions.plan_start(session, ""), sessions.plan_append(session, records, ""))
    return session_files.find(entity.sessions, session_id)


def known(entity: Entity, name: str, text: str = "", **values: Any) -> Relationship:
    """Put somebody into the folder, with a portrait as a reflection drew it."""
    one = relationships.new(name, NOON - timedelta(days=9))
    write(entity, relationships.PERSON.plan_new(one, ""))
    if text:
        values.setdefault("provenance", Provenance("reflect"))
    changed = relationships.plan_update(one, "", text=text or None, **values)
    write(entity, changed)
    return relationships.find(entity.relationships, name)


def heard(entity: Entity, *lines: tuple[str, str], name: str = "ses_1", **values: Any) -> Session:
    """Store a talk, of which everything waits."""
    both = [row for line in lines for row in (line, ("ada", "I see."))]
    session = talked(entity, name, *both, **values)
    file = state.read(entity.state)
    write(entity, state.plan_heard(file, session, session.messages[0].id, ""))
    return session
