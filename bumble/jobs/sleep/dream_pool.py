"""The memories an entity may dream of, with their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct

from bumble.body import significance
from bumble.body.circadian import seconds_between
from bumble.jobs.sleep import dream_pairs
from bumble.jobs.sleep.dream_pairs import Pair
from bumble.models.embed import protocol
from bumble.models.embed.protocol import Floats
from bumble.records import dreams, episodes, provenance, relationships
from bumble.records.episodes import Episode
from bumble.runtime.runtime import Runtime

MIN_SIGNIFICANCE = 0.1  # of both memories of a pair
EVENT = "dream"  # what made a memory that was dreamt


class DreamPool(Struct, frozen=True):
    """The memories that may be dreamt of, and the pairs of them that may meet."""

    episodes: Mapping[str, Episode]
    pairs: tuple[Pair, ...]  # all that may meet
    similarity: str  # the scale: `calibrated`, `raw`, or `none` without an embedder


def find(runtime: Runtime, at: datetime) -> DreamPool:
    """Find what may be dreamt of, and which of it may meet."""
    config = runtime.config.soma.dreams
    dreamable = {
        episode.id: episode
        for episode in episodes.read(runtime.entity.episodes)
        if _can_be_dreamt(episode)
    }

    def left(episode: Episode) -> float:
        age = seconds_between(episode.at, at)
        return significance.decayed(episode.significance, age, runtime.config.memory)

    rules = dream_pairs.PairRules(
        MIN_SIGNIFICANCE, config.min_time_gap_hours, config.max_similarity, config.band
    )
    memories = [
        dream_pairs.PairCandidate(episode.id, episode.at, left(episode), episode.audience)
        for episode in dreamable.values()
    ]
    best = dream_pairs.candidates(memories, rules)
    vectors = _vectors(runtime, [dreamable[memory.id] for memory in best])
    eligible_pairs = dream_pairs.eligible(best, rules, vectors, partial(_scaled, runtime))
    return DreamPool(
        dreamable,
        eligible_pairs,
        "none" if vectors is None else runtime.config.embedding.similarity,
    )


def _vectors(runtime: Runtime, memories: Sequence[Episode]) -> dict[str, Floats] | None:
    """Embed what sets memories apart; None without an embedder.

    The vectors of the index will not do: each has date, people and the form of a telling in it,
    which all memories share, so that hardly any two are unlike (docs/log.md).
    """
    embedder = runtime.memory.embedder
    if embedder is None:
        return None
    tellings = [episodes.telling(episode.text) for episode in memories]
    names = [runtime.identity.name]
    names += [
        name for person in relationships.read(runtime.entity.relationships) for name in person.names
    ]
    texts = dream_pairs.distinct(
        [telling.narrative or telling.reflection for telling in tellings], names
    )
    rows = embedder.embed_documents(texts) if texts else ()
    return {episode.id: row for episode, row in zip(memories, rows, strict=True)}


def _can_be_dreamt(episode: Episode) -> bool:
    origin = episode.provenance
    dreamt = origin.by == EVENT or any(
        source.startswith(f"{dreams.PREFIX}_") for source in origin.sources
    )
    return not dreamt and not episode.dormant and not provenance.is_untrusted(origin.trust)


def _scaled(runtime: Runtime, cosine: Floats) -> Floats:
    embedder = runtime.memory.embedder
    if embedder is None or runtime.config.embedding.similarity == "raw":
        return cosine
    return protocol.similarity(cosine, embedder.unrelated_cosine)
