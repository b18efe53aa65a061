"""Conversations whose messages were noticed, for an entity whose model may not write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import ScriptedModel
from bumble.models.tiers import Abilities
from bumble.records import sessions, state
from bumble.records.sessions import Message, Notice, Record, Session
from bumble.runtime.job import JobResult, Pass, apply
from bumble.runtime.runtime import Runtime
from tests.support.lives import Clock, runtime_of

SORRY = "I am sorry, Zelda told me about the yacht."  # what the entity says: nothing is true of it


class SilentModel(ScriptedModel):
    """A model that may not be asked."""

    def __init__(self) -> None:
        super().__init__([])

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        raise AssertionError(f"the model was asked: {request.purpose}")


class Line(Struct, frozen=True):
    """What somebody said, and what is noticed of it."""

    name: str
    text: str
    keep: bool = True
    confided: bool = False
    heavy: int = 0
    corrects: tuple[str, ...] = ()
    trust: str = ""
    why: str = "tell"
    noticed: bool = True  # False: nobody has looked at it yet


def by_form(entity: Entity, at: datetime) -> Runtime:
    """Wake an entity up whose model is not trusted to write, nor asked."""
    runtime = runtime_of(entity, SilentModel(), Clock(at))
    return replace(runtime, abilities=lambda: Abilities(unmeasured="none"))


def message_id(session_id: str, n: int) -> str:
    return f"msg_{session_id[4:]}{n}"


def talked(
    entity: Entity,
    session_id: str,
    at: datetime,
    lines: Sequence[Line],
    present: tuple[str, ...] = (),
) -> Session:
    """Write a conversation that waits for every pass, a minute a line."""
    session = sessions.new(session_id, at, lines[0].name.casefold(), present)
    records: list[Record] = []
    for n, line in enumerate(lines):
        own_id, moment = message_id(session_id, n), at + timedelta(minutes=n)
        trust = line.trust or ("owner" if line.name == "Sam" else "person")
        speaker, extra = line.name.casefold(), {"name": line.name}
        said = Message(own_id, moment, "user", line.text, speaker, trust=trust, extra=extra)
        reply_at = moment + timedelta(seconds=9)
        reply = Message(f"{own_id}r", reply_at, "assistant", SORRY, trust="entity")
        noticed = Notice(
            reply_at,
            own_id,
            line.keep,
            line.why,
            confided=line.confided,
            heavy=line.heavy,
            corrects=line.corrects,
        )
        records += [said, reply, *([noticed] if line.noticed else [])]
    file = state.read(entity.state)
    planned = [
        sessions.plan_start(session, ""),
        sessions.plan_append(session, records, ""),
        state.plan_heard(file, session, message_id(session_id, 0), ""),
    ]
    changes.apply(entity.root, ChangeSet("", tuple(filter(None, planned))))
    return sessions.appended(session, records)


def all_of(runtime: Runtime, kind: Pass) -> list[JobResult]:
    """Run every job of a pass that is due."""
    outcomes = []
    for job in kind.check(runtime).jobs:
        outcome = kind.run(runtime, job)
        apply(runtime, outcome)
        outcomes.append(outcome)
    return outcomes
