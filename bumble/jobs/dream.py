"""A dream: how it is made from pairs of memories, and what it leaves in journal and beliefs.

Five gates must pass. What came of it goes into the diary, the beliefs and the noise as one change
set, and into a record of its own. The entity has no say in it: no tool leads here. A dream never
feeds on dreams.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from bumble import patterns
from bumble.body import ebb, noise
from bumble.body.soma import Soma, hear, is_open
from bumble.entity.changes import Change
from bumble.entity.config import DreamsConfig
from bumble.errors import AnswerInvalidError
from bumble.fallback import sayings
from bumble.guard.verifier import ClaimSources
from bumble.jobs.episode import significance_now
from bumble.llm import prompts, structured
from bumble.models.embed import protocol
from bumble.recall.belief_strength import Claim, plan_claims
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    fields,
    journal,
    provenance,
    questions,
    state,
)
from bumble.records.episodes import Episode
from bumble.runtime import body_state, people
from bumble.runtime.job import (
    Condition,
    Due,
    JobPlan,
    JobResult,
    array,
    closed,
    request,
    silence,
    text,
    traced,
)
from bumble.runtime.runtime import Runtime
from bumble.text import markdown, moments, stop_words, titles, tokens
from bumble.text.words import one_line, shorten

EMPTY_BACKOFF_SECONDS = 1800  # after a night without an eligible pair
SECTION = "dream"
ENDING = ("silence", "cooldown", "daily cap")  # conditions that may fail while a model writes


class DreamHistory(Struct, frozen=True):
    """The last dreams, as `state.yaml` keeps them."""

    last_at: datetime | None = None  # of the last dream
    empty_at: datetime | None = None  # when there was nothing to dream of
    day: str = ""  # of the last dream, in the entity's time zone
    count: int = 0  # dreams on that day

    def count_on(self, day: str) -> int:
        """Return how many dreams there were on a day."""
        return self.count if self.day == day else 0


def gates(
    runtime: Runtime, at: datetime, heard_until: datetime | None = None
) -> tuple[Condition, ...]:
    """Return the five conditions as they are at a time; silence may be told to a later one."""
    config, past = runtime.config.soma.dreams, read(runtime)
    hours = ", ".join(map(str, config.dream_hours)) or "none"
    count = past.count_on(_day(runtime, at))
    return (
        Condition(
            "enabled", "on" if config.enabled else "off", "soma.dreams.enabled", config.enabled
        ),
        silence(runtime.entity, heard_until or at, config.min_silence_seconds),
        _cooldown(runtime, past, at),
        Condition(
            "hours",
            f"{at.astimezone(runtime.zone):%H:%M}",
            f"one of the hours {hours}",
            moments.in_hours(at, runtime.zone, config.dream_hours),
        ),
        Condition(
            "daily cap",
            f"{count} today",
            f"fewer than {config.max_cycles_per_day}",
            count < config.max_cycles_per_day,
        ),
    )


def read(runtime: Runtime) -> DreamHistory:
    """Read when the last dreams were."""
    values = state.read(runtime.entity.state).get(SECTION, default={})
    return fields.read_struct(DreamHistory, values)


def _cooldown(runtime: Runtime, past: DreamHistory, at: datetime) -> Condition:
    """Time since the last dream, and since a night in which there was nothing to dream of."""
    config = runtime.config.soma.dreams
    times = [
        (past.last_at, config.min_gap_seconds, "the last dream"),
        (past.empty_at, EMPTY_BACKOFF_SECONDS, "there was nothing to dream of"),
    ]
    waits = [
        (moments.gap(moment, at).total_seconds(), least, what)
        for moment, least, what in times
        if moment
    ]
    if not waits:
        return Condition("cooldown", "no dream yet", f"at least {config.min_gap_seconds:g} s", True)
    since, wanted, what = min(waits, key=lambda wait: wait[0] - wait[1])
    return Condition(
        "cooldown", f"{since:.0f} s since {what}", f"at least {wanted:g} s", since >= wanted
    )


def _day(runtime: Runtime, at: datetime) -> str:
    return at.astimezone(runtime.zone).date().isoformat()


def plan_counted(runtime: Runtime, past: DreamHistory, at: datetime) -> Change | None:
    """Plan to remember a dream."""
    day = _day(runtime, at)
    file = state.read(runtime.entity.state)
    values = {"last_at": base.stamp(at), "day": day, "count": past.count_on(day) + 1}
    gone = [(SECTION, "empty_at")] if past.empty_at else []
    return state.plan_write(file, {SECTION: values}, "count the dream", remove=gone)


CANDIDATES = 200  # the most significant memories, compared each with each
SHARED = 0.1  # what a pair counts whose memory is in this dream already
LEAST_SHARED = 2  # so many texts may have a word in any case
_WORD = patterns.compile(r"\w+")
Key = frozenset[str]  # the ids of a pair
Places = NDArray[np.intp]


class Pair(Struct, frozen=True):
    """Two memories that may meet."""

    ids: tuple[str, str]  # the older first
    weight: float  # the product of their significances
    similarity: float | None  # None: nobody can tell
    audience: provenance.Audience

    @property
    def key(self) -> Key:
        """The two ids, whatever their order."""
        return frozenset(self.ids)


MIN_SIGNIFICANCE = 0.1  # of both memories of a pair


def candidates(memories: Iterable[Episode]) -> list[Episode]:
    """Return the memories that matter enough, the most significant of them, oldest first.

    Args:
        memories: With the significance they have at the time of the dream, not when they were made.
    """
    able = [memory for memory in memories if memory.significance > MIN_SIGNIFICANCE]
    best = sorted(able, key=lambda memory: (-memory.significance, memory.id))[:CANDIDATES]
    return sorted(best, key=lambda memory: (memory.at, memory.id))


def distinct(texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return each text without the names, and without the words that most of the texts share.

    Tellings are alike in their form: "Sam told me that …" makes any two of them similar, whatever
    was told. A text of which nothing would be left stays as it is.

    Args:
        texts: What memories say.
        names: Of the entity and of those it knows.
    """
    words = [_WORD.findall(text) for text in texts]
    counts = Counter(
        word for text_words in words for word in {token.casefold() for token in text_words}
    )
    most = max(LEAST_SHARED, len(texts) / 2)
    dropped = {word for word, count in counts.items() if count > most}
    dropped |= {word.casefold() for name in names for word in _WORD.findall(name)}

    def left(match: re.Match[str]) -> str:
        return "" if match[0].casefold() in dropped else match[0]

    stripped_texts = (one_line(_WORD.sub(left, text)) for text in texts)
    return [
        own if _WORD.search(own) else text for own, text in zip(stripped_texts, texts, strict=True)
    ]


