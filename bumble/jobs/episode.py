"""The episode of a stretch of talk: whether it becomes one, its people, imprints, id and excerpt.

Whether it does is a matter of its significance; what it tells is the answer's. An episode's id
follows from the messages it is made of, so that two processes cannot make two of one stretch. What
a stretch did to the body is felt by what is left of it: half of it is gone after 90 minutes.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from bumble.body import affects, appraisal, ebb, significance
from bumble.body.appraisal import Appraisal
from bumble.body.bars import Bar, Bars
from bumble.body.circadian import seconds_between
from bumble.body.config import NEUTRAL
from bumble.body.significance import Significance
from bumble.body.soma import Soma
from bumble.entity import secrets
from bumble.entity.changes import Change
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.fallback import sayings
from bumble.files import disk
from bumble.index import terms
from bumble.index.search import Hit
from bumble.jobs.segments import StretchJob
from bumble.llm import ledger
from bumble.recall import survey
from bumble.records import base, episodes, provenance, relationships, session_files, sessions
from bumble.records.base import Provenance
from bumble.records.episodes import Episode, Imprint, Telling
from bumble.records.sessions import Appraised, Message, Session
from bumble.runtime import anchor_recall, body_state, people
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, tokens, words

QUOTE_CHARS, LABEL_CHARS = 200, 60  # of the anchor that a charged turn makes


def _name(message: Message) -> str:
    return str(message.extra.get("name") or message.speaker or "somebody")


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
    lines = [felt_line(at, message, assessment, model) for message, assessment in assessments]
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
        by="appraise",
        sources=(message.id,),
        trust=message.trust,
        audience=session.people,
    )
    quote = f'{_name(message)}: "{words.shorten(message.text, QUOTE_CHARS)}"'
    label = words.shorten(imprint.trigger, LABEL_CHARS)
    strength = imprint.intensity * left
    return anchor_recall.plan_charged(runtime, soma, label, quote, strength, origin)


def felt_line(at: datetime, message: Message, assessment: Appraisal, model: str) -> Appraised:
    """Return the line of a transcript that says what a message did to the body."""
    imprint = assessment.imprint
    emotion = (imprint.emotion, imprint.intensity, imprint.trigger) if imprint else ("", 0.0, "")
    extra = {"model": model} if model else {"source": sayings.MARK}
    return Appraised(at, message.id, assessment.points, assessment.felt, *emotion, extra=extra)


def _left(age_seconds: float) -> float:
    """Tell which share of an appraisal is left, in [0, 1]; 0 where no affect would be left."""
    left: float = 0.5 ** (max(0.0, age_seconds) / 60 / affects.HALF_LIFE_MINUTES)
    return left if left >= affects.FORGET_BELOW else 0.0


PURPOSE = "remember"
EXCERPT_LINES, EXCERPT_TOKENS = 6, 60  # at most; of one line
FULL_WORDS = 20  # telling words beyond these make a message no more telling


class TellingResult(Struct, frozen=True):
    """The text of an episode, by the model or as an excerpt, and why."""

    telling: Telling
    excerpt: str = ""  # why it is one; empty if the model told it
    by_form: bool = False  # whether it is quotes of what is worth keeping

    @property
    def summary_source(self) -> str:
        """The episode's `summary_source`: empty if the model told it."""
        return sayings.MARK if self.by_form else episodes.EXCERPT if self.excerpt else ""


def excerpt(
    messages: Iterable[Message],
    speaker: Callable[[Message], str],
    appraisals: Mapping[str, Appraised] = {},
) -> Telling:
    """Take the most telling messages as they were said, in their order.

    Args:
        messages: Of a talk; those of tools are none.
        speaker: Says what who said one is called.
        appraisals: What moved the body, by message.
    """
    spoken = [one for one in messages if one.role != "tool" and one.text.strip()]

    def weight(message: Message) -> float:
        count = min(FULL_WORDS, len(set(stop_words.telling_words(message.text))))
        moved = appraisals.get(message.id)
        points = sum(abs(point) for point in moved.points.values()) if moved else 0.0
        return (count + points) * (1.0 if message.role == "user" else 0.5)

    best = sorted(spoken, key=weight, reverse=True)[:EXCERPT_LINES]
    lines = (
        f"> {speaker(one)}: "
        f"{tokens.cut(secrets.redacted(words.one_line(one.text)), EXCERPT_TOKENS)}"
        for one in spoken
        if one in best
    )
    return Telling("\n>\n".join(lines))


