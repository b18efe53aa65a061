"""A dream: how it is made from pairs of memories, and what it leaves in journal and beliefs.

Five gates must pass. What came of it goes into the diary, the beliefs and the noise as one change
set, and into a record of its own. The entity has no say in it: no tool leads here. A dream never
feeds on dreams.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import ebb, noise
from bumble.body.soma import Soma, hear, is_open
from bumble.entity.changes import Change
from bumble.fallback import quotes, sayings
from bumble.fallback.sayings import Wording
from bumble.guard import claims
from bumble.jobs.sleep import dream_gates, dream_pairs, dream_pool, dream_text
from bumble.jobs.sleep.dream_pairs import Pair
from bumble.jobs.sleep.dream_pool import DreamPool
from bumble.jobs.sleep.dream_text import Dreamt
from bumble.llm import prompts
from bumble.llm.protocol import PromptMessage, Request
from bumble.recall.belief_strength import Claim, plan_claim
from bumble.records import base, beliefs, dreams, journal, provenance, questions
from bumble.records.base import Provenance
from bumble.records.episodes import Episode
from bumble.records.provenance import BY_FORM
from bumble.records.questions import OpenQuestion
from bumble.runtime import body_state, job_request
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line, shorten

TAGS = ("dream", "consolidation")
REMEMBERED_DREAMS = 60  # whose pairs are not dreamt again while others are left
MEMORY_TOKENS = 90  # of one memory in the prompt
SALIENCE = 0.7  # of a dream's fragment in the noise
RETRY_TEMPERATURE = 0.8  # a second answer is to keep the form
TITLE_CHARS = 60
QUOTE_CHARS = 80  # of one memory in a dream by form
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
    provenance: Provenance


def check(runtime: Runtime, *, force: bool = False, seed: int | None = None) -> Due[DreamJob]:
    """Check the five conditions; asks no model and reads no memory."""
    at = runtime.now()
    conditions = dream_gates.conditions(runtime, at)
    closed = tuple(condition.name for condition in conditions if not condition.passes)
    if force:
        conditions = tuple(
            condition if condition.passes else _bypassed(condition) for condition in conditions
        )
    return Due(conditions, (DreamJob(at, closed if force else (), seed),))


def _bypassed(condition: Condition) -> Condition:
    return replace(condition, value=f"{condition.value} (bypassed)", passes=True)


def run(runtime: Runtime, job: DreamJob) -> JobResult:
    """Ask for a dream; the result writes it."""
    seed = runtime.rng.getrandbits(32) if job.seed is None else job.seed
    rng = random.Random(seed)
    pool = dream_pool.find(runtime, job.at)
    wording = sayings.of_owner(runtime)
    pairs = pool.pairs if wording is None else _quotable(pool)
    chosen = dream_pairs.choose(
        pairs, _dreamt_before(runtime), runtime.config.soma.dreams.memory_pair_count, rng
    )
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
        why = "there is nothing to quote" if pool.pairs else "no two memories are far enough apart"
        return _nothing(runtime, job, why, details, notes)
    asked = _question(runtime, [pool.episodes[id_] for pair in chosen for id_ in pair.ids], rng)
    if wording is not None:
        dreamt = _by_form(pool, chosen, asked, wording)
    else:
        dreamt = _dreamt(runtime, job, pool, chosen, asked, seed)
    if dreamt.empty:
        why = f"{runtime.model.name} wrote no dream"
        return _nothing(runtime, job, why, details, notes)
    night = _night(
        runtime, job, pool, chosen, asked, dreamt, rng, seed, by_form=wording is not None
    )
    details |= {
        "id": night.id,
        "pairs": [list(pair.ids) for pair in chosen],
        "question": asked.id if asked else None,
        "fragments": list(dreamt.fragments),
        "thread": dreamt.thread,
        "events": [
            _begun(job),
            {"event": "dream_cycle_completed", "at": base.stamp(runtime.now()), "id": night.id},
        ],
    }
    gist = dreamt.thread or dreamt.fragments[0]
    shown = shorten(gist, TITLE_CHARS)
    return JobResult(
        title=f"dream: {shown}",
        plan=partial(_plan, runtime, job, night),
        lines=(f"Dreamt: {gist}", *notes),
        data=details,
        record=night.id,
        trailers=traced(night.provenance.sources, night.provenance.model),
    )


def _dreamt_before(runtime: Runtime) -> set[dream_pairs.Key]:
    files = dreams.paths(runtime.entity.dreams)[-REMEMBERED_DREAMS:]
    nights = (base.load(file, dreams.parse) for file in files)
    return {frozenset(pair) for night in nights for pair in night.pairs}


def _nothing(
    runtime: Runtime, job: DreamJob, why: str, details: Mapping[str, Any], notes: Sequence[str]
) -> JobResult:
    """Remember that there was nothing to dream of, so that it is not tried again at once."""

    def plan() -> Sequence[Change | None]:
        return [dream_gates.plan_empty(runtime, job.at, why)]

    return JobResult(
        title=f"dream: none, {why}",
        plan=plan,
        lines=(f"No dream: {why}.", *notes),
        data={"why": why, **details},
        ran=False,
    )


def _question(runtime: Runtime, met: Sequence[Episode], rng: random.Random) -> OpenQuestion | None:
    """Draw a question that memory had no answer to, of those that all may meet who meet the dream.

    A dream may turn it over; it answers nothing, so the question stays open.
    """
    audience = provenance.joined(episode.audience for episode in met)
    open_questions = [
        question
        for question in questions.read(runtime.entity.questions)
        if is_open(question.provenance.audience, audience)
        and not provenance.is_untrusted(question.provenance.trust)
    ]
    return rng.choice(open_questions) if open_questions else None


def _quotable(pool: DreamPool) -> tuple[Pair, ...]:
    """Return the pairs of memories that both quote somebody: those that a model told don't."""
    quoting = {id_ for id_, episode in pool.episodes.items() if quotes.citations(episode.text)}
    return tuple(pair for pair in pool.pairs if quoting.issuperset(pair.ids))


