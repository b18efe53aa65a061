"""Reflection after a talk: when it is due, and whether a portrait is amended or rewritten.

One job is one person in one conversation, from the first of their messages that waits. A calm talk
amends the portrait by a few edits; a charged one, or a first one, writes it anew. What the model
made of it has to rest on what the person said. Where nothing usable remains, the old portrait stays
and the person's own words are put below it. Pending notes go only with a reflection that worked.
Where no model is trusted to write, what was told is quoted under fixed headings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import ebb
from bumble.choosing import by_form
from bumble.choosing.by_form import NOTHING, Noticed, Saying, Wording
from bumble.entity.changes import Change
from bumble.portraits import amend, line_origins, portrait, portrait_update, quoted_portrait
from bumble.portraits.amend import LineEdit
from bumble.portraits.dialogue import NOBODY_SPOKE, Dialogue, plan_moved, read, silence, start
from bumble.portraits.line_origins import LineSource
from bumble.portraits.portrait import Material
from bumble.portraits.portrait_update import PortraitDraft, PortraitUpdate
from bumble.records import base, relationships, sessions, state
from bumble.records.base import Provenance
from bumble.records.relationships import PendingNote, Relationship
from bumble.records.sessions import Message, Session
from bumble.runtime import body_state, cursors, people
from bumble.runtime.cursors import REFLECT
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import moments

LONG_WORDS = 220  # a longer portrait is written anew, shorter


class ReflectJob(Struct, frozen=True):
    """One person to think about, and the conversation with them."""

    session_id: str  # empty: only what waits in the person's own file
    person: str


def check(runtime: Runtime, only: str = "") -> Due[ReflectJob]:
    """Find the people with talks that wait for a reflection.

    Args:
        runtime: Whose people.
        only: One person, who is also due for notes or own words that wait in their file.
    """
    config = runtime.config.memory.relational
    waiting = [job for job in _waiting(runtime) if only in ("", job.person)]
    if only and not waiting and _has_more(runtime, only):
        waiting = [ReflectJob("", only)]
    gap = timedelta(seconds=config.reflection_min_gap_seconds)
    ages = {job.person: _since_last(runtime, job.person) for job in waiting}
    ready = [
        job
        for job in waiting
        if (age := ages[job.person]) is None
        or age >= gap
        or by_form.of_person(runtime, job.person) is not None  # which costs nothing, however often
    ]
    youngest = min((age for age in ages.values() if age is not None), default=None)
    ago = "nobody waits" if not waiting else "never yet"
    if youngest is not None:
        ago = f"{youngest.total_seconds():.0f} s ago"
    conditions = (
        Condition(
            "portraits", str(config.enabled).lower(), "memory.relational.enabled", config.enabled
        ),
        Condition("talks that wait", str(len(waiting)), "at least 1", bool(waiting)),
        Condition(
            "last reflection",
            ago,
            f"at least {gap.total_seconds():.0f} s ago",
            bool(ready) or not waiting,
        ),
    )
    return Due(conditions, tuple(ready))


def _waiting(runtime: Runtime) -> Iterator[ReflectJob]:
    for session_id, keys in cursors.waiting(state.read(runtime.entity.state)).items():
        their_cursors = keys.get(REFLECT)
        if (
            isinstance(their_cursors, Mapping)
            and (runtime.entity.root / sessions.path(session_id)).exists()
        ):
            yield from (ReflectJob(session_id, str(person)) for person in their_cursors)


def _has_more(runtime: Runtime, person: str) -> bool:
    record = people.find_person(runtime, person)
    return record is not None and bool(
        portrait_update.notes(record) or portrait.split(record.text)[1]
    )


def _since_last(runtime: Runtime, person: str) -> timedelta | None:
    record = people.find_person(runtime, person)
    last = record.last_reflection if record else None
    return None if last is None else moments.gap(last, runtime.now())


def run(runtime: Runtime, job: ReflectJob, *, allow_shrink: bool = False) -> JobResult:
    """Think about one person; ask the model, write nothing.

    Args:
        runtime: Whose portrait.
        job: Who, and which conversation.
        allow_shrink: Whether a portrait may lose more than `max_loss_ratio`.

    Raises:
        ModelUnreachableError: If no model answers; the talk waits.
    """
    record = people.find_person(runtime, job.person)
    dialogue = NOBODY_SPOKE
    if job.session_id:
        dialogue = read(runtime, job.session_id, job.person)
    person = record or _stranger(runtime, job, dialogue.statements)
    notes = portrait_update.notes(person)[: runtime.config.memory.relational.pending_in_prompt]
    prose, quotes = portrait.split(person.text)
    if not dialogue.statements and not notes and not quotes:
        return _nothing(runtime, job, dialogue, person)
    if dialogue.session is None:
        wording = by_form.of_person(runtime, job.person)
    else:
        wording = by_form.wording(runtime, dialogue.session, dialogue.statements)
    if wording is not None:
        return replace(_by_form(runtime, job, dialogue, record, person, wording), asked=False)
    material = _material(runtime, person, dialogue, notes)
    mode = _mode(runtime, prose, dialogue)
    update = portrait_update.draw(
        runtime,
        person,
        material,
        mode,
        _asking(runtime, mode, material, person, _slots(runtime, person, dialogue, notes)),
        portrait.quoted(dialogue.statements, runtime.zone),
        allow_shrink=allow_shrink,
    )
    message_ids = [message.id for message in dialogue.statements]
    trusts = [message.trust for message in dialogue.statements] + [
        note.provenance.trust for note in notes
    ]
    sources = (job.session_id, *message_ids) if message_ids else ()
    origin = portrait_update.origin(runtime, "reflect", person, update, sources, trusts)
    given = [
        *line_origins.of_messages(job.session_id, dialogue.statements),
        *(LineSource(note.text, note.provenance.sources) for note in notes),
    ]
    return _outcome(runtime, job, dialogue, record, person, notes, update, origin, given)


def _by_form(
    runtime: Runtime,
    job: ReflectJob,
    dialogue: Dialogue,
    record: Relationship | None,
    person: Relationship,
    wording: Wording,
) -> JobResult:
    """Put what somebody told into their portrait, in their words; what else waits goes on so."""
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
    return _outcome(runtime, job, dialogue, record, person, (), update, origin, given, noticed)


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


def _mode(runtime: Runtime, prose: str, dialogue: Dialogue) -> str:
    """Amend after a calm talk.

    The appraisals of its messages tell, else what the body feels. Not its mood: one is nearly
    always there, at .4 or more.
    """
    felt = dialogue.session.appraisals if dialogue.session else {}
    levels = [felt[message.id].intensity for message in dialogue.statements if message.id in felt]
    if not levels:
        levels = [affect.intensity for affect in body_state.read(runtime, runtime.now()).affects]
    intensity = max(levels, default=0.0)
    calm = intensity < runtime.config.memory.relational.amendment_mode_threshold
    return "amend" if prose and calm and len(prose.split()) <= LONG_WORDS else "rewrite"


def _material(
    runtime: Runtime, person: Relationship, dialogue: Dialogue, notes: Sequence[PendingNote]
) -> Material:
    prose, quotes = portrait.split(person.text)
    moments = [message.at.astimezone(runtime.zone) for message in dialogue.statements]
    return Material(
        entity=runtime.identity.name,
        person=person.name,
        names=(person.id, *person.names),
        statements=(*(message.text for message in dialogue.statements), *quotes),
        answered=tuple(answer.text for answer in dialogue.answers),
        sources=(prose, *(note.text for note in notes), *portrait.days(moments)),
    )


def _slots(
    runtime: Runtime, person: Relationship, dialogue: Dialogue, notes: Sequence[PendingNote]
) -> dict[str, str]:
    quotes = portrait.split(person.text)[1]
    return {
        "person": person.name,
        "notes": portrait.inside("\n".join(f"- {note.text}" for note in notes)),
        "talk": portrait.inside("\n".join((*quotes, *filter(None, [dialogue.text])))),
        "felt": _felt(runtime, person, dialogue),
    }


def _felt(runtime: Runtime, person: Relationship, dialogue: Dialogue) -> str:
    """Say how it felt, how the body is, and how long the two had not spoken."""
    lines = [ebb.reflection_line(body_state.read(runtime, runtime.now()), runtime.body.soma)]
    felt = dialogue.session.appraisals if dialogue.session else {}
    feelings = [
        felt[message.id].felt
        for message in dialogue.statements
        if message.id in felt and felt[message.id].felt
    ]
    lines += [f"It felt like this: {portrait.inside(text)}" for text in feelings[-2:]]
    gap = silence(person, dialogue)
    if gap is not None:
        lines.append(f"Before this you had not spoken for about {people.ago(gap)}.")
    return "\n".join(lines)


def _asking(
    runtime: Runtime,
    mode: str,
    material: Material,
    person: Relationship,
    slots: Mapping[str, str],
) -> Callable[[str], PortraitDraft]:
    def rewrite(prose: str) -> PortraitDraft:
        all_slots = {"portrait": portrait.inside(prose), **slots}
        answer = _ask(runtime, "reflect", all_slots, portrait.prose(material.person))
        remainder = portrait.checked(portrait.lines(answer), material)
        return PortraitDraft(remainder.text or None, remainder.dropped)

    def amended(prose: str) -> PortraitDraft:
        numbered = "\n".join(f"{n}: {line}" for n, line in enumerate(amend.numbered(prose), 1))
        all_slots = {"portrait": portrait.inside(numbered), **slots}
        answer = _ask(runtime, "amend", all_slots, portrait.EDITS)
        return _edited(runtime, prose, answer, material, person)

    return amended if mode == "amend" else rewrite


def _edited(
    runtime: Runtime,
    prose: str,
    answer: Mapping[str, Any],
    material: Material,
    person: Relationship,
) -> PortraitDraft:
    """Apply the edits that rest on what was said; none at all is a good answer too.

    What would replace a line of a person's own goes below it: who sees both can tell.
    """
    config = runtime.config.memory.relational
    edits, dropped = list[LineEdit](), list[str]()
    own = {
        number
        for number, line in enumerate(amend.numbered(prose), 1)
        if not person.origin_of(line).by
    }
    for raw_edit in answer["edits"]:
        remainder = portrait.checked([raw_edit["text"]], material)
        dropped += remainder.dropped
        edit = LineEdit(raw_edit["op"], raw_edit["line"], remainder.text)
        if remainder.text:
            edits.append(replace(edit, op="insert") if edit.line in own else edit)
    most = amend.limit(prose, config.amendment_max_share, config.amendment_max_lines)
    amendment = amend.apply(prose, edits, most)
    refused = [(edit, why) for edit, why in amendment.refused if why != amend.THERE_ALREADY]
    dropped += [f"{edit.text} ({why})" for edit, why in refused]
    usable = bool(amendment.applied) or not dropped
    return PortraitDraft(amendment.text if usable else None, tuple(dropped))


def _ask(
    runtime: Runtime, purpose: str, slots: Mapping[str, str], schema: Mapping[str, Any]
) -> Any:
    config = runtime.config.memory.relational
    return portrait.ask(
        runtime,
        purpose,
        slots,
        schema,
        max_tokens=config.reflection_max_tokens,
        temperature=config.reflection_temperature,
    )


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
    notes: Sequence[PendingNote],
    update: PortraitUpdate,
    origin: Provenance,
    given: Sequence[LineSource],
    noticed: Noticed = NOTHING,
) -> JobResult:
    message_ids, at = [message.id for message in dialogue.statements], runtime.now()

    def plan() -> JobPlan:
        now = people.find_person(runtime, job.person)
        if portrait_update.is_edited(record, now):
            edited = f"{person.name}: the portrait was edited meanwhile; it stays so, all waits"
            return JobPlan((), (edited,))
        if job.session_id and start(runtime, job.session_id, job.person) != dialogue.start:
            return JobPlan((), (f"{person.name}: somebody else has thought about it meanwhile",))
        more: dict[str, Any] = {}
        if update.good:
            left = tuple(note for note in (now or person).pending if note not in notes)
            more = {"pending": left, "last_reflection": at}
        change = portrait_update.plan(runtime, person, update, origin, given, more)
        moved = plan_moved(runtime, dialogue, job.person)
        return JobPlan((change, moved, *_noticed(dialogue, noticed)))

    return JobResult(
        f"reflect: {'see' if update.good else 'keep the words of'} {person.name}",
        plan,
        tuple(portrait_update.lines(person, update)),
        portrait_update.data(person, update) | {"session": job.session_id},
        traced(message_ids, origin.model if update.good else ""),
    )