def eligible(
    best: Sequence[Episode],
    config: DreamsConfig,
    vectors: Mapping[str, protocol.Floats] | None,
    unrelated: float = 0.0,
) -> tuple[Pair, ...]:
    """Return all pairs that keep the rules, in an order that depends on the memories alone.

    Args:
        best: The candidates, as `candidates` returns them.
        config: What makes a pair.
        vectors: By id, of length 1; a memory that has none is left out. None: time alone decides.
        unrelated: The cosine of unrelated texts, 0 on the scale of `max_similarity`.
    """
    if vectors is not None:
        best = [memory for memory in best if memory.id in vectors]
    if len(best) < 2:
        return ()
    first, second = _far_apart(best, config.min_time_gap_hours)
    alike: Sequence[float | None] = [None] * len(first)
    if vectors is not None:
        matrix = np.stack([vectors[memory.id] for memory in best])
        likeness = protocol.similarity((matrix @ matrix.T)[first, second], unrelated)
        low, high = -np.inf, config.max_similarity
        if config.band and likeness.size:
            low, high = np.quantile(likeness, config.band)
        mask = (likeness >= low) & (likeness <= high)
        first, second, alike = first[mask], second[mask], likeness[mask].tolist()
    return tuple(
        Pair(
            (best[a].id, best[b].id),
            best[a].significance * best[b].significance,
            similarity,
            provenance.joined((best[a].audience, best[b].audience)),
        )
        for a, b, similarity in zip(first, second, alike, strict=True)
    )


def _far_apart(best: Sequence[Episode], hours: float) -> tuple[Places, Places]:
    """Return the places of all pairs, older and newer, that time and audience let meet.

    All whom the one memory is for may meet the other, or the other way round.
    """
    at = np.array([memory.at.timestamp() for memory in best])
    older, newer = np.triu_indices(len(best), 1)
    far = at[newer] - at[older] >= hours * 3600
    circles = list(dict.fromkeys(memory.audience for memory in best))
    fits = np.array([[is_open(one, other) for other in circles] for one in circles])
    circle = np.array([circles.index(memory.audience) for memory in best])
    together = far & (fits | fits.T)[circle[older], circle[newer]]
    return older[together], newer[together]


