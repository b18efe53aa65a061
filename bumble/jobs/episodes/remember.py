"""Remembering: segments that are over become episodes, with people, imprints and ids.

Whether one does is a matter of its significance; what it then says is `episode_text`'s. An
episode's id follows from the messages it is made of, so that two processes cannot make two of one
segment.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec import Struct

from bumble.body import affects, ebb, significance
from bumble.body.bars import Bar, Bars
from bumble.body.config import NEUTRAL
from bumble.body.significance import Significance
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.files import disk
from bumble.index import terms
from bumble.index.search import Hit
from bumble.jobs.episodes import episode_text, segments
from bumble.jobs.episodes.episode_text import EpisodeScene, TellingResult
from bumble.jobs.episodes.segments import Likeness, Segment, SegmentRules
from bumble.llm import ledger
from bumble.models.embed import calibrate
from bumble.models.embed.protocol import Floats
from bumble.recall import survey
from bumble.records import (
    base,
    episodes,
    provenance,
    relationships,
    session_files,
    sessions,
)
from bumble.records.base import Provenance
from bumble.records.episodes import Episode, Imprint
from bumble.records.sessions import Message, Session
from bumble.runtime import people
from bumble.runtime.job import Condition, Due
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, words

R = TypeVar("R", bound="RememberJob")
STRONG_MOOD = 0.5  # intensity from which a mood marks an episode that was not appraised
REPEATED = 0.9  # of the words of a talk, in an earlier episode: nothing of it is new
COMPARED = 20  # earlier episodes that novelty looks at
QUERY_TOKENS = 300  # of what was said, to look for them with
LINE_TOKENS = 15  # of an episode in a title
EPOCH = datetime.fromtimestamp(0, UTC)  # ids cannot say earlier times


class RememberJob(Struct, frozen=True):
    """A segment to make an episode of."""

    session_id: str
    messages: tuple[Message, ...]
    closed: str  # what closed it


def due(jobs: list[R], open_count: int) -> Due[R]:
    """Return what is to be remembered, the oldest first."""
    jobs.sort(key=lambda job: (job.messages[0].at, job.session_id))
    value = f"{len(jobs)} over, {open_count} going on"
    condition = Condition("stretches of conversation", value, "one that is over", bool(jobs))
    return Due((condition,), tuple(jobs))


def cut(runtime: Runtime, session: Session, waiting: Sequence[Message]) -> list[Segment]:
    """Cut what waits of a conversation into stretches, by pauses, topics, length and its end."""
    ended, alike = session.ended is not None, _likeness(runtime)
    return segments.cut(waiting, _rules(runtime), runtime.now(), ended=ended, likeness=alike)


def _rules(runtime: Runtime) -> SegmentRules:
    memory = runtime.config.memory
    return SegmentRules(
        pause=timedelta(minutes=memory.episode_pause_minutes),
        max_turns=max(1, memory.episode_max_turns),
        alike_from=runtime.config.session.continuity_threshold,
    )


def conversation(runtime: Runtime, session_id: str) -> Session | None:
    """Read a conversation; one that is gone or broken holds up no other (`doctor` names it)."""
    path = sessions.path(session_id)
    try:
        file = disk.inside(runtime.entity.root, path)
        return session_files.load(file) if base.is_id(session_id) and file.is_file() else None
    except (RecordInvalidError, UnsafePathError):
        return None


def _likeness(runtime: Runtime) -> Likeness:
    """Return what tells how alike two texts are; opens the embedder when first asked."""
    vectors: dict[str, Floats] = {}

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
        return float(calibrate.similarity(nearest, embedder.unrelated_cosine))

    return alike


def audience(session: Session, messages: Sequence[Message]) -> tuple[str, ...]:
    """Return who had been there by then: somebody who joins later was not told it."""
    ids = [message.id for message in session.messages]
    until = session.messages[: ids.index(messages[-1].id) + 1]
    return tuple(dict.fromkeys((session.by, *_heard_by(session, until))))


def note_passed_over(runtime: Runtime, job: RememberJob, why: str) -> None:
    """Put the reason into the ledger, in the place of the call that was not made."""
    detail = {"session": job.session_id, "reason": why}
    entry = ledger.LedgerEntry(
        runtime.clock(), episode_text.PURPOSE, "", 0, "skipped", detail=detail
    )
    with contextlib.suppress(OSError):  # a full disk stops no pass
        ledger.append(runtime.entity.ledger, entry)


def id_of(job: RememberJob) -> str:
    """Return the id of the episode that a segment becomes: the same in every process."""
    first = job.messages[0]
    chance = random.Random(f"{job.session_id} {first.id}")
    return base.new_id(episodes.PREFIX, max(first.at, EPOCH), chance)


def scene_of(runtime: Runtime, session: Session, messages: Sequence[Message]) -> EpisodeScene:
    """Describe who took part in some messages, and when."""
    names = {}
    for person in _heard_by(session, messages):
        stated_names = (
            str(message.extra.get("name", "")) for message in messages if message.speaker == person
        )
        names[person] = next(filter(None, stated_names), "") or _name(runtime, person)
    at = messages[0].at.astimezone(runtime.zone)
    return EpisodeScene(
        runtime.identity.name, names, messages, session.appraisals, f"{at:%A} {at.day} {at:%B %Y}"
    )


def _people(session: Session, messages: Iterable[Message]) -> tuple[str, ...]:
    speakers = dict.fromkeys(
        message.speaker for message in messages if message.role == "user" and message.speaker
    )
    return tuple(speakers) or ((session.by,) if session.by else ())


def _heard_by(session: Session, messages: Iterable[Message]) -> tuple[str, ...]:
    """Return who took part in some messages, and who only listened."""
    return tuple(dict.fromkeys((*_people(session, messages), *session.present)))


def _name(runtime: Runtime, person: str) -> str:
    file = runtime.entity.root / relationships.path(person)
    with contextlib.suppress(RecordInvalidError):
        if file.is_file():
            return base.load(file, relationships.parse).name
    return person.replace("-", " ").title()


def weigh(runtime: Runtime, session: Session, job: RememberJob) -> Significance:
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
        by=episode_text.PURPOSE,
        model=model,
        sources=(session.id, *(message.id for message in messages)),
        trust=base.lowest_trust(message.trust for message in messages),
        audience=tuple(audience),
    )


def episode_of(
    runtime: Runtime,
    session: Session,
    job: RememberJob,
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
    """Return what was felt: by emotion, the strongest; without appraisals, a strong mood."""
    felt = [
        session.appraisals[message.id] for message in messages if message.id in session.appraisals
    ]
    if not felt:
        return _mood(runtime, messages[-1].at, tag)
    strongest: dict[str, Imprint] = {}
    for appraisal in sorted(felt, key=lambda appraisal: appraisal.intensity):
        if appraisal.emotion not in ("", NEUTRAL) and appraisal.intensity > 0:
            strongest[appraisal.emotion] = Imprint(
                appraisal.emotion, appraisal.intensity, appraisal.trigger
            )
    return tuple(sorted(strongest.values(), key=lambda imprint: -imprint.intensity))


def _mood(runtime: Runtime, at: datetime, tag: str) -> tuple[Imprint, ...]:
    parsed = _parsed(tag)
    if parsed is None:
        return ()
    levels = {name: Bar(float(value), float(value)) for name, value in parsed.bars.items()}
    mood = affects.mood(Bars(at, levels, {}))
    return (Imprint(mood.name, mood.intensity),) if mood.intensity >= STRONG_MOOD else ()
