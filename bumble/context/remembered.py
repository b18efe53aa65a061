"""What answers a question without a model: the words that were said or written down, quoted.

The index names candidates; of these the one answers that is nearest in meaning, shares the
question's rare words, in whatever form or compound, was worth keeping, and has a number where one
is asked for. Wording a quote is a form's work. What the entity said itself is no source, nor is a
question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from bumble.choosing import answers, notice, rules
from bumble.choosing import quotes as marks
from bumble.context import recalled, statements
from bumble.context.recalled import Search
from bumble.context.statements import (
    Excerpt,
    Question,
    Scored,
    Statement,
    part_of,
    telling_stems,
)
from bumble.errors import UserError
from bumble.forms import forms
from bumble.index import chunks
from bumble.index.search import Hit
from bumble.records import base, provenance, session_files, sessions
from bumble.records.sessions import Message, Session
from bumble.runtime import body_state, people
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words
from bumble.text.words import one_line

SEARCHED = 80  # hits that are looked through
LOOKED_AT = 8  # of what comes to mind by itself: some are the entity's own words
COMPARED = 40  # statements whose meaning is held against the question
KINDS = ("message", "knowledge", "journal", "episode", "belief", "person")
LATEST_TALKS = 200  # whose corrections are known
CLOSE = 0.6  # of the best one's points, from which another may be the answer as well
CLEAR = 1.5  # points that the best is ahead, where meaning tells: then it alone is quoted
ENOUGH = 0.6  # of the words of a question, with which what answers does so whatever else is near
MOST_QUOTES = 2


class Answer(Struct, frozen=True):
    """What memory has on a question."""

    quotes: tuple[Excerpt, ...] = ()  # what answers it, the newest first
    nearest: tuple[Excerpt, ...] = ()  # without such, what people said that comes nearest to it


def answer(runtime: Runtime, session: Session, question: Question) -> Answer:
    """Return what answers the last message of a conversation, or comes nearest to that.

    What was said in the conversation before counts too. Of what was put right since, the newest
    word goes first, however little it shares with the question.
    """
    said = session.messages[-1]
    at = runtime.now()
    mood = body_state.mood(runtime, body_state.read(runtime, at)).name
    hits = recalled.find(
        runtime.memory,
        runtime.config,
        Search(
            session.people,
            mood,
            at,
            asker=chunks.spoken_name(said.speaker),
            asking=recalled.last_turn(session),
        ),
        said.text,
        kinds=KINDS,
        limit=SEARCHED,
        unasked=False,
        newer=False,
    )
    heard = _heard(runtime, session)
    told = [
        hit
        for hit in hits
        if hit.id not in {said.id, *heard.asked}
        and _bare(hit.text) != _bare(said.text)
        and (hit.id in heard.answers or hit.id in heard.kept or _tells(runtime, hit, question))
    ]
    told_so = _compared(runtime, _statements(runtime, told, question, heard), question)
    scored = statements.score(runtime, told_so, question)
    best = _best(scored, question)
    if not best:
        return Answer(nearest=_nearest(runtime, scored, heard, of_memory=question.of_memory))
    return Answer(tuple(_newest_first(runtime, best, heard)))


def _best(scored: Sequence[Scored], question: Question) -> list[Statement]:
    """Return what answers, best first.

    Where there are vectors, nothing surely answers if what is nearest in meaning is far from what
    answers, has too few words of it, or hardly enough and something without them is as near.
    """
    if any(each.statement.cosine is not None for each in scored):
        first, *others = scored
        if not (first.answers and first.likely):
            return []
        close = [each for each in others if each.points > first.points - CLEAR]
        answering = [each.statement for each in (first, *close) if each.answers]
        return answering if first.part >= ENOUGH or len(answering) > len(close) else []
    ranked = [each for each in scored if each.answers]
    best = [each for each in ranked if each.points >= CLOSE * ranked[0].points]
    if question.number:
        best = [each for each in best if question.counts(each.statement.quote.text)] or best
    return [each.statement for each in best]


def _nearest(
    runtime: Runtime, scored: Sequence[Scored], heard: _Heard, *, of_memory: bool
) -> tuple[Excerpt, ...]:
    """Return what people said that comes nearest, each in its newest word, the nearest first.

    What was told in confidence is no guess: it comes only where the question has a word of it.
    """
    near = [
        each
        for each in scored
        if (each.answers or each.statement.id not in heard.idle)
        and each.comes_near(heard.confided, of_memory=of_memory)
    ]
    quotes: dict[str, Excerpt] = {}
    for each in near:
        said = each.statement
        later = heard.newest(said.id)
        quotes.setdefault(later, said.quote if later == said.id else _said(runtime, heard, later))
    return tuple(quotes.values())[:MOST_QUOTES]


class _Heard(Struct, frozen=True, dict=True):
    """What people said that all who are here may hear, and what of it was put right since."""

    messages: Mapping[str, Message]
    newer: Mapping[str, str]  # id of the message that puts right, by that of the one put right
    answers: Mapping[str, str]  # id of the message in which somebody answers their own question
    confided: Set[str]  # ids of messages told in confidence
    asked: Set[str]  # ids of messages that ask for what was told, whatever their words
    kept: Set[str]  # ids of messages that tell something, though they may look like questions
    idle: Set[str]  # ids of messages that tell nothing: jokes, what was only imagined

    @cached_property
    def questions(self) -> Mapping[str, str]:
        """The ids of questions that somebody answered themselves, by that of the answer."""
        return {answer: question for question, answer in self.answers.items()}

    def newest(self, id_: str) -> str:
        """Return the id of the newest word on what a message says."""
        seen = {id_}
        while (later := self.newer.get(id_, "")) in self.messages and later not in seen:
            seen.add(later)
            id_ = later
        return id_


def _heard(runtime: Runtime, session: Session) -> _Heard:
    folder = runtime.entity.sessions
    infos = [
        info
        for info in session_files.infos(folder)
        if info.id != session.id and base.may_read((info.by, *info.present), session.people)
    ]
    infos = session_files.by_recency(infos, runtime.now())[-LATEST_TALKS:]
    talks = [*(session_files.find(folder, info.id) for info in infos), session]
    messages = {
        message.id: message
        for talk in talks
        for message in talk.messages
        if message.role == "user" and message.text.strip()
    }
    notices = [each for talk in talks for each in talk.notices.values()]
    return _Heard(
        messages,
        newer={earlier: each.message for each in notices for earlier in each.corrects[:1]},
        answers={each.answers: each.message for each in notices if each.answers in messages},
        confided={each.message for each in notices if each.confided},
        asked={each.message for each in notices if notice.asks(each)},
        kept={each.message for each in notices if each.keep},
        idle={each.message for each in notices if notice.tells_nothing(each)},
    )


def _statements(
    runtime: Runtime, hits: Sequence[Hit], question: Question, heard: _Heard
) -> list[Statement]:
    """Return what some hits say; of notes what nobody here said in the same words."""
    spoken = " ".join(_bare(message.text) for message in heard.messages.values())
    rows = []
    for hit in hits:
        nearness, near = hit.parts.nearness or 0.0, recalled.is_near(hit, runtime.config)
        id_ = heard.answers.get(hit.id, hit.id)
        quoted = [_spoken(runtime, heard, hit, id_)] if hit.kind == "message" else _noted(hit)
        rows += [
            Statement(
                quote,
                id_ if quote.speaker else "",
                nearness,
                near,
                worth=(id_ in heard.kept) - (id_ in heard.idle) if quote.speaker else 0,
            )
            for quote in quoted
            if quote.speaker or not (_bare(quote.text) in spoken or question.asks(quote.text))
        ]
    return rows


def _compared(runtime: Runtime, rows: Sequence[Statement], question: Question) -> list[Statement]:
    """Say of the first statements how near each is to what answers the question."""
    texts = [each.quote.text for each in rows[:COMPARED]]
    asked = question.whole or question.text
    cosines = answers.nearness(runtime, asked, question.language, texts)
    if cosines is None:
        return list(rows)
    near = [
        replace(each, cosine=float(cosine)) for each, cosine in zip(rows, cosines, strict=False)
    ]
    return [*near, *rows[len(near) :]]


def _noted(hit: Hit) -> list[Excerpt]:
    """Return the sentences of a note, and what is quoted in it in the words of who said it."""
    rows = _rows(hit.text)
    cited = {row: marks.citations(marks.MARK + row.lstrip("> ")) for row in rows}
    own = [row.lstrip("> -").strip('“”„«»"') for row in rows if not cited[row]]
    quoted = [Excerpt(each.words, hit.at, "", each.name) for row in rows for each in cited[row]]
    return [
        *quoted,
        *(Excerpt(part, hit.at) for row in own for part in words.sentences(row) if part),
    ]


def _rows(text: str) -> list[str]:
    """Return the lines of a note that say something: no title, nothing that leads to a quote."""
    return [row for row in text.splitlines() if not row.startswith("#") and row[-1:] != ":"]


def _bare(text: str) -> str:
    return " ".join(stop_words.words(text))


def _newest_first(runtime: Runtime, best: Sequence[Statement], heard: _Heard) -> list[Excerpt]:
    """Keep the best few and the newest word on each, newest first."""
    chosen: dict[str, Excerpt] = {}
    for statement in best:
        later = heard.newest(statement.id)
        if later != statement.id:
            chosen.setdefault(_bare(heard.messages[later].text), _said(runtime, heard, later))
        chosen.setdefault(_bare(statement.quote.text), statement.quote)
    few = list(chosen.values())[:MOST_QUOTES]
    return sorted(few, key=lambda quote: quote.at.timestamp() if quote.at else 0, reverse=True)


def _spoken(runtime: Runtime, heard: _Heard, hit: Hit, id_: str) -> Excerpt:
    return _said(runtime, heard, id_) if id_ in heard.questions else _quote(runtime, hit)


def _said(runtime: Runtime, heard: _Heard, id_: str) -> Excerpt:
    """Quote what somebody said, behind their own question that it answers."""
    message = heard.messages[id_]
    person = people.find_person(runtime, message.speaker)
    name = person.name if person else message.speaker
    asked = heard.questions.get(id_)
    text = f"{heard.messages[asked].text}{marks.CUT}{message.text}" if asked else message.text
    return Excerpt(one_line(text), message.at, message.speaker, name)


def near(runtime: Runtime, session: Session, language: str) -> list[Excerpt]:
    """Return what comes to mind by itself at the last message of a conversation.

    Not what was put right in it: the newer word is there.
    """
    said = session.messages[-1]
    at = runtime.now()
    mood = body_state.mood(runtime, body_state.read(runtime, at)).name
    search = Search(
        session.people,
        mood,
        at,
        session.id,
        asker=chunks.spoken_name(said.speaker),
        asking=recalled.last_turn(session),
    )
    hits = recalled.find(
        runtime.memory,
        runtime.config,
        search,
        said.text,
        kinds=KINDS,
        limit=LOOKED_AT,
    )
    question = Question(said.text, language)
    idle = _idle(runtime, hits)
    told = [
        hit
        for hit in hits
        if hit.id not in session.corrected and hit.id not in idle and _tells(runtime, hit, question)
    ]
    return _said_once(
        _quote(runtime, hit) if hit.kind == "message" else _of_note(runtime, hit, question)
        for hit in told
    )


def _idle(runtime: Runtime, hits: Sequence[Hit]) -> set[str]:
    """Return the ids of messages that surely tell nothing: questions, and what was a laugh."""
    idle: set[str] = set()
    for name in {hit.session for hit in hits if hit.kind == "message"}:
        with suppress(UserError):
            talk = session_files.load(runtime.entity.sessions / name / sessions.FILE)
            idle |= {
                each.message
                for each in talk.notices.values()
                if notice.asks(each) or (not each.keep and each.why == rules.LAUGH)
            }
    return idle


def _said_once(excerpts: Iterable[Excerpt]) -> list[Excerpt]:
    """Choose the first few, no words twice: before others that they put right, or in a note."""
    few: list[Excerpt] = []
    for excerpt in excerpts:
        own = _own_words(excerpt)
        if any(marks.is_in(own, f"{each.newer}\n{each.text}") for each in few):
            continue
        few = [each for each in few if not marks.is_in(_own_words(each), excerpt.newer)]
        few.append(excerpt)
        if len(few) == MOST_QUOTES:
            break
    return few


def _own_words(excerpt: Excerpt) -> str:
    cited = marks.citations(marks.MARK + excerpt.text)
    return cited[0].words if cited else excerpt.text


def _tells(runtime: Runtime, hit: Hit, question: Question) -> bool:
    """Whether a hit may answer: somebody's statement."""
    if provenance.is_untrusted(hit.trust):
        return False
    return hit.kind != "message" or (
        hit.speaker != runtime.identity.name and not question.asks(hit.text)
    )


