"""A life for tests of cycles: Ada, who belongs to Sam, with a scripted model."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bumble.entity import changes, create, settings
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.create import NewEntity
from bumble.entity.folder import Entity
from bumble.index.memory import Memory
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models.embed.hashing import HashingEmbedder
from bumble.records import relationships, session_files, sessions, state
from bumble.records.base import Provenance
from bumble.records.relationships import Relationship
from bumble.records.sessions import Appraised, Message, Record, Session
from bumble.runtime import cursors
from bumble.runtime.runtime import Runtime

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)


def ada(folder: Path) -> Entity:
    return create.create(folder / "ada", NewEntity("Ada", "curious", "Sam", "Europe/Lisbon"))


def runtime_of(entity: Entity, *replies: Reply, at: datetime = NOON, **values: Any) -> Runtime:
    flags = {key.replace("__", "."): value for key, value in values.items()}
    loaded = settings.load(entity.file, flags=flags)
    assert loaded.identity is not None
    memory = Memory(
        entity,
        HashingEmbedder,
        name="Ada",
        zone=ZoneInfo("Europe/Lisbon"),
    )
    return Runtime(
        entity,
        loaded.identity,
        loaded.config,
        ScriptedModel(replies),
        memory,
        lambda: at,
        random.Random(1),
    )


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
    stored = session_files.find(entity.sessions, session_id)
    for speaker in dict.fromkeys(one.speaker for one in messages if one.speaker):
        first = next(one.id for one in messages if one.speaker == speaker)
        file = state.read(entity.state)
        write(entity, cursors.plan_heard(file, stored, [("reflect", speaker)], first, ""))
    return stored


def known(entity: Entity, name: str, text: str = "", **values: Any) -> Relationship:
    """Put somebody into the folder, with a portrait as a reflection drew it."""
    one = relationships.new(name, NOON - timedelta(days=9))
    write(entity, relationships.plan_new(one, ""))
    if text:
        values.setdefault("provenance", Provenance("reflect"))
    changed = relationships.plan_update(one, "", text=text or None, **values)
    write(entity, changed)
    return relationships.find(entity.relationships, name)
