"""Turns of an entity with a scripted model, and a clock that only moves when asked."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bumble.chat import participants, turn
from bumble.chat.turn_record import Turn
from bumble.entity import settings
from bumble.entity.folder import Entity
from bumble.index.memory import Memory
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models.embed.hashing import HashingEmbedder
from bumble.records import session_files, sessions
from bumble.runtime.runtime import Runtime

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> datetime:
        self.at += timedelta(milliseconds=5)
        return self.at


def act(tool: str, **arguments: Any) -> Reply:
    return Reply(json.dumps({"actions": [{"tool": tool, "arguments": arguments}]}), purpose="chat")


def say(text: str) -> Reply:
    return act("say", text=text)


def runtime_of(
    entity: Entity, model: ScriptedModel, clock: Clock | None = None, *, writes: bool = True
) -> Runtime:
    loaded = settings.load(entity.file)
    assert loaded.identity is not None
    memory = Memory(
        entity,
        HashingEmbedder,
        name="Ada",
        zone=ZoneInfo("Europe/Lisbon"),
        syncs=writes,
        optional=True,
    )
    return Runtime(
        entity,
        loaded.identity,
        loaded.config,
        model,
        memory,
        clock or Clock(),
        random.Random(1),
        writes,
    )


def talk(runtime: Runtime, text: str, speaker: str | None = None, *, new: bool = False) -> Turn:
    """One turn, as a process of its own has it."""
    who = participants.person(runtime.entity, runtime.identity, speaker)
    session, is_new = participants.open_session(runtime, who, runtime.clock(), new=new)
    heard = participants.listen(runtime, session, is_new, who, text)
    runtime.memory.sync()
    prepared = turn.prepare(runtime, heard, who, last_spoke=None)
    return turn.answer(runtime, prepared, lambda _: None)


def stored(entity: Entity) -> sessions.Session:
    (file,) = session_files.paths(entity.sessions)
    return session_files.load(file)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }
