"""What is made of a stretch of talk: by one request to a model, or in quotes; one change set.

A stretch is over by a pause, a change of topic, its length or the end of the conversation. Then
one answer tells what it did to the body, what is remembered, known and believed of it, and how its
people are seen; each sentence is held to its sources, each part kept by itself. Where no model may
write, the answer is made of quotes (`quoted`). The cursors `appraise`, `remember`, `reflect` and
`distill` move together.

An answer that can't be used is asked for again; after a few tries the stretch is passed over, and
what was said stands as an excerpt. An imported conversation is learnt from when it is asked for by
name: what is known and believed of it, no episode and no portrait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from bumble.entity.changes import Change
from bumble.errors import AnswerInvalidError
from bumble.fallback import notices, sayings
from bumble.jobs import ask, gates, memories, quoted, scene
from bumble.jobs.answer import StretchAnswer
from bumble.jobs.ask import Draft, Dropped
from bumble.jobs.episodes import remember
from bumble.jobs.episodes.remember import RememberJob
from bumble.jobs.facts.extract_window import split_windows
from bumble.jobs.memories import Memories
from bumble.jobs.portraits import portrait_update
from bumble.jobs.scene import Scene
from bumble.records import session_files, sessions, state
from bumble.records.mapping_files import MappingFile
from bumble.records.sessions import Distilled, Message, Session
from bumble.runtime import cursors
from bumble.runtime.cursors import APPRAISE, DISTILL, REFLECT, REMEMBER
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, traced
from bumble.runtime.runtime import Runtime

NAME = ask.PURPOSE
TRIES = 3  # unusable answers after which a stretch is passed over
TRIED = "stretch"  # section of state.yaml: {ses_…: {first: msg_…, failed: 2}}
ALL = (APPRAISE, REMEMBER, DISTILL)


class StretchJob(RememberJob, frozen=True):
    """A stretch of a conversation of which nothing was made yet.

    What closed it is empty where it was asked for while it goes on.
    """


def check(
    runtime: Runtime,
    session_id: str | None = None,
    *,
    force: bool = False,
    gated: bool = False,
    person: str = "",
) -> Due[StretchJob]:
    """Find the stretches that are over, the oldest first; asks no model.

    Args:
        runtime: Whose conversations.
        session_id: One conversation alone; an imported one is found by no other way.
        force: Whether those count too that still go on.
        gated: Whether those do of which enough was said (`gates`); that is told, too.
        person: Only conversations in which somebody takes part.
    """
    file = state.read(runtime.entity.state)
    names = [session_id] if session_id else list(cursors.waiting(file))
    jobs: list[StretchJob] = []
    open_count, told = 0, list[Condition]()
    for name in names:
        session = remember.conversation(runtime, name)
        if session is None or (person and person not in session.people):
            continue
        for job in _cut(runtime, file, session):
            if gated and not (job.closed or force):
                told = [*gates.conditions(runtime, session, job.messages)]
                job = replace(job, closed=gates.ENOUGH if all(e.passes for e in told) else "")
            if job.closed or force:
                jobs.append(job)
            else:
                open_count += 1
    found = remember.due(jobs, open_count)
    return found if jobs else Due((*found.conditions, *told), ())


def _cut(runtime: Runtime, file: MappingFile, session: Session) -> list[StretchJob]:
    """Cut what waits of a conversation into stretches."""
    if session.imported is not None:
        return _imported(runtime, session)
    waiting = _waiting(file, session)
    if not any(message.role == "user" for message in waiting):
        return []
    return [
        StretchJob(session.id, each.messages, each.closed)
        for each in remember.cut(runtime, session, waiting)
    ]


def _waiting(file: MappingFile, session: Session) -> Sequence[Message]:
    """Return what waits for any of the passes, that of the one that is furthest behind."""
    people = file.get(cursors.SECTION, session.id, REFLECT, default={})
    keys: list[cursors.Key] = [(name,) for name in ALL]
    keys += [(REFLECT, str(name)) for name in (people if isinstance(people, Mapping) else {})]
    waits = [cursors.messages(file, session, key) for key in keys]
    longest = max(waits, key=lambda messages: len(messages), default=())
    open_ends = {message.id for message in session.unanswered}  # another process may be at them
    return list(takewhile(lambda each: each.id not in open_ends, longest))


def _imported(runtime: Runtime, session: Session) -> list[StretchJob]:
    """Cut what was not learnt from yet of an imported conversation."""
    ids = [message.id for message in session.messages]
    start = ids.index(session.distilled) + 1 if session.distilled in ids else 0
    budget = runtime.config.memory.distillation.context_char_budget
    entity, zone = runtime.identity.name, runtime.zone
    windows = split_windows(session, session.messages[start:], {}, entity, zone, budget)
    return [StretchJob(session.id, window.messages, "imported") for window in windows]


def up_to(runtime: Runtime, session_id: str, message_id: str) -> StretchJob | None:
    """Return the stretch that waits before a message is out of sight, with it; None: none does."""
    session = session_files.find(runtime.entity.sessions, session_id)
    ids = [message.id for message in session.messages]
    before = set(ids[: ids.index(message_id) + 1]) if message_id in ids else set()
    for job in _cut(runtime, state.read(runtime.entity.state), session):
        messages = tuple(message for message in job.messages if message.id in before)
        if messages:
            return replace(job, messages=messages)
    return None


def run(runtime: Runtime, job: StretchJob, *, allow_shrink: bool = False) -> JobResult:
    """Ask what a stretch comes to, and hold the answer to what was said; writes no file.

    Args:
        runtime: Whose conversation.
        job: The stretch.
        allow_shrink: Whether a portrait may lose more than `portrait.MOST_LOSS`.

    Raises:
        ModelUnreachableError: If no model answers; likewise what else stands in its way.
    """
    session = session_files.load(runtime.entity.root / sessions.path(job.session_id))
    shown = scene.gather(runtime, session, job.messages)
    due = _due(runtime, session, job)
    if not shown.labels:
        return _result(runtime, job, shown, Draft(StretchAnswer()), Memories(runtime.now()), due)
    wording = sayings.of_conversation(runtime, session)
    try:
        draft = quoted.draw(runtime, shown, wording) if wording else ask.draw(runtime, shown)
    except AnswerInvalidError as error:
        return _failed(runtime, job, shown, due, error)
    off = set() if runtime.config.memory.distillation.enabled else {DISTILL}
    made = memories.of(runtime, shown, job, draft, due - off, allow_shrink=allow_shrink)
    if made.passed_over:
        remember.note_passed_over(runtime, job, made.passed_over)
    return _result(runtime, job, shown, draft, made, due)


def _due(runtime: Runtime, session: Session, job: StretchJob) -> set[str]:
    """Return the names of the cursors that wait in a stretch."""
    if session.imported is not None:
        return {DISTILL}
    file = state.read(runtime.entity.state)
    ids = {message.id for message in job.messages}
    keys = _keys(file, session.id)
    waiting = {
        key: {message.id for message in cursors.messages(file, session, key)} for key in keys
    }
    return {key[0] for key, there in waiting.items() if there & ids}


def _keys(file: MappingFile, session_id: str) -> list[cursors.Key]:
    """Return the cursors of a conversation."""
    there = file.get(cursors.SECTION, session_id, default={})
    people = there.get(REFLECT, {})
    keys: list[cursors.Key] = [(name,) for name in ALL if name in there]
    return [*keys, *((REFLECT, str(name)) for name in people if isinstance(people, Mapping))]


def _result(
    runtime: Runtime,
    job: StretchJob,
    shown: Scene,
    draft: Draft,
    made: Memories,
    due: set[str],
) -> JobResult:
    def plan() -> JobPlan:
        moved = _plan_moved(runtime, job, shown, draft.dropped, due)
        if moved is None:
            return JobPlan((), ("somebody else has dealt with it meanwhile",))
        stored = memories.plan(runtime, shown, made)
        noted = notices.plan_noticed(shown.session, draft.noticed)
        return replace(stored, changes=(*moved, noted, *stored.changes))

    asked = bool(shown.labels) and draft.wording is None
    people = " and ".join(shown.window.speakers) or shown.session.id
    return JobResult(
        title=f"{NAME}: {_title(made) or people}",
        plan=plan,
        lines=tuple(_lines(job, shown, draft, made)),
        data=_data(job, draft, made),
        trailers=traced([job.session_id], runtime.model.name if asked else ""),
        record=made.episode.id if made.episode else "",
        asked=asked,
    )


def _title(made: Memories) -> str:
    episode = made.episode
    return "" if episode is None else episode.text.partition("\n")[0].lstrip("#> ")[:80]


def _plan_moved(
    runtime: Runtime, job: StretchJob, shown: Scene, dropped: Sequence[Dropped], due: set[str]
) -> list[Change | None] | None:
    """Plan to move all cursors behind a stretch; None if another process was faster."""
    file = state.read(runtime.entity.state)
    session = session_files.load(runtime.entity.root / sessions.path(job.session_id))
    why = f"{len(job.messages)} messages were dealt with"
    last = job.messages[-1]
    values, gone = ask.refused_values(file, dropped, last.at)
    tried = file.get(TRIED, default={})
    if session.id in tried:
        gone.append((TRIED, session.id) if len(tried) > 1 else (TRIED,))
    file, before = _without(file, gone)
    if session.imported is not None:
        if session.distilled and not cursors.is_behind(session, last.id, session.distilled):
            return None
        reached = sessions.plan_append(session, [Distilled(runtime.now(), last.id)], why)
        noted = state.plan_write(file, values, why) if values else None
        return [_joined(before, noted), reached]
    if not _due(runtime, session, job) >= due:
        return None
    moves = [(key, last.id) for key in _keys(file, session.id)]
    return [_joined(before, cursors.plan_moved(file, session, moves, values, why))]


def _without(file: MappingFile, keys: Sequence[Sequence[str]]) -> tuple[MappingFile, Change | None]:
    """Take keys out of the state: the file as it then is, and the change."""
    cleared = state.plan_write(file, {}, "", remove=keys) if keys else None
    if cleared is None or cleared.data is None:
        return file, None
    return state.parse(cleared.data.decode()), cleared


def _joined(first: Change | None, second: Change | None) -> Change | None:
    """Make one change of two that follow each other on one file."""
    if first is None or second is None:
        return first or second
    return Change(second.path, second.why, second.data, first.read)


def _failed(
    runtime: Runtime, job: StretchJob, shown: Scene, due: set[str], error: AnswerInvalidError
) -> JobResult:
    """Count an unusable answer; after a few the stretch is passed over, and quoted."""
    file = state.read(runtime.entity.state)
    marked = file.get(TRIED, job.session_id, default={})
    first, why = job.messages[0].id, str(error).splitlines()[0]
    failed = 1 + (int(marked.get("failed", 0)) if marked.get("first") == first else 0)
    if failed >= TRIES:
        made = memories.of(runtime, shown, job, Draft(StretchAnswer()), due & {REMEMBER})
        passed = _result(runtime, job, shown, Draft(StretchAnswer()), made, due)
        return replace(passed, lines=(f"Passed over after {failed} tries: {why}", *passed.lines))

    def counted() -> list[Change | None]:
        values = {TRIED: {job.session_id: {"first": first, "failed": failed}}}
        now = state.read(runtime.entity.state)
        return [state.plan_write(now, values, "an answer could not be used")]

    return JobResult(
        f"{NAME}: no usable answer for {job.session_id}",
        counted,
        (f"Nothing was made of it: {why}", f"  try {failed} of {TRIES}; it waits for another"),
        {"session": job.session_id, "failed": failed, "why": why},
        ran=False,
        in_vain=True,
    )


# what is told of it


def _lines(job: StretchJob, shown: Scene, draft: Draft, made: Memories) -> list[str]:
    """Say in lines for a person what was made of a stretch."""
    stored = made.stored
    facts = sum(item.kind == "knowledge" for item in stored.items)
    notes = sum(item.kind == "relational" for item in stored.items)
    counts = [(facts, "fact"), (len(stored.claims), "belief"), (notes, "note")]
    listed = ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)
    lines = [f"Of {len(job.messages)} messages: {listed}; {len(draft.dropped)} dropped."]
    if made.episode is not None:
        kind = made.episode.summary_source
        lines.append(f"Remembered {made.episode.id}{f' ({kind})' if kind else ''}: {_title(made)}")
    elif made.passed_over:
        lines.append(f"Not remembered: {made.passed_over}")
    for person, update in made.portraits:
        lines += portrait_update.lines(person, update)
    lines += [f"  dropped: {each.why}: {each.text}" for each in draft.dropped]
    return lines


def _data(job: StretchJob, draft: Draft, made: Memories) -> dict[str, Any]:
    """Return the same for JSON."""
    stored = made.stored
    return {
        "session": job.session_id,
        "messages": len(job.messages),
        "closed_by": job.closed or None,
        "episode": made.episode.id if made.episode else None,
        "summary_source": (made.episode.summary_source or None) if made.episode else None,
        "why": made.passed_over or None,
        "felt": made.felt[1].felt if made.felt else "",
        "points": dict(made.felt[1].points) if made.felt else {},
        "kept": [
            {"kind": item.kind, "title": item.title, "text": item.text} for item in stored.items
        ]
        + [{"kind": "belief", "title": "", "text": claim.text} for claim in stored.claims],
        "portraits": [portrait_update.data(*each) for each in made.portraits],
        "dropped": [{"text": each.text, "reason": each.why} for each in draft.dropped],
        "mended": draft.mended,
    }
