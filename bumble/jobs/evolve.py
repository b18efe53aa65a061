"""Evolution: every hundred interactions a proposal of small changes of who the entity is.

A model that may write proposes, and each item must rest on memories and name nobody; without one
nothing is proposed. Nothing is applied here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import unified_diff
from typing import Any

from msgspec import Struct

from bumble.entity import changes, folder, secrets, settings
from bumble.fallback import sayings
from bumble.jobs import narrate
from bumble.llm import prompts
from bumble.records import base, episodes, proposals, relationships, state
from bumble.runtime import people, rules
from bumble.runtime.job import (
    Condition,
    Due,
    JobResult,
    array,
    ask,
    choice,
    closed,
    traced,
    vain,
)
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

EVERY, AGAIN = 100, 10  # interactions; within these an unusable answer is asked for once
KEY = "evolve"  # in state.yaml
TEMPERATURE, MAX_TOKENS = 0.4, 800
TEXT_CHARS, REASON_CHARS, MOST_SOURCES = 160, 240, 6
# Traits of an entity that names none.
TRAITS = ("curiosity", "warmth", "playfulness", "zest", "calm", "caution")
Items = dict[str, list[proposals.Item]]  # under traits, behaviours and curiosity


class EvolveJob(Struct, frozen=True):
    """One look back."""

    at: datetime
    interactions: int
    sources: narrate.StorySources
    marks: tuple[str]  # of how far it had come, so that it isn't asked in vain at each turn


def check(runtime: Runtime, *, force: bool = False) -> Due[EvolveJob]:
    """Tell whether it is time to look back."""
    count = people.interactions(runtime)
    last = state.read(runtime.entity.state).get(KEY, "interactions", default=0)
    since = count - last if last <= count else count  # people may have been forgotten since
    waiting = sum(
        proposal.status == proposals.OPEN
        for proposal in proposals.PROPOSAL.readable(runtime.entity.evolution)
    )
    enough = force or since >= EVERY
    mark = f"{KEY} {count // AGAIN}"
    is_new = mark not in vain(runtime)
    conditions = (
        sayings.writes(runtime),
        Condition("interactions", f"{since} since the last", f"at least {EVERY}", enough),
        Condition("open proposals", str(waiting), "none", not waiting),
        Condition(
            "unusable answers",
            "none" if is_new else "one",
            f"none within {AGAIN} interactions",
            is_new or force,
        ),
    )
    if not all(condition.passes for condition in conditions):
        return Due(conditions, ())
    return Due(conditions, (EvolveJob(runtime.now(), count, narrate.gather(runtime), (mark,)),))


def run(runtime: Runtime, job: EvolveJob) -> JobResult:
    """Propose what may change.

    Raises:
        AnswerInvalidError: If the model's answer can't be used; the look back waits.
    """
    items = _new(runtime, _asked(runtime, job)) if job.sources.episodes else {}
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
    origin = base.Provenance(
        by=KEY,
        model=runtime.model.name,
        sources=cited,
        trust=base.lowest_trust(("entity", job.sources.trust)),
        audience=job.sources.audience,
    )
    proposal_id = base.new_id(proposals.PROPOSAL.prefix, job.at, runtime.rng)
    proposal = proposals.new(proposal_id, job.at, job.interactions, items, diff, provenance=origin)
    return JobResult(
        title=f"evolve: proposes {words.one_line(proposal.items[0].text)}",
        plan=lambda: (
            proposals.PROPOSAL.plan_new(proposal, "propose small changes"),
            _plan_counted(runtime, job),
        ),
        lines=(
            f"{proposal.id}: {words.counted(len(proposal.items), 'small change')}.",
            "`bumble evolve --show` has them; nothing changes before --apply.",
        ),
        data={"proposal": proposal.id, "items": len(proposal.items), "model": runtime.model.name},
        record=proposal.id,
        trailers=traced(cited, runtime.model.name),
    )


def applied(source: str, items: Mapping[str, Sequence[proposals.Item]]) -> str:
    """Return the text of entity.yaml with some changes applied."""
    return settings.evolved(
        source,
        {item.text: item.change for item in items.get("traits", ())},
        [item.text for item in items.get("behaviours", ())],
        [item.text for item in items.get("curiosity", ())],
    )


def items_of(proposal: proposals.Proposal) -> Items:
    """Return the changes of a proposal by their sort."""
    return {
        "traits": list(proposal.traits),
        "behaviours": list(proposal.behaviours),
        "curiosity": list(proposal.topics),
    }


def difference(before: str, after: str) -> str:
    """Return the diff of entity.yaml; empty if nothing differs."""
    lines = unified_diff(
        before.splitlines(),
        after.splitlines(),
        folder.ENTITY_FILE,
        folder.ENTITY_FILE,
        n=1,
        lineterm="",
    )
    return "\n".join(lines)


def _plan_counted(runtime: Runtime, job: EvolveJob) -> changes.Change | None:
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
        "behaviours": prompts.listed("behaviours", persona.behaviours, "- "),
        "curiosity": prompts.listed("curiosity", persona.curiosity, "- "),
    }
    form = schema(_traits(runtime), list(labels))
    answer = ask(runtime, KEY, slots, form, max_tokens=MAX_TOKENS, temperature=TEMPERATURE)
    items = {
        "traits": [
            _item(value, labels, proposals.MOST_CHANGE * (1 if value["way"] == "more" else -1))
            for value in answer["traits"]
        ],
        "behaviours": [_item(value, labels) for value in answer["behaviours"]],
        "curiosity": [_item(value, labels) for value in answer["curiosity"]],
    }
    grounds = job.sources.grounds(runtime)
    return {
        name: [item for item in listed if all(map(grounds.bear, _claims(item)))]
        for name, listed in items.items()
    }


def _claims(item: proposals.Item) -> list[str]:
    """Return the sentences of an item that may say what nobody knows."""
    return [*([] if item.change else words.sentences(item.text)), *words.sentences(item.reason)]


def _item(
    value: Mapping[str, Any], labels: Mapping[str, episodes.Episode], change: float = 0.0
) -> proposals.Item:
    cited = tuple(labels[label].id for label in dict.fromkeys(value["from"]))
    text = words.shorten(value["text"], TEXT_CHARS)
    return proposals.Item(text, words.shorten(value["reason"], REASON_CHARS), cited, change)


def schema(traits: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    """Return what an answer looks like."""
    shared = {
        "reason": {"type": "string"},
        "from": {"type": "array", "items": choice(labels), "minItems": 1, "maxItems": MOST_SOURCES},
    }
    free = {"text": {"type": "string", "minLength": 3}, **shared}
    trait = {"text": choice(traits), "way": choice(["more", "less"]), **shared}
    trait, free = closed(trait), closed(free)
    return closed(
        {
            "traits": array(trait, proposals.MOST_TRAITS),
            "behaviours": array(free, proposals.MOST_BEHAVIOURS),
            "curiosity": array(free, proposals.MOST_TOPICS),
        }
    )


def _new(runtime: Runtime, items: Items) -> Items:
    """Leave out what names a person, holds a secret, or is there already; hold the bounds."""
    persona = runtime.identity.identity
    there = {words.one_line(text).casefold() for text in (*persona.behaviours, *persona.curiosity)}
    folded_names = (
        words.folded(name)
        for person in relationships.PERSON.readable(runtime.entity.relationships)
        for name in (person.id, *person.names, *" ".join(person.names).split())
        if len(name) > 1 or not name.isascii()  # 遥
    )
    named_parts = [(name, set(stop_words.WORD_PART.findall(name))) for name in folded_names]

    def is_open(item: proposals.Item) -> bool:
        """Whether everybody may read it, and it rests on something."""
        plain = words.folded(item.text)
        listed = set(stop_words.WORD_PART.findall(plain))
        # a name without capitals may stand in one word with others: 遥の妹
        named = any(
            name in plain if name.upper() == name else parts <= listed
            for name, parts in named_parts
            if parts
        )
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