def _by_form(
    pool: DreamPool, chosen: Sequence[Pair], asked: OpenQuestion | None, wording: Wording
) -> Dreamt:
    """Set two memories side by side, each in words that were said; nothing joins them."""
    forms = wording.template
    fragments = []
    for pair in chosen:
        citations = [quotes.citations(pool.episodes[id_].text)[0] for id_ in pair.ids]
        first, second = (quotes.cited(each, forms, QUOTE_CHARS) for each in citations)
        fragments.append(forms.dream.format(first=first, second=second))
    if asked:
        fragments.append(f"“{shorten(one_line(asked.text), QUOTE_CHARS, at_word=True)}”")
    return Dreamt(tuple(fragments))


def _dreamt(
    runtime: Runtime,
    job: DreamJob,
    pool: DreamPool,
    chosen: Sequence[Pair],
    asked: OpenQuestion | None,
    seed: int,
) -> Dreamt:
    """Ask for a dream, and once more if a part is missing."""
    config = runtime.config.soma.dreams
    request = Request(
        messages=job_request.messages("dream", _slots(runtime, job, pool, chosen, asked)),
        purpose="dream",
        max_tokens=config.max_tokens,
        temperature=config.temperature,
        seed=seed % 2**31,
        cache_id=job_request.cache_id("dream"),
    )
    first = runtime.model.complete(request).text
    dreamt = _read(first)
    if dreamt.whole:
        return dreamt
    lacking = "FRAGMENTS" if len(dreamt.fragments) < dream_text.MIN_FRAGMENTS else "THREAD"
    advice = f"The part {lacking} is missing. Write both parts, FRAGMENTS and THREAD, as asked."
    again = replace(
        request,
        messages=(
            *request.messages,
            PromptMessage("assistant", first or "(nothing)"),
            PromptMessage("user", advice),
        ),
        temperature=min(config.temperature, RETRY_TEMPERATURE),
    )
    return dreamt.filled(_read(runtime.model.complete(again).text))


def _read(text: str) -> Dreamt:
    """Read an answer, without what the smallest models copy from the example."""
    dreamt, example = dream_text.parse(text), prompts.load("dream").text
    fragments = tuple(fragment for fragment in dreamt.fragments if fragment not in example)
    return replace(
        dreamt, fragments=fragments, thread="" if dreamt.thread in example else dreamt.thread
    )


def _slots(
    runtime: Runtime,
    job: DreamJob,
    pool: DreamPool,
    chosen: Sequence[Pair],
    asked: OpenQuestion | None,
) -> dict[str, str]:
    lines = []
    for number, pair in enumerate(chosen, 1):
        for letter, episode_id in zip("ab", pair.ids, strict=True):
            lines.append(f"{number}{letter}. {_memory(runtime, pool.episodes[episode_id])}")
    if asked is not None:
        text = tokens.cut(one_line(asked.text), MEMORY_TOKENS)
        lines.append(f"{len(chosen) + 1}. (what I could not remember) {text}")
    soma = body_state.read(runtime, job.at)
    return {
        "name": runtime.identity.name,
        "body": ebb.dream_lines(soma),
        "memories": prompts.tagged("memories", "\n".join(lines)),
    }


