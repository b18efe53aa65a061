"""What answers a question without a model: the words that were said or written down, quoted.

The index names candidates; of these the one answers that shares the question's rare words, in
whatever form or compound, is near it in meaning, and has a number where one is asked for. Wording
a quote is a form's work. What the entity said itself is no source, nor is a question.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from bumble.choosing import quotes as marks
from bumble.context import recalled
from bumble.context.recalled import Search
from bumble.forms import forms
from bumble.grounding import speakers
from bumble.index import chunks
from bumble.index.search import Hit
from bumble.records import base, provenance, relationships, session_files
from bumble.records.sessions import Message, Session
from bumble.runtime import body_state, people
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words
from bumble.text.stop_words import telling_words
from bumble.text.words import one_line

SEARCHED = 40  # hits that are looked through
KINDS = ("message", "knowledge", "journal", "episode", "belief", "person")
COMPOUND = 5  # letters of a word that counts within another
INEXACT = 0.8  # what such a word counts
# Of the words of a question, in what answers it: where it has the number, is near, and else.
LEAST_SHARED, NEAR_SHARED, MOST_SHARED = 0.3, 0.45, 0.6
PASSING = 0.3  # what a word counts that stands in any talk
LATEST_TALKS = 200  # whose corrections are known
LEAST_LETTERS = 3  # of a word that tells what is asked
NEARNESS = 3.0  # what nearness counts beside a shared rare word
NUMBER = 1.0  # what a number counts where one is asked for
CLOSE = 0.6  # of the best one's points, from which another may be the answer as well
MOST_QUOTES = 2
_TITLED = re.compile(
    r"\b(?:herrn?|frau|mr|mrs|ms|miss|dr|prof|sra?|senora?|don|dona|signora?|sig|mme|madame|monsieur"
    r"|senhora?|seu)\b\.? \w+"
)
_DATE = re.compile(r"\b\d{1,2}\.\s?(?P<month>\d{1,2})\b(?!\d*:)|\b\d{4}-(?P<iso>\d{2})-\d{2}\b")


@dataclass(frozen=True)
class Quote:
    """Words that were said or written down."""

    text: str
    at: datetime | None
    speaker: str = ""  # id of the person; empty: it stands in the entity's own notes
    name: str = ""  # of the person


@dataclass(frozen=True)
class Question:
    """What is asked of memory."""

    text: str
    language: str
    number: bool = False  # whether a number or a date is asked for
    of_memory: bool = True  # whether it asks for what was told, rather than for advice
    asks: Callable[[str], bool] = lambda text: text.rstrip().endswith(("?", "？"))
    counts: Callable[[str], bool] = lambda text: any(char.isdigit() for char in text)


@dataclass(frozen=True)
class Statement:
    """What may answer: a message of a person, or words out of a note."""

    quote: Quote
    id: str  # of the message; empty: a note
    nearness: float
    is_near: bool

    @property
    def comes_near(self) -> bool:
        """Whether it is near by its meaning: without vectors only words tell."""
        return self.is_near and self.nearness > 0


@dataclass(frozen=True)
class Answer:
    """What memory has on a question."""

    quotes: tuple[Quote, ...] = ()  # what answers it, the newest first
    nearest: Quote | None = None  # without such, what somebody said that comes nearest to it


def answer(life: Runtime, session: Session, question: Question) -> Answer:
    """Return what answers the last message of a conversation, or comes nearest to that.

    What was said in the conversation before counts too. Of what was put right since, the newest
    word goes first, however little it shares with the question.
    """
    said = session.messages[-1]
    at = life.now()
    mood = body_state.mood(life, body_state.read(life, at)).name
    hits = recalled.find(
        life.memory,
        life.config,
        life.body,
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
    heard = _heard(life, session)
    told = [
        hit
        for hit in hits
        if hit.id != said.id and (hit.id in heard.answers or _tells(life, hit, question))
    ]
    statements = _statements(life, told, question, heard)
    ranked = _ranked(life, statements, question)
    if not ranked:
        return Answer(nearest=_nearest(life, statements, heard, question))
    best = [statement for statement, points in ranked if points >= CLOSE * ranked[0][1]]
    if question.number:
        best = [each for each in best if question.counts(each.quote.text)] or best
    first = _first(statements)
    if first is not None and first.comes_near and first not in best:
        best = [best[0], first, *best[1:]]  # what the index ranks first answers most often
    return Answer(tuple(_newest_first(life, best, heard)))


def _nearest(
    life: Runtime, statements: Sequence[Statement], heard: _Heard, question: Question
) -> Quote | None:
    """Return what a person said that the index ranks first, in its newest word.

    What was told in confidence is no guess: it comes only where the question has a word of it.
    """
    first = _first(
        each
        for each in statements
        if each.id not in heard.confided or _shares_word(life, each.quote.text, question)
    )
    if first is None:
        return None
    if not (
        first.comes_near or (question.of_memory and _shares_word(life, first.quote.text, question))
    ):
        return None
    later = heard.newest(first.id)
    return first.quote if later == first.id else _said(life, heard, later)


def _first(statements: Iterable[Statement]) -> Statement | None:
    """Return what a person said that the index ranks first."""
    return next((each for each in statements if each.id), None)


def _shares_word(life: Runtime, text: str, question: Question) -> bool:
    """Whether a text has a word of a question that is no name."""
    asked, there = _forms(question.text, question.language), _forms(text, question.language)
    telling = _telling(asked, names(life) | _titled(question.text))
    return any(_shares(stem, asked[stem], there) for stem in telling)


def _titled(text: str) -> set[str]:
    """Return the names that stand behind a title, and titles, folded: `herr kowalski`."""
    return {word for match in _TITLED.finditer(words.folded(text)) for word in match[0].split()}


def _telling(asked: Mapping[str, str], named: Set[str]) -> set[str]:
    """Return what is asked, without the names of whom it is asked of."""
    return {stem for stem, word in asked.items() if named.isdisjoint((word, word[:-1]))}


@dataclass(frozen=True)
class _Heard:
    """What people said that all who are here may hear, and what of it was put right since."""

    messages: Mapping[str, Message]
    newer: Mapping[str, str]  # id of the message that puts right, by that of the one put right
    answers: Mapping[str, str]  # id of the message in which somebody answers their own question
    confided: Set[str]  # ids of messages told in confidence

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


def _heard(life: Runtime, session: Session) -> _Heard:
    folder = life.entity.sessions
    infos = [
        info
        for info in session_files.infos(folder)
        if info.id != session.id and base.may_read((info.by, *info.present), session.people)
    ]
    infos = sorted(infos, key=lambda info: info.last_at)[-LATEST_TALKS:]
    talks = [*(session_files.find(folder, info.id) for info in infos), session]
    messages = {
        message.id: message
        for talk in talks
        for message in talk.messages
        if message.role == "user" and message.text.strip()
    }
    notices = [notice for talk in talks for notice in talk.notices.values()]
    newer = {earlier: notice.message for notice in notices for earlier in notice.corrects[:1]}
    answers = {notice.answers: notice.message for notice in notices if notice.answers in messages}
    confided = {notice.message for notice in notices if notice.confided}
    return _Heard(messages, newer, answers, confided)


def _statements(
    life: Runtime, hits: Sequence[Hit], question: Question, heard: _Heard
) -> list[Statement]:
    """Return what some hits say; of notes what nobody here said in the same words."""
    spoken = " ".join(_bare(message.text) for message in heard.messages.values())
    statements = []
    for hit in hits:
        nearness, near = hit.parts.nearness or 0.0, recalled.is_near(hit, life.config)
        id_ = heard.answers.get(hit.id, hit.id)
        quoted = [_spoken(life, heard, hit, id_)] if hit.kind == "message" else _noted(hit)
        statements += [
            Statement(quote, id_ if quote.speaker else "", nearness, near)
            for quote in quoted
            if quote.speaker or not (_bare(quote.text) in spoken or question.asks(quote.text))
        ]
    return statements


def _noted(hit: Hit) -> list[Quote]:
    """Return the sentences of a note, and what is quoted in it in the words of who said it."""
    rows = [row for row in hit.text.splitlines() if not row.startswith("#")]
    cited = {row: marks.citations(marks.MARK + row.lstrip("> ")) for row in rows}
    own = [row.lstrip("> -").strip('“”„«»"') for row in rows if not cited[row]]
    quoted = [Quote(each.words, hit.at, "", each.name) for row in rows for each in cited[row]]
    return [
        *quoted,
        *(Quote(part, hit.at) for row in own for part in words.sentences(row) if part),
    ]


def _bare(text: str) -> str:
    return " ".join(stop_words.words(text))


def _newest_first(life: Runtime, best: Sequence[Statement], heard: _Heard) -> list[Quote]:
    """Keep the best few and the newest word on each, newest first."""
    chosen: dict[str, Quote] = {}
    for statement in best:
        later = heard.newest(statement.id)
        if later != statement.id:
            chosen.setdefault(_bare(heard.messages[later].text), _said(life, heard, later))
        chosen.setdefault(_bare(statement.quote.text), statement.quote)
    few = list(chosen.values())[:MOST_QUOTES]
    return sorted(few, key=lambda quote: quote.at.timestamp() if quote.at else 0, reverse=True)


def _spoken(life: Runtime, heard: _Heard, hit: Hit, id_: str) -> Quote:
    return _said(life, heard, id_) if id_ in heard.questions else _quote(life, hit)


def _said(life: Runtime, heard: _Heard, id_: str) -> Quote:
    """Quote what somebody said, behind their own question that it answers."""
    message = heard.messages[id_]
    person = people.find_person(life, message.speaker)
    name = person.name if person else message.speaker
    asked = heard.questions.get(id_)
    text = f"{heard.messages[asked].text}{marks.CUT}{message.text}" if asked else message.text
    return Quote(one_line(text), message.at, message.speaker, name)


def near(life: Runtime, session: Session, language: str) -> list[Quote]:
    """Return what comes to mind by itself at the last message of a conversation."""
    said = session.messages[-1]
    at = life.now()
    mood = body_state.mood(life, body_state.read(life, at)).name
    search = Search(
        session.people,
        mood,
        at,
        session.id,
        asker=chunks.spoken_name(said.speaker),
        asking=recalled.last_turn(session),
    )
    hits = recalled.find(
        life.memory, life.config, life.body, search, said.text, kinds=KINDS, limit=MOST_QUOTES
    )
    question = Question(said.text, language)
    told = [hit for hit in hits if _tells(life, hit, question)]
    return [
        _quote(life, hit)
        if hit.kind == "message"
        else Quote(_telling_line(hit.text, question), hit.at)
        for hit in told
    ]


def _tells(life: Runtime, hit: Hit, question: Question) -> bool:
    """Whether a hit may answer: somebody's statement."""
    if provenance.is_untrusted(hit.trust):
        return False
    return hit.kind != "message" or (
        hit.speaker != life.identity.name and not question.asks(hit.text)
    )


