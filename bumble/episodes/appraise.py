"""Appraising a segment of conversation: what it did to the body, as the model or a rule says.

A stretch is what waits of one conversation, up to a pause or to the length of an episode: usually
the turn that just was, after a long time without passes a dozen turns at once, so that catching up
costs a call a dozen turns. Whatever comes of it, the cursor moves behind the stretch: a feeling
that could not be named when it was fresh is not asked for again.

An appraisal that comes late moves the body by what would be left of it: as much as is left of an
affect, which halves every 90 minutes. Later than its last trace it is noted in the transcript,
where the episode finds it, and the body stays as it is. How two stand lasts: whenever it is
appraised, what did the body good or harm moves warmth and trust toward who said it, where numbers
alone tell of them. A feeling that somebody names is theirs, and moves neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble import prompts
from bumble.body import appraisal
from bumble.body.appraisal import Appraisal
from bumble.body.circadian import seconds_between
from bumble.body.config import EMOTIONS
from bumble.body.soma import Soma
from bumble.choosing import by_form
from bumble.choosing.by_form import NOTHING, Noticed, Wording
from bumble.entity.changes import Change
from bumble.episodes import named_feelings
from bumble.errors import AnswerInvalidError, RecordInvalidError
from bumble.grounding import grounded, support
from bumble.llm import structured
from bumble.records import session_files, sessions, state
from bumble.records.base import Provenance
from bumble.records.sessions import Appraised, Message, Session
from bumble.runtime import anchor_recall, body_state, cursors, job_request, people
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import moments, stop_words, tokens, words
from bumble.text.words import one_line

KEY: cursors.Key = (cursors.APPRAISE,)
STRETCH_CHARS = 2400  # of what is appraised, as the model sees it
BEFORE_CHARS, BEFORE_MESSAGES = 500, 2  # what was said just before it
QUOTE_CHARS, LABEL_CHARS = 200, 60  # of the anchor that a charged turn makes
LEAST_CHARS = 60  # of each message, however many there are
MAX_TOKENS = 256
TEMPERATURE = 0.3
COMMON_FEELINGS = """
afraid alarmed alive angry annoyed ashamed awe awkward bored brave calm caring cheerful close cold
confident confused cozy delighted disappointed eager embarrassed empty energetic fear fond gentle
glad grateful grief guilty happy heavy hope hopeful hurt impatient inspired joy lazy light lonely
longing lost love loved moved nervous nostalgic overwhelmed peaceful playful pleased proud puzzled
quiet regret relaxed relieved sad safe scared serene shy sorry strong surprised sympathy tender
tense thankful tired torn touched uneasy unsure upset useful vulnerable warm warmth weary wistful
wonder worried
"""
# Affects are shown to everybody, so that what a person said must not become one; a feeling that
# they named may.
FEELINGS = frozenset(COMMON_FEELINGS.split()) | set(EMOTIONS)


NO_FEELINGS = frozenset({"creativity", "creative", "social", "comfort"})  # bars, not feelings
LEAST_SPOKEN_OF = 0.5  # of a trigger: "the rehearsal at the museum", where nobody spoke of one


class AppraiseJob(Struct, frozen=True):
    """A stretch of a conversation that waits to be appraised."""

    session: str
    first: str  # where the cursor stands: id of its first message, or of one that is gone
    last: str  # id of its last message


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
        if stretch := _stretch(runtime, _answered(session, cursors.messages(file, session, KEY))):
            jobs.append(AppraiseJob(session_id, first, stretch[-1].id))
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
    """Ask what a stretch did to the body; without a usable answer the body stays as it is."""
    session = session_files.load(runtime.entity.root / sessions.path(job.session))
    stretch = cursors.between(session, job.first, job.last)
    their_message = next(
        (message for message in reversed(stretch) if message.role == "user" and message.text), None
    )
    if their_message is None:
        return _passed_over(runtime, job, "nobody said anything in it")
    wording = by_form.wording(runtime, session, stretch)
    if wording is not None:
        return replace(_felt_by_form(runtime, job, session, stretch, wording), asked=False)
    try:
        assessment = _guarded(_asked(runtime, session, stretch), stretch)
    except (*NO_ANSWER, ValueError) as error:
        return _passed_over(runtime, job, str(error).splitlines()[0])
    return _felt(runtime, job, [(their_message, assessment)], stretch[-1].at, runtime.model.name)


def _felt_by_form(
    runtime: Runtime,
    job: AppraiseJob,
    session: Session,
    stretch: Sequence[Message],
    wording: Wording,
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
        and (
            assessment := named_feelings.appraisal(message, notice, wording, runtime.body.appraisal)
        )
    ]
    if not named:
        return _passed_over(runtime, job, "nobody named a feeling", noticed)
    return _felt(runtime, job, named, stretch[-1].at, "", noticed)


def _asked(runtime: Runtime, session: Session, stretch: Sequence[Message]) -> Appraisal:
    limits = runtime.body.appraisal
    soma = body_state.read(runtime, stretch[0].at)
    before = session.messages[: session.messages.index(stretch[0])]
    earlier = _render(before[-BEFORE_MESSAGES:], BEFORE_CHARS)
    slots = {
        "mood": body_state.mood(runtime, soma).name,
        "before": prompts.tagged("before", earlier) + "\n" if earlier else "",
        "conversation": prompts.harmless(_render(stretch, STRETCH_CHARS), "before", "conversation"),
        "points": f"{limits.max_points:g}",
    }
    request = job_request.request(
        runtime, "appraise", slots, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
    )
    try:
        answer = structured.answer(runtime.model, request, appraisal.schema(limits))
    except AnswerInvalidError as error:
        answer = _whole(error)
    return appraisal.parse(answer, limits)


def _whole(error: AnswerInvalidError) -> object:
    """Take an answer that only goes beyond its bounds, which are then held; not one cut off."""
    try:
        value, missing = structured.load(error.answer)
    except ValueError:
        raise error from None
    if missing:
        raise error
    return value


def _render(messages: Sequence[Message], budget_chars: int) -> str:
    """Render what was said, a line a message; long ones are cut so that all have room."""
    spoken_messages = [message for message in messages if message.text and message.role != "tool"]
    most = max(LEAST_CHARS, budget_chars // max(1, len(spoken_messages)))
    lines = []
    for message in spoken_messages:
        who = "I answered" if message.role == "assistant" else f"{_name(message)} said"
        text = one_line(message.text).replace('"', "'")
        lines.append(f'{who}: "{tokens.cut(text, most // 4)}"')
    return "\n".join(lines)


def _name(message: Message) -> str:
    return str(message.extra.get("name") or message.speaker or "somebody")


def _guarded(assessment: Appraisal, stretch: Sequence[Message]) -> Appraisal:
    """Take out names and numbers that nobody said, and affects that repeat what somebody did."""
    texts = [message.text for message in stretch]
    speaker_names = [_name(message) for message in stretch if message.role == "user"]
    imprint = assessment.imprint
    if imprint is not None:
        trigger = grounded.supported(imprint.trigger, texts, speaker_names)
        # what nobody spoke of left nothing behind: a small model takes it from the examples
        spoken_of = _spoken_of(trigger, texts, speaker_names)
        trigger = trigger if spoken_of > LEAST_SPOKEN_OF else ""
        imprint = replace(imprint, trigger=trigger) if spoken_of else None
    their_text = " ".join(message.text for message in stretch if message.role == "user")
    their_words = set(stop_words.telling_words(their_text))
    named = tuple(
        name
        for name in assessment.affects
        if name not in NO_FEELINGS and not (set(name.split("-")) - FEELINGS) & their_words
    )
    felt = grounded.supported(assessment.felt, texts, speaker_names)
    return replace(assessment, affects=named, felt=felt, imprint=imprint)


def _spoken_of(trigger: str, texts: Sequence[str], speaker_names: Sequence[str]) -> float:
    """Return which share of what a text names, persons left out, was spoken of."""
    language = words.language(trigger, *texts)
    if not support.own_words(trigger, speaker_names, language, every_word=True):
        return 0.0
    return support.share(trigger, ["\n".join(texts)], speaker_names, language, every_word=True)


def _felt(
    runtime: Runtime,
    job: AppraiseJob,
    assessments: Sequence[tuple[Message, Appraisal]],
    ended: datetime,
    model: str,
    noticed: Noticed = NOTHING,
) -> JobResult:
    """Let the body be moved by what is left of some appraisals, and note all of it."""
    at = runtime.now()
    left, why = _left(runtime, seconds_between(ended, at)), "what was said moved the body"

    def more(session: Session) -> list[Change | None]:
        lines = [_line(at, message, assessment, model) for message, assessment in assessments]
        added = (
            by_form.plan_noticed(session, noticed),
            sessions.plan_append(session, lines, "note what it did to the body"),
            _plan_bond(runtime, *assessments[-1]) if model else None,
        )

        def move(soma: Soma) -> Soma:
            for _, assessment in assessments:
                config, limits = runtime.body.soma, runtime.body.appraisal
                soma = appraisal.apply(
                    soma, assessment, config, limits, left=left, audience=session.people
                )
            return soma

        if not left:
            return [*added]
        moved = body_state.plan(runtime, at, move, why)
        soma = move(body_state.read(runtime, at))
        return [*added, moved, *_anchored(runtime, session, soma, assessments, left)]

    their_message, assessment = assessments[-1]
    points = ", ".join(f"{bar} {points:+g}" for bar, points in assessment.points.items() if points)
    effects = "; ".join(
        filter(None, [points or "nothing moved", ", ".join(assessment.affects), assessment.felt])
    )
    late = "" if left else " (too long ago to be felt now)"
    imprint = assessment.imprint
    return JobResult(
        title=f"appraise: {_name(their_message)} and {runtime.identity.name}",
        plan=_planned(runtime, job, more),
        lines=(f"{_name(their_message)} and {runtime.identity.name}: {effects}{late}",),
        data={
            "session": job.session,
            "message": their_message.id,
            "points": dict(assessment.points),
            "affects": list(assessment.affects),
            "felt": assessment.felt,
            "imprint": asdict(imprint) if imprint else None,
            "left": round(left, 4),
            "problem": None,
        },
        trailers=traced([], model) + tuple(("Evidence", message.id) for message, _ in assessments),
    )


def _plan_bond(runtime: Runtime, message: Message, assessment: Appraisal) -> Change | None:
    """Plan what an exchange changed between the entity and who spoke in it."""
    if not message.speaker:
        return None
    return people.plan_felt(runtime, message.speaker, assessment.points)


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


def _line(at: datetime, message: Message, assessment: Appraisal, model: str) -> Appraised:
    """Return the line of a transcript that says what a message did to the body."""
    imprint = assessment.imprint
    emotion = (imprint.emotion, imprint.intensity, imprint.trigger) if imprint else ("", 0.0, "")
    extra = {"model": model} if model else {"source": by_form.MARK}
    return Appraised(at, message.id, assessment.points, assessment.felt, *emotion, extra=extra)


def _left(runtime: Runtime, age_seconds: float) -> float:
    """Tell which share of an appraisal is left, in [0, 1]; 0 where no affect would be left."""
    config = runtime.body.soma.affects
    left = 0.5 ** (max(0.0, age_seconds) / 60 / config.half_life_minutes)
    return left if left >= config.forget_below else 0.0


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
