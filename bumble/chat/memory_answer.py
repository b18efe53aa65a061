"""What memory has on a question, in the words of those who told it, the newest word first.

For models that can't be trusted to tell it. The index ranks; what was only asked, joked or imagined
answers nothing, and what was put right comes behind the word that put it right. What was said in
the running talk counts from the moment it was said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice, pairwise

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import secrets
from bumble.fallback import notices, quotes
from bumble.guard import claims, corrections, values
from bumble.index.search import Hit
from bumble.recall import memory_search, whole_record
from bumble.records import base, knowledge, session_files
from bumble.records.sessions import Message, Notice, Session
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, titles, words

SEARCHED = 12  # messages that are looked through
TALKS = 200  # the latest, whose notices count
UNREAD = 24  # messages of those that have none, which are read now
NEAR = 0.19  # nearness of what answers, where somebody asks
SURELY_NEAR = 0.35  # likewise, where a message may be no question of memory
CLOSE = 0.8  # of the best score, from which a second message answers too
LOOKED_AT = 3  # of the nearest, of which it is asked whether they answer
TOLD = 2  # sentences of a message that answer
WHOLE_CHARS = 200  # of a message up to which all of it does
MOST_LISTED = 6  # messages that name whom a question asks for all about
MOST = 2  # messages that answer, each with the word that put it right
PERHAPS = 0.0025  # how likely worth keeping what is told as known must be at least
BY_HAND = ("knowledge", "belief", "episode", "journal", "person")  # where people write, too
TELLING_WORDS = 2  # of a sentence that answers the question before it: no "Thanks."
SAME = 0.4  # calibrated similarity from which a later message tells of the same thing


class Told(Struct, frozen=True, dict=True):
    """What people said that all who are here may hear, and what each message is."""

    messages: Mapping[str, Message]  # oldest first
    notices: Mapping[str, Notice]

    @cached_property
    def newer(self) -> dict[str, list[str]]:
        """By the id of a message that was put right, those of the ones which did."""
        newer: dict[str, list[str]] = {}
        for notice in self.notices.values():
            for earlier in notice.corrects[:1] if notice.message in self.messages else ():
                newer.setdefault(earlier, []).append(notice.message)
        return newer

    def later(self, message_id: str) -> list[str]:
        """Return the ids of all newer words on what a message says: each may put right a part."""
        found = [message_id]
        for one in found:
            found += [each for each in self.newer.get(one, ()) if each not in found]
        return found[1:]

    def older(self, message_id: str) -> Message | None:
        """Return what a message may put right."""
        notice = self.notices.get(message_id)
        return self.messages.get(notice.corrects[0]) if notice and notice.corrects else None

    def tells(self, message_id: str) -> bool:
        """Whether a message tells something, as far as is known."""
        notice = self.notices.get(message_id)
        return notice is None or not notices.is_idle(notice)

    def asks(self, message_id: str) -> bool:
        """Whether a message surely only asks for something, or greets."""
        notice = self.notices.get(message_id)
        small = notices.QUESTIONS | {"greet", "leave"}
        return notice is not None and not notice.keep and notice.why in small

    def worth(self, message_id: str) -> float:
        """Return how likely a message is worth keeping."""
        notice = self.notices.get(message_id)
        return (notice.share or 0.0) if notice else 0.0

    def confided(self) -> list[str]:
        """Return what was told in confidence."""
        notices = ((message, self.notices.get(id_)) for id_, message in self.messages.items())
        return [message.text for message, notice in notices if notice and notice.confided]

    def kept(self, person: str) -> list[Message]:
        """Return what somebody told of themselves and no later word put right, the newest first.

        Asked for it, one also tells what is perhaps not worth keeping.
        """
        return [
            message
            for message in reversed(tuple(self.messages.values()))
            if message.speaker == person
            and message.id not in self.newer
            and (notice := self.notices.get(message.id)) is not None
            and (notice.keep or _is_told(message, notice))
            and secrets.find_secret(message.text) is None
        ]


def _is_told(message: Message, notice: Notice) -> bool:
    """Whether a message that isn't kept tells something of its speaker, as far as is known."""
    asks = message.text.rstrip().endswith(words.QUESTION_MARKS)
    return notice.why == "tell" and not asks and (notice.share or 0.0) >= PERHAPS


