"""Noticing: what each message of a person is worth remembering for, decided once, ever.

Rules come first (`rules`); what they leave open is kept if it is like what people labelled as worth
keeping, and what they would keep is dropped if it is like jokes (`examples`). Where there is no
embedder to say so, it goes to the model where it may choose, one label a message (`label`), else to
how the rules lean. What was noticed is a line of the transcript, so that no other job and no later
process asks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bumble.choosing import answers, corrections, examples, hush, label, own_answer, rules
from bumble.choosing.examples import Worth
from bumble.choosing.rules import Verdict
from bumble.entity.changes import Change
from bumble.errors import (
    CredentialsError,
    ModelUnreachableError,
    RecordInvalidError,
    WeightsMissingError,
)
from bumble.records import session_files, sessions, state
from bumble.records.notices import Notice
from bumble.records.provenance import is_untrusted
from bumble.records.sessions import Message, Session
from bumble.runtime import cursors, spoken
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime

MESSAGES = 4  # of a job: what a killed process has to ask again, at most
MODEL, LEANS = "model", "the rules lean that way"  # who said so, where no rule decided
SURE_VETOES = (rules.LAUGH, rules.IMAGINED)  # hold however like a fact a message is
FOLLOWS = "takes up what was told"  # so too, though its words alone would not keep it
# so too, by likeness
EXAMPLES, JOKE, ASKS, NOTHING = "examples", "like a joke", "asks for what was told", "like no fact"


class NoticeJob(Struct, frozen=True):
    """Messages of a conversation that nobody has noticed yet."""

    session: str
    messages: tuple[str, ...]  # their ids, oldest first


def of(
    runtime: Runtime, session: Session, messages: Iterable[Message]
) -> tuple[dict[str, Notice], list[Notice]]:
    """Return what is worth noticing of some messages, and which of that is new.

    Args:
        runtime: Whose conversation.
        session: The conversation, as it is now.
        messages: Of it; those that nobody can notice anything of are passed over.

    Returns:
        The notices by the id of their message, and those among them that the transcript has not
        yet: whoever asks appends them.

    Raises:
        ModelUnreachableError: If nothing answers.
        CredentialsError: If the service wants another key.
        WeightsMissingError: If the model is not there.
    """
    messages = list(messages)
    notices = {
        message.id: session.notices[message.id]
        for message in messages
        if message.id in session.notices
    }
    new = list(made(runtime, session, messages))
    return notices | {notice.message: notice for notice in new}, new


def made(runtime: Runtime, session: Session, messages: Iterable[Message]) -> Iterator[Notice]:
    """Notice what some messages are worth that nobody noticed yet, one after the other.

    A request to be silent also makes a new notice of each message that it is about and that was
    not held to be confided.

    Args:
        runtime: Whose conversation.
        session: The conversation, as it is now.
        messages: Of it.

    Raises:
        ModelUnreachableError: If nothing answers; what came before was noticed all the same.
        CredentialsError: If the service wants another key.
        WeightsMissingError: If the model is not there.
    """
    languages: dict[str, str] = {}
    for message in messages:
        if message.id in session.notices or not is_noticeable(message):
            continue
        if message.speaker not in languages:
            languages[message.speaker] = spoken.language(runtime, session, message.speaker)
        language = languages[message.speaker]
        yield _noticed(runtime, session, message, language)
        for other in hush.covered(session, message, language):
            earlier = session.notices.get(other.id)
            if earlier is not None and not earlier.confided:
                yield replace(_confided(earlier, other), at=runtime.now())


def _confided(notice: Notice, message: Message) -> Notice:
    """Make a notice one of something told in confidence, by what is said beside it."""
    is_weighed = notice.why in (MODEL, LEANS, EXAMPLES) and _is_long(message)
    keep, why = (True, rules.CONFIDED) if is_weighed else (notice.keep, notice.why)
    return replace(notice, keep=keep, why=why, confided=True)


def _is_long(message: Message) -> bool:
    """Whether a message has the words that something told in confidence has."""
    return len(message.text.split()) >= rules.LEAST_CONFIDED_WORDS


def is_noticeable(message: Message) -> bool:
    """Whether a person said something with their own words."""
    return message.role == "user" and bool(message.text.strip()) and not is_untrusted(message.trust)


def _noticed(runtime: Runtime, session: Session, message: Message, language: str) -> Notice:
    verdict = rules.judge(message.text, language)
    question = own_answer.question(session, message, language)
    asks = runtime.abilities.tier("memory", language) == "choose"
    opinion = _opinion(runtime, message.text, language, verdict, asks=asks and question is None)
    decision = decided(verdict, opinion)
    keep, why = (decision.keep, decision.why) if question is None else (True, own_answer.WHY)
    corrects: tuple[str, ...] = ()
    is_open = verdict.keep is None or decision.by_opinion
    if not keep and is_open and decision.why not in (ASKS, JOKE) and not verdict.questions:
        followed = corrections.followed(runtime, session, message, language)
        if followed.ids:
            keep, why, corrects = True, FOLLOWS, followed.corrects
    elif keep and not decision.confided:
        followed = corrections.followed(runtime, session, message, language)
        corrects = followed.corrects if opinion.is_perhaps_change else followed.surely
    if keep and (verdict.corrects or (opinion.is_change and not decision.confided)):
        corrects = corrections.corrected(runtime, session, message, language) or corrects
    notice = Notice(
        at=runtime.now(),
        message=message.id,
        keep=keep,
        why=why,
        share=opinion.share if decision.by_opinion else None,
        confided=decision.confided,
        feelings=verdict.feelings,
        corrects=corrects,
        answers=question.id if question else "",
        extra={"model": opinion.by} if decision.by_opinion else {},
    )
    is_covered = not notice.confided and hush.covers(session, message, language)
    return _confided(notice, message) if is_covered else notice


class Opinion(Struct, frozen=True):
    """What the examples, or a model, say of a message; nothing, where neither was asked."""

    share: float | None = None  # how likely it is worth keeping, in [0, 1]
    keeps: bool = False  # whether that is enough
    surely: bool = False  # whether it is enough against the rules
    is_joke: bool = False
    is_surely_joke: bool = False  # whatever its wording
    tells_nothing: bool = False
    is_surely_imagined: bool = False
    is_confided: bool = False
    asks: bool = False  # for what was told
    is_change: bool = False  # of what was told
    is_perhaps_change: bool = False
    why: str = ""
    by: str = ""  # name of the embedder, or of the model


class Decision(Struct, frozen=True):
    """What is held of a message."""

    keep: bool
    why: str
    confided: bool = False
    by_opinion: bool = False  # whether somebody's opinion decided


def _opinion(
    runtime: Runtime, text: str, language: str, verdict: Verdict, *, asks: bool
) -> Opinion:
    """Ask the examples, or where there are none for a language a model, if it may be asked."""
    worth = examples.worth(runtime, text, language, learns=True)
    if worth is not None:
        return of_worth(worth, verdict)
    share = label.share(runtime.model, text) if verdict.keep is None and asks else None
    if share is None:
        return Opinion()
    return Opinion(share, share >= verdict.least_share, why=MODEL, by=runtime.model.name)


def of_worth(worth: Worth, verdict: Verdict) -> Opinion:
    """Return what the examples say of a message that the rules judged."""
    asks = worth.asks(verdict, questions=verdict.questions)
    return Opinion(
        worth.share,
        worth.keeps(verdict),
        worth.surely_keeps,
        worth.is_joke(verdict),
        worth.is_surely_joke,
        worth.tells_nothing,
        worth.is_surely_imagined,
        worth.is_confided,
        asks is True and not verdict.corrects,
        worth.is_change,
        worth.is_perhaps_change,
        EXAMPLES,
        worth.embedder,
    )


def decided(verdict: Verdict, opinion: Opinion) -> Decision:
    """Return whether to keep a message, and who said so."""
    confided = verdict.confided or opinion.is_confided
    is_open, by_wording = verdict.keep is None, verdict.why == rules.TOLD
    may_jest = verdict.keep is not False and verdict.why != rules.REQUESTED
    if opinion.is_surely_joke and may_jest and (verdict.laughs or not confided):
        return Decision(False, JOKE, by_opinion=True)
    if opinion.is_confided and (is_open or by_wording):
        return Decision(True, rules.CONFIDED, confided=True, by_opinion=True)
    if verdict.confided and opinion.is_surely_imagined and not opinion.is_confided:
        return Decision(False, NOTHING, confided, by_opinion=True)  # `I'd let nobody tell me`
    if not confided and (is_open or by_wording):
        if opinion.asks:
            return Decision(False, ASKS, by_opinion=True)
        if opinion.is_joke and not verdict.corrects:
            return Decision(False, JOKE, by_opinion=True)
        is_meant = verdict.corrects and not opinion.is_surely_imagined
        if by_wording and opinion.tells_nothing and not is_meant:
            return Decision(False, NOTHING, by_opinion=True)
    if is_open and opinion.share is not None:
        return Decision(opinion.keeps, opinion.why, confided, by_opinion=True)
    if is_open:
        return Decision(verdict.leans, LEANS, confided)
    if verdict.keep is False and opinion.surely and verdict.why not in SURE_VETOES:
        return Decision(True, opinion.why, confided, by_opinion=True)
    return Decision(verdict.keep is True, verdict.why, confided)


def tells_nothing(notice: Notice) -> bool:
    """Whether a message is surely no statement: a joke, a moment, what is only imagined."""
    return not notice.keep and notice.why not in (MODEL, LEANS, EXAMPLES)


def asks(notice: Notice) -> bool:
    """Whether a message was held for a question, and nothing else."""
    return not notice.keep and notice.why in (ASKS, rules.QUESTION)


def check(runtime: Runtime) -> Due[NoticeJob]:
    """Find messages that wait to be remembered and were not noticed yet, oldest talk first."""
    jobs: list[NoticeJob] = []
    file = state.read(runtime.entity.state)
    for session_id, waiting in cursors.waiting(file).items():
        place = runtime.entity.root / sessions.path(session_id)
        if not place.is_file():
            continue
        try:
            session = session_files.load(place)
        except RecordInvalidError:  # the other passes say so
            continue
        ids = [message.id for message in _unnoticed(runtime, session, _first(session, waiting))]
        jobs += [
            NoticeJob(session_id, tuple(ids[start : start + MESSAGES]))
            for start in range(0, len(ids), MESSAGES)
        ]
    count = sum(len(job.messages) for job in jobs)
    condition = Condition("messages not noticed", str(count), "at least 1", bool(jobs))
    return Due((condition,), tuple(jobs))


def _first(session: Session, waiting: Mapping[str, object]) -> str | None:
    """Return the first message that any pass waits for."""
    ids = [
        id_
        for value in waiting.values()
        for id_ in (value.values() if isinstance(value, Mapping) else (value,))
        if isinstance(id_, str)
    ]
    order = {message.id: n for n, message in enumerate(session.messages)}
    return min(ids, key=lambda id_: order.get(id_, -1), default=None)


def _unnoticed(runtime: Runtime, session: Session, first: str | None) -> Sequence[Message]:
    """Return the answered messages from one on that nobody noticed, of whom rules decide for."""
    if first is None or not session.messages:
        return ()
    answering = {message.id for message in session.unanswered}  # another process may be at it
    waiting = [
        message
        for message in cursors.between(session, first, session.messages[-1].id)
        if is_noticeable(message)
        and message.id not in session.notices
        and message.id not in answering
    ]
    speakers = {message.speaker for message in waiting}
    writes = {
        speaker
        for speaker in speakers
        if runtime.abilities.tier("memory", spoken.language(runtime, session, speaker)) == "write"
    }
    return [message for message in waiting if message.speaker not in writes]


def run(runtime: Runtime, job: NoticeJob) -> JobResult:
    """Notice what some messages are worth."""
    session = session_files.load(runtime.entity.root / sessions.path(job.session))
    messages = [message for message in session.messages if message.id in job.messages]
    new: list[Notice] = []
    try:
        answers.prepare(runtime)
        for notice in made(runtime, session, messages):
            new.append(notice)  # one by one: what was asked stays, whatever becomes of the rest
    except (ModelUnreachableError, CredentialsError, WeightsMissingError):
        if not new:
            raise

    def plan() -> Sequence[Change | None]:
        now = session_files.load(runtime.entity.root / sessions.path(job.session))
        left = [notice for notice in new if _is_news(now, notice)]
        return [sessions.plan_append(now, left, "note what is worth keeping")] if left else ()

    kept = sum(notice.keep for notice in new)
    return JobResult(
        title=f"notice: {kept} of {len(new)} messages are worth keeping",
        plan=plan,
        lines=(f"{kept} of {len(new)} messages are worth keeping",),
        data={
            "session": job.session,
            "messages": {notice.message: _shown(notice) for notice in new},
        },
        trailers=tuple(("Evidence", notice.message) for notice in new),
        asked=any(notice.share is not None for notice in new),
    )


def _is_news(session: Session, notice: Notice) -> bool:
    """Whether a conversation has no such notice, or holds for open what was confided."""
    there = session.notices.get(notice.message)
    return there is None or (notice.confided and not there.confided)


def _shown(notice: Notice) -> dict[str, object]:
    return {"keep": notice.keep, "why": notice.why, "share": notice.share}
