"""A stretch of talk: where it is cut, and what a model is shown of it, with what is known of it.

A conversation is cut at pauses, changes of topic, by its length, at its end; what makes two texts
alike is the embedder's. Where no model may tell of it, no topic cuts it.
Everything shown may be met by all who took part. Of one person alone their portrait is shown too;
where several talk, what one of them told in private stays out of it. Asks no model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.body import appraisal, ebb, soma
from bumble.body.config import EMOTIONS
from bumble.entity.config import Config
from bumble.fallback import sayings
from bumble.guard import origins
from bumble.guard.names import inflects
from bumble.guard.verifier import OWN, ClaimSources, Said, check_prose
from bumble.jobs import portrait
from bumble.models.embed import protocol
from bumble.recall import belief_strength
from bumble.records import base, forgotten, knowledge, relationships
from bumble.records import beliefs as held
from bumble.records.forgotten import Forgotten
from bumble.records.provenance import is_untrusted
from bumble.records.sessions import MESSAGE_PREFIX, Message, Session
from bumble.runtime import body_state, people, review_queue
from bumble.runtime.runtime import Runtime
from bumble.text import moments, stop_words, tokens, words

NEIGHBOURS = 20  # beliefs looked at for contradictions
QUERY_TOKENS = 300  # of what was said, to look for what is known of it
KNOWN_SENTENCES, NEAR_BELIEFS = 32, 12  # that are shown
BEFORE_MESSAGES, BEFORE_TOKENS = 2, 80  # what was said just before, each of it
EVERYDAY = 3000  # words of a language, none of which is a name's form
LEAST_CHARS = 24_000  # of a stretch that is shown whole, however small the window


_GENITIVE = patterns.compile(r"['’]s?\Z")


class KnownSentence(Struct, frozen=True):
    """A sentence of a section of knowledge, or what was told of somebody who isn't there."""

    title: str
    text: str
    person: str = ""  # id of who it was told of
    told: datetime | None = None  # when, last
    cites: tuple[str, ...] = ()  # ids of the messages that said so, as far as is known