def choose(
    pairs: Sequence[Pair], dreamt: Collection[Key], count: int, rng: random.Random
) -> tuple[Pair, ...]:
    """Choose the pairs of one dream, which one circle may meet, by chance and significance.

    A pair that was dreamt before comes only when none is left that was not.

    Args:
        pairs: Those that may meet.
        dreamt: The pairs of earlier dreams.
        count: At most this many.
        rng: Where chance comes from.
    """
    fresh = [pair for pair in pairs if pair.key not in dreamt]
    circle = _circle(fresh or pairs, rng)
    chosen: list[Pair] = []
    for pool in (fresh, [pair for pair in pairs if pair.key in dreamt]):
        left = [pair for pair in pool if is_open(pair.audience, circle)]
        while left and len(chosen) < count:
            inside = {id_ for pair in chosen for id_ in pair.ids}
            weights = [pair.weight * (SHARED if inside & pair.key else 1) for pair in left]
            chosen.append(left.pop(rng.choices(range(len(left)), weights)[0]))
    return tuple(chosen)


def _circle(pairs: Sequence[Pair], rng: random.Random) -> provenance.Audience:
    """Choose for whom the dream is, by how much there is to dream of."""
    weights: dict[provenance.Audience, float] = {}
    for pair in pairs:
        circle = tuple(sorted(pair.audience))
        weights[circle] = weights.get(circle, 0.0) + pair.weight
    circles = sorted(weights)
    return rng.choices(circles, [weights[circle] for circle in circles])[0] if circles else ()


EVENT = "dream"  # what made a memory that was dreamt


class DreamPool(Struct, frozen=True):
    """The memories that may be dreamt of, and the pairs of them that may meet."""

    episodes: Mapping[str, Episode]  # their significance as it is now, not as their files have it
    pairs: tuple[Pair, ...]  # all that may meet
    similarity: str  # the scale: `calibrated`, `raw`, or `none` without an embedder


def find(runtime: Runtime, at: datetime) -> DreamPool:
    """Find what may be dreamt of, and which of it may meet."""
    dreamable = [
        replace(one, significance=significance_now(runtime, one, at))
        for one in episodes.EPISODE.readable(runtime.entity.episodes)
        if _can_be_dreamt(one)
    ]
    best, embedder = candidates(dreamable), runtime.memory.embedder
    vectors, scale = _vectors(runtime, best), runtime.config.embedding.similarity
    unrelated = embedder.unrelated_cosine if embedder and scale != "raw" else 0.0
    return DreamPool(
        {one.id: one for one in dreamable},
        eligible(best, runtime.config.soma.dreams, vectors, unrelated),
        "none" if vectors is None else scale,
    )


def _vectors(runtime: Runtime, memories: Sequence[Episode]) -> dict[str, protocol.Floats] | None:
    """Embed what sets memories apart; None without an embedder.

    The vectors of the index will not do: each has date, people and the form of a telling in it,
    which all memories share, so that hardly any two are unlike (docs/log.md).
    """
    embedder = runtime.memory.embedder
    if embedder is None:
        return None
    tellings = [episodes.telling(episode.text) for episode in memories]
    told = [telling.narrative or telling.reflection for telling in tellings]
    texts = distinct(told, people.names(runtime))
    rows = embedder.embed_documents(texts) if texts else ()
    return {episode.id: row for episode, row in zip(memories, rows, strict=True)}


def _can_be_dreamt(episode: Episode) -> bool:
    origin = episode.provenance
    dreamt = origin.by == EVENT or any(
        source.startswith(f"{dreams.DREAM.prefix}_") for source in origin.sources
    )
    return not dreamt and not episode.dormant and not provenance.is_untrusted(origin.trust)


MIN_FRAGMENTS, MAX_FRAGMENTS = 3, 6
FRAGMENT_MAX_CHARS = 240
THREAD_MAX_CHARS = 500


