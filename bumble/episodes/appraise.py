"""Appraising a stretch of conversation: what it did to the body, as a rule says.

A stretch is what waits of one conversation, up to a pause or to the length of an episode: usually
the turn that just was. Where a model may write, `bumble/jobs/` asks it, and moves the body by the
same functions. Whatever comes of it, the cursor moves behind the stretch.

An appraisal that comes late moves the body by what would be left of it: as much as is left of an
affect, which halves every 90 minutes. Later than its last trace it is noted in the transcript,
where the episode finds it, and the body stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble.body import affects, appraisal
from bumble.body.appraisal import Appraisal
from bumble.body.circadian import seconds_between
from bumble.body.soma import Soma
from bumble.choosing import by_form
from bumble.choosing.by_form import NOTHING, Noticed, Wording
from bumble.entity.changes import Change
from bumble.episodes import named_feelings
from bumble.errors import RecordInvalidError
from bumble.records import session_files, sessions, state
from bumble.records.base import Provenance
from bumble.records.sessions import Appraised, Message, Session
from bumble.runtime import anchor_recall, body_state, cursors
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import moments, words

KEY: cursors.Key = (cursors.APPRAISE,)
QUOTE_CHARS, LABEL_CHARS = 200, 60  # of the anchor that a charged turn makes


class AppraiseJob(Struct, frozen=True):
    """A stretch of a conversation that waits to be appraised."""

    session: str
    first: str  # where the cursor stands: id of its first message, or of one that is gone
    last: str  # id of its last message
    wording: Wording  # how its memories are worded


def check(runtime: Runtime) -> Due[AppraiseJob]:
    """Find what waits to be appraised: one stretch of each conversation, the oldest first."""
    jobs, broken = [], 0
    file = state.read(runtime.entity.state)
    for session_id in cursors.waiting(file):
        first = cursors.first(file, session_id, KEY)
        place = runtime.entity.root / sessions.path(session_id)
        if first is None or not place.is_file():
            continue
        try:
            session = session_files.load(place)
        except RecordInvalidError:  # the others need not wait until it is mended
            broken += 1
            continue
        wording = by_form.of_conversation(runtime, session)
        if wording is None:
            continue
        if stretch := _stretch(runtime, _answered(session, cursors.messages(file, session, KEY))):
            jobs.append(AppraiseJob(session_id, first, stretch[-1].id, wording))
    unread = f"; {broken} can't be read, see `bumble doctor`" if broken else ""
    condition = Condition("conversations waiting", f"{len(jobs)}{unread}", "at least 1", bool(jobs))
    return Due((condition,), tuple(jobs))


def _answered(session: Session, waiting: Sequence[Message]) -> list[Message]:
    """Leave out what nobody replied to yet: another process may be at it."""
    open_ends = {message.id for message in session.unanswered}
    return list(takewhile(lambda message: message.id not in open_ends, waiting))


def _stretch(runtime: Runtime, waiting: Sequence[Message]) -> list[Message]:
    """Take turns from the beginning, up to a pause or to the length of an episode."""
    pause = timedelta(minutes=runtime.config.memory.episode_pause_minutes)
    stretch: list[Message] = []
    turns = 0
    for message in waiting:
        if message.role == "user":
            if stretch and moments.gap(stretch[-1].at, message.at) > pause:
                break
            if turns == runtime.config.memory.episode_max_turns:
                break
            turns += 1
        stretch.append(message)
    return stretch


def run(runtime: Runtime, job: AppraiseJob) -> JobResult:
    """Let the body be moved by the feelings that people named in a stretch."""
    session = session_files.load(runtime.entity.root / sessions.path(job.session))
    stretch = cursors.between(session, job.first, job.last)
    their_message = next(
        (message for message in reversed(stretch) if message.role == "user" and message.text), None
    )
    if their_message is None:
        return _passed_over(runtime, job, "nobody said anything in it")
    return replace(_felt_by_form(runtime, job, session, stretch), asked=False)


def _felt_by_form(
    runtime: Runtime,
    job: AppraiseJob,
    session: Session,
    stretch: Sequence[Message],
) -> JobResult:
    """Let the body be moved by the feelings that people named; nothing else is known of any."""
    try:
        noticed = by_form.notices(runtime, session, stretch)
    except NO_ANSWER as error:
        return _passed_over(runtime, job, str(error).splitlines()[0])
    named = [
        (message, assessment)
        for message in stretch
        if (notice := noticed.of.get(message.id)) is not None
        and (assessment := named_feelings.appraisal(message, notice, job.wording))
    ]
    if not named:
        return _passed_over(runtime, job, "nobody named a feeling", noticed)
    return _felt(runtime, job, named, stretch[-1].at, noticed)


def _name(message: Message) -> str:
    return str(message.extra.get("name") or message.speaker or "somebody")


def _felt(
    runtime: Runtime,
    job: AppraiseJob,
    assessments: Sequence[tuple[Message, Appraisal]],
    ended: datetime,
    noticed: Noticed,
) -> JobResult:
    """Let the body be moved by what is left of some appraisals, and note all of it."""
    at = runtime.now()

    def more(session: Session) -> list[Change | None]:
        moved = plan_felt(runtime, session, assessments, ended, at)
        return [by_form.plan_noticed(session, noticed), *moved]

    their_message, assessment = assessments[-1]
    left = _left(seconds_between(ended, at))
    late = "" if left else " (too long ago to be felt now)"
    return JobResult(
        title=f"appraise: {_name(their_message)} and {runtime.identity.name}",
        plan=_planned(runtime, job, more),
        lines=(f"{_name(their_message)} and {runtime.identity.name}: {effects(assessment)}{late}",),
        data={
            "session": job.session,
            "message": their_message.id,
            **data(assessment),
            "left": round(left, 4),
            "problem": None,
        },
        trailers=traced([], "") + tuple(("Evidence", message.id) for message, _ in assessments),
    )


def effects(assessment: Appraisal) -> str:
    """Say in a line what an appraisal does."""
    points = ", ".join(f"{bar} {points:+g}" for bar, points in assessment.points.items() if points)
    parts = [points or "nothing moved", ", ".join(assessment.affects), assessment.felt]
    return "; ".join(filter(None, parts))


def data(assessment: Appraisal) -> dict[str, object]:
    """Return the same for JSON."""
    imprint = assessment.imprint
    return {
        "points": dict(assessment.points),
        "affects": list(assessment.affects),
        "felt": assessment.felt,
        "imprint": asdict(imprint) if imprint else None,
    }


def plan_felt(
    runtime: Runtime,
    session: Session,
    assessments: Sequence[tuple[Message, Appraisal]],
    ended: datetime,
    at: datetime,
    model: str = "",
) -> list[Change | None]:
    """Plan to note some appraisals in the transcript, and to let what is left of them be felt.

    Args:
        runtime: Whose body.
        session: The conversation as it is now.
        assessments: Each with the message that it is noted beside.
        ended: When the talk that they are of was over.
        at: The present.
        model: What made them; empty: a rule.
    """
    left = _left(seconds_between(ended, at))
    lines = [line(at, message, assessment, model) for message, assessment in assessments]
    noted = sessions.plan_append(session, lines, "note what it did to the body")

    def move(soma: Soma) -> Soma:
        for _, assessment in assessments:
            soma = appraisal.apply(soma, assessment, left=left, audience=session.people)
        return soma

    if not left:
        return [noted]
    moved = body_state.plan(runtime, at, move, "what was said moved the body")
    soma = move(body_state.read(runtime, at))
    return [noted, moved, *_anchored(runtime, session, soma, assessments, left)]


def _anchored(
    runtime: Runtime,
    session: Session,
    soma: Soma,
    assessments: Sequence[tuple[Message, Appraisal]],
    left: float,
) -> list[Change | None]:
    """Plan the anchor of a charged turn: its words are those that were said, never a model's."""
    charged = [(each.imprint, message) for message, each in assessments if each.imprint]
    if not charged:
        return []
    imprint, message = max(charged, key=lambda pair: pair[0].intensity)
    origin = Provenance(
        by=cursors.APPRAISE,
        sources=(message.id,),
        trust=message.trust,
        audience=session.people,
    )
    quote = f'{_name(message)}: "{words.shorten(message.text, QUOTE_CHARS)}"'
    label = words.shorten(imprint.trigger, LABEL_CHARS)
    strength = imprint.intensity * left
    return anchor_recall.plan_charged(runtime, soma, label, quote, strength, origin)


