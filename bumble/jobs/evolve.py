"""Evolution: every hundred interactions a proposal of small changes of who the entity is.

A model that may write proposes, and each item must rest on memories and name nobody; else rules
look at what the memories left behind and at what people talk about. Nothing is applied here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import unified_diff
from functools import partial
from typing import Any

from msgspec import Struct

from bumble.entity import secrets, settings
from bumble.entity.changes import Change
from bumble.entity.folder import ENTITY_FILE
from bumble.fallback import sayings, templates
from bumble.guard import verifier
from bumble.guard.speakers import Speakers
from bumble.jobs import narrate
from bumble.jobs.narrate import StorySources
from bumble.llm import prompts
from bumble.records import base, proposals, relationships, state
from bumble.records.base import Provenance
from bumble.records.episodes import Episode
from bumble.records.proposals import Item, Proposal
from bumble.runtime import job_request, people, rules
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import words
from bumble.text.words import one_line

EVERY = 100  # interactions
KEY = "evolve"  # in state.yaml
TEMPERATURE, MAX_TOKENS = 0.4, 800
TEXT_CHARS, REASON_CHARS, MOST_SOURCES = 160, 240, 6
# Traits of an entity that names none, each with the feelings in memories that speak for it.
TRAITS: Mapping[str, tuple[str, ...]] = {
    "curiosity": ("curious",),
    "warmth": ("affectionate",),
    "playfulness": ("amused",),
    "zest": ("excited",),
    "calm": ("content",),
    "caution": ("concerned", "anxious"),
}
LEAST_IMPRINTS, TELLING_SHARE = 5, 0.25  # of all feelings that memories left; for a trait to move
Items = dict[str, list[Item]]  # under traits, behaviours and curiosity


class EvolveJob(Struct, frozen=True):
    """One look back."""

    at: datetime
    interactions: int
    sources: StorySources


def check(runtime: Runtime, *, force: bool = False) -> Due[EvolveJob]:
    """Tell whether it is time to look back."""
    count = people.interactions(runtime)
    last = state.read(runtime.entity.state).get(KEY, "interactions", default=0)
    since = count - last if last <= count else count  # people may have been forgotten since
    waiting = sum(
        proposal.status == proposals.OPEN for proposal in proposals.read(runtime.entity.evolution)
    )
    enough = force or since >= EVERY
    conditions = (
        Condition("interactions", f"{since} since the last", f"at least {EVERY}", enough),
        Condition("open proposals", str(waiting), "none", not waiting),
    )
    if not all(condition.passes for condition in conditions):
        return Due(conditions, ())
    return Due(conditions, (EvolveJob(runtime.now(), count, narrate.gather(runtime)),))


def run(runtime: Runtime, job: EvolveJob) -> JobResult:
    """Propose what may change; without a usable answer by rule."""
    language = words.language(*(episode.text for episode in reversed(job.sources.episodes)))
    model = ""
    items = _by_rule(runtime, job, language)
    if job.sources.episodes and sayings.in_language(runtime, language) is None:
        with suppress(*NO_ANSWER):  # what the rules say stands
            items, model = _asked(runtime, job), runtime.model.name
    items = _new(runtime, items)
    before = base.read_text(runtime.entity.file)
    diff = difference(before, applied(before, items))
    if not diff:
        return JobResult(
            title="evolve: nothing to change",
            plan=lambda: (_plan_counted(runtime, job),),
            lines=("Looked back, and nothing speaks for a change.",),
            data={"proposal": None},
        )
    cited = tuple(
        dict.fromkeys(id_ for listed in items.values() for item in listed for id_ in item.sources)
    )
    origin = Provenance(
        by=KEY,
        model=model,
        sources=cited,
        trust=base.lowest_trust(("entity", job.sources.trust)),
        audience=job.sources.audience,
    )
    proposal_id = base.new_id(proposals.PREFIX, job.at, runtime.rng)
    proposal = proposals.new(proposal_id, job.at, job.interactions, items, diff, provenance=origin)
    return JobResult(
        title=f"evolve: proposes {one_line(proposal.items[0].text)}",
        plan=partial(_plan, runtime, job, proposal),
        lines=(
            f"{proposal.id}: {len(proposal.items)} small changes{'' if model else ', by rule'}.",
            "`bumble evolve --show` has them; nothing changes before --apply.",
        ),
        data={"proposal": proposal.id, "items": len(proposal.items), "model": model},
        record=proposal.id,
        trailers=traced(cited, model),
    )


def applied(source: str, items: Mapping[str, Sequence[Item]]) -> str:
    """Return the text of entity.yaml with some changes applied."""
    return settings.evolved(
        source,
        {item.text: item.change for item in items.get("traits", ())},
        [item.text for item in items.get("behaviours", ())],
        [item.text for item in items.get("curiosity", ())],
    )


def items_of(proposal: Proposal) -> Items:
    """Return the changes of a proposal by their sort."""
    return {
        "traits": list(proposal.traits),
        "behaviours": list(proposal.behaviours),
        "curiosity": list(proposal.topics),
    }


def difference(before: str, after: str) -> str:
    """Return the diff of entity.yaml; empty if nothing differs."""
    lines = unified_diff(
        before.splitlines(), after.splitlines(), ENTITY_FILE, ENTITY_FILE, n=1, lineterm=""
    )
    return "\n".join(lines)


def _plan(runtime: Runtime, job: EvolveJob, proposal: Proposal) -> Sequence[Change | None]:
    return (proposals.plan_new(proposal, "propose small changes"), _plan_counted(runtime, job))


def _plan_counted(runtime: Runtime, job: EvolveJob) -> Change | None:
    file = state.read(runtime.entity.state)
    values = {KEY: {"interactions": job.interactions, "at": base.stamp(job.at)}}
    return state.plan_write(file, values, "it looked back")


def _traits(runtime: Runtime) -> list[str]:
    """Return the traits that may change: the entity's own, or those of anybody."""
    return list(runtime.identity.identity.traits) or list(TRAITS)