class Dreamt(Struct, frozen=True):
    """What a model dreamt."""

    fragments: tuple[str, ...]  # at most MAX_FRAGMENTS, a line each
    thread: str  # one line, at most THREAD_MAX_CHARS
    title: str

    @property
    def whole(self) -> bool:
        """Whether nothing lacks that was asked for."""
        return len(self.fragments) >= MIN_FRAGMENTS and bool(self.thread)

    def repeats(self, earlier: dreams.Dream) -> bool:
        """Whether its thread, or all of its fragments, are those of an earlier dream."""
        own, other = stop_words.bare(self.thread), stop_words.bare(earlier.thread)
        images, others = (set(map(stop_words.bare, each.fragments)) for each in (self, earlier))
        return (bool(own) and own == other) or (bool(images) and images == others)


def schema() -> dict[str, Any]:
    """Return what an answer looks like; of one that is cut off the title alone may be half."""
    return closed(
        {
            "fragments": array(text(FRAGMENT_MAX_CHARS), MAX_FRAGMENTS, least=1),
            "thread": text(THREAD_MAX_CHARS),
            "title": text(titles.MAX_CHARS),
        }
    )


def read_dream(answer: Mapping[str, Any]) -> Dreamt:
    """Read an answer, without what the smallest models copy from the example."""
    example = prompts.load("dream").text

    def own(line: str) -> str:
        plain = one_line(line).lstrip("#>-*+ ")
        return plain if re.search(r"\w", plain) and plain not in example else ""

    fragments = tuple(dict.fromkeys(filter(None, map(own, answer["fragments"]))))
    title = titles.named(own(answer["title"]), " ".join(fragments))
    return Dreamt(fragments, own(answer["thread"]), title)


TAGS = ("dream", "consolidation")
REMEMBERED_DREAMS = 60  # that are not dreamt again, and whose pairs not while others are left
MEMORY_TOKENS = 90  # of one memory in the prompt
SALIENCE = 0.7  # of a dream's fragment in the noise
TITLE_CHARS = 60
TIME_ALONE = "no embedding model is here, so only time decided which memories met"


class DreamJob(Struct, frozen=True):
    """One dream to be dreamt."""

    at: datetime
    bypassed: tuple[str, ...]  # names of the gates that --force went past
    seed: int | None  # None: taken from chance


class Night(Struct, frozen=True):
    """A finished dream with its ids and its origin, before it is written."""

    id: str
    belief_id: str
    seed: int
    pairs: tuple[Pair, ...]
    dreamt: Dreamt
    believable: bool  # its thread holds no name or number of its own
    provenance: base.Provenance


def check(runtime: Runtime, *, force: bool = False, seed: int | None = None) -> Due[DreamJob]:
    """Check the five gates, and whether a model may write; asks none and reads no memory."""
    at = runtime.now()
    conditions = gates(runtime, at)
    failed = tuple(condition.name for condition in conditions if not condition.passes)
    if force:
        conditions = tuple(
            one if one.passes else replace(one, value=f"{one.value} (bypassed)", passes=True)
            for one in conditions
        )
    conditions = (*conditions, sayings.writes(runtime))
    return Due(conditions, (DreamJob(at, failed if force else (), seed),))


def run(runtime: Runtime, job: DreamJob) -> JobResult:
    """Ask for a dream; the result writes it."""
    seed = runtime.rng.getrandbits(32) if job.seed is None else job.seed
    rng = random.Random(seed)
    pool = find(runtime, job.at)
    files = dreams.DREAM.files(runtime.entity.dreams)[-REMEMBERED_DREAMS:]
    earlier = list(map(dreams.DREAM.load, files))
    before = {frozenset(pair) for one in earlier for pair in one.pairs}
    chosen = choose(pool.pairs, before, runtime.config.soma.dreams.memory_pair_count, rng)
    details: dict[str, Any] = {
        "seed": seed,
        "forced": bool(job.bypassed),
        "bypassed": list(job.bypassed),
        "similarity": pool.similarity,
        "eligible_pairs": len(pool.pairs),
    }
    notes = [f"Gates bypassed: {', '.join(job.bypassed)}."] if job.bypassed else []
    notes += [f"Note: {TIME_ALONE}."] if pool.similarity == "none" else []
    if not chosen:
        return _nothing(runtime, job, "no two memories are far enough apart", details, notes)
    asked = _question(runtime, [pool.episodes[id_] for pair in chosen for id_ in pair.ids], rng)
    dreamt = _dreamt(runtime, job, pool, chosen, asked, seed)
    if dreamt is None:
        return _nothing(runtime, job, f"{runtime.model.name} wrote no dream", details, notes)
    if any(map(dreamt.repeats, earlier)):  # nor is it tried again this night
        why = f"{runtime.model.name} wrote an earlier dream once more"
        nothing = _nothing(runtime, job, why, details, notes)
        return replace(nothing, plan=lambda: [plan_counted(runtime, read(runtime), job.at)])
    night = _night(runtime, job, pool, chosen, asked, dreamt, rng, seed)
    details |= {
        "id": night.id,
        "pairs": [list(pair.ids) for pair in chosen],
        "question": asked.id if asked else None,
        "fragments": list(dreamt.fragments),
        "thread": dreamt.thread,
    }
    gist = dreamt.thread or dreamt.fragments[0]
    return JobResult(
        title=f"dream: {shorten(gist, TITLE_CHARS)}",
        plan=partial(_plan, runtime, job, night),
        lines=(f"Dreamt: {gist}", *notes),
        data=details,
        record=night.id,
        trailers=traced(night.provenance.sources, night.provenance.model),
    )


