"""An entity with a past, at night."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.jobs import dream
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import episodes, sessions
from bumble.records.base import Provenance
from bumble.runtime import job
from bumble.runtime.job import JobResult
from bumble.runtime.runtime import Runtime
from tests.support import lives, newborns

LISBON = ZoneInfo("Europe/Lisbon")
NIGHT = datetime(2026, 5, 24, 3, 12, 47, tzinfo=LISBON)
TEXTS = (
    "Sam and I planted tomatoes behind the shed.",
    "A storm took the power, and we talked about whales.",
    "Sam cried because his brother left for Norway.",
    "We argued whether zero is a number.",
    "Sam baked bread that would not rise.",
    "I learnt what a fugue is.",
)
IMAGES = (
    "i plant whales behind the shed",
    "the bread hums a fugue",
    "zero leaves for the north",
)


def dreamt(
    *fragments: str, thread: str = "what will not rise is what leaves", title: str = ""
) -> str:
    """Answer with a dream, by default of some images."""
    return json.dumps({"fragments": fragments or IMAGES, "thread": thread, "title": title})


DREAM = dreamt()
WROTE = Reply(DREAM, purpose="dream", always=True)
ON: dict[str, Any] = {"soma.dreams.enabled": True}


def newborn(folder: Path) -> Entity:
    """Ada, who belongs to Sam and lives in Lisbon."""
    return newborns.ada(folder)


def runtime_of(
    entity: Entity,
    replies: list[Reply] | ScriptedModel | None = None,
    at: datetime = NIGHT,
    *,
    overrides: Mapping[str, Any] | None = None,
    seed: int = 1,
    embeds: bool = True,
) -> Runtime:
    """One process in the entity's runtime, at a fixed time."""
    model = replies if isinstance(replies, ScriptedModel) else ScriptedModel(replies or [])
    runtime = lives.runtime_of(entity, model, flags=overrides, embeds=embeds)
    return replace(runtime, clock=lambda: at, rng=random.Random(seed))


def remember(
    entity: Entity,
    number: int,
    text: str,
    days_ago: float,
    *,
    significance: float = 0.6,
    audience: tuple[str, ...] = ("sam",),
    **origin: Any,
) -> str:
    """Put an episode into the folder."""
    at = NIGHT - timedelta(days=days_ago)
    origin.setdefault("by", "remember")
    origin.setdefault("trust", "owner")
    made = episodes.new(
        f"ep_{number:02}",
        at,
        significance,
        text,
        people=audience,
        provenance=Provenance(audience=audience, **origin),
    )
    changes.apply(entity.root, ChangeSet("", (episodes.EPISODE.plan_new(made, ""),)))
    return made.id


def lived(entity: Entity) -> list[str]:
    """Give the entity six days of memories, two days apart."""
    return [remember(entity, n, text, 13 - 2 * n) for n, text in enumerate(TEXTS, 1)]


def spoken(entity: Entity, at: datetime, text: str = "Good night.") -> None:
    """Have the owner say something."""
    session = sessions.new(f"ses_{at:%d%H%M}", at, "sam")
    said = sessions.Message(f"msg_{at:%d%H%M}", at, "user", text, "sam", trust="owner")
    planned = (sessions.plan_start(session, ""), sessions.plan_append(session, [said], ""))
    changes.apply(entity.root, ChangeSet("", planned))


def truth(folder: Path) -> dict[str, bytes]:
    """Return all files but the derived ones."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".bumble", "memory.db"} & set(path.relative_to(folder).parts)
    }


def dreamer(folder: Path) -> Entity:
    """Return Ada with memories to dream of."""
    return newborns.copy(_dreamer, folder / "ada")


def _dreamer(root: Path) -> Entity:
    entity = newborn(root)
    lived(entity)
    return entity


def night(
    entity: Entity,
    at: datetime = NIGHT,
    reply: Reply = WROTE,
    *,
    force: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> JobResult:
    """Dream once, if it is due, and write it."""
    runtime = runtime_of(entity, [reply], at, overrides=ON | dict(settings or {}))
    found = dream.check(runtime, force=force)
    assert found.due, [one for one in found.conditions if not one.passes]
    outcome = dream.run(runtime, found.jobs[0])
    job.apply(runtime, outcome)
    return outcome
