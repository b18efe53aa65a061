"""A life for tests: a newborn in a folder, a scripted model, a clock that moves when told."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from bumble.entity import settings
from bumble.entity.folder import Entity
from bumble.index.memory import Memory
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.runtime.runtime import Runtime
from tests.support.hashing import HashingEmbedder

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)


class Clock:
    """Stands still until it is told to move; a few milliseconds a look."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at

    def __call__(self) -> datetime:
        self.at += timedelta(milliseconds=5)
        return self.at

    def forward(self, **gap: float) -> None:
        self.at += timedelta(**gap)


def runtime_of(
    entity: Entity,
    model: ScriptedModel | None = None,
    clock: Callable[[], datetime] | None = None,
    flags: Mapping[str, Any] | None = None,
    *,
    writes: bool = True,
    embeds: bool = True,
) -> Runtime:
    """Wake an entity up; `flags` are settings by their dotted names."""
    loaded = settings.load(entity.file, None, {}, flags or {})
    assert loaded.identity is not None
    memory = Memory(
        entity,
        HashingEmbedder if embeds else lambda: None,
        name=loaded.identity.name,
        zone=ZoneInfo(loaded.identity.timezone),
        syncs=writes,
        optional=True,
    )
    return Runtime(
        entity,
        loaded.identity,
        loaded.config,
        model or ScriptedModel([]),
        memory,
        clock or Clock(),
        random.Random(1),
        writes,
    )


def reply(text: str, purpose: str | None = None) -> Reply:
    """An answer for calls of one purpose."""
    return Reply(text, purpose=purpose)
