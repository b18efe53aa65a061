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

from bumble.body import affects, appraisal, bars, config, ebb, significance
from bumble.body.soma import Soma
from bumble.entity import changes, secrets
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.fallback import sayings
from bumble.files import disk
from bumble.index import search, terms
from bumble.jobs.scene import StretchJob, heard_by, people_of
from bumble.llm import ledger
from bumble.recall import survey
from bumble.records import base, episodes, provenance, session_files, sessions
from bumble.runtime import body_state, people
from bumble.runtime.runtime import Runtime
from bumble.text import moments, stop_words, tokens, words

QUOTE_CHARS, LABEL_CHARS = 200, 60  # of the anchor that a charged turn makes


def plan_felt(
    runtime: Runtime,
    session: sessions.Session,
    message: sessions.Message,
    assessment: appraisal.Appraisal,
    ended: datetime,
    at: datetime,
    model: str = "",
) -> list[changes.Change | None]:
    """Plan to note an appraisal in the transcript, and to let what is left of it be felt.

    Args:
        runtime: Whose body.
        session: The conversation as it is now.
        message: That it is noted beside.
        assessment: What was felt.
        ended: When the talk that it is of was over.
        at: The present.
        model: What made it; empty: a rule.
    """
    since = max(0.0, moments.seconds_between(ended, at))
    left: float = 0.5 ** (since / 60 / affects.HALF_LIFE_MINUTES)  # the share that is left of it
    line = felt_line(at, message, assessment, model)
    noted = sessions.plan_append(session, [line], "note what it did to the body")
    if left < affects.FORGET_BELOW:
        return [noted]

    def move(soma: Soma) -> Soma:
        return appraisal.apply(soma, assessment, left=left, audience=session.people)

    moved = body_state.plan(runtime, at, move, "what was said moved the body")
    soma = move(body_state.read(runtime, at))
    return [noted, moved, *_anchored(runtime, session, soma, message, assessment, left)]


def _anchored(
    runtime: Runtime,
    session: sessions.Session,
    soma: Soma,
    message: sessions.Message,
    assessment: appraisal.Appraisal,
    left: float,
) -> list[changes.Change | None]:
    """Plan the anchor of a charged turn: its words are those that were said, never a model's."""
    imprint = assessment.imprint
    if imprint is None:
        return []
    origin = base.Provenance(
        by="appraise",
        sources=(message.id,),
        trust=message.trust,
        audience=session.people,
    )
    quote = f'{message.called() or "somebody"}: "{words.shorten(message.text, QUOTE_CHARS)}"'
    label = words.shorten(imprint.trigger, LABEL_CHARS)
    return body_state.plan_charged(runtime, soma, label, quote, imprint.intensity * left, origin)


def felt_line(
    at: datetime, message: sessions.Message, assessment: appraisal.Appraisal, model: str
) -> sessions.Appraised:
    """Return the line of a transcript that says what a message did to the body."""
    imprint = assessment.imprint
    emotion = (imprint.emotion, imprint.intensity, imprint.trigger) if imprint else ("", 0.0, "")
    extra = {"model": model} if model else {"source": sayings.MARK}
    return sessions.Appraised(
        at, message.id, assessment.points, assessment.felt, *emotion, extra=extra
    )


PURPOSE = "remember"
EXCERPT_LINES, EXCERPT_TOKENS = 6, 60  # at most; of one line
FULL_WORDS = 20  # telling words beyond these make a message no more telling


def excerpt(
    messages: Iterable[sessions.Message],
    speaker: Callable[[sessions.Message], str],
    appraisals: Mapping[str, sessions.Appraised] = {},
) -> episodes.Telling:
    """Take the most telling messages as they were said, in their order.

    Args:
        messages: Of a talk; those of tools are none.
        speaker: Says what who said one is called.
        appraisals: What moved the body, by message.
    """
    spoken = [one for one in messages if one.role != "tool" and one.text.strip()]

    def weight(message: sessions.Message) -> float:
        count = min(FULL_WORDS, len(set(stop_words.telling_words(message.text))))
        moved = appraisals.get(message.id)
        points = sum(abs(point) for point in moved.points.values()) if moved else 0.0
        return (count + points) * (1.0 if message.role == "user" else 0.5)

    best = sorted(spoken, key=weight, reverse=True)[:EXCERPT_LINES]
    said = [(one, secrets.redacted(words.one_line(one.text))) for one in spoken if one in best]
    lines = (f"> {speaker(one)}: {tokens.cut(text, EXCERPT_TOKENS)}" for one, text in said)
    return episodes.Telling("\n>\n".join(lines))


STRONG_MOOD = 0.5  # intensity from which a mood marks an episode that was not appraised
REPEATED = 0.9  # of the words of a talk, in an earlier episode: nothing of it is new
COMPARED = 20  # earlier episodes that novelty looks at
QUERY_TOKENS = 300  # of what was said, to look for them with
EPOCH = datetime.fromtimestamp(0, UTC)  # ids cannot say earlier times