def line(at: datetime, message: Message, assessment: Appraisal, model: str) -> Appraised:
    """Return the line of a transcript that says what a message did to the body."""
    imprint = assessment.imprint
    emotion = (imprint.emotion, imprint.intensity, imprint.trigger) if imprint else ("", 0.0, "")
    extra = {"model": model} if model else {"source": by_form.MARK}
    return Appraised(at, message.id, assessment.points, assessment.felt, *emotion, extra=extra)


def _left(age_seconds: float) -> float:
    """Tell which share of an appraisal is left, in [0, 1]; 0 where no affect would be left."""
    left: float = 0.5 ** (max(0.0, age_seconds) / 60 / affects.HALF_LIFE_MINUTES)
    return left if left >= affects.FORGET_BELOW else 0.0


def _passed_over(
    runtime: Runtime, job: AppraiseJob, problem: str, noticed: Noticed = NOTHING
) -> JobResult:
    """Go on without an appraisal: the body stays as it is."""
    return JobResult(
        title="appraise: nothing to feel",
        plan=_planned(runtime, job, lambda session: [by_form.plan_noticed(session, noticed)]),
        lines=(f"Not appraised, the body stays as it is: {problem}",),
        data={"session": job.session, "message": None, "problem": problem},
    )


def _planned(
    runtime: Runtime, job: AppraiseJob, more: Callable[[Session], Sequence[Change | None]]
) -> Callable[[], Sequence[Change | None]]:
    """Plan to move the cursor, and more with it; nothing if another process was faster."""

    def plan() -> Sequence[Change | None]:
        file = state.read(runtime.entity.state)
        if cursors.first(file, job.session, KEY) != job.first:
            return ()
        session = session_files.load(runtime.entity.root / sessions.path(job.session))
        why = "it was seen what this did to the body"
        return (cursors.plan_moved(file, session, [(KEY, job.last)], {}, why), *more(session))

    return plan
