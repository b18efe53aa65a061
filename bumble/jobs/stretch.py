"""What is made of a stretch of talk: by one request to a model, or in quotes; one change set.

A stretch is over by a pause, a change of topic, its length or the end of the conversation. Then
one answer tells what it did to the body, what is remembered, known and believed of it, and how its
people are seen; each sentence is held to its sources, each part kept by itself. Where no model may
write, the answer is made of quotes, which a model only names.

An answer that can't be used is asked for again; after a few tries the stretch is passed over, and
what was said stands as an excerpt. An imported conversation is
learnt from when it is asked for by name: what is known and believed of it, no episode and no
portrait. What leaves the view of a long talk is dealt with before it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import count, takewhile
from typing import Any

from msgspec.structs import replace

from bumble.entity import approvals
from bumble.entity.changes import Change
from bumble.errors import AnswerInvalidError
from bumble.fallback import notices, sayings
from bumble.jobs import ask, episode, memories, portrait, scene
from bumble.records import base, session_files, sessions, state
from bumble.records.base import MappingFile
from bumble.runtime import body_state, review_queue
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, Pass, settle, traced, vain
from bumble.runtime.runtime import Runtime
from bumble.text import moments, words

URGENCY_FROM = 0.6  # emotional intensity from which fewer turns are enough
LEFT = timedelta(days=1)  # so long another clone has time to propose what comes of its talks
ENOUGH = "enough was said"  # what closes a stretch that goes on
QUOTED = "quoted"  # and what was closed once, with no more than quotes made of it


def conditions(
    runtime: Runtime, session: sessions.Session, waiting: Sequence[sessions.Message]
) -> tuple[Condition, ...]:
    """Return what has to hold before a stretch that goes on is dealt with."""
    config, now = runtime.config.memory.distillation, runtime.now()
    new, depth = _turns(waiting), _depth(runtime, session, config.min_turns_absolute)
    intensity = body_state.read(runtime, now).intensity
    # how many new turns are enough when so much is felt
    share = max(0.0, intensity - URGENCY_FROM) / (1 - URGENCY_FROM)
    enough = max(1, math.ceil(config.min_turns / (1 + share * (config.soma_urgency_divisor - 1))))
    seconds = moments.gap(waiting[0].at if waiting else now, now).total_seconds()
    return (
        Condition("enabled", "yes" if config.enabled else "no", "yes", config.enabled),
        Condition("new turns", f"{new} in {session.id}", "at least 1", new >= 1),
        Condition(
            "time or turns",
            f"{seconds:.0f} s, {new} turns",
            f"at least {config.cycle_seconds:g} s or {enough} turns",
            seconds >= config.cycle_seconds or new >= enough,
        ),
        Condition(
            "depth",
            f"{depth} turns",
            f"at least {config.min_turns_absolute}",
            depth >= config.min_turns_absolute,
        ),
        Condition(
            "urgency",
            f"{intensity:.2f} felt, so {enough} turns are enough",
            f"fewer than {config.min_turns} above {URGENCY_FROM:g}",
            True,
        ),
    )


def _depth(runtime: Runtime, session: sessions.Session, least: int) -> int:
    """Count the turns the entity has heard: of this conversation, then of others until enough."""
    depth = _turns(session.messages)
    for talk in session_files.talks(reversed(session_files.paths(runtime.entity.sessions))):
        if depth >= least:
            break
        depth += _turns(talk.messages) if talk.id != session.id else 0
    return depth


def _turns(messages: Sequence[sessions.Message]) -> int:
    return sum(message.role == "user" for message in messages)


NAME = ask.PURPOSE
TRIES = 3  # answers in vain after which a stretch is passed over


def check(
    runtime: Runtime,
    session_id: str | None = None,
    *,
    force: bool = False,
    gated: bool = False,
    person: str = "",
) -> Due[scene.StretchJob]:
    """Find the stretches that are over, the oldest first; asks no model.

    Args:
        runtime: Whose conversations.
        session_id: One conversation alone; an imported one is found by no other way.
        force: Whether those count too that still go on.
        gated: Whether those do of which enough was said (`gates`); that is told, too.
        person: Only conversations in which somebody takes part.
    """
    file = state.read(runtime.entity.state)
    names = [session_id] if session_id else list(state.waiting(file))
    jobs: list[scene.StretchJob] = []
    open_count, left, told = 0, 0, list[Condition]()
    for name in names:
        session = episode.conversation(runtime, name)
        if session is None or (person and person not in session.people):
            continue
        if not (session_id or force) and _is_left(runtime, session):
            left += 1
            continue
        for job in _cut(runtime, file, session):
            if gated and not (job.closed or force):
                told = [*conditions(runtime, session, job.messages)]
                job = replace(job, closed=ENOUGH if all(e.passes for e in told) else "")
            if job.closed or force:
                jobs.append(job)
            else:
                open_count += 1
    jobs.sort(key=lambda job: (job.messages[0].at, job.session_id))
    value = f"{len(jobs)} over, {open_count} going on"
    value += f", {left} of another clone" if left else ""
    quoted = [*_quoted(runtime, file, person)] if not jobs and not session_id else []
    value += f", {len(quoted)} only quoted" if quoted else ""
    jobs += quoted
    over = Condition("stretches of conversation", value, "one that is over", bool(jobs))
    return Due((over,) if jobs else (over, *told), tuple(jobs))


def _quoted(runtime: Runtime, file: MappingFile, person: str) -> Iterator[scene.StretchJob]:
    """Yield what was only quoted, and can be read now by a model that writes."""
    ends = state.quoted(file)
    if not ends or not sayings.writes(runtime).passes:
        return
    for name, (first, last) in ends.items():
        session = episode.conversation(runtime, name)
        if session is None or (person and person not in session.people):
            continue
        told = tuple(map(state.own_words, state.between(session, first, last)))
        if told and sayings.wording(runtime, session, told) is None:
            for cut in scene.stretches(runtime, session, told):
                yield replace(cut, closed=QUOTED)


def _is_left(runtime: Runtime, session: sessions.Session) -> bool:
    """Whether a talk is left to the clone that heard it, for its owner to read what is proposed."""
    is_held = not review_queue.cycles_of(f"{NAME}: ").isdisjoint(runtime.config.git.review)
    return (
        is_held
        and moments.gap(session.last_at, runtime.now()) < LEFT
        and approvals.is_from_elsewhere(runtime.entity.root, sessions.path(session.id))
    )


def _cut(runtime: Runtime, file: MappingFile, session: sessions.Session) -> list[scene.StretchJob]:
    """Cut what waits of a conversation into stretches."""
    if session.imported is not None:
        # cut what was not learnt from yet of an imported conversation
        ids = [message.id for message in session.messages]
        start = ids.index(session.distilled) + 1 if session.distilled in ids else 0
        replaced = session.replaced
        settled = [each for each in session.messages[start:] if each.id not in replaced]
        budget = runtime.config.memory.distillation.context_char_budget
        groups = scene.by_size(scene.turns_of(settled), budget)
        return [scene.StretchJob(session.id, messages, "imported") for messages in groups]
    open_ends = {message.id for message in session.unanswered}
    # up to the first turn without an answer: another process may be at it
    waits = list(
        takewhile(lambda one: one.id not in open_ends, state.waiting_messages(file, session))
    )
    if not any(message.role == "user" for message in waits):
        return []
    return scene.stretches(runtime, session, waits)


def run(runtime: Runtime, job: scene.StretchJob, *, allow_shrink: bool = False) -> JobResult:
    """Ask what a stretch comes to, and hold the answer to what was said; writes no file.

    Args:
        runtime: Whose conversation.
        job: The stretch.
        allow_shrink: Whether a portrait may lose more than `portrait.MOST_LOSS`.

    Raises:
        ModelUnreachableError: If no model answers; likewise what else stands in its way.
    """
    session = session_files.load(runtime.entity.root / sessions.path(job.session_id))
    # by the whole conversation, so that each part of it is decided alike
    wording = sayings.wording(runtime, session, session.messages)
    told = job.messages if wording else tuple(scene.with_passed_on(session, job.messages))
    shown = scene.gather(runtime, session, told)
    if not shown.speakers:
        return _result(runtime, job, shown, ask.Draft(), memories.Memories(runtime.now()))
    try:
        draft = ask.draw_quotes(runtime, shown, wording) if wording else ask.draw(runtime, shown)
    except AnswerInvalidError as error:
        return _failed(runtime, job, shown, error)
    parts = memories.EVERYTHING if session.imported is None else {memories.FACTS}
    if job.closed == QUOTED:  # of before: it moves nobody, and no newer portrait gives way to it
        drawn_of = (base.told_at(one.provenance) for one in shown.portraits.values())
        is_older = any(at is not None and at > job.messages[-1].at for at in drawn_of)
        parts -= {memories.FELT, memories.PORTRAITS} if is_older else {memories.FELT}
    off = set() if runtime.config.memory.distillation.enabled else {memories.FACTS}
    made = memories.of(runtime, shown, job, draft, parts - off, allow_shrink=allow_shrink)
    if made.passed_over:
        episode.note_passed_over(runtime, job, made.passed_over)
    return _result(runtime, job, shown, draft, made)


def _result(
    runtime: Runtime,
    job: scene.StretchJob,
    shown: scene.Scene,
    draft: ask.Draft,
    made: memories.Memories,
) -> JobResult:
    def plan() -> JobPlan:
        moved = _plan_moved(runtime, job, is_quoted=draft.wording is not None)
        if moved is None:
            return JobPlan((), ("somebody else has dealt with it meanwhile",))
        stored = memories.plan(runtime, shown, made)
        noted = notices.plan_noticed(shown.session, draft.noticed)
        return replace(stored, changes=(*moved, noted, *stored.changes))

    is_named = made.episode is not None and bool(made.episode.provenance.model)
    asked = bool(shown.speakers) and (draft.wording is None or is_named)
    people = " and ".join(shown.speakers) or shown.session.id
    # say in lines for a person what was made of a stretch
    counts = ((len(made.facts), "fact"), (len(made.claims), "belief"), (len(made.notes), "note"))
    listed = ", ".join(words.counted(n, word) for n, word in counts)
    said = words.counted(len(job.messages), "message")
    lines = [f"Of {said}: {listed}; {len(draft.dropped)} dropped."]
    if made.episode is not None:
        kind = made.episode.summary_source
        lines.append(f"Remembered {made.episode.id}{f' ({kind})' if kind else ''}: {_title(made)}")
    elif made.passed_over:
        lines.append(f"Not remembered: {made.passed_over}")
    for person, update in made.portraits:
        lines += portrait.told(person, update)
    inferred = (one for fact in draft.answer.knowledge for one in fact.sentences if one.inference)
    lines += [f"  believed, not known: {one.text}" for one in inferred]
    lines += [f"  dropped: {each.why}: {each.text}" for each in draft.dropped]
    return JobResult(
        title=f"{NAME}: {_title(made) or people}",
        plan=plan,
        lines=tuple(lines),
        data=_data(job, draft, made),
        trailers=traced([job.session_id], runtime.model.name if asked else ""),
        record=made.episode.id if made.episode else "",
        asked=asked,
        marks=tuple(portrait.mark(runtime, one) for one, update in made.portraits if update.good),
        vain=tuple(ask.mark(each.text) for each in draft.dropped),
    )


def _title(made: memories.Memories) -> str:
    text = "" if made.episode is None else made.episode.text
    return text.partition("\n")[0].lstrip("#> ")[:80]


def _plan_moved(
    runtime: Runtime, job: scene.StretchJob, *, is_quoted: bool
) -> list[Change | None] | None:
    """Plan to move the cursor behind a stretch; None if another process was faster."""
    file = state.read(runtime.entity.state)
    session = session_files.load(runtime.entity.root / sessions.path(job.session_id))
    why = f"{len(job.messages)} messages were dealt with"
    last, ids = job.messages[-1], {message.id for message in job.messages}
    if session.imported is not None:
        if session.distilled and not state.is_behind(session, last.id, session.distilled):
            return None
        reached = sessions.plan_append(session, [sessions.Distilled(runtime.now(), last.id)], why)
        return [reached]
    if job.closed == QUOTED:
        again = state.plan_read_again(file, session, last.id, why)
        return [again] if again else None
    if not any(message.id in ids for message in state.waiting_messages(file, session)):
        return None
    return [state.plan_cursor_moved(file, session, last.id, why, is_quoted=is_quoted)]


def _failed(
    runtime: Runtime, job: scene.StretchJob, shown: scene.Scene, error: AnswerInvalidError
) -> JobResult:
    """Count an unusable answer; after a few the stretch is passed over, and quoted."""
    failed, why = 1 + vain(runtime).count(job.marks[0]), str(error).splitlines()[0]
    if failed >= TRIES:
        is_new = shown.session.imported is None and job.closed != QUOTED
        parts = {memories.EPISODE} if is_new else set()
        made = memories.of(runtime, shown, job, ask.Draft(), parts)
        passed = _result(runtime, job, shown, ask.Draft(), made)
        return replace(passed, lines=(f"Passed over after {failed} tries: {why}", *passed.lines))

    return JobResult(
        f"{NAME}: no usable answer for {job.session_id}",
        tuple,
        (f"Nothing was made of it: {why}", f"  try {failed} of {TRIES}; it waits for another"),
        {"session": job.session_id, "failed": failed, "why": why},
        ran=False,
        vain=job.marks,
    )


# what is told of it


def _data(job: scene.StretchJob, draft: ask.Draft, made: memories.Memories) -> dict[str, Any]:
    """Return the same for JSON."""
    kept = [("knowledge", one.title, one.text) for one in made.facts]
    kept += [("relational", "", one.text) for one in made.notes]
    kept += [("belief", "", one.text) for one in made.claims]
    return {
        "session": job.session_id,
        "messages": len(job.messages),
        "closed_by": job.closed or None,
        "episode": made.episode.id if made.episode else None,
        "summary_source": (made.episode.summary_source or None) if made.episode else None,
        "why": made.passed_over or None,
        "felt": made.felt[1].felt if made.felt else "",
        "points": dict(made.felt[1].points) if made.felt else {},
        "kept": [dict(zip(("kind", "title", "text"), one, strict=True)) for one in kept],
        "portraits": [portrait.update_data(*each) for each in made.portraits],
        "dropped": [{"text": each.text, "reason": each.why} for each in draft.dropped],
        "mended": draft.mended,
    }


# before a compaction


Listener = Callable[[str], None]


def leaving(runtime: Runtime, compaction: JobResult) -> scene.StretchJob | None:
    """Return the next window that is to be distilled before a compaction is written.

    Args:
        runtime: Whose conversation.
        compaction: What `compact.run` made; not yet written.
    """
    config = runtime.config.cognition.history_compression
    left = compaction.summarised
    if not (config.compaction_flush_to_knowledge and left):
        return None
    # the stretch that waits before a message is out of sight, with it; None: none does
    session = session_files.find(runtime.entity.sessions, left.session)
    ids = [message.id for message in session.messages]
    before = set(ids[: ids.index(left.last) + 1]) if left.last in ids else set()
    for job in _cut(runtime, state.read(runtime.entity.state), session):
        messages = tuple(message for message in job.messages if message.id in before)
        if messages:
            return replace(job, messages=messages)
    return None


def flush(
    runtime: Runtime, compaction: JobResult, limit: int | None, note: Listener = lambda _: None
) -> JobResult:
    """Distill what leaves the view, each window written at once; a failure is told, no more.

    Args:
        runtime: Whose conversation.
        compaction: What is to be written next.
        limit: At most so many windows, the oldest first; None: all.
        note: Hears what is going on.

    Returns:
        The compaction, with what was drawn told beside it.
    """
    part = count(1)

    def waiting(runtime: Runtime) -> Due[scene.StretchJob]:
        window = leaving(runtime, compaction)
        return Due((), () if window is None else (window,))

    def distilled(runtime: Runtime, window: scene.StretchJob) -> JobResult:
        note(f"distilling what leaves the view, part {next(part)}")
        return run(runtime, window)

    # A window that fails waits for another try, and so does what follows it.
    settled_windows = list(settle(runtime, [Pass("distill", waiting, distilled)], limit))
    results = [settled.outcome for settled in settled_windows if settled.outcome is not None]
    problems = [settled.problem for settled in settled_windows if settled.problem is not None]
    lines = [line for result in results for line in result.lines]
    lines += [f"Nothing was distilled: {str(problem).splitlines()[0]}" for problem in problems]
    if any(result.ran for result in results):
        runtime.memory.sync()  # so that the next answer can make use of it
    data = {**compaction.data, "flush": [result.report for result in results]}
    return replace(compaction, lines=(*compaction.lines, *lines), data=data)