def heard(runtime: Runtime, session: Session) -> Told:
    """Gather what all who take part may hear; what the running talk lacks is read now."""

    def may_hear(info: session_files.SessionInfo) -> bool:
        there = (info.by, *info.present)
        return info.id != session.id and base.may_read(there, session.people)

    latest = session_files.latest(runtime.entity.sessions, runtime.now(), may_hear)
    talks = [*reversed([*islice(latest, TALKS)]), session]
    messages = {
        message.id: message
        for talk in talks
        for message in talk.messages
        if message.role == "user" and message.text.strip()
    }
    known = {id_: each for talk in talks for id_, each in talk.notices.items()}
    # the last may not have been settled yet; in what a model that writes has read nothing is noted
    noted = {talk.id for talk in talks for one in talk.notices.values() if one.share is not None}
    left = UNREAD
    for talk in reversed([talk for talk in talks[:-2] if talk.id not in noted]):
        said = [one for one in talk.messages if one.role == "user"][-left:] if left else []
        known |= notices.notices(runtime, talk, said).of
        left -= len(said)
    for talk in talks[-2:-1]:
        known |= notices.notices(runtime, talk, talk.messages).of
    known |= notices.notices(runtime, session, session.messages[:-1]).of
    return Told(messages, known)


def answer(
    runtime: Runtime,
    session: Session,
    told: Told,
    *,
    asks: bool = True,
    lists: bool = False,
    answers: Callable[[str], bool] | None = None,
) -> tuple[quotes.Quote, ...]:
    """Return what answers the last message of a conversation, the newest word first.

    Args:
        runtime: Whose memory.
        session: The conversation.
        told: What all who take part may hear.
        asks: Whether the message surely asks; else only what surely answers counts.
        lists: Whether it asks for all that was told of whom or what it names.
        answers: Says whether a text answers it; None: what is near does.
    """
    asked = session.messages[-1]
    found = _found(runtime, session, asked)
    told = _with_archives(runtime, told, found)
    hits = [hit for hit in found if _may_answer(hit, asked, told)]
    may_be = asks or answers is not None
    near = [hit for hit in hits if _is_near(hit, runtime, asks=may_be)]
    named = {hit.id for hit in hits if may_be and not near and is_named(hit.text, asked.text)}
    near = near or [hit for hit in hits if hit.id in named]
    close = CLOSE * max((hit.score for hit in hits), default=0.0)
    best = [hit for hit in near if hit.id in named or hit.score >= close][:MOST]
    sure = [hit for hit in best if asks and _is_near(hit, runtime, asks=False)]
    if lists and (about := [hit for hit in hits if _names_same(hit.text, asked.text)]):
        best = about[:MOST_LISTED]
    elif answers is not None:
        stands = best if len(best) == 1 and sure else []
        # beside one that surely answers, what was said since may have put it right
        since = max((told.messages[hit.id].at for hit in stands), default=None)
        looked = [
            hit for hit in near[:LOOKED_AT] if since is None or told.messages[hit.id].at > since
        ]
        best = [*stands, *(hit for hit in looked if answers(hit.text))][:MOST] or sure[:1]
    ids = [hit.id for hit in best]
    ids = list(dict.fromkeys((*ids, *(later for one in ids for later in told.later(one)))))
    if len(ids) == 1:
        ids += _later(runtime, session, told, told.messages[ids[0]], answers)
    few = sorted((told.messages[id_] for id_ in ids), key=lambda each: each.at, reverse=True)
    return tuple(_answering(runtime, message, asked) for message in few)