def _nothing(
    runtime: Runtime, job: DreamJob, why: str, details: Mapping[str, Any], notes: Sequence[str]
) -> JobResult:
    """Remember that there was nothing to dream of, so that it is not tried again at once."""

    def plan() -> Sequence[Change | None]:
        values = {SECTION: {"empty_at": base.stamp(job.at)}}
        return [state.plan_write(state.read(runtime.entity.state), values, f"no dream: {why}")]

    return JobResult(
        title=f"dream: none, {why}",
        plan=plan,
        lines=(f"No dream: {why}.", *notes),
        data={"why": why, **details},
        ran=False,
    )


def _question(
    runtime: Runtime, met: Sequence[Episode], rng: random.Random
) -> questions.OpenQuestion | None:
    """Draw a question that memory had no answer to, of those that all may meet who meet the dream.

    A dream may turn it over; it answers nothing, so the question stays open.
    """
    audience = provenance.joined(episode.audience for episode in met)
    open_questions = [
        question
        for question in questions.QUESTION.readable(runtime.entity.questions)
        if is_open(question.provenance.audience, audience)
        and not provenance.is_untrusted(question.provenance.trust)
    ]
    return rng.choice(open_questions) if open_questions else None


def _dreamt(
    runtime: Runtime,
    job: DreamJob,
    pool: DreamPool,
    chosen: Sequence[Pair],
    asked: questions.OpenQuestion | None,
    seed: int,
) -> Dreamt | None:
    """Ask for a dream; None if nothing of the answer is one."""
    config = runtime.config.soma.dreams
    met = [
        (f"{number}{letter}", pool.episodes[episode_id])
        for number, pair in enumerate(chosen, 1)
        for letter, episode_id in zip("ab", pair.ids, strict=True)
    ]
    lines = [
        f"{label}. ({one.at.astimezone(runtime.zone):%d %B %Y}) "
        + tokens.cut(one_line(markdown.prose(one.text)), MEMORY_TOKENS)
        for label, one in met
    ]
    if asked is not None:
        shown = tokens.cut(one_line(asked.text), MEMORY_TOKENS)
        lines.append(f"{len(chosen) + 1}. (what I could not remember) {shown}")
    slots = {
        "name": runtime.identity.name,
        "body": ebb.dream_lines(body_state.read(runtime, job.at)),
        "memories": prompts.tagged("memories", "\n".join(lines)),
    }
    question = request(
        runtime, "dream", slots, max_tokens=config.max_tokens, temperature=config.temperature
    )
    dreamt: list[Dreamt] = []
    with suppress(AnswerInvalidError):
        for attempt in (seed, seed + 1):
            question = replace(question, seed=attempt % 2**31)
            dreamt.append(read_dream(structured.answer(runtime.model, question, schema())))
            if dreamt[-1].whole:
                break
    best = max(dreamt, key=lambda one: (bool(one.thread), len(one.fragments)), default=None)
    return best if best and (best.fragments or best.thread) else None