def conversation(runtime: Runtime, session_id: str) -> sessions.Session | None:
    """Read a conversation; one that is gone or broken holds up no other (`doctor` names it)."""
    if not base.is_id(session_id):
        return None
    try:
        file = disk.inside(runtime.entity.root, sessions.path(session_id))
        return session_files.load(file) if file.is_file() else None
    except (RecordInvalidError, UnsafePathError):
        return None


def audience(session: sessions.Session, messages: Sequence[sessions.Message]) -> tuple[str, ...]:
    """Return who had been there by then: somebody who joins later was not told it."""
    ids = [message.id for message in session.messages]
    until = session.messages[: ids.index(messages[-1].id) + 1]
    return tuple(dict.fromkeys((session.by, *heard_by(session, until))))


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
    return base.new_id(episodes.EPISODE.prefix, max(first.at, EPOCH), chance)


def significance_now(runtime: Runtime, episode: episodes.Episode, at: datetime) -> float:
    """Tell how much of the weight of an episode is left."""
    age = moments.seconds_between(episode.at, at)
    return significance.decayed(episode.significance, age, runtime.config.memory)


def weigh(
    runtime: Runtime, session: sessions.Session, job: StretchJob
) -> significance.Significance:
    """Tell how much a segment matters, share by share."""
    used_tool = any(message.role == "tool" for message in job.messages)
    texts = [message.text for message in job.messages if message.role == "user"]
    points: dict[str, float] = {}
    for message in job.messages:
        moved = session.appraisals.get(message.id)
        for bar, value in moved.points.items() if moved else ():
            points[bar] = points.get(bar, 0.0) + value
    known = [people.readable_person(runtime, one) for one in people_of(session, job.messages)]
    # tell how unlike all earlier episodes something is, by meaning or else by words
    runtime.memory.sync()
    query = tokens.cut("\n".join(texts), QUERY_TOKENS)
    hits = runtime.memory.search(query, kinds=("episode",), limit=COMPARED)
    language = words.language(query)
    asked = set(terms.terms(query, language))
    return significance.significance(
        meaningful=any(significance.is_meaningful(text, used_tool=used_tool) for text in texts),
        familiarity=max((one.scores.familiarity for one in known if one), default=0.0),
        appraisal=significance.appraisal_strength(points),
        novelty=significance.novelty(_alike(hit, asked, language) for hit in hits),
    )


def _alike(hit: search.Hit, asked: set[str], language: str) -> float:
    hit_terms = set(terms.terms(hit.text, language))
    shared = len(asked & hit_terms)
    if shared >= REPEATED * len(asked):
        return 1.0  # an episode has names and answers beside what was said: vectors don't show it
    if hit.parts.calibrated is not None:
        return hit.parts.calibrated
    return shared / max(1, min(len(asked), len(hit_terms)))


def episode_of(
    runtime: Runtime,
    session: sessions.Session,
    job: StretchJob,
    weight: significance.Significance,
    telling: episodes.Telling,
    summary_source: str,
    origin: base.Provenance,
    inferences: Sequence[str],
) -> episodes.Episode:
    """Make the episode of a segment, with what was felt in it and what it is about."""
    tag = _tag(job.messages)
    told = [  # what they only read out tags nothing
        message.text
        for message in job.messages
        if message.role == "user" and not provenance.is_untrusted(message.trust)
    ]
    felt_tag = "" if summary_source == sayings.MARK else tag
    return episodes.new(
        id_of(job),
        job.messages[0].at.astimezone(runtime.zone),
        weight.total,
        telling.text,
        people=heard_by(session, job.messages),
        imprints=_imprints(runtime, session, job.messages, felt_tag),
        soma=tag,
        session=session.id,
        tags=survey.tags_of(runtime.memory, told, origin.audience),
        summary_source=summary_source,
        inferences=tuple(inferences),
        provenance=origin,
    )


def _tag(messages: Sequence[sessions.Message]) -> str:
    """Return how the body was at the end, as the last message that says so has it."""
    tags = (message.extra.get("soma") for message in reversed(messages))
    return next((tag for tag in tags if isinstance(tag, str) and ebb.parse_tag(tag)), "")


def _imprints(
    runtime: Runtime, session: sessions.Session, messages: Sequence[sessions.Message], tag: str
) -> tuple[episodes.Imprint, ...]:
    """Return what was felt: by emotion, the strongest; where no talk moved it, a strong mood."""
    felt = [
        session.appraisals[message.id] for message in messages if message.id in session.appraisals
    ]
    strongest = {
        moved.emotion: episodes.Imprint(moved.emotion, moved.intensity, moved.trigger)
        for moved in sorted(felt, key=lambda moved: moved.intensity)
        if moved.emotion not in ("", config.NEUTRAL) and moved.intensity > 0
    }
    by_strength = tuple(sorted(strongest.values(), key=lambda imprint: -imprint.intensity))
    return by_strength or _mood(messages[-1].at, tag)


def _mood(at: datetime, tag: str) -> tuple[episodes.Imprint, ...]:
    parsed = ebb.parse_tag(tag)
    if parsed is None:
        return ()
    levels = {name: bars.Bar(float(value), float(value)) for name, value in parsed.bars.items()}
    mood = affects.mood(bars.Bars(at, levels, {}))
    return (episodes.Imprint(mood.name, mood.intensity),) if mood.intensity >= STRONG_MOOD else ()