def _quote(runtime: Runtime, hit: Hit) -> Excerpt:
    person = next((one for one in hit.people if chunks.spoken_name(one) == hit.speaker), "")
    known = people.readable_person(runtime, person) if person else None
    name = known.name if known else hit.speaker
    return Excerpt(one_line(hit.text), hit.at, person, name, hit.newer)


def _of_note(runtime: Runtime, hit: Hit, question: Question) -> Excerpt:
    """Return the sentence of a note that shares most with a question, behind what puts it right."""
    worded = forms.load(question.language, runtime.entity.root).memory
    rows = [row for row in hit.text.splitlines() if row.strip()]
    leads = [n for n, row in enumerate(rows[:-1]) if n and row == worded.newer]
    newer = {rows[n + 1]: rows[n - 1] for n in leads}  # by the row that it puts right
    asked = telling_stems(question.text, question.language)

    def shared(sentence: str) -> float:
        there = telling_stems(sentence, question.language)
        return sum(part_of(stem, word, there) for stem, word in asked.items())

    sentences = {
        sentence: row for row in _rows(hit.text) for sentence in words.sentences(row.lstrip("> -"))
    } or {one_line(hit.text): ""}
    best = max(sentences, key=shared)
    row = newest = sentences[best]
    while newest in newer:
        newest = newer.pop(newest)
    since = marks.since(newest.lstrip("> "), worded) if newest != row else hit.newer
    return Excerpt(best, hit.at, newer=since)