def _night(
    runtime: Runtime,
    job: DreamJob,
    pool: DreamPool,
    chosen: tuple[Pair, ...],
    asked: questions.OpenQuestion | None,
    dreamt: Dreamt,
    rng: random.Random,
    seed: int,
) -> Night:
    ids = tuple(dict.fromkeys(episode_id for pair in chosen for episode_id in pair.ids))
    met = [pool.episodes[episode_id] for episode_id in ids]
    known_names = (runtime.identity.name, *(person for episode in met for person in episode.people))
    told = [f"{one.at.astimezone(runtime.zone):%d %B %Y %Y-%m-%d} {one.text}" for one in met]
    told += [asked.text] if asked else []
    sources = ClaimSources(known=tuple(told), names=known_names)
    headings = (titles.heading(one.text) for one in met[:2])
    return Night(
        id=dreams.new_id(runtime.entity.dreams, job.at, rng),
        belief_id=base.new_id(beliefs.BELIEF.prefix, job.at, rng),
        seed=seed,
        pairs=chosen,
        dreamt=dreamt
        if dreamt.title and sources.bear(dreamt.title)
        else replace(dreamt, title=" · ".join(dict.fromkeys(filter(None, headings)))),
        believable=bool(dreamt.thread) and sources.bear(dreamt.thread),
        provenance=base.Provenance(
            by=EVENT,
            model=runtime.model.name,
            sources=(*ids, *([asked.id] if asked else [])),
            trust=base.lowest_trust([episode.provenance.trust for episode in met] + ["entity"]),
            audience=provenance.joined(episode.audience for episode in met),
        ),
    )


def _plan(runtime: Runtime, job: DreamJob, night: Night) -> JobPlan:
    """Plan all that a dream becomes, on the files as they are; nothing if a condition fails."""
    config, past = runtime.config.soma.dreams, read(runtime)
    # somebody spoke while the model wrote, or another process has dreamt: both end a dream
    still = gates(runtime, job.at, runtime.now())
    failed = [one for one in still if not one.passes and one.name in ENDING]
    if failed and not job.bypassed:
        late = tuple(f"Not kept: {one.name}: {one.value}, wants {one.wants}." for one in failed)
        return JobPlan((), late, ran=False)
    planned: list[Change | None] = []
    became: list[str] = []
    if config.write_journal:
        became.append("journal")
    if config.write_beliefs and night.believable:
        believed = _belief(runtime, job, night)
        planned += believed
        became += [beliefs.BELIEF.stem(PurePosixPath(change.path)) for change in believed]
    if config.inject_noise:
        planned.append(_noise(runtime, job, night))
        became.append("noise")
    record = dreams.new(
        night.id,
        job.at,
        tuple(pair.ids for pair in night.pairs),
        night.dreamt.fragments,
        night.dreamt.thread,
        title=night.dreamt.title,
        became=tuple(became),
        seed=night.seed,
        bypassed=job.bypassed,
        provenance=night.provenance,
    )
    planned.append(dreams.DREAM.plan_new(record, "keep the dream"))
    if config.write_journal:  # only a link: what it was stands in its own file
        told, own = dreams.link(record), replace(night.provenance, sources=(night.id,))
        why = "write the dream down"
        planned.append(journal.plan_add(job.at, told, runtime.zone, why, tags=TAGS, provenance=own))
    return JobPlan((*planned, plan_counted(runtime, past, job.at)))


def _belief(runtime: Runtime, job: DreamJob, night: Night) -> list[Change]:
    """Plan a belief of low confidence from the thread, or confirm the belief that says it."""
    claim = Claim(
        id=night.belief_id,
        text=night.dreamt.thread,
        category=beliefs.DREAM_INSIGHT,
        confidence=runtime.config.soma.dreams.belief_confidence,
        evidence=(night.id,),
        origin=f"dream:{night.id}",
        provenance=replace(night.provenance, sources=(night.id, *night.provenance.sources)),
        by="dream",
    )
    return plan_claims(runtime, [claim], job.at)


def _noise(runtime: Runtime, job: DreamJob, night: Night) -> Change | None:
    most, audience = runtime.config.soma.dreams.max_noise_fragments, night.provenance.audience
    thoughts = tuple(
        noise.fragment(line, noise.DREAM, SALIENCE, job.at, audience)
        for line in night.dreamt.fragments[:most]
    )

    def move(soma: Soma) -> Soma:
        return hear(body_state.events(runtime, [EVENT])(soma), thoughts)

    return body_state.plan(runtime, job.at, move, "the dream lingers")
