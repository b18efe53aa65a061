"""What the narrative is written from: memories, people, beliefs, dreams; their wording.

The story stands in a prompt that is the same for a whole circle of people, so it is told of what
is for everyone and of what the owner alone may meet. Knows nothing of models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from msgspec import Struct

from bumble.body import significance
from bumble.body.circadian import seconds_between
from bumble.llm import prompts
from bumble.recall.belief_strength import strength
from bumble.records import base, beliefs, episodes, journal, provenance, relationships
from bumble.records.beliefs import Belief
from bumble.records.episodes import Episode
from bumble.records.journal import JournalEntry
from bumble.records.provenance import Audience
from bumble.records.relationships import Relationship
from bumble.runtime import people
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line

MOST_EPISODES, MOST_PEOPLE, MOST_BELIEFS = 22, 15, 14  # that the self-story is told from
DREAMS = 3  # the newest entries of the diary that the story may draw on
DREAM_TAG = "dream"
STORY_TOKENS = 1400  # of the story so far
CUTS = (80, 40, 20)  # tokens of one memory; the first with which all of it fits the window


class StorySources(Struct, frozen=True):
    """The memories, people, beliefs and dreams that the story is told from."""

    episodes: tuple[Episode, ...]  # oldest first
    people: tuple[Relationship, ...]  # those talked with most first
    beliefs: tuple[Belief, ...]  # the strongest first
    dreams: tuple[JournalEntry, ...]  # oldest first
    fingerprint: str  # changes when there is something new to tell

    @property
    def audience(self) -> Audience:
        """The people who may read a story told from them; empty: everyone."""
        audiences = [episode.audience for episode in self.episodes] + [
            person.audience for person in self.people
        ]
        audiences += [belief.audience for belief in self.beliefs] + [
            dream.audience for dream in self.dreams
        ]
        return provenance.joined(audiences)

    @property
    def labels(self) -> dict[str, Episode]:
        """The memories by the short names that a model cites them with."""
        return {f"e{n}": episode for n, episode in enumerate(self.episodes, 1)}

    @property
    def trust(self) -> str:
        """The lowest trust of all sources but the dreams."""
        trusts = [episode.provenance.trust for episode in self.episodes]
        trusts += [person.provenance.trust for person in self.people]
        return base.lowest_trust(trusts + [belief.provenance.trust for belief in self.beliefs])


def gather(runtime: Runtime) -> StorySources:
    """Choose what the story is told from."""
    at = runtime.now()
    circle = (people.owner_id(runtime.entity, runtime.identity),)

    def fading(episode: Episode) -> float:
        age = seconds_between(episode.at, at)
        return significance.decayed(episode.significance, age, runtime.config.memory)

    lived = [
        episode
        for episode in episodes.read(runtime.entity.episodes)
        if provenance.within(episode.provenance, circle) and not episode.dormant
    ]
    most = sorted(lived, key=lambda episode: (-fading(episode), episode.id))[:MOST_EPISODES]
    acquaintances = [
        person
        for person in relationships.read(runtime.entity.relationships)
        if provenance.within(person.provenance, circle) and (person.text or person.dynamic)
    ]
    closest = sorted(acquaintances, key=lambda person: (-person.interaction_count, person.id))
    held = [
        belief
        for belief in beliefs.read(runtime.entity.beliefs)
        if provenance.within(belief.provenance, circle) and not belief.archived
    ]
    strongest = sorted(held, key=lambda belief: (-strength(belief, at), belief.id))
    dreamt = [
        entry
        for entry in journal.read(runtime.entity.journal, runtime.zone).entries
        if DREAM_TAG in entry.tags and provenance.fits(entry.audience, circle)
    ][-DREAMS:]
    chosen = tuple(sorted(most, key=lambda episode: (episode.at, episode.id)))
    around = tuple(closest[:MOST_PEOPLE])
    mark = _fingerprint(chosen, around, held, dreamt)
    return StorySources(chosen, around, tuple(strongest[:MOST_BELIEFS]), tuple(dreamt), mark)


def _fingerprint(
    lived: Iterable[Episode],
    acquaintances: Iterable[Relationship],
    held: Iterable[Belief],
    dreamt: Iterable[JournalEntry],
) -> str:
    """Identify what there is to tell; beliefs all, because their ranks change as they fade."""
    contents = [
        [[episode.id, episode.text] for episode in lived],
        [[person.id, person.text, person.dynamic] for person in acquaintances],
        sorted([belief.id, belief.text] for belief in held),
        [[dream.at.isoformat(), dream.text] for dream in dreamt],
    ]
    return hashlib.sha256(json.dumps(contents).encode("utf-8", "replace")).hexdigest()[:16]


def slots(
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
        slots = {
            "name": runtime.identity.name,
            "memories": _tagged("memories", _memories(runtime, sources, cut)),
            "people": _tagged("people", [_person(person, cut) for person in sources.people]),
            "beliefs": _tagged("beliefs", [_line(belief.text, cut) for belief in sources.beliefs]),
            "dreams": _tagged("dreams", [_line(dream.text, cut) for dream in sources.dreams]),
            "story": _tagged("story-so-far", [tokens.cut(before, STORY_TOKENS)] if before else []),
            "words": str(words),
        }
        if tokens.estimate_message(prompts.load("narrate").fill(**slots)) <= room_tokens:
            break
    return slots


def _tagged(tag: str, lines: Sequence[str]) -> str:
    return prompts.tagged(tag, "\n".join(lines)) if lines else ""


def _memories(runtime: Runtime, sources: StorySources, cut: int) -> list[str]:
    return [
        f"[{label}] {day(runtime, episode)}: {_line(episode.text, cut)}"
        for label, episode in sources.labels.items()
    ]


def day(runtime: Runtime, episode: Episode) -> str:
    """Write on which day an episode began, where the entity lives."""
    return f"{episode.at.astimezone(runtime.zone):%Y-%m-%d}"


def _person(person: Relationship, cut: int) -> str:
    return f"{person.name}: {_line(f'{person.dynamic} {person.text}', cut)}"


def _line(text: str, cut: int) -> str:
    return tokens.cut(one_line(text), cut)


def source_texts(runtime: Runtime, sources: StorySources, before: str) -> list[str]:
    """Return the texts that a name or a number in the story may come from; dreams are none."""
    months = (f"{episode.at.astimezone(runtime.zone):%d %B %Y %A}" for episode in sources.episodes)
    return [
        before,
        *months,
        *(f"{day(runtime, episode)} {episode.text}" for episode in sources.episodes),
        *(f"{' '.join(person.names)} {person.dynamic} {person.text}" for person in sources.people),
        *(belief.text for belief in sources.beliefs),
    ]


def names_of(runtime: Runtime, sources: StorySources) -> list[str]:
    """Return the names that need no source."""
    return [
        runtime.identity.name,
        *(name for episode in sources.episodes for name in episode.people),
    ]