class Scene(Struct, frozen=True, dict=True):
    """A stretch of talk with what is known of it."""

    session: Session
    messages: tuple[Message, ...]  # consecutive ones of it, numbered from 1
    called: Mapping[str, str]  # names of everybody who is known, by id
    entity: str  # what the entity is called
    zone: tzinfo
    names: Mapping[str, str]  # of those who took part in it, by id
    known: Mapping[str, KnownSentence]  # by label: `k1`
    beliefs: Mapping[str, held.Belief]  # likewise: `b1`
    # of who spoke, by id; empty where several hear it
    portraits: Mapping[str, relationships.Relationship]
    forgotten: tuple[Forgotten, ...] = ()  # whom the entity was to forget since

    def tells_of_forgotten(self, text: str) -> bool:
        """Whether a text names somebody whom the entity was to forget since."""
        told = stop_words.WORD.findall(text) if self.forgotten else []
        is_small = text.islower()  # whoever writes no capitals writes none of names
        language = words.language(text) if told else ""
        usual = words.common(language, EVERYDAY)
        runs = list[str]()
        for n, word in enumerate(told):
            plain = words.folded(word)
            if plain not in stop_words.WORDS and (is_small or not word[0].islower()):
                behind = [_GENITIVE.sub("", one) for one in told[n : n + 3]]
                runs += (" ".join(behind[:size]) for size in (1, 2, 3))
                is_form = inflects(language) and plain not in usual
                cut = (behind[0][:-1], behind[0][:-2]) if is_form else ()
                runs += (form for part in cut for form in (part, f"{part}a"))
            if stop_words.is_unspaced(word):
                runs += (word[at : at + size] for size in (2, 3, 4) for at in range(len(word)))
        return any(one.is_named(name) for name in {*runs} for one in self.forgotten)

    @property
    def people(self) -> str:
        """Name everybody but the entity: `Sam and Kim`."""
        *others, last = self.names.values() or ["somebody"]
        return f"{', '.join(others)} and {last}" if others else last

    def acquaintances(
        self, everybody: Iterable[relationships.Relationship]
    ) -> list[relationships.Relationship]:
        """Return those whose page all who took part may read."""
        return [one for one in everybody if base.may_read(one.audience, self.session.people)]

    @property
    def day(self) -> str:
        """The day on which it began: `Sunday 24 May 2026`."""
        return moments.day_text(self.messages[0].at.astimezone(self.zone))

    @property
    def speakers(self) -> tuple[str, ...]:
        """The names of the people who say something in it."""
        said = (one for one in self.labels.values() if one.role == "user")
        return tuple(dict.fromkeys(map(self.speaker, said)))

    def speaker(self, message: Message) -> str:
        """Return who said a message, as the model is shown it."""
        return message.called(self.entity, self.called) or "person"

    @cached_property
    def labels(self) -> dict[str, Message]:
        """What can be cited, by label.

        What people said (`m2`) is evidence; what they passed on, and what the entity said of
        something that it read, is hearsay (`h3`). What another assistant said is neither.
        """
        labels = {self.label(n, one): one for n, one in enumerate(self.messages, 1)}
        return {label: one for label, one in labels.items() if label and label[0] != OWN}

    def label(self, n: int, message: Message) -> str:
        """Return what the n-th message is cited by; empty: it can't be.

        What the entity answered (`a4`) bears out only that it answered so.
        """
        is_read, is_own = is_untrusted(message.trust), self.session.imported is None
        if message.role == "user" and message.text.strip() and not is_read:
            return f"m{n}"
        is_hearsay = is_read and (is_passed_on(message) or (message.role == "assistant" and is_own))
        is_answer = message.role == "assistant" and is_own and not is_read
        label = f"h{n}" if is_hearsay else f"{OWN}{n}" if is_answer else ""
        return label if message.text.strip() else ""

    @cached_property
    def label_of(self) -> dict[str, str]:
        """The labels, by the ids of messages."""
        return {one.id: label for label, one in self.labels.items()}

    def cited(self, labels: Collection[str]) -> tuple[Message, ...]:
        """Return the messages of some labels."""
        return tuple(one for label, one in self.labels.items() if label in labels)

    def grounds(self, cites: Iterable[Collection[str]]) -> tuple[Message, ...]:
        """Return what some sentences rest on, by the labels that each cites.

        One that cites nothing rests on all that was spoken; so does no sentence at all.
        """
        given = list(cites)
        if not given or not all(map(self.cited, given)):
            return tuple(one for one in self.messages if one.role != "tool")
        return self.cited([label for labels in given for label in labels])

    def repeated(self, text: str) -> tuple[Message, ...]:
        """Return what was read in it, cited or not, that a text repeats and no person said."""
        said = [one.text for one in self.messages if one.role == "user"]
        return tuple(
            one
            for one in self.messages
            if one.role != "user"
            and is_untrusted(one.trust)
            and origins.repeats(text, one.text, said)
        )

    def told(self, labels: Sequence[str]) -> list[KnownSentence]:
        """Return those of some known sentences that were told of somebody who isn't there."""
        found = (self.known[label] for label in labels if label in self.known)
        return [one for one in found if one.person]

    @cached_property
    def sources(self) -> ClaimSources:
        """What a sentence about the stretch may rest on."""
        asked = (  # before its first message: that may answer it
            Said("", one.at, self.speaker(one), one.text)
            for one, first in pairwise(self.session.messages)
            if first.id == self.messages[0].id and one.role == "assistant"
        )
        said = [  # by time: an answer is to the last
            *asked,
            *(
                Said(label, one.at, self.speaker(one), one.text, label.startswith("h"))
                for n, one in enumerate(self.messages, 1)
                for label in (self.label(n, one),)
                if label or one.role == "assistant"
            ),
        ]
        known = [f"{each.title}: {each.text}" for each in self.known.values()]
        known += [belief.text for belief in self.beliefs.values()]
        for person in self.portraits.values():
            known += [person.text, *(note.text for note in portrait.notes(person))]
        names = (self.entity, *self.names.values())
        return ClaimSources(tuple(said), tuple(known), names, self.zone, self.entity)

    def stands(self, line: str) -> bool:
        """Whether a line names nothing that nobody gave."""
        return check_prose(line, self.sources).verdict != "mend"


PASSED_ON = "passed_on"  # marks a text that somebody passed on, shown apart from their own words


def is_passed_on(message: Message) -> bool:
    """Whether it is no message, but what somebody passed on in one."""
    return PASSED_ON in message.extra