def _answering(runtime: Runtime, message: Message, asked: Message) -> quotes.Quote:
    """Return the words of a message that answer another: of many sentences those nearest to it."""
    quote = quotes.of(message, runtime.zone)
    parts, embedder = words.sentences(message.text), runtime.memory.embedder
    if embedder is None or len(parts) <= TOLD or len(message.text) <= WHOLE_CHARS:
        return quote
    own, *vectors = embedder.embed_documents([asked.text, *parts])
    nearest = sorted(range(len(parts)), key=lambda n: -float(own @ vectors[n]))
    first, second = sorted(nearest[:TOLD])
    gap = " " if second == first + 1 else quotes.CUT
    return replace(quote, words=quotes.words_of(f"{parts[first]}{gap}{parts[second]}"))


def written(
    runtime: Runtime, session: Session, answers: Callable[[str], bool] | None
) -> tuple[str, str, datetime | None] | None:
    """Return what is written down that answers: title, words, and when it was told, if known.

    None: nothing does. The title may be empty.

    In `knowledge.md`, whoever wrote it; in beliefs, memories, the diary and on pages of people what
    no pass made of a talk. Locked sections are what it obeys.

    Args:
        runtime: Whose memory.
        session: The conversation.
        answers: As `answer` takes it.
    """
    for hit in _found(runtime, session, session.messages[-1], *BY_HAND)[:LOOKED_AT]:
        view = whole_record.read(runtime.entity, runtime.zone, hit.kind, hit.id, hit.path)
        by_hand = view is not None and (not view.origin.by or view.origin.by.endswith(" add"))
        is_known = hit.kind == knowledge.KNOWLEDGE.passages
        if view is None or not (is_known or by_hand) or secrets.find_secret(view.text):
            continue
        if is_known and _is_locked(runtime, hit.id):
            continue
        title = view.id if is_known else titles.heading(view.text)
        text = quotes.words_of(hit.text.removeprefix(f"# {title}"))
        said = {*stop_words.words(text)} - {*stop_words.words(f"{title} {view.id}")}
        near = bool(said) and _is_near(hit, runtime, asks=answers is not None)
        if near and (answers is None or answers(f"{title}: {text}")):
            return title, text, base.told_at(view.origin)
    return None


def _is_locked(runtime: Runtime, title: str) -> bool:
    path = runtime.entity.knowledge
    book = runtime.read_or(lambda: knowledge.read(path), None) or knowledge.readable(path)
    section = knowledge.find(book, title)
    return section is None or section.locked


def _later(
    runtime: Runtime,
    session: Session,
    told: Told,
    message: Message,
    answers: Callable[[str], bool] | None,
) -> list[str]:
    """Return the id of a later message that may make another one outdated, if there is one."""
    if changed := _changed_later(session, told, message):
        return [changed]
    same = _same_later(runtime, session, told, message)
    answers_too = bool(same) and (answers is None or answers(told.messages[same].text))
    return [same] if answers_too else []


def _changed_later(session: Session, told: Told, message: Message) -> str:
    """Return the id of the newest message about what is counted in another, where that is asked.

    Whoever loses one of three hens names it, and not how many are left.
    """
    language = words.language(message.text)
    asked = values.read(session.messages[-1].text, language).content
    counted, named = set[str](), set[str]()
    for sentence in words.sentences(message.text):
        units = {
            number.unit
            for number in values.read(sentence, language).numbers
            if number.kind == "thing" and number.claimed and number.unit in asked
        }
        counted |= units
        named |= set(stop_words.telling_words(sentence)) if units else set()
    if not counted:
        return ""
    names = named - words.common(language, corrections.COMMON_WORDS)
    later = [
        each
        for each in told.messages.values()
        if each.at > message.at
        and each.id != session.messages[-1].id
        and each.speaker == message.speaker
        and told.tells(each.id)
        and (
            names & set(stop_words.telling_words(each.text))
            or counted & values.read(each.text, language).content
        )
    ]
    return later[-1].id if later else ""


