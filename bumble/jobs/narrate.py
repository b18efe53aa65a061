"""The narrative written anew: when it is due, its parts, length and checks.

A model answers four questions; each part names the episodes it rests on. What it makes up goes back
once, with the reason, and is left out if it comes again; a part of which nothing stands is left out
by itself. A telling that is broken, or loses most of the story, is thrown away. Without a model
that may write there is no story.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct, structs

from bumble.body.soma import is_open
from bumble.entity import changes
from bumble.errors import AnswerInvalidError
from bumble.fallback import sayings
from bumble.guard import values
from bumble.guard.verifier import ClaimSources, check_prose
from bumble.jobs.episode import significance_now
from bumble.llm import prompts
from bumble.recall.belief_strength import strength, superseded
from bumble.records import base, beliefs, dreams, episodes, narrative, provenance, relationships
from bumble.records.beliefs import Belief
from bumble.records.dreams import Dream
from bumble.records.episodes import Episode
from bumble.runtime import people, review_queue
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobResult, ask, choice, closed, traced
from bumble.runtime.runtime import Runtime
from bumble.text import markdown, tokens, words

MOST_EPISODES, MOST_PEOPLE, MOST_BELIEFS = 22, 15, 14  # that the self-story is told from
DREAMS = 3  # the newest that the story may draw on
STORY_TOKENS = 1400  # of the story so far
# Tokens of one memory, its reflection included; the first with which all of it fits the window.
CUTS = (400, 160, 80, 40, 20)


class StorySources(Struct, frozen=True):
    """The memories, people, beliefs and dreams that the story is told from."""

    episodes: tuple[Episode, ...]  # oldest first
    people: tuple[relationships.Relationship, ...]  # those talked with most first
    beliefs: tuple[Belief, ...]  # the strongest first
    dreams: tuple[Dream, ...]  # oldest first
    fingerprint: str  # changes when there is something new to tell

    @property
    def audience(self) -> provenance.Audience:
        """The people who may read a story told from them; empty: everyone."""
        sources = (*self.episodes, *self.people, *self.beliefs, *self.dreams)
        return provenance.joined(one.audience for one in sources)

    @property
    def labels(self) -> dict[str, Episode]:
        """The memories by the short names that a model cites them with."""
        return {f"e{n}": episode for n, episode in enumerate(self.episodes, 1)}

    @property
    def trust(self) -> str:
        """The lowest trust of all sources but the dreams."""
        sources = (*self.episodes, *self.people, *self.beliefs)
        return base.lowest_trust(one.provenance.trust for one in sources)

    def grounds(self, runtime: Runtime, *more: str) -> ClaimSources:
        """Return what a sentence made of them, and of some texts, may rest on; dreams are none."""
        days = [(one, one.at.astimezone(runtime.zone)) for one in self.episodes]
        texts = (
            *more,
            *(f"{at:%d %B %Y %A}" for _, at in days),
            *(f"{at:%Y-%m-%d} {one.text}" for one, at in days),
            *(f"{day}" for one, at in days for day in values.days_in(one.text, at)),
            *(f"{' '.join(one.names)} {one.dynamic} {one.text}" for one in self.people),
            *(belief.text for belief in self.beliefs),
        )
        names = (name for episode in self.episodes for name in episode.people)
        return ClaimSources(known=texts, names=(runtime.identity.name, *names))


def gather(runtime: Runtime) -> StorySources:
    """Choose what the story is told from."""
    at = runtime.now()
    circle = (people.owner_id(runtime.entity, runtime.identity),)

    lived = (
        episode
        for episode in episodes.EPISODE.readable(runtime.entity.episodes)
        if provenance.within(episode.provenance, circle) and not episode.dormant
    )
    most = sorted(lived, key=lambda one: (-significance_now(runtime, one, at), one.id))
    chosen = tuple(sorted(most[:MOST_EPISODES], key=lambda one: (one.at, one.id)))
    acquaintances = (
        person
        for person in relationships.PERSON.readable(runtime.entity.relationships)
        if provenance.within(person.provenance, circle) and (person.text or person.dynamic)
    )
    closest = sorted(acquaintances, key=lambda person: (-person.interaction_count, person.id))
    around = tuple(closest[:MOST_PEOPLE])
    there = {belief.id: belief for belief in beliefs.BELIEF.readable(runtime.entity.beliefs)}
    held = [
        belief
        for belief in there.values()
        if provenance.within(belief.provenance, circle)
        and not superseded(belief, there, at)
        and not belief.archived
        and belief.category != beliefs.DREAM_INSIGHT  # its dream is told beside it
    ]
    strongest = sorted(held, key=lambda belief: (-strength(belief, at), belief.id))
    dreamt = [
        dream
        for dream in dreams.DREAM.readable(runtime.entity.dreams)
        if is_open(dream.audience, circle)
    ][-DREAMS:]
    # identify what there is to tell; beliefs all, because their ranks change as they fade
    contents = [
        [[episode.id, episode.text] for episode in chosen],
        [[person.id, person.text, person.dynamic] for person in around],
        sorted([belief.id, belief.text] for belief in held),
        [[dream.id, dream.quoted] for dream in dreamt],
    ]
    mark = review_queue.mark(json.dumps(contents))
    return StorySources(chosen, around, tuple(strongest[:MOST_BELIEFS]), tuple(dreamt), mark)


def story_slots(
    runtime: Runtime, sources: StorySources, before: str, room_tokens: int, words: int
) -> dict[str, str]:
    """Fill the slots of the prompt; the less room there is, the shorter each memory.

    Args:
        runtime: Whose story.
        sources: What it is told from.
        before: The story so far, without ids.
        room_tokens: What the prompt may take.
        words: How long the story may become.
    """
    slots: dict[str, str] = {}
    for cut in CUTS:
        memories = (
            f"[{label}] {one.at.astimezone(runtime.zone):%Y-%m-%d}: {_line(one.text, cut)}"
            for label, one in sources.labels.items()
        )
        told = (f"{one.name}: {_line(f'{one.dynamic} {one.text}', cut)}" for one in sources.people)
        slots = {
            "name": runtime.identity.name,
            "memories": prompts.listed("memories", memories),
            "people": prompts.listed("people", told),
            "beliefs": prompts.listed("beliefs", (_line(one.text, cut) for one in sources.beliefs)),
            "dreams": prompts.listed("dreams", (_line(one.quoted, cut) for one in sources.dreams)),
            "story": prompts.listed(
                "story-so-far", filter(None, [tokens.cut(before, STORY_TOKENS)])
            ),
            "words": str(words),
            "refused": "",
        }
        if tokens.estimate_message(prompts.load("narrate").fill(**slots)) <= room_tokens:
            break
    return slots


def _line(text: str, cut: int) -> str:
    return tokens.cut(words.one_line(text), cut)


MOST_WORDS = 900  # of the self-story
PARTS = ("happening", "matters", "changed", "wants")  # in this order
TEMPERATURE = 0.5
MIN_PART_CHARS = 20
MAX_USES = 8  # memories that one part names
MIN_KEPT = 0.4  # of the length of the story before; a telling that loses more is refused
TOKENS_PER_WORD = 2
TITLE_CHARS = 60
LEAST_TOKENS = 400  # for the answer, however small the window


class NarrateJob(Struct, frozen=True):
    """One telling of the story: its sources, and the story before."""

    at: datetime
    sources: StorySources
    before: narrative.Narrative | None

    @property
    def marks(self) -> tuple[str, ...]:
        """What it is about: to be proposed, or asked in vain, once."""
        return (review_queue.mark("story", self.sources.fingerprint),)


def check(runtime: Runtime, *, force: bool = False) -> Due[NarrateJob]:
    """Tell whether there is anything new to tell."""
    sources, before = gather(runtime), narrative.read(runtime.entity.narrative)
    new = (before.fingerprint if before else "") != sources.fingerprint
    count = len(sources.episodes)
    conditions = (
        sayings.writes(runtime),
        Condition("memories", str(count), "at least 1", count > 0),
        Condition("news", _news(before, new=new), "something new to tell", new or force),
    )
    return Due(conditions, (NarrateJob(runtime.now(), sources, before),))


def _news(before: narrative.Narrative | None, *, new: bool) -> str:
    if before is None or before.at is None:
        return "never told" if new else "nothing new"
    when = f"{before.at:%Y-%m-%d %H:%M}"
    return f"something new since {when}" if new else f"nothing new since {when}"


def run(runtime: Runtime, job: NarrateJob) -> JobResult:
    """Tell the story.

    Raises:
        AnswerInvalidError: If the model's answer can't be used; the story stays as it was.
    """
    draft = _ask_story(runtime, job)
    told, memories = words.extent(draft.text), words.counted(len(draft.used), "memory", "memories")
    lines = [f"Told the story so far, in {told}, from {memories}."]
    if draft.dropped:
        lines.append(f"Left out {draft.dropped} sentences with names or numbers nobody gave.")
    # name a telling for the history by how it begins
    prose = next((row for row in draft.text.splitlines() if row and not row.startswith("#")), "")
    return JobResult(
        title=f"narrate: {words.shorten(narrative.uncited(prose), TITLE_CHARS, at_word=True)}",
        plan=partial(_plan, runtime, job, draft),
        lines=tuple(lines),
        data={
            "words": len(draft.text.split()),
            "from": list(draft.used),
            "audience": list(job.sources.audience),
            "dropped_sentences": draft.dropped,
            "summary_source": "model",
        },
        trailers=traced(draft.used, runtime.model.name),
    )


class StoryDraft(Struct, frozen=True):
    """The text of a story with its evidence, ready to be written."""

    text: str
    used: tuple[str, ...]  # ids of the episodes it cites
    dropped: int = 0  # sentences that said what nobody knows


def _plan(runtime: Runtime, job: NarrateJob, draft: StoryDraft) -> Sequence[changes.Change | None]:
    """Plan to write the story, unless somebody has edited it in the meantime: the edit stays."""
    now = narrative.read(runtime.entity.narrative)
    if (now.source.text if now else None) != (job.before.source.text if job.before else None):
        return ()
    change = narrative.plan_tell(
        now,
        draft.text,
        job.at,
        base.Provenance(
            by="narrate",
            model=runtime.model.name,
            sources=draft.used,
            trust=job.sources.trust,
            audience=job.sources.audience,
        ),
        "tell the story so far",
        fingerprint=job.sources.fingerprint,
    )
    return (structs.replace(change, keeps=now is not None) if change else None,)


def _ask_story(runtime: Runtime, job: NarrateJob) -> StoryDraft:
    """Ask a model, and hold what it says against what is known.

    Raises:
        AnswerInvalidError: If it can't be used.
    """
    before = narrative.uncited(job.before.text) if job.before else ""
    answer_tokens = max(LEAST_TOKENS, min(MOST_WORDS * TOKENS_PER_WORD, runtime.window_tokens // 3))
    words = min(MOST_WORDS, answer_tokens // TOKENS_PER_WORD)
    slots = story_slots(runtime, job.sources, before, runtime.window_tokens - answer_tokens, words)
    labels = job.sources.labels
    asked = partial(ask, runtime, "narrate", max_tokens=answer_tokens, temperature=TEMPERATURE)
    answer = asked(slots, schema(list(labels)))
    grounds = job.sources.grounds(runtime, before)
    parts, refused = _supported(answer, grounds)
    if refused:
        shown = (f"{one.part}: {one.text} ({one.why})" for one in refused)
        slots["refused"] = prompts.listed("refused", shown)
        names = dict.fromkeys(one.part for one in refused)
        with suppress(*NO_ANSWER):
            again = asked(slots, schema(list(labels), names))
            better, refused_again = _supported(again, grounds)
            better = {name: part for name, part in better.items() if any(part)}
            parts, answer = parts | better, {**answer, **{name: again[name] for name in better}}
            refused = [one for one in refused if one.part not in better]
            refused += [one for one in refused_again if one.part in better]
    _shorten(parts)
    parts = {name: parts[name] for name in PARTS if any(parts[name])}
    if not parts:
        why = "; ".join(one.why for one in refused) or "it is empty"
        raise _unusable(runtime, f"nothing of it stands: {why}")
    used = {
        name: [labels[label] for label in dict.fromkeys(answer[name]["uses"])] for name in parts
    }
    text = _rendered(parts, used)
    kept = len(narrative.uncited(text))
    if kept < len(before) * MIN_KEPT:  # most of the story before it would be lost
        left = f"only {kept / len(before):.0%} of the story's length would be left"
        raise _unusable(runtime, left)
    cited = tuple(dict.fromkeys(one.id for listed in used.values() for one in listed))
    everything = tuple(episode.id for episode in job.sources.episodes)
    return StoryDraft(text, cited or everything, len(refused))


def schema(labels: Sequence[str], names: Iterable[str] = PARTS) -> dict[str, Any]:
    """Return what an answer looks like; each part says first what it rests on."""
    part = {
        "uses": {"type": "array", "items": choice(labels), "maxItems": MAX_USES},
        "text": {"type": "string", "minLength": MIN_PART_CHARS},
    }
    return closed(dict.fromkeys(names, closed(part)))


Parts = dict[str, list[list[str]]]  # sentences of the paragraphs of each part


class Refused(Struct, frozen=True):
    """A sentence with a name, number or date of its own."""

    part: str
    text: str
    why: str


def _supported(answer: Mapping[str, Any], grounds: ClaimSources) -> tuple[Parts, list[Refused]]:
    """Part the sentences of an answer into those that stand and those that don't."""
    parts: Parts = {}
    refused: list[Refused] = []
    for name, part in answer.items():
        told = [words.sentences(one) for one in re.split(r"\n\s*\n", _plain(part["text"]))]
        parts[name] = [grounds.sound(sentences) for sentences in told]
        refused += [
            Refused(name, one, check_prose(one, grounds).why)
            for sentences, sound in zip(told, parts[name], strict=True)
            for one in sentences
            if one not in sound
        ]
    return parts, refused