def _ranked(
    life: Runtime, statements: Sequence[Statement], question: Question
) -> list[tuple[Statement, float]]:
    """Rank what answers, best first: it shares a good part of what tells what is asked.

    Rare words tell most, and words that stand in any talk little.
    """
    code = question.language
    asked = _forms(question.text, code, beside=(life.identity.name, *speakers.IN_TALK))
    memory = forms.load(code, life.entity.root, life.tell).memory
    texts = [
        _forms(each.quote.text, code) | _dated(each.quote.text, memory.months)
        for each in statements
    ]
    telling = _telling(asked, names(life) | _titled(question.text))
    weights = {
        stem: math.log(
            1 + len(texts) / max(1, sum(_shares(stem, word, text) > 0 for text in texts))
        )
        * (PASSING if word in memory.passing_words else 1.0)
        for stem, word in asked.items()
    }
    whole = sum(weights.values()) or 1.0
    ranked = []
    for each, text in zip(statements, texts, strict=True):
        shares = {stem: _shares(stem, word, text) for stem, word in asked.items()}
        if telling and not any(shares[stem] for stem in telling):
            continue  # of what is asked about somebody it has the name alone
        points = sum(weights[stem] * share for stem, share in shares.items())
        counts = question.number and question.counts(each.quote.text)
        least = LEAST_SHARED if counts else NEAR_SHARED if each.is_near else MOST_SHARED
        if points < whole * least:
            continue
        ranked.append((each, points + NUMBER * counts + NEARNESS * each.nearness))
    return sorted(ranked, key=lambda pair: -pair[1])