def with_passed_on(session: Session, messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages, behind the own words of each what was passed on in it."""
    whole = {one.id: one for one in session.messages}
    for message in messages:
        yield message
        told = whole.get(message.id, message)
        if message.role == "user" and told.text != message.text:
            extra = {"name": told.speaker, **told.extra, PASSED_ON: True}
            text = words.parted(told.text)[1]
            yield replace(  # no speech of theirs
                told, role="tool", speaker="", text=text, trust="imported", extra=extra
            )


def gather(runtime: Runtime, session: Session, messages: Sequence[Message]) -> Scene:
    """Find what belongs to a stretch of a conversation."""
    called = people.called(runtime)
    runtime.memory.sync()
    said = "\n".join(message.text for message in messages if message.role == "user")
    query = tokens.cut(said, QUERY_TOKENS)
    return Scene(
        session,
        tuple(messages),
        called,
        runtime.identity.name,
        runtime.zone,
        names_of(called, session, messages),
        _known(runtime, query, said, session.people),
        _near_beliefs(runtime, query, session.people),
        _portraits(runtime, session),
        tuple(one for one in forgotten.read(runtime.entity.root) if messages[0].at <= one.at),
    )


def _known(
    runtime: Runtime, query: str, said: str, readers: Sequence[str]
) -> dict[str, KnownSentence]:
    """Return what knowledge says under the titles that were named, and of something, by label."""
    most = knowledge.RECALLED_SECTIONS * runtime.times_recalled
    hits = runtime.memory.search(query, kinds=("knowledge",), limit=most, audience=readers)
    book = knowledge.read(runtime.entity.knowledge)
    named = knowledge.named(book, said, readers, people.names_of(runtime, readers))
    titles = (
        *(one.title for one in named[:most]),
        *(hit.id for hit in hits),
        *(one.title for one in knowledge.newest(book, readers, runtime.times_recalled)),
    )
    sections = [
        section
        for title in dict.fromkeys(titles)
        if (section := knowledge.find(book, title)) is not None
    ]
    sentences = [
        _known_sentence(section, sentence)
        for section in sections
        if not section.locked
        for sentence in words.sentences(section.text)
    ][: KNOWN_SENTENCES * runtime.times_recalled]
    told = [*_told(runtime, query, said, readers)][:KNOWN_SENTENCES]
    return {f"k{n}": each for n, each in enumerate((*sentences, *told), 1)}


def _known_sentence(section: knowledge.KnowledgeSection, sentence: str) -> KnownSentence:
    origin = section.provenance.of_sentence(sentence)
    cites = tuple(one for one in origin.sources if one.startswith(MESSAGE_PREFIX))
    if len(cites) > 1 and not origin.said:  # they are the section's: which say this isn't known
        return KnownSentence(section.title, sentence)
    return KnownSentence(section.title, sentence, told=base.told_at(origin), cites=cites)


def _told(
    runtime: Runtime, query: str, said: str, readers: Sequence[str]
) -> Iterator[KnownSentence]:
    """Yield what the readers told of somebody who isn't there, whom they name or nearly."""
    hits = runtime.memory.search(
        query, kinds=("person",), limit=knowledge.RECALLED_SECTIONS, audience=readers
    )
    named = (one.id for one in people.named(runtime, said, readers))
    near = (hit.id for hit in hits if hit.id not in readers)
    for person in dict.fromkeys((*named, *near)):
        record = people.readable_person(runtime, person)
        if record is not None:
            told = relationships.heard(record, readers)
            yield from (
                KnownSentence(
                    record.name, note.text, record.id, base.told_at(note.provenance) or note.at
                )
                for note in told
            )


def _near_beliefs(runtime: Runtime, query: str, readers: Sequence[str]) -> dict[str, held.Belief]:
    """Return the beliefs nearest to something that all its hearers may know of, by label."""
    hits = runtime.memory.search(query, kinds=("belief",), limit=NEIGHBOURS, audience=readers)
    there = {belief.id: belief for belief in held.BELIEF.readable(runtime.entity.beliefs)}
    near = [
        there[hit.id]
        for hit in hits
        if hit.id in there
        and not belief_strength.superseded(there[hit.id], there, runtime.now())
        and there[hit.id].category != held.DREAM_INSIGHT  # which proves nothing
        and soma.is_open(there[hit.id].audience, readers)
    ]
    return {f"b{n}": belief for n, belief in enumerate(near[:NEAR_BELIEFS], 1)}


def _portraits(runtime: Runtime, session: Session) -> dict[str, relationships.Relationship]:
    """Return the file of the one person who speaks and hears, as it is."""
    on = runtime.config.memory.relational.enabled and session.imported is None
    if not on or len(session.people) != 1:
        return {}
    record = people.readable_person(runtime, session.people[0])
    return {record.id: record} if record else {}


def slots(runtime: Runtime, scene: Scene) -> dict[str, str]:
    """Fill the prompt with what is shown."""
    return {
        "name": runtime.identity.name,
        "people": scene.people,
        "day": scene.day,
        "body": ebb.reflection_line(body_state.read(runtime, scene.messages[0].at)),
        "known": portrait.inside(
            f"{label}: {each.title}: {each.text}{_dated(each.told, scene.zone)}"
            for label, each in scene.known.items()
        ),
        "beliefs": portrait.inside(
            f"{label}: {each.text}" for label, each in scene.beliefs.items()
        ),
        "portrait": portrait.inside(_seen(person) for person in scene.portraits.values()),
        "before": portrait.inside(_before(scene)),
        "messages": conversation(runtime, scene, {one.id for one in scene.messages}),
        "points": str(appraisal.MAX_POINTS),
        "emotions": ", ".join(EMOTIONS),
    }


def _dated(told: datetime | None, zone: tzinfo) -> str:
    """Say when something was told: of two that differ, the newer holds."""
    return f" ({told.astimezone(zone):%Y-%m-%d})" if told else ""


def _seen(person: relationships.Relationship) -> str:
    notes = "".join(f"\n(note) {note.text}" for note in portrait.notes(person))
    return f"{person.name}:\n{person.text or '(nobody has drawn them yet)'}{notes}"


def _before(scene: Scene) -> list[str]:
    first = scene.messages[0].id
    ids = [message.id for message in scene.session.messages]
    earlier = scene.session.messages[: ids.index(first)] if first in ids else ()
    spoken = [message for message in earlier if message.text and message.role != "tool"]
    last = [(one, words.one_line(one.text)) for one in spoken[-BEFORE_MESSAGES:]]
    return [f"{scene.speaker(one)}: {tokens.cut(text, BEFORE_TOKENS)}" for one, text in last]


def conversation(runtime: Runtime, scene: Scene, ids: Container[str]) -> str:
    """Write out who said what in some of its messages, each with its label and its time.

    A day that is not the one on which it began stands before its first.
    """
    limit = runtime.config.memory.distillation.context_char_budget
    most = max(LEAST_CHARS, runtime.window_tokens * 2)
    shown = {n: words.one_line(each.text) for n, each in enumerate(scene.messages, 1)}
    if sum(map(len, shown.values())) > most:
        limit = min(limit, most // len(shown))
    rows = []
    for n, message in enumerate(scene.messages, 1):
        is_passed = is_passed_on(message)
        is_result = message.role == "tool" and not is_passed
        if message.id not in ids or is_result or not message.text.strip():
            continue
        at = message.at.astimezone(runtime.zone)
        # below what is pasted stands what is said of it
        text = tokens.cut_middle(shown[n], max(1, limit // 4))
        who = f"{'passed on by ' if is_passed else ''}{scene.speaker(message)}"
        rows.append((at, f"[{scene.label(n, message) or '–'}] {at:%H:%M} {who}: {text}"))
    return portrait.inside(moments.by_day(rows, runtime.zone, scene.day))


PAUSE, TOPIC, LENGTH, END = "pause", "topic", "length", "end"
SETTLED_TURNS = 3  # a shorter segment has no topic yet that could be left
TELLING_WORDS = 5  # what says less ("Thanks, see you!") is no change of topic
TURNS_AWAY = 2  # one turn to something else may be an aside

Turn: TypeAlias = tuple[Message, ...]  # what a person said and all that followed from it
# How alike a text is to the nearest of some others, calibrated: 0 is what unrelated texts get.
Likeness: TypeAlias = Callable[[str, Sequence[str]], float]


class StretchJob(Struct, frozen=True):
    """A stretch of a conversation of which nothing was made yet, whole turns of it."""

    session_id: str
    messages: tuple[Message, ...]  # at least one
    closed: str  # what closed it: PAUSE, TOPIC, LENGTH or END; empty while it may go on

    @property
    def marks(self) -> tuple[str]:
        """Where it begins: what was asked of it in vain."""
        return (review_queue.mark(self.session_id, self.messages[0].id),)


def cut(
    session: Session,
    messages: Sequence[Message],
    config: Config,
    now: datetime,
    likeness: Likeness | None = None,
) -> list[StretchJob]:
    """Cut messages of a conversation into stretches.

    Args:
        session: The conversation; once it has ended, so has its last stretch.
        messages: By time.
        config: When a stretch closes.
        now: The present: silence until then closes the last stretch.
        likeness: Finds changes of topic; None looks for none.

    Returns:
        Stretches in order, which hold every message once; only the last may still go on.
    """
    found, current = list[StretchJob](), list[Turn]()
    turns = turns_of(messages)
    for n, turn in enumerate(turns):
        if current and (closed := _closed_by(current, turns[n:], config, likeness)):
            found.append(StretchJob(session.id, joined(current), closed))
            current = []
        current.append(turn)
    if current:
        closed = _closed_since(current, config, now, ended=session.ended is not None)
        found.append(StretchJob(session.id, joined(current), closed))
    return found


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """Group messages into turns; what comes before anybody spoke is a turn too."""
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return [tuple(turn) for turn in turns]


def _closed_by(
    current: Sequence[Turn], coming: Sequence[Turn], config: Config, likeness: Likeness | None
) -> str:
    """Say why the first of the coming turns does not belong to the current segment, if so."""
    if moments.gap(current[-1][-1].at, coming[0][0].at) >= _pause(config):
        return PAUSE
    if len(current) >= config.memory.episode_max_turns:
        return LENGTH
    if likeness is not None and _leaves_topic(current, coming, config, likeness):
        return TOPIC
    return ""


def _leaves_topic(
    current: Sequence[Turn], coming: Sequence[Turn], config: Config, likeness: Likeness
) -> bool:
    """Whether the next turns of substance are all about something else than the segment so far."""
    turn_texts = [_text(turn, "user") for turn in coming[:TURNS_AWAY]]
    is_settled = len(current) >= SETTLED_TURNS and len(turn_texts) == TURNS_AWAY
    if not is_settled or any(
        len(stop_words.telling_words(text)) < TELLING_WORDS for text in turn_texts
    ):
        return False
    before = [_text(turn, "user", "assistant") for turn in current]
    return all(likeness(text, before) < config.session.continuity_threshold for text in turn_texts)


def _closed_since(current: Sequence[Turn], config: Config, now: datetime, *, ended: bool) -> str:
    """Say why nothing that may still be said belongs to the last segment, if so."""
    last = current[-1]
    if ended:
        return END
    if moments.gap(last[-1].at, now) >= _pause(config):
        return PAUSE
    if len(current) >= config.memory.episode_max_turns and any(
        message.role == "assistant" for message in last
    ):
        return LENGTH  # a last turn without an answer is still being answered
    return ""


def _pause(config: Config) -> timedelta:
    return timedelta(minutes=config.memory.episode_pause_minutes)


def _text(turn: Turn, *roles: str) -> str:
    return "\n".join(message.text for message in turn if message.role in roles)


def joined(turns: Sequence[Turn]) -> tuple[Message, ...]:
    """Return the messages of some turns."""
    return tuple(message for turn in turns for message in turn)


def by_size(turns: Sequence[Turn], budget_chars: int) -> list[tuple[Message, ...]]:
    """Group whole turns, each group of at most so many characters where a turn isn't longer."""

    def size(turn: Turn) -> int:
        return sum(min(len(message.text), budget_chars) + 20 for message in turn)

    return [joined(group) for group in tokens.packed(turns, size, budget_chars)]


def stretches(runtime: Runtime, session: Session, waiting: Sequence[Message]) -> list[StretchJob]:
    """Cut what waits of a conversation into stretches, by pauses, topics, length and its end."""
    # what tells how alike two texts are; opens the embedder when first asked
    vectors: dict[str, protocol.Floats] = {}

    def alike(text: str, earlier_texts: Sequence[str]) -> float:
        embedder = runtime.memory.embedder
        if embedder is None:
            return 1.0  # without one, no topic ever changes
        new = [
            candidate
            for candidate in dict.fromkeys((text, *earlier_texts))
            if candidate not in vectors
        ]
        vectors.update(zip(new, embedder.embed_documents(new), strict=True) if new else ())
        nearest = max(vectors[other] @ vectors[text] for other in earlier_texts)
        return float(protocol.similarity(nearest, embedder.unrelated_cosine))

    # quotes are about nothing that they could leave: of a talk they are one page
    is_quoted = sayings.wording(runtime, session, session.messages) is not None
    return cut(session, waiting, runtime.config, runtime.now(), None if is_quoted else alike)


def names_of(
    called: Mapping[str, str], session: Session, messages: Sequence[Message]
) -> dict[str, str]:
    """Return what those are called who took part in some messages, by their ids."""
    names = {}
    for person in heard_by(session, messages):
        stated = (str(one.extra.get("name", "")) for one in messages if one.speaker == person)
        known = called.get(person) or person.replace("-", " ").title()
        names[person] = next(filter(None, stated), known)
    return names


def people_of(session: Session, messages: Iterable[Message]) -> tuple[str, ...]:
    """Return who said something of some messages."""
    speakers = dict.fromkeys(
        message.speaker for message in messages if message.role == "user" and message.speaker
    )
    return tuple(speakers) or ((session.by,) if session.by else ())


def heard_by(session: Session, messages: Iterable[Message]) -> tuple[str, ...]:
    """Return who took part in some messages, and who only listened."""
    return tuple(dict.fromkeys((*people_of(session, messages), *session.present)))
