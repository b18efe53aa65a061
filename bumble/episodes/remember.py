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
from msgspec.structs import replace

from bumble import files
from bumble.body import affects, ebb, significance
from bumble.body.bars import Bar, Bars
from bumble.body.config import NEUTRAL
from bumble.body.significance import Significance
from bumble.choosing import by_form
from bumble.choosing.by_form import NOTHING, Noticed, Wording
from bumble.embed import calibrate
from bumble.embed.protocol import Floats
from bumble.entity.changes import Change
from bumble.episodes import episode_text, segments
from bumble.episodes.episode_text import EpisodeScene, TellingResult
from bumble.episodes.segments import Likeness, Segment, SegmentRules
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.index import terms
from bumble.index.search import Hit
from bumble.llm import ledger
from bumble.records import (
    base,
    episodes,
    provenance,
    relationships,
    session_files,
    sessions,
    state,
)
from bumble.records.base import Provenance
from bumble.records.episodes import Episode, Imprint
from bumble.records.sessions import Message, Session
from bumble.runtime import cursors, people
from bumble.runtime.cursors import REMEMBER
from bumble.runtime.job import Condition, Due, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, words
from bumble.text.words import one_line
from bumble.topics import episode_tags

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
    wording: Wording | None = None  # None: a model tells it


def check(runtime: Runtime) -> Due[RememberJob]:
    """Find the segments that are over, the oldest first."""
    file = state.read(runtime.entity.state)
    jobs, open_count = [], 0
    for session_id in cursors.waiting(file):
        if cursors.first(file, session_id, (REMEMBER,)) is None:
            continue
        session = conversation(runtime, session_id)
        wording = by_form.of_conversation(runtime, session) if session else None
        if session is None or wording is None:
            continue
        for segment in cut(runtime, session, cursors.messages(file, session, (REMEMBER,))):
            if segment.closed:
                jobs.append(RememberJob(session_id, segment.messages, segment.closed, wording))
            else:
                open_count += 1
    return due(jobs, open_count)


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
        file = files.inside(runtime.entity.root, path)
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


def run(runtime: Runtime, job: RememberJob) -> JobResult:
    """Weigh a segment and, if it matters enough, quote what is worth keeping; writes no file."""
    session = session_files.load(runtime.entity.root / sessions.path(job.session_id))
    episode_id = id_of(job)
    if episodes.locate(runtime.entity.episodes, episode_id):
        return _passed_over(runtime, job, f"{episode_id} is there already")
    if job.wording is None:
        raise TypeError("a stretch that a model tells is no job of this pass")
    noticed = by_form.notices(runtime, session, job.messages)
    sayings = by_form.sayings(runtime, session, job.messages, noticed, job.wording)
    if not sayings:
        passed = _passed_over(runtime, job, "nothing in it is worth keeping", noticed=noticed)
        return replace(passed, asked=False)
    weight = weigh(runtime, session, job)
    sentence = weight.sentence(runtime.config.memory.episode_significance_threshold)
    data = {"significance": round(weight.total, 4), "why": sentence}
    if weight.total < runtime.config.memory.episode_significance_threshold:
        note_passed_over(runtime, job, sentence)
        return _passed_over(runtime, job, sentence, data, noticed)
    result = episode_text.quoted(sayings, job.wording)
    origin = by_form.origin(episode_text.PURPOSE, session, sayings, audience(session, job.messages))
    episode = episode_of(runtime, session, job, weight, result, origin)
    title = tokens.cut(
        one_line(result.telling.narrative.partition("\n")[0].lstrip("# ")), LINE_TOKENS
    )
    return JobResult(
        title=f"remember: {title}",
        plan=lambda: _planned(runtime, job, episode, noticed),
        lines=(f"Remembered {episode.id} ({episode.summary_source}): {title}",),
        data={
            **_about(job),
            **data,
            "episode": episode.id,
            "summary_source": episode.summary_source or None,
        },
        trailers=traced([job.session_id], ""),
        asked=False,
    )


def audience(session: Session, messages: Sequence[Message]) -> tuple[str, ...]:
    """Return who had been there by then: somebody who joins later was not told it."""
    ids = [message.id for message in session.messages]
    until = session.messages[: ids.index(messages[-1].id) + 1]
    return tuple(dict.fromkeys((session.by, *_heard_by(session, until))))


def _passed_over(
    runtime: Runtime,
    job: RememberJob,
    why: str,
    data: dict[str, object] | None = None,
    noticed: Noticed = NOTHING,
) -> JobResult:
    return JobResult(
        title="remember: nothing of a conversation",
        plan=lambda: _planned(runtime, job, None, noticed),
        lines=(f"Not remembered, {len(job.messages)} messages of {job.session_id}: {why}",),
        data={**_about(job), "why": why, **(data or {}), "episode": None},
    )


def _about(job: RememberJob) -> dict[str, object]:
    return {"session": job.session_id, "messages": len(job.messages), "closed_by": job.closed}


def note_passed_over(runtime: Runtime, job: RememberJob, why: str) -> None:
    """Put the reason into the ledger, in the place of the call that was not made."""
    detail = {"session": job.session_id, "reason": why}
    entry = ledger.LedgerEntry(
        runtime.clock(), episode_text.PURPOSE, "", 0, "skipped", detail=detail
    )
    with contextlib.suppress(OSError):  # a full disk stops no pass
        ledger.append(runtime.entity.ledger, entry)


def _planned(
    runtime: Runtime, job: RememberJob, episode: Episode | None, noticed: Noticed
) -> list[Change | None]:
    """Plan the cursor and the episode; nothing if another process has dealt with the segment.

    The cursor comes first: a process that was faster has moved it, and then all is planned again.
    """
    file = state.read(runtime.entity.state)
    session = session_files.load(runtime.entity.root / sessions.path(job.session_id))
    last = job.messages[-1].id
    if last not in {message.id for message in cursors.messages(file, session, (REMEMBER,))}:
        return []
    why = f"{len(job.messages)} messages were remembered"
    moved = cursors.plan_moved(file, session, [((REMEMBER,), last)], {}, why)
    added = by_form.plan_noticed(session, noticed)
    if episode is None or episodes.locate(runtime.entity.episodes, episode.id):
        return [moved, added]
    return [
        moved,
        added,
        episodes.plan_new(episode, f"remember a conversation of {job.session_id}"),
    ]


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
        tags=episode_tags.of(runtime.memory, _told(job.messages), origin.audience),
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
