"""How charged memories weigh more: the factor of an episode's imprints in the present mood."""

from __future__ import annotations

from datetime import datetime

from bumble.body import affects
from bumble.body.parameters import BodyConfig
from bumble.entity.folder import Entity
from bumble.index.search import Factor, Hit
from bumble.stores import episodes, records
from bumble.stores.episodes import Episode


def factor(entity: Entity, body: BodyConfig, mood: str, at: datetime) -> Factor | None:
    """Return what to multiply the relevance of a hit by; None where imprints count nothing.

    Args:
        entity: Whose episodes.
        body: Weight, half-life, cap and affinities.
        mood: The mood now.
        at: The present.
    """
    if not body.imprint.recall_weight:
        return None

    def weigh(hit: Hit) -> float:
        if hit.kind != "episode":
            return 1.0
        episode = records.load(entity.root / hit.path, episodes.parse)
        return affects.imprint_factor(
            _felt(episode), mood, _age(episode, at), body.imprint, body.affinity
        )

    return weigh


def shares(episode: Episode, body: BodyConfig, mood: str, at: datetime) -> tuple[float, ...]:
    """Return what each imprint of an episode adds, before cap and weight."""
    return affects.imprint_shares(
        _felt(episode), mood, _age(episode, at), body.imprint, body.affinity
    )


def _felt(episode: Episode) -> tuple[affects.Imprint, ...]:
    return tuple(
        affects.Imprint(one.emotion, one.intensity, one.trigger) for one in episode.imprints
    )


def _age(episode: Episode, at: datetime) -> float:
    return (at - episode.at).total_seconds()