STRONG_MOOD = 0.5  # intensity from which a mood marks an episode that was not appraised
REPEATED = 0.9  # of the words of a talk, in an earlier episode: nothing of it is new
COMPARED = 20  # earlier episodes that novelty looks at
QUERY_TOKENS = 300  # of what was said, to look for them with
LINE_TOKENS = 15  # of an episode in a title
EPOCH = datetime.fromtimestamp(0, UTC)  # ids cannot say earlier times


def conversation(runtime: Runtime, session_id: str) -> Session | None:
    """Read a conversation; one that is gone or broken holds up no other (`doctor` names it)."""
    path = sessions.path(session_id)
    try:
        file = disk.inside(runtime.entity.root, path)
        return session_files.load(file) if base.is_id(session_id) and file.is_file() else None
    except (RecordInvalidError, UnsafePathError):
        return None


def audience(session: Session, messages: Sequence[Message]) -> tuple[str, ...]:
    """Return who had been there by then: somebody who joins later was not told it."""
    ids = [message.id for message in session.messages]
    until = session.messages[: ids.index(messages[-1].id) + 1]
    return tuple(dict.fromkeys((session.by, *_heard_by(session, until))))


def note_passed_over(runtime: Runtime, job: StretchJob, why: str) -> None:
    """Put the reason into the ledger, in the place of the call that was not made."""
    detail = {"session": job.session_id, "reason": why}
    entry = ledger.LedgerEntry(runtime.clock(), PURPOSE, "", 0, "skipped", detail=detail)
    with contextlib.suppress(OSError):  # a full disk stops no pass
        ledger.append(runtime.entity.ledger, entry)


def id_of(job: StretchJob) -> str:
    """Return the id of the episode that a segment becomes: the same in every process."""
    first = job.messages[0]
    chance = random.Random(f"{job.session_id} {first.id}")
    return base.new_id(episodes.PREFIX, max(first.at, EPOCH), chance)


def names_of(runtime: Runtime, session: Session, messages: Sequence[Message]) -> dict[str, str]:
    """Return what those are called who took part in some messages, by their ids."""
    names = {}
    for person in _heard_by(session, messages):
        stated_names = (
            str(message.extra.get("name", "")) for message in messages if message.speaker == person
        )
        names[person] = next(filter(None, stated_names), "") or _known_name(runtime, person)
    return names


def _people(session: Session, messages: Iterable[Message]) -> tuple[str, ...]:
    speakers = dict.fromkeys(
        message.speaker for message in messages if message.role == "user" and message.speaker
    )
    return tuple(speakers) or ((session.by,) if session.by else ())


def _heard_by(session: Session, messages: Iterable[Message]) -> tuple[str, ...]:
    """Return who took part in some messages, and who only listened."""
    return tuple(dict.fromkeys((*_people(session, messages), *session.present)))


def _known_name(runtime: Runtime, person: str) -> str:
    file = runtime.entity.root / relationships.path(person)
    with contextlib.suppress(RecordInvalidError):
        if file.is_file():
            return base.load(file, relationships.parse).name
    return person.replace("-", " ").title()


def significance_now(runtime: Runtime, episode: Episode, at: datetime) -> float:
    """Tell how much of the weight of an episode is left."""
    age = seconds_between(episode.at, at)
    return significance.decayed(episode.significance, age, runtime.config.memory)


def weigh(runtime: Runtime, session: Session, job: StretchJob) -> Significance:
    """Tell how much a segment matters, share by share."""
    used_tool = any(message.role == "tool" for message in job.messages)
    texts = [message.text for message in job.messages if message.role == "user"]
    points: dict[str, float] = {}
    for message in job.messages:
        moved = session.appraisals.get(message.id)
        for bar, value in moved.points.items() if moved else ():
            points[bar] = points.get(bar, 0.0) + value
    participants = _people(session, job.messages)
    return significance.significance(
        meaningful=any(significance.is_meaningful(text, used_tool=used_tool) for text in texts),
        familiarity=max((_familiarity(runtime, person) for person in participants), default=0.0),
        appraisal=significance.appraisal_strength(points),
        novelty=_novelty(runtime, "\n".join(texts)),
    )