def _memory(runtime: Runtime, episode: Episode) -> str:
    day = episode.at.astimezone(runtime.zone)
    lines = (line for line in episode.text.split("\n") if not line.startswith("#"))
    return f"({day:%d %B %Y}) {tokens.cut(' '.join(' '.join(lines).split()), MEMORY_TOKENS)}"


def _night(
    runtime: Runtime,
    job: DreamJob,
    pool: DreamPool,
    chosen: tuple[Pair, ...],
    asked: OpenQuestion | None,
    dreamt: Dreamt,
    rng: random.Random,
    seed: int,
    *,
    by_form: bool,
) -> Night:
    ids = tuple(dict.fromkeys(episode_id for pair in chosen for episode_id in pair.ids))
    met = [pool.episodes[episode_id] for episode_id in ids]
    known_names = (runtime.identity.name, *(person for episode in met for person in episode.people))
    told = [_whole(runtime, episode) for episode in met] + ([asked.text] if asked else [])
    strange = claims.unsupported(dreamt.thread, told, known_names)
    return Night(
        id=dreams.new_id(runtime.entity.dreams, job.at, rng),
        belief_id=base.new_id(beliefs.PREFIX, job.at, rng),
        seed=seed,
        pairs=chosen,
        dreamt=dreamt,
        believable=bool(dreamt.thread) and not strange,
        provenance=Provenance(
            by=f"{dream_pool.EVENT} {BY_FORM}" if by_form else dream_pool.EVENT,
            model="" if by_form else runtime.model.name,
            sources=(*ids, *([asked.id] if asked else [])),
            trust=base.lowest_trust([episode.provenance.trust for episode in met] + ["entity"]),
            audience=provenance.joined(episode.audience for episode in met),
        ),
    )


def _whole(runtime: Runtime, episode: Episode) -> str:
    return f"{episode.at.astimezone(runtime.zone):%d %B %Y %Y-%m-%d} {episode.text}"


def _begun(job: DreamJob) -> dict[str, str]:
    return {"event": "dream_cycle_start", "at": base.stamp(job.at)}


def _plan(runtime: Runtime, job: DreamJob, night: Night) -> JobPlan:
    """Plan all that a dream becomes, on the files as they are; nothing if a condition fails."""
    config, past = runtime.config.soma.dreams, dream_gates.read(runtime)
    # somebody spoke while the model wrote, or another process has dreamt: both end a dream
    if not job.bypassed and (closed := dream_gates.closed(runtime, past, job.at)):
        late = tuple(
            f"Not kept: {condition.name}: {condition.value}, wants {condition.wants}."
            for condition in closed
        )
        left = {"event": "dream_cycle_left", "at": base.stamp(runtime.now())}
        return JobPlan((), late, {"events": [_begun(job), left]}, ran=False)
    planned: list[Change | None] = []
    became: list[str] = []
    if config.write_journal:
        planned.append(_diary(runtime, job, night))
        became.append("journal")
    if config.write_beliefs and night.believable:
        believed = _belief(runtime, job, night)
        planned += believed
        became += [PurePosixPath(change.path).stem for change in believed]
    if config.inject_noise:
        planned.append(_noise(runtime, job, night))
        became.append("noise")
    record = dreams.new(
        night.id,
        job.at,
        tuple(pair.ids for pair in night.pairs),
        night.dreamt.fragments,
        night.dreamt.thread,
        became=tuple(became),
        seed=night.seed,
        bypassed=job.bypassed,
        provenance=night.provenance,
    )
    planned.append(dreams.plan_new(record, "keep the dream"))
    return JobPlan((*planned, dream_gates.plan_counted(runtime, past, job.at)))


def _diary(runtime: Runtime, job: DreamJob, night: Night) -> Change:
    parts = ["*[dream]*", "\n".join(f"  {line}" for line in night.dreamt.fragments)]
    parts.append(f"*thread: {night.dreamt.thread}*" if night.dreamt.thread else "")
    return journal.plan_add(
        job.at,
        "\n\n".join(part for part in parts if part),
        runtime.zone,
        "write the dream down",
        tags=TAGS,
        provenance=replace(night.provenance, sources=(night.id,)),
    )


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
    return plan_claim(runtime, claim, job.at)


def _noise(runtime: Runtime, job: DreamJob, night: Night) -> Change | None:
    most, audience = runtime.config.soma.dreams.max_noise_fragments, night.provenance.audience
    thoughts = tuple(
        noise.fragment(line, noise.DREAM, SALIENCE, job.at, audience)
        for line in night.dreamt.fragments
    )[:most]

    def move(soma: Soma) -> Soma:
        felt = body_state.events(runtime, [dream_pool.EVENT])(soma)
        return hear(felt, thoughts)

    return body_state.plan(runtime, job.at, move, "the dream lingers")