def _plain(text: str) -> str:
    """Strip what a model adds beside prose: headings, and the short names of memories."""
    rows = (re.sub(r"^\s*#+\s+.*$", "", line) for line in text.splitlines())
    return re.sub(r"[ \t]*[(\[]e\d+(?:\s*,\s*e\d+)*[)\]]", "", "\n".join(rows)).strip()


def _shorten(parts: Parts) -> None:
    """Take sentences off the end of the longest part until the story is no longer too long."""

    def words(name: str) -> int:
        return sum(len(sentence.split()) for paragraph in parts[name] for sentence in paragraph)

    while sum(map(words, parts)) > MOST_WORDS:
        longest = max(parts, key=words)
        while parts[longest] and not parts[longest][-1]:
            parts[longest].pop()
        if sum(map(len, parts[longest])) < 2:
            return
        parts[longest][-1].pop()


def _rendered(parts: Parts, used: Mapping[str, Sequence[Episode]]) -> str:
    """Write the story; each memory is linked where it is first rested on."""
    blocks, linked = [], set[str]()
    for name, paragraphs in parts.items():
        prose = "\n\n".join(words.paragraph(sentences) for sentences in paragraphs if sentences)
        new = [one for one in used[name] if one.id not in linked]
        linked |= {one.id for one in new}
        blocks.append(f"{markdown.contained(prose)}{narrative.cited(new)}")
    return "\n\n".join(blocks)


def _unusable(runtime: Runtime, problem: str) -> AnswerInvalidError:
    return AnswerInvalidError(
        f"{runtime.model.name} gave no usable story: {problem}\n"
        "The story stays as it was. Run it again, or choose a larger model."
    )
