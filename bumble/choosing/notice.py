"""Noticing: what each message of a person is worth remembering for, decided once, ever.

Rules come first (`rules`); what they leave open goes to the model where it may choose, one label a
message (`label`), and where it isn't asked to how the rules lean. What was noticed is a line of the
transcript, so that no other job and no later process asks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bumble.choosing import corrections, hush, label, own_answer, rules
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

PURPOSE = "notice"
MESSAGES = 4  # of a job: what a killed process has to ask again, at most
MODEL, LEANS = "model", "the rules lean that way"  # who said so, where no rule decided


@dataclass(frozen=True)
class NoticeJob:
    """Messages of a conversation that nobody has noticed yet."""

    session: str
    messages: tuple[str, ...]  # their ids, oldest first


def of(
    life: Runtime, session: Session, messages: Iterable[Message]
) -> tuple[dict[str, Notice], list[Notice]]:
    """Return what is worth noticing of some messages, and which of that is new.

    Args:
        life: Whose conversation.
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
    new = list(made(life, session, messages))
    return notices | {notice.message: notice for notice in new}, new


def made(life: Runtime, session: Session, messages: Iterable[Message]) -> Iterator[Notice]:
    """Notice what some messages are worth that nobody noticed yet, one after the other.

    A request to be silent also makes a new notice of each message that it is about and that was
    not held to be confided.

    Args:
        life: Whose conversation.
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
            languages[message.speaker] = spoken.language(life, session, message.speaker)
        language = languages[message.speaker]
        yield _noticed(life, session, message, language)
        for other in hush.covered(session, message, language):
            earlier = session.notices.get(other.id)
            if earlier is not None and not earlier.confided:
                yield replace(_confided(earlier, other), at=life.now())


def _confided(notice: Notice, message: Message) -> Notice:
    """Make a notice one of something told in confidence, by what is said beside it."""
    is_weighed = notice.why in (MODEL, LEANS) and _is_long(message)
    keep, why = (True, "told in confidence") if is_weighed else (notice.keep, notice.why)
    return replace(notice, keep=keep, why=why, confided=True)


def _is_long(message: Message) -> bool:
    """Whether a message has the words that something told in confidence has."""
    return len(message.text.split()) >= rules.LEAST_CONFIDED_WORDS


def is_noticeable(message: Message) -> bool:
    """Whether a person said something with their own words."""
    return message.role == "user" and bool(message.text.strip()) and not is_untrusted(message.trust)


def _noticed(life: Runtime, session: Session, message: Message, language: str) -> Notice:
    verdict = rules.judge(message.text, language)
    question = own_answer.question(session, message, language)
    asks = life.abilities.tier("memory", language) == "choose"
    is_open = verdict.keep is None and asks and question is None
    share = label.share(life.model, message.text) if is_open else None
    keep, why = decided(verdict, share) if question is None else (True, own_answer.WHY)
    corrects: tuple[str, ...] = ()
    if verdict.corrects and keep:
        corrects = corrections.corrected(life, session, message, language, asks=asks)
    notice = Notice(
        at=life.now(),
        message=message.id,
        keep=keep,
        why=why,
        share=share,
        confided=verdict.confided,
        feelings=verdict.feelings,
        corrects=corrects,
        answers=question.id if question else "",
        extra={} if share is None else {"model": life.model.name},
    )
    is_covered = not notice.confided and hush.covers(session, message, language)
    return _confided(notice, message) if is_covered else notice


def decided(verdict: Verdict, share: float | None) -> tuple[bool, str]:
    """Return whether to keep a message, and who said so.

    Args:
        verdict: That of the rules.
        share: What a model gives the kept labels; None where none was asked.
    """
    if verdict.keep is not None:
        return verdict.keep, verdict.why
    if share is None:
        return verdict.leans, LEANS
    return share >= verdict.least_share, MODEL


def check(life: Runtime) -> Due[NoticeJob]:
    """Find messages that wait to be remembered and were not noticed yet, oldest talk first."""
    jobs: list[NoticeJob] = []
    file = state.read(life.entity.state)
    for session_id, waiting in cursors.waiting(file).items():
        place = life.entity.root / sessions.path(session_id)
        if not place.is_file():
            continue
        try:
            session = session_files.load(place)
        except RecordInvalidError:  # the other passes say so
            continue
        ids = [message.id for message in _unnoticed(life, session, _first(session, waiting))]
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


def _unnoticed(life: Runtime, session: Session, first: str | None) -> Sequence[Message]:
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
        if life.abilities.tier("memory", spoken.language(life, session, speaker)) == "write"
    }
    return [message for message in waiting if message.speaker not in writes]


def run(life: Runtime, job: NoticeJob) -> JobResult:
    """Notice what some messages are worth."""
    session = session_files.load(life.entity.root / sessions.path(job.session))
    messages = [message for message in session.messages if message.id in job.messages]
    new: list[Notice] = []
    try:
        for notice in made(life, session, messages):
            new.append(notice)  # one by one: what was asked stays, whatever becomes of the rest
    except (ModelUnreachableError, CredentialsError, WeightsMissingError):
        if not new:
            raise

    def plan() -> Sequence[Change | None]:
        now = session_files.load(life.entity.root / sessions.path(job.session))
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
