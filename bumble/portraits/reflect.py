"""Reflection after a talk: what somebody told is quoted in their portrait, under fixed headings.

One job is one person in one conversation, from the first of their messages that waits. Where a
model may write, `bumble/jobs/` has it write the portrait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bumble.choosing import by_form
from bumble.choosing.by_form import NOTHING, Noticed, Saying, Wording
from bumble.entity.changes import Change
from bumble.episodes import remember
from bumble.portraits import portrait_update, quoted_portrait
from bumble.portraits.dialogue import Dialogue, plan_moved, read, start
from bumble.portraits.line_origins import LineSource
from bumble.portraits.portrait_update import PortraitUpdate
from bumble.records import base, relationships, state
from bumble.records.base import Provenance
from bumble.records.relationships import Relationship
from bumble.records.sessions import Message, Session
from bumble.runtime import cursors, people
from bumble.runtime.cursors import REFLECT
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, traced
from bumble.runtime.runtime import Runtime


class ReflectJob(Struct, frozen=True):
    """One person to think about, and the conversation with them."""

    session_id: str
    person: str
    wording: Wording  # how its memories are worded


def check(runtime: Runtime, only: str = "") -> Due[ReflectJob]:
    """Find the people with talks that wait for a reflection.

    Args:
        runtime: Whose people.
        only: One person, who is also due for notes or own words that wait in their file.
    """
    config = runtime.config.memory.relational
    waiting = [job for job in _waiting(runtime) if only in ("", job.person)]
    conditions = (
        Condition(
            "portraits", str(config.enabled).lower(), "memory.relational.enabled", config.enabled
        ),
        Condition("talks that wait", str(len(waiting)), "at least 1", bool(waiting)),
    )
    return Due(conditions, tuple(waiting))


def _waiting(runtime: Runtime) -> Iterator[ReflectJob]:
    for session_id, keys in cursors.waiting(state.read(runtime.entity.state)).items():
        their_cursors = keys.get(REFLECT)
        session = remember.conversation(runtime, session_id)
        if session is None or not isinstance(their_cursors, Mapping):
            continue
        wording = by_form.of_conversation(runtime, session)
        if wording is not None:
            yield from (ReflectJob(session_id, str(person), wording) for person in their_cursors)


def run(runtime: Runtime, job: ReflectJob) -> JobResult:
    """Put what somebody told into their portrait, in their words; writes nothing."""
    return replace(_quoted(runtime, job), asked=False)


def _quoted(runtime: Runtime, job: ReflectJob) -> JobResult:
    record = people.find_person(runtime, job.person)
    dialogue = read(runtime, job.session_id, job.person)
    person, wording = record or _stranger(runtime, job, dialogue.statements), job.wording
    session, noticed = dialogue.session, NOTHING
    sayings = list[Saying]()
    if session is not None:
        noticed = by_form.notices(runtime, session, dialogue.statements)
        sayings = by_form.sayings(runtime, session, dialogue.statements, noticed, wording)
    text = person.text
    if session is not None and sayings:
        listeners = [_called(runtime, session, listener) for listener in session.people]
        text = quoted_portrait.amended(person.text, person.name, sayings, listeners, wording)
    if session is None or text == person.text:
        return _nothing(runtime, job, dialogue, person, noticed)
    update = PortraitUpdate(by_form.MARK, text, True, by_form.MARK, "", (), None)
    new = by_form.origin("reflect", session, sayings, (person.id,))
    old = person.provenance
    sources = tuple(dict.fromkeys((*(old.sources if person.text else ()), *new.sources)))
    trust = base.lowest_trust(filter(None, [old.trust if person.text else "", new.trust]))
    origin = replace(new, sources=sources, trust=trust)
    given = [
        LineSource(quote.words, (session.id, *quote.ids))
        for saying in sayings
        for quote in saying.quotes
    ]
    return _outcome(runtime, job, dialogue, record, person, update, origin, given, noticed)


def _called(runtime: Runtime, session: Session, person: str) -> str:
    """Return what somebody in a conversation is called."""
    record = people.find_person(runtime, person)
    spoken_names = (
        str(message.extra["name"])
        for message in session.messages
        if message.speaker == person and message.extra.get("name")
    )
    return record.name if record else next(spoken_names, person.replace("-", " ").title())


def _stranger(runtime: Runtime, job: ReflectJob, statements: Sequence[Message]) -> Relationship:
    """Make a file for somebody who has none: it was removed by hand."""
    names = (message.extra.get("name") for message in statements)
    name = next((name for name in names if isinstance(name, str) and name), job.person)
    origin = Provenance(by="reflect", sources=(job.session_id,), audience=(job.person,))
    return relationships.new(name, runtime.now(), id=job.person, provenance=origin)


def _nothing(
    runtime: Runtime,
    job: ReflectJob,
    dialogue: Dialogue,
    person: Relationship,
    noticed: Noticed = NOTHING,
) -> JobResult:
    """Pass over a talk in which the person said nothing that is still there."""
    return JobResult(
        f"reflect: nothing new of {person.name}",
        lambda: [plan_moved(runtime, dialogue, job.person), *_noticed(dialogue, noticed)],
        (f"{person.name}: there is nothing to think about",),
        {"person": job.person, "mode": "none", "changed": False, "session": job.session_id},
    )


def _noticed(dialogue: Dialogue, noticed: Noticed) -> list[Change | None]:
    return [by_form.plan_noticed(dialogue.session, noticed)] if dialogue.session else []


def _outcome(
    runtime: Runtime,
    job: ReflectJob,
    dialogue: Dialogue,
    record: Relationship | None,
    person: Relationship,
    update: PortraitUpdate,
    origin: Provenance,
    given: Sequence[LineSource],
    noticed: Noticed,
) -> JobResult:
    message_ids, at = [message.id for message in dialogue.statements], runtime.now()

    def plan() -> JobPlan:
        now = people.find_person(runtime, job.person)
        if portrait_update.is_edited(record, now):
            edited = f"{person.name}: the portrait was edited meanwhile; it stays so, all waits"
            return JobPlan((), (edited,))
        if job.session_id and start(runtime, job.session_id, job.person) != dialogue.start:
            return JobPlan((), (f"{person.name}: somebody else has thought about it meanwhile",))
        more = {"last_reflection": at}
        change = portrait_update.plan(runtime, person, update, origin, given, more)
        moved = plan_moved(runtime, dialogue, job.person)
        return JobPlan((change, moved, *_noticed(dialogue, noticed)))

    return JobResult(
        f"reflect: see {person.name}",
        plan,
        tuple(portrait_update.lines(person, update)),
        portrait_update.data(person, update) | {"session": job.session_id},
        traced(message_ids, ""),
    )
