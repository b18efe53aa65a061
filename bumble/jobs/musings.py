"""What comes to mind in a consolidation, in one request: questions of topics, and stray thoughts.

All that is shown together may be met by the owner, and what comes of it is for nobody who may not
meet all of it. Where no model may write, nothing comes to mind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import ebb, noise
from bumble.body.soma import Soma, hear, is_open, shown_to
from bumble.entity.changes import Change
from bumble.fallback import sayings
from bumble.guard.verifier import ClaimSources
from bumble.jobs import portrait
from bumble.llm import prompts
from bumble.recall import topic_questions
from bumble.records import base, dreams, episodes, narrative, provenance, questions, relationships
from bumble.runtime import body_state, people
from bumble.runtime.job import (
    NO_ANSWER,
    Condition,
    Due,
    JobPlan,
    JobResult,
    ask,
    closed,
    traced,
    vain,
)
from bumble.runtime.runtime import Runtime
from bumble.text import markdown, moments, titles, tokens, words

EPISODES = 4  # the newest that may come up
QUESTIONS = 2  # likewise: what memory had no answer to
PIECES = 3  # put before the model in one tick
PIECE_TOKENS = 60
THOUGHT_CHARS = 100  # fifteen words
MOST_THOUGHTS = 3
LEAST_SALIENCE, FELT_SALIENCE = 0.3, 0.4  # of a thought: the more is felt, the more it stands out
THOUGHTS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string", "maxLength": THOUGHT_CHARS},
    "minItems": 1,
    "maxItems": MOST_THOUGHTS,
}


NAME = {"type": "string", "maxLength": titles.MAX_CHARS}  # of a topic


class ThoughtSeed(Struct, frozen=True):
    """A short text from memory that a stray thought may start from."""

    text: str
    audience: tuple[str, ...]  # empty: everyone
    fresh: bool = False  # of a dream since the last thought, which comes up first


def check_thoughts(runtime: Runtime) -> Due[MusingsJob]:
    """Tell whether it is time for new thoughts; asks for nothing else."""
    config, at = runtime.config.soma.noise, runtime.now()
    ticked_at = body_state.read(runtime, at).noise_ticked_at
    since = None if ticked_at is None else moments.gap(ticked_at, at)
    waited = Condition(
        "last thought",
        "never asked" if since is None else f"{since.total_seconds():.0f} s ago",
        f"at least {config.interval_seconds:g} s ago",
        noise.due(ticked_at, at, config.interval_seconds),
    )
    return Due((sayings.writes(runtime), waited), (MusingsJob((), thinks=True, after=ticked_at),))


class ThoughtSeeds(Struct, frozen=True):
    """What thoughts may start from, and for whom they are."""

    audience: tuple[str, ...]
    pieces: tuple[ThoughtSeed, ...]


def choose(
    runtime: Runtime, soma: Soma, at: datetime, audience: tuple[str, ...] | None = None
) -> ThoughtSeeds:
    """Draw what thoughts may start from, for some audience; by default one that is drawn too."""
    candidates = [
        piece
        for piece in _pieces(runtime, soma, at)
        if audience is None or is_open(piece.audience, audience)
    ]
    fresh = [piece for piece in candidates if piece.fresh]
    reach = audience
    if reach is None:  # those for whom there is a piece, else everyone
        circles = sorted({tuple(sorted(piece.audience)) for piece in fresh or candidates})
        reach = runtime.rng.choice(circles) if circles else ()
    first = runtime.rng.sample(fresh, min(1, len(fresh)))
    others = [
        piece for piece in candidates if piece not in first and is_open(piece.audience, reach)
    ]
    more = runtime.rng.sample(others, min(PIECES - len(first), len(others)))
    return ThoughtSeeds(reach, (*first, *more))


def heard(
    runtime: Runtime,
    job: MusingsJob,
    soma: Soma,
    at: datetime,
    seeds: ThoughtSeeds,
    thoughts: Sequence[str],
    problem: str = "",
    *,
    read: str = "",
) -> JobResult:
    """Keep the thoughts that name nobody and nothing of their own.

    `problem` is why none came; then the next are asked for as long after as if some had. `read` is
    what the same request showed besides.
    """
    pieces = [piece.text for piece in seeds.pieces]
    known = relationships.PERSON.readable(runtime.entity.relationships)
    names = [name for one in known if one.id in seeds.audience for name in one.names]
    grounds = ClaimSources(known=(*pieces, read), names=(runtime.identity.name, *names))
    salience = LEAST_SALIENCE + FELT_SALIENCE * soma.intensity
    new = tuple(
        noise.fragment(text, noise.THOUGHT, salience, at, seeds.audience)
        for text in thoughts
        if noise.words(text) and grounds.bear(text)
    )
    texts = [fragment.text for fragment in hear(soma, new).noise if fragment in new]
    refused = len(thoughts) - len(texts)
    told = ("; ".join(texts) or "nothing new") + (f" ({refused} refused)" if refused else "")
    title = words.shorten(texts[0], TITLE_CHARS, at_word=True) if texts else "no new thought"
    return JobResult(
        title=f"noise: {title}",
        plan=lambda: _plan(runtime, job, at, new),
        lines=(f"No thought came: {problem}" if problem else told,),
        data={
            "thoughts": texts,
            "refused": refused,
            "audience": list(new[0].audience if new else ()),
            "problem": problem or None,
        },
        trailers=() if problem else traced([], runtime.model.name if new else ""),
    )


def _pieces(runtime: Runtime, soma: Soma, at: datetime) -> Iterator[ThoughtSeed]:
    """Yield short texts from feelings, episodes, portraits, dreams, questions and the story."""
    relational = runtime.config.memory.relational
    entity, tail = runtime.entity, relational.gen_tail_sentences
    recent = timedelta(hours=relational.gen_recent_hours)
    if soma.felt and moments.gap(soma.felt.at, at) <= recent:
        yield ThoughtSeed(soma.felt.text, soma.felt.audience)
    for place in episodes.EPISODE.files(entity.episodes)[-EPISODES:]:
        episode = episodes.EPISODE.load(place)
        if not episode.dormant:
            yield from _piece(episode.text, tail, episode.provenance)
    for person in relationships.PERSON.readable(entity.relationships):
        touched = [person.last_interaction, person.last_reflection]
        if any(moment is not None and moments.gap(moment, at) <= recent for moment in touched):
            # a portrait is told to nobody but the person, also one that names no audience
            yield from _piece(person.text, tail, person.provenance, (person.id,))
    for place in dreams.DREAM.files(entity.dreams)[-1:]:
        dream = dreams.DREAM.load(place)
        fresh = soma.noise_ticked_at is None or dream.at > soma.noise_ticked_at
        for text in dream.fragments:
            yield from _piece(text, tail, dream.provenance, fresh=fresh)
    for question in list(questions.QUESTION.readable(entity.questions))[-QUESTIONS:]:
        yield from _piece(question.text, tail, question.provenance)
    story = narrative.read(entity.narrative)
    if story:
        yield from _piece(narrative.uncited(story.text), tail, story.provenance)


def _piece(
    text: str,
    sentences: int,
    origin: base.Provenance,
    audience: tuple[str, ...] | None = None,
    *,
    fresh: bool = False,
) -> Iterator[ThoughtSeed]:
    """Yield the end of a text; none of what came from a tool or from outside."""
    end = words.paragraph(words.sentences(markdown.prose(text))[-sentences:] if sentences else ())
    if end and not provenance.is_untrusted(origin.trust):
        yield ThoughtSeed(tokens.cut(end, PIECE_TOKENS), audience or origin.audience, fresh)


def thought_slots(soma: Soma, seeds: ThoughtSeeds) -> dict[str, str]:
    """Return what a model is shown to think of: the body, what lies around, earlier thoughts."""
    seen = shown_to(soma, seeds.audience)
    return {
        "body": ebb.reflection_line(seen),
        "around": portrait.inside(f"- {piece.text}" for piece in seeds.pieces),
        "heard": portrait.inside(map(noise.line, seen.noise)),
    }


def _plan(
    runtime: Runtime, job: MusingsJob, at: datetime, new: tuple[noise.Fragment, ...]
) -> Sequence[Change | None]:
    """Plan to hear the thoughts; nothing if another process was faster."""
    if body_state.read(runtime, at).noise_ticked_at != job.after:
        return ()

    def move(soma: Soma) -> Soma:
        return replace(hear(soma, new), noise_ticked_at=at)

    return (body_state.plan(runtime, at, move, "a stray thought"),)


PURPOSE, TITLE_CHARS = "musings", 60
TOPICS = 6  # of one request; the others have their turn the next time
MAX_TOKENS, TEMPERATURE = 1200, 0.7
ANEW = timedelta(days=7)  # after a topic's questions, from when on they may be drawn anew


class MusingsJob(Struct, frozen=True):
    """The topics that need questions, and the thoughts that are due."""

    drawings: tuple[topic_questions.Drawing, ...]
    thinks: bool = False  # whether thoughts are
    after: datetime | None = None  # when a thought was last asked for

    @property
    def marks(self) -> tuple[str, ...]:
        """What it is about: to be proposed, or asked in vain, once."""
        return tuple(drawing.mark for drawing in self.drawings)


def check(runtime: Runtime) -> Due[MusingsJob]:
    """Find what there is to muse about; asks no model.

    Of no topic is asked what was in vain, nor within a week of its last questions.
    """
    if sayings.of_owner(runtime) is not None:
        return Due((), ())
    found, at = check_thoughts(runtime), runtime.now()
    dealt = vain(runtime)
    drawings = [
        one
        for one in topic_questions.check(runtime).jobs
        if one.mark not in dealt
        if not (one.before and one.before.at and at - one.before.at < ANEW)
    ]
    drawings.sort(key=lambda one: one.topic.type == "word")  # what has a name goes first
    seeds = _pieces(runtime, body_state.read(runtime, at), at)
    think = found.due and (drawings or next(seeds, None) is not None)
    job = replace(found.jobs[0], drawings=tuple(drawings[:TOPICS]), thinks=bool(think))
    return Due((), (job,) if job.drawings or job.thinks else ())


def check_topics(runtime: Runtime, *, name: str = "", force: bool = False) -> Due[MusingsJob]:
    """Find the topics that need questions, a job each; see `topic_questions.check`."""
    found = topic_questions.check(runtime, name=name, force=force)
    return Due(found.conditions, tuple(MusingsJob((one,)) for one in found.jobs))


def run(runtime: Runtime, job: MusingsJob) -> JobResult:
    """Ask for the questions of some topics and for a few thoughts; writes no file.

    Where thoughts alone are asked for and none come, the ring stays as it is.

    Raises:
        AnswerInvalidError: If the model's answer can't be used.
    """
    at = runtime.now()
    soma = body_state.read(runtime, at)
    owner = (people.owner_id(runtime.entity, runtime.identity),)
    drawn_for = owner if job.drawings else None
    seeds = choose(runtime, soma, at, drawn_for) if job.thinks else ThoughtSeeds(owner, ())
    labels = topic_questions.labelled(job.drawings)
    blocks = [
        f"t{n}: {prompts.harmless(each.topic.name)} ({', '.join(own)})"
        for n, each in enumerate(job.drawings, 1)
        if (own := topic_questions.labels_of(each, labels))
    ]
    mentions = topic_questions.mentioned(runtime, job.drawings, labels) if labels else ""
    slots = thought_slots(soma, seeds) | {
        "name": runtime.identity.name,
        "topics": "\n".join([*blocks, mentions]) if mentions else "(no topic)",
    }
    # questions by topic, and thoughts
    form_of_one = topic_questions.questions(list(labels))
    form = {f"t{n}": form_of_one for n, _ in enumerate(job.drawings, 1)}
    if form:
        form["names"] = closed(dict.fromkeys(form, NAME))
    form |= {"thoughts": THOUGHTS} if job.thinks else {}
    try:
        answer = ask(
            runtime, PURPOSE, slots, closed(form), max_tokens=MAX_TOKENS, temperature=TEMPERATURE
        )
    except NO_ANSWER as error:
        if job.drawings:
            raise
        return heard(runtime, job, soma, at, seeds, (), str(error).splitlines()[0])
    shown = [mention.audience for mention in labels.values()]
    shown += [piece.audience for piece in seeds.pieces]
    names = [
        _called(each, answer["names"][f"t{n}"], mentions) for n, each in enumerate(job.drawings, 1)
    ]
    results = [
        topic_questions.drawn(
            runtime,
            thing,
            labels,
            [entry for place in places for entry in answer[f"t{place + 1}"]],
            shown,
            said,
        )
        for thing, places, said in topic_questions.named(job.drawings, names)
    ]
    if job.thinks:
        thoughts = [str(text) for text in answer["thoughts"]]
        results.append(heard(runtime, job, soma, at, seeds, thoughts, read=mentions))
    made = results[0] if len(results) == 1 else _together(runtime, results)
    # by the names they had before it gave them others
    return replace(made, vain=job.marks if any(one.vain for one in results) else ())


def _called(drawing: topic_questions.Drawing, given: str, mentions: str) -> str:
    """Return what a model calls a topic, where it was said; empty: it is no thing."""
    name = titles.named(given, mentions)
    sources = ClaimSources(known=(mentions, drawing.topic.name))
    return name if not name or sources.bear(name) else drawing.topic.name


def _together(runtime: Runtime, results: Sequence[JobResult]) -> JobResult:
    """Make one result of several, in one change set named for the last."""
    named = results[-1].title.partition(": ")[2] or results[-1].title

    def plan() -> JobPlan:
        plans = [result.whole_plan() for result in results]
        late = tuple(line for each in plans for line in each.late)
        return JobPlan([change for each in plans for change in each.changes], late)

    trailers = dict.fromkeys(pair for result in results for pair in result.trailers)
    return JobResult(
        title=f"{PURPOSE}: {named}",
        plan=plan,
        lines=tuple(line for result in results for line in result.lines),
        data={"done": [result.report for result in results]},
        trailers=tuple(trailers) or traced([], runtime.model.name),
    )
