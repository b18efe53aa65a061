"""What each message of a person is: read once, kept as a line of its conversation.

The reader says what a message is (`models/embed/reader.py`); here that becomes whether it is kept,
told in confidence, and which earlier message it puts right. A confidence in doubt is one. A request
to be silent that tells nothing itself is about what its speaker said beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.entity.changes import Change
from bumble.fallback import due_time, templates
from bumble.guard import corrections
from bumble.models.embed.protocol import Embedder
from bumble.models.embed.reader import MessageReading
from bumble.records import reminders, sessions
from bumble.records.provenance import is_untrusted
from bumble.runtime.runtime import Runtime
from bumble.text import moments, stop_words, words

NEAR = timedelta(minutes=15)  # between a message and what it may take up
HUSHED = timedelta(minutes=5)  # between a request to be silent and what it is about
IN_DOUBT = -1.0  # how far below its cut-off a confidence still counts as one
SHORT = 8  # words of a request to be silent that is about something said before
MOST_BEFORE = 2  # messages after which nobody says who they are any more, but tells of others
ELSEWHERE = 12  # messages of other conversations that may be put right
LEAST_NEAR = 0.25  # calibrated similarity from which a message may be meant
TIED = 0.5  # how much nearer a message is by a value that another one takes the place of
FAR = -5.0  # how far below its cut-off a message surely puts nothing right
# How much it says that another value is given for what was told, and from where that is enough:
# of 71 corrections 61 are, of 32 that look like one and aren't 14.
BY_VALUE, REPLACES = 4.0, 1.0
SURE = 2.0  # how far above its cut-off a correction is sure
CORRECTS = 3  # ids at most that are told
QUESTIONS = frozenset(
    {"ask_memory", "ask_entity", "ask_world", "pry", "task", "remind", "ask_name", "ask_known"}
    | {"ask_talk", "ask_time", "calculate", "ask_reminders", "cancel", "move", "forget"}
)
IDLE = frozenset({"joke", "imagine", "greet", "leave"})


# What a message is that says when, of what was wished for before it.
ANSWER = MessageReading(scores={"remind": 1.0})


class Wish(Struct, frozen=True):
    """A wish for a reminder that was answered just before a message."""

    message: sessions.Message
    reminder: reminders.Reminder | None  # what was set; None: its time was asked for


class Noticed(Struct, frozen=True):
    """What some messages are."""

    of: Mapping[str, sessions.Notice] = field(default_factory=dict)  # by message id
    new: tuple[sessions.Notice, ...] = ()  # lines that the transcript lacks


NOTHING = Noticed()


def notices(
    runtime: Runtime, session: sessions.Session, messages: Iterable[sessions.Message]
) -> Noticed:
    """Return what some messages of a conversation are, read now where that wasn't done yet."""
    messages = list(messages)
    there = {each.id: session.notices[each.id] for each in messages if each.id in session.notices}
    if runtime.memory.reader is None:
        return Noticed(there)
    new: dict[str, sessions.Notice] = {}
    for message in messages:
        if message.id in there or not is_noticeable(message):
            continue
        reading = read(runtime, session, message)
        new[message.id] = _notice(runtime, session, message, reading, there | new)
        for other in _hushed(session, message, reading):
            known = new.get(other.id) or session.notices.get(other.id)
            if known is None:
                later = read(runtime, session, other)
                known = _notice(runtime, session, other, later, there | new)
            new[other.id] = replace(known, confided=True, at=runtime.now())
    return Noticed(there | new, tuple(new.values()))


def plan_noticed(session: sessions.Session, noticed: Noticed) -> Change | None:
    """Plan to note in the transcript what was read just now."""
    new = [each for each in noticed.new if session.notices.get(each.message) != each]
    return sessions.plan_append(session, new, "note what was said") if new else None


def read(runtime: Runtime, session: sessions.Session, message: sessions.Message) -> MessageReading:
    """Read a message, beside what the same person said just before it.

    What only says when to remind them of what they wished for just before is nothing else.
    Without a reader nothing is known of it.
    """
    reader = runtime.memory.reader
    if reader is None:
        return MessageReading()
    before = previous(session, message)
    # behind a correction stands another of the same thing
    while before and (further := previous(session, before)):
        if reader.read(before.text, further.text).main != "correct":
            break
        before = further
    begins = message in _own(session, message)[: MOST_BEFORE + 1]
    reading = reader.read(message.text, before.text if before else "", begins=begins)
    named = wish(runtime, session, message)
    if named and _names_time(message, reading, named):
        parts = {part: reader.read(part) for part in words.sentences(named.message.text)}
        asks = max(parts, key=lambda part: parts[part].scores.get("remind", FAR))
        return replace(ANSWER, what=parts[asks].what or asks)
    return reading