def _asked(runtime: Runtime, job: EvolveJob) -> Items:
    """Ask a model, and keep what rests on memories.

    Raises:
        AnswerInvalidError: If the answer can't be used.
    """
    persona = rules.own_identity(runtime.entity, runtime.identity).identity
    labels = job.sources.labels
    levels = [
        f"{name}: {persona.traits.get(name, settings.NEUTRAL):g}" for name in _traits(runtime)
    ]
    memories = narrate.story_slots(runtime, job.sources, "", runtime.window_tokens // 2, 0)
    slots = {
        "name": runtime.identity.name,
        "memories": memories["memories"],
        "traits": prompts.tagged("traits", "\n".join(levels)),
        "behaviours": _listed("behaviours", persona.behaviours),
        "curiosity": _listed("curiosity", persona.curiosity),
    }
    form = schema(_traits(runtime), list(labels))
    answer = job_request.answer(
        runtime, KEY, slots, form, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
    )
    items = {
        "traits": [
            _item(value, labels, proposals.MOST_CHANGE * (1 if value["way"] == "more" else -1))
            for value in answer["traits"]
        ],
        "behaviours": [_item(value, labels) for value in answer["behaviours"]],
        "curiosity": [_item(value, labels) for value in answer["curiosity"]],
    }
    grounds = narrate.source_texts(runtime, job.sources, "")
    speakers = Speakers(narrate.names_of(runtime, job.sources))
    return {
        name: [
            item
            for item in listed
            if all(verifier.problem(text, grounds, speakers) is None for text in _claims(item))
        ]
        for name, listed in items.items()
    }


def _claims(item: Item) -> list[str]:
    """Return the sentences of an item that may say what nobody knows."""
    own = [] if item.change else words.sentences(item.text)
    return [*own, *words.sentences(item.reason)]


def _listed(tag: str, texts: Sequence[str]) -> str:
    return prompts.tagged(tag, "\n".join(f"- {text}" for text in texts)) if texts else ""


def _item(value: Mapping[str, Any], labels: Mapping[str, Episode], change: float = 0.0) -> Item:
    cited = tuple(labels[label].id for label in dict.fromkeys(value["from"]))
    text = words.shorten(value["text"], TEXT_CHARS)
    return Item(text, words.shorten(value["reason"], REASON_CHARS), cited, change)


def schema(traits: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    """Return what an answer looks like."""
    label = {"type": "string", "enum": list(labels)}
    shared = {
        "reason": {"type": "string"},
        "from": {"type": "array", "items": label, "minItems": 1, "maxItems": MOST_SOURCES},
    }
    free = {"text": {"type": "string", "minLength": 3}, **shared}
    trait = {
        "text": {"type": "string", "enum": list(traits)},
        "way": {"enum": ["more", "less"]},
        **shared,
    }
    return job_request.closed(
        {
            "traits": _array(trait, proposals.MOST_TRAITS),
            "behaviours": _array(free, proposals.MOST_BEHAVIOURS),
            "curiosity": _array(free, proposals.MOST_TOPICS),
        }
    )


def _array(properties: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": job_request.closed(properties), "maxItems": most}


def _by_rule(runtime: Runtime, job: EvolveJob, language: str) -> Items:
    """Propose what the memories show without a model: feelings they left, topics of people."""
    wordings = templates.load(language)
    felt = [
        (imprint.emotion, episode.id)
        for episode in job.sources.episodes
        for imprint in episode.imprints
    ]
    traits = []
    for name in _traits(runtime):
        cited = tuple(
            dict.fromkeys(id_ for emotion, id_ in felt if emotion in TRAITS.get(name, ()))
        )
        if len(felt) >= LEAST_IMPRINTS and len(cited) >= len(felt) * TELLING_SHARE:
            reason = wordings.grown.format(count=len(cited), total=len(felt))
            traits.append(Item(name, reason, cited[:MOST_SOURCES], proposals.MOST_CHANGE))
    topics = [
        Item(one_line(topic), wordings.topical, (person.id,))
        for person in job.sources.people
        for topic in person.topics
    ]
    return {"traits": traits, "behaviours": [], "curiosity": topics}


def _new(runtime: Runtime, items: Items) -> Items:
    """Leave out what names a person, holds a secret, or is there already; hold the bounds."""
    persona = runtime.identity.identity
    there = {one_line(text).casefold() for text in (*persona.behaviours, *persona.curiosity)}
    folded_names = [
        words.folded(name)
        for person in relationships.read(runtime.entity.relationships)
        for name in (person.id, *person.names, *" ".join(person.names).split())
        if len(name) > 1
    ]

    def is_open(item: Item) -> bool:
        """Whether everybody may read it, and it rests on something."""
        listed = set(_words(item.text))
        named = any(set(_words(name)) <= listed for name in folded_names if _words(name))
        hidden = secrets.find_secret(item.text)
        return bool(item.sources) and not named and not hidden and item.text.casefold() not in there

    room = max(0, settings.MOST_TOPICS - len(persona.curiosity))
    bounds = {
        "traits": proposals.MOST_TRAITS,
        "behaviours": proposals.MOST_BEHAVIOURS,
        "curiosity": min(proposals.MOST_TOPICS, room),
    }
    chosen: Items = {}
    for name, most in bounds.items():
        distinct = {item.text.casefold(): item for item in reversed(items[name]) if is_open(item)}
        chosen[name] = list(reversed(distinct.values()))[:most]
    return chosen


def _words(text: str) -> list[str]:
    """Return the words of a text, without case, accents and signs."""
    plain = "".join(sign if sign.isalnum() else " " for sign in words.folded(text))
    return plain.split()