def _familiarity(runtime: Runtime, person: str) -> float:
    record = people.readable_person(runtime, person)
    return record.scores.familiarity if record else 0.0


def _novelty(runtime: Runtime, text: str) -> float:
    """Tell how unlike all earlier episodes something is, by meaning or else by words."""
    runtime.memory.sync()
    query = tokens.cut(text, QUERY_TOKENS)
    hits = runtime.memory.search(query, kinds=("episode",), limit=COMPARED)
    language = words.language(query)
    asked = set(terms.terms(query, language))
    return significance.novelty(_alike(hit, asked, language) for hit in hits)


def _alike(hit: Hit, asked: set[str], language: str) -> float:
    hit_terms = set(terms.terms(hit.text, language))
    shared = len(asked & hit_terms)
    if shared >= REPEATED * len(asked):
        return 1.0  # an episode has names and answers beside what was said: vectors don't show it
    if hit.parts.calibrated is not None:
        return hit.parts.calibrated
    return shared / max(1, min(len(asked), len(hit_terms)))


def origin_of(
    session: Session, messages: Sequence[Message], audience: Sequence[str], model: str
) -> Provenance:
    """Say where the telling of some messages comes from; `model` is empty for an excerpt."""
    return Provenance(
        by=PURPOSE,
        model=model,
        sources=(session.id, *(message.id for message in messages)),
        trust=base.lowest_trust(message.trust for message in messages),
        audience=tuple(audience),
    )


def episode_of(
    runtime: Runtime,
    session: Session,
    job: StretchJob,
    weight: Significance,
    result: TellingResult,
    origin: Provenance,
    inferences: Sequence[str] = (),
) -> Episode:
    """Make the episode of a segment, with what was felt in it and what it is about."""
    tag = _tag(job.messages)
    return episodes.new(
        id_of(job),
        job.messages[0].at.astimezone(runtime.zone),
        weight.total,
        result.telling.text,
        people=_heard_by(session, job.messages),
        imprints=_imprints(runtime, session, job.messages, "" if result.by_form else tag),
        soma=tag,
        session=session.id,
        tags=survey.tags_of(runtime.memory, _told(job.messages), origin.audience),
        summary_source=result.summary_source,
        inferences=tuple(inferences),
        provenance=origin,
    )


def _told(messages: Sequence[Message]) -> list[str]:
    """Return what people told in some messages; what they only read out tags nothing."""
    return [
        message.text
        for message in messages
        if message.role == "user" and not provenance.is_untrusted(message.trust)
    ]


def _tag(messages: Sequence[Message]) -> str:
    """Return how the body was at the end, as the last message that says so has it."""
    for message in reversed(messages):
        tag = message.extra.get("soma")
        if isinstance(tag, str) and _parsed(tag):
            return tag
    return ""


def _parsed(tag: str) -> ebb.BodyTag | None:
    try:
        return ebb.parse_tag(tag)
    except ValueError:
        return None


def _imprints(
    runtime: Runtime, session: Session, messages: Sequence[Message], tag: str
) -> tuple[Imprint, ...]:
    """Return what was felt: by emotion, the strongest; where no talk moved it, a strong mood."""
    felt = [
        session.appraisals[message.id] for message in messages if message.id in session.appraisals
    ]
    strongest: dict[str, Imprint] = {}
    for moved in sorted(felt, key=lambda moved: moved.intensity):
        if moved.emotion not in ("", NEUTRAL) and moved.intensity > 0:
            strongest[moved.emotion] = Imprint(moved.emotion, moved.intensity, moved.trigger)
    by_strength = tuple(sorted(strongest.values(), key=lambda imprint: -imprint.intensity))
    return by_strength or _mood(runtime, messages[-1].at, tag)


def _mood(runtime: Runtime, at: datetime, tag: str) -> tuple[Imprint, ...]:
    parsed = _parsed(tag)
    if parsed is None:
        return ()
    levels = {name: Bar(float(value), float(value)) for name, value in parsed.bars.items()}
    mood = affects.mood(Bars(at, levels, {}))
    return (Imprint(mood.name, mood.intensity),) if mood.intensity >= STRONG_MOOD else ()