def says_when(reading: MessageReading) -> bool:
    """Whether a message only says when to remind somebody of what they wished for before."""
    return reading.scores == ANSWER.scores


def wish(runtime: Runtime, session: sessions.Session, message: sessions.Message) -> Wish | None:
    """Return the wish for a reminder that was answered just before a message; None: none was."""
    place = [each.id for each in session.messages].index(message.id)
    *_, told, reply = (None, None, *session.messages[:place])
    if told is None or reply is None or (told.role, reply.role) != ("user", "assistant"):
        return None
    if told.speaker != message.speaker:
        return None
    for reminder in reminders.REMINDER.readable(runtime.entity.reminders):
        if told.id in reminder.provenance.sources and not reminder.done:
            return Wish(told, reminder)
    for wordings in map(templates.load, templates.languages()):
        if reply.text == wordings.when:
            return Wish(told, None)
        before, behind = wordings.no_reminder.format(what="\n", at="").split("\n")
        if reply.text.startswith(before):
            what = reply.text.removeprefix(before).rpartition(behind.rstrip())[0]
            return Wish(replace(told, text=what), None)
    return None


def _names_time(message: sessions.Message, reading: MessageReading, named: Wish) -> bool:
    """Whether a message names the time of a wish, and has no purpose of its own.

    Of a reminder that is set it says another, as who puts something right does.
    """
    text = message.text
    language = words.language(named.message.text, text)
    is_time = due_time.is_all(text, language)
    # who tells something that is worth keeping, not a time alone, answers no "when?"
    if reading.keep > 0 and not is_time:
        return False
    is_wish = reading.scores.get("remind", FAR) >= SURE
    own = reading.what if named.reminder else text.replace(reading.when, " ", 1)
    has_purpose = is_wish or bool(reading.what and not named.reminder)
    if (has_purpose and not is_time) and {*stop_words.telling_words(own)} - {
        *stop_words.telling_words(named.message.text)
    }:
        return False
    if named.reminder and not (reading.main in ("correct", "remind") or reading.has("move")):
        return False
    at = due_time.time_of(text, text, language, message.at)
    return at is not None or bool(reading.when and not (named.reminder or is_wish))


def previous(session: sessions.Session, message: sessions.Message) -> sessions.Message | None:
    """Return what the same person said last before a message, shortly before it."""
    own = _own(session, message)
    place = next((n for n, each in enumerate(own) if each.id == message.id), 0)
    if place == 0 or moments.gap(own[place - 1].at, message.at) > NEAR:
        return None
    return own[place - 1]


def is_noticeable(message: sessions.Message) -> bool:
    """Whether a person said something with their own words."""
    return message.role == "user" and bool(message.text.strip()) and not is_untrusted(message.trust)


def is_idle(notice: sessions.Notice) -> bool:
    """Whether a message surely tells nothing: a joke, a greeting, what is only imagined.

    Who wants to be reminded of something tells when it is; who wants something done, of what.
    """
    return not notice.keep and notice.why in (IDLE | QUESTIONS) - {"remind", "task", "calculate"}


def _notice(
    runtime: Runtime,
    session: sessions.Session,
    message: sessions.Message,
    reading: MessageReading,
    known: Mapping[str, sessions.Notice],
) -> sessions.Notice:
    keep = reading.keep > 0 or reading.has("remember")
    score = reading.scores.get("correct", FAR)
    # it may put something right: it looks so, or it tells something anew
    may_correct = reading.main != "confide" and (score >= SURE or (keep and score > FAR))
    corrects = corrected(runtime, session, message, reading, known) if may_correct else ()
    return sessions.Notice(
        at=runtime.now(),
        message=message.id,
        keep=keep or bool(corrects),  # what was worth keeping still is, once it is put right
        why=reading.main,
        share=1 / (1 + math.exp(-max(-20.0, min(20.0, reading.keep)))),
        confided=_is_confided(runtime, message, reading),
        heavy=reading.heavy,
        glad=reading.glad,
        corrects=corrects,
    )