def _same_later(runtime: Runtime, session: Session, told: Told, message: Message) -> str:
    """Return the id of the newest message that tells of the same thing as an earlier one.

    Whoever moves house doesn't say that this puts right what they said; the newest word counts.
    """
    embedder = runtime.memory.embedder
    if embedder is None:
        return ""
    hits = runtime.memory.search(
        message.text, kinds=("message",), limit=SEARCHED, audience=session.people
    )
    later = {
        hit.id: told.messages[hit.id].text
        for hit in hits
        if _may_answer(hit, session.messages[-1], told)
        and told.messages[hit.id].at > message.at
        and told.messages[hit.id].speaker == message.speaker
    }
    alike = notices.likeness(embedder, message.text, later)
    same = [id_ for id_, value in alike.items() if value >= SAME]
    return max(same, key=lambda id_: told.messages[id_].at, default="")


def _found(runtime: Runtime, session: Session, asked: Message, *kinds: str) -> Sequence[Hit]:
    asker, asking = asked.speaker, memory_search.last_turn(session)
    return memory_search.find(
        runtime.memory,
        runtime.config,
        memory_search.search_of(runtime, session.people, asker=asker, asking=asking),
        asked.text,
        kinds=kinds or (whole_record.MESSAGE,),
        limit=SEARCHED,
        unasked=False,
        newer=False,
    )


def _with_archives(runtime: Runtime, told: Told, hits: Sequence[Hit]) -> Told:
    """Add what people said elsewhere, in talks that were imported, as far as it was found."""
    files = {hit.path for hit in hits if hit.id not in told.messages}
    archived = {
        one.id: one
        for talk in session_files.talks(runtime.entity.root / path for path in files)
        for one in talk.messages
        if talk.imported and one.role == "user"
    }
    return Told({**archived, **told.messages}, told.notices) if archived else told


def _may_answer(hit: Hit, asked: Message, told: Told) -> bool:
    message = told.messages.get(hit.id)
    return (
        message is not None
        and hit.id != asked.id
        and notices.is_noticeable(message)
        and told.tells(hit.id)
        and not _only_asks(message.text, asked.text)
        and secrets.find_secret(message.text) is None
    )


def _only_asks(text: str, asked: str) -> bool:
    """Whether a message has nothing to say to a question but questions: "Hi. And who is Karl?"."""
    wanted = set(stop_words.telling_words(words.folded(asked)))
    said, questions = set[str](), set[str]()
    sentences = words.sentences(text)
    for one, behind in pairwise((*sentences, "")):
        # "my dentist is Dr Huber, do you know her?", "Karl? He's my brother."
        asks = one.endswith(words.QUESTION_MARKS) and (
            behind.endswith(words.QUESTION_MARKS)
            or len(stop_words.telling_words(behind)) < TELLING_WORDS
        )
        told, _, last = one.rpartition(",") if asks and one.count(",") == 1 else ("", "", one)
        told, last = (told, last) if asks else (one, "")
        said.update(stop_words.telling_words(words.folded(told)))
        questions.update(stop_words.telling_words(words.folded(last)))
    return not said or (bool(questions & wanted) and not said & wanted)


def is_named(text: str, asked: str) -> bool:
    """Whether a question asks for nothing but a name, and a message has it: "Who is Tom?"."""
    names = _names(text, asked)
    telling = {one for one in stop_words.telling_words(words.folded(asked)) if one[1:]}
    return bool(names) and telling <= names and _names_same(text, asked)


def _names_same(text: str, asked: str) -> bool:
    """Whether a message has a name that a question has."""
    return not _names(text, asked).isdisjoint(stop_words.telling_words(words.folded(text)))


def _names(text: str, asked: str) -> set[str]:
    language = words.language(asked, text)
    return {words.folded(one) for one in claims.claims(asked, language)}


def _is_near(hit: Hit, runtime: Runtime, *, asks: bool) -> bool:
    nearness = hit.parts.nearness or 0.0
    if not asks:
        return nearness >= SURELY_NEAR
    return nearness >= NEAR or memory_search.is_near(hit, runtime.config)