def names(life: Runtime) -> set[str]:
    """Return the parts of the names of people, folded, as questions may hold them."""
    folder = life.entity.relationships
    return {part for path in relationships.paths(folder) for part in re.split(r"[\W_]", path.stem)}


def _dated(text: str, months: Sequence[str]) -> dict[str, str]:
    """Return the months that stand in a text as numbers: `1.7.`, `2026-07-01`."""
    numbers = (int(match["month"] or match["iso"]) for match in _DATE.finditer(text))
    names = [words.folded(months[number - 1]) for number in numbers if 1 <= number <= len(months)]
    return {name: name for name in names}


def _forms(text: str, language: str, *, beside: Sequence[str] = ()) -> dict[str, str]:
    """Return the stems of a text's telling words, each with a word as it stands, folded."""
    passing = {words.stem(words.folded(word), language) for word in beside}
    telling = {words.stem(word, language): words.folded(word) for word in telling_words(text)}
    return {
        stem: word
        for stem, word in telling.items()
        if stem not in passing and (len(word) >= LEAST_LETTERS or word.isdigit())
    }


def _shares(stem: str, word: str, there: Mapping[str, str]) -> float:
    """Say how much of a word stands in a text: itself, or as part of a compound."""
    if stem in there:
        return 1.0
    if any(_is_ending(word, other) for other in there.values()):
        return INEXACT
    if len(word) < COMPOUND:
        return 0.0
    within = any(
        word in other
        or (len(other) >= COMPOUND and other in word)
        or (len(stem) >= COMPOUND and stem in other)
        or words.akin(stem, another, COMPOUND)
        for another, other in there.items()
    )
    return INEXACT if within else 0.0


def _is_ending(word: str, other: str) -> bool:
    """Whether two words differ by an s, as a name does that owns: `Mira`, `Miras`."""
    short, long = sorted((word, other), key=len)
    return len(short) >= LEAST_LETTERS and long in (f"{short}s", f"{short}es")


def _quote(life: Runtime, hit: Hit) -> Quote:
    person = next((one for one in hit.people if chunks.spoken_name(one) == hit.speaker), "")
    known = people.readable_person(life, person) if person else None
    return Quote(one_line(hit.text), hit.at, person, known.name if known else hit.speaker)


def _telling_line(text: str, question: Question) -> str:
    """Return the sentence of a note that shares most with a question."""
    code = question.language
    asked = _forms(question.text, code)
    lines = [line.lstrip("> -") for line in text.splitlines() if not line.startswith("#")]
    sentences = [part for line in lines for part in words.sentences(line)] or [one_line(text)]

    def shared(sentence: str) -> float:
        there = _forms(sentence, code)
        return sum(_shares(stem, word, there) for stem, word in asked.items())

    return max(sentences, key=shared)