def _is_confided(runtime: Runtime, message: sessions.Message, reading: MessageReading) -> bool:
    """Whether a message may be a confidence, or one of its sentences surely asks for silence."""
    if reading.scores.get("confide", IN_DOUBT) > IN_DOUBT:
        return True
    reader, parts = runtime.memory.reader, words.sentences(message.text)
    return bool(parts[1:]) and any(reader and reader.read(part).has("confide") for part in parts)


def _own(session: sessions.Session, message: sessions.Message) -> list[sessions.Message]:
    return [
        each
        for each in session.messages
        if each.role == "user" and each.speaker == message.speaker and each.text.strip()
    ]


def _hushed(
    session: sessions.Session, message: sessions.Message, reading: MessageReading
) -> Sequence[sessions.Message]:
    """Return what a request to be silent is about: what was said before it, else after it."""
    is_bare = reading.keep <= 0 or len(message.text.split()) <= SHORT
    if not (reading.has("confide") and is_bare):
        return ()
    own = _own(session, message)
    place = next(n for n, each in enumerate(own) if each.id == message.id)
    for beside in (own[place - 1 : place], own[place + 1 : place + 2]):
        if beside and moments.gap(*sorted((beside[0].at, message.at))) <= HUSHED:
            return [each for each in beside if is_noticeable(each)]
    return ()


# what a message puts right


def corrected(
    runtime: Runtime,
    session: sessions.Session,
    message: sessions.Message,
    reading: MessageReading,
    known: Mapping[str, sessions.Notice],
) -> tuple[str, ...]:
    """Return the ids of what a message may put right, likeliest first.

    Likely is what is near in meaning, and for what it gives another value, the more the surer.

    What its speaker said just before goes first, where the message surely puts something right.
    Each is read beside it: a message that doesn't look as if it put that right does so where it
    gives another value for what was told.
    """
    embedder, reader = runtime.memory.embedder, runtime.memory.reader
    earlier = _earlier(runtime, session, message, {**session.notices, **known})
    if embedder is None or reader is None or not earlier:
        return ()
    ties = {
        id_: corrections.replaces(text, message.text, message.at, message.speaker)
        for id_, text in earlier.items()
    }
    near = likeness(embedder, message.text, earlier)
    before = previous(session, message)
    last = before.id if before and before.id == list(earlier)[-1] else ""
    points = {id_: near[id_] + TIED * ties[id_] for id_ in earlier}
    if last and reading.scores.get("correct", 0.0) >= SURE:
        points[last] += LEAST_NEAR
    likely = sorted((id_ for id_ in points if points[id_] >= LEAST_NEAR), key=lambda i: -points[i])

    def is_put_right(id_: str) -> bool:
        beside = reader.read(message.text, earlier[id_]).scores.get("correct", FAR)
        may_be = beside > 0 or ties[id_] >= corrections.ENOUGH
        return may_be and beside + BY_VALUE * ties[id_] >= REPLACES

    return tuple(filter(is_put_right, likely[:CORRECTS]))


def likeness(embedder: Embedder, text: str, others: Mapping[str, str]) -> dict[str, float]:
    """Return the calibrated similarity of texts to another, by id."""
    if not others:
        return {}
    own, *rest = embedder.embed_documents([text, *others.values()])
    usual = embedder.unrelated_cosine
    return {
        id_: float((own @ one - usual) / (1 - usual)) for id_, one in zip(others, rest, strict=True)
    }


def _earlier(
    runtime: Runtime,
    session: sessions.Session,
    message: sessions.Message,
    known: Mapping[str, sessions.Notice],
) -> dict[str, str]:
    """Return what its speaker told before, here and elsewhere, oldest first, by id."""
    place = [each.id for each in session.messages].index(message.id)
    dropped = {id_ for id_, notice in known.items() if not notice.keep}
    here = {
        each.id: each.text
        for each in session.messages[:place]
        if each.speaker == message.speaker and is_noticeable(each) and each.id not in dropped
    }
    name, reader = message.called(), runtime.memory.reader
    runtime.memory.sync()
    hits = runtime.memory.search(
        message.text,
        kinds=("message",),
        limit=ELSEWHERE,
        audience=session.people,
        people=(message.speaker,),
        outside=session.id,
    )
    mine = [
        hit
        for hit in hits
        if hit.speaker == name
        and not is_untrusted(hit.trust)
        and hit.at is not None
        and hit.at < message.at
        and not (reader and reader.read(hit.text).main in QUESTIONS)
    ]
    return {**{hit.id: hit.text for hit in sorted(mine, key=lambda hit: hit.id)}, **here}
