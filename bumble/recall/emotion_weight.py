"""How charged episodes weigh more in recall: imprints against the present mood."""

from __future__ import annotations

import math
from datetime import datetime

from msgspec import Struct

from bumble.body import affects
from bumble.body.config import FeltMemoryConfig
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.index.search import Factor, Hit
from bumble.records import base, episodes

KEY = "imprints"  # in the front matter; a file without it need not be parsed


class ImprintShare(Struct, frozen=True):
    """What one imprint of an episode adds, and what that is made of."""

    emotion: str
    intensity: float
    trigger: str
    affinity: float  # of the present mood with the emotion; 1 counts nothing
    decay: float  # what its age has left of it, in [0, 1]
    share: float  # before cap and weight


class Weight(Struct, frozen=True):
    """What all imprints of an episode do to its relevance."""

    shares: tuple[ImprintShare, ...]
    age_days: float
    factor: float


def factor(entity: Entity, memory: FeltMemoryConfig, mood: str, at: datetime) -> Factor | None:
    """Return what to multiply the relevance of a hit by; None where imprints count nothing.

    Args:
        entity: Whose episodes.
        memory: Weight and half-life.
        mood: The mood now.
        at: The present.
    """
    if not memory.imprint_recall_weight:
        return None

    def of(hit: Hit) -> float:
        imprint_weight = weight(entity, memory, mood, at, hit)
        return imprint_weight.factor if imprint_weight else 1.0

    return Factor(of, 1 + memory.imprint_recall_weight * affects.IMPRINT_CAP)


def weight(
    entity: Entity, memory: FeltMemoryConfig, mood: str, at: datetime, hit: Hit
) -> Weight | None:
    """Return what the imprints of a hit do to it; None if it is no episode, or has none."""
    episode = _charged(entity, hit) if hit.kind == "episode" else None
    if episode is None:
        return None
    felt, age = episode.imprints, max(0.0, (at - episode.at).total_seconds())
    decay = math.exp2(-age / memory.imprint_decay_half_life_seconds)
    counted = affects.imprint_shares(felt, mood, age, memory)
    shares = tuple(
        ImprintShare(
            imprint.emotion,
            imprint.intensity,
            imprint.trigger,
            affects.affinity(mood, imprint.emotion),
            decay,
            share,
        )
        for imprint, share in zip(felt, counted, strict=True)
    )
    return Weight(shares, age / 86_400, affects.imprint_factor(felt, mood, age, memory))


def _charged(entity: Entity, hit: Hit) -> episodes.Episode | None:
    """Read the episode of a hit, if it has imprints; one that is gone or broken since has none."""
    path = entity.root / hit.path
    try:
        if KEY not in base.read_text(path):
            return None
        episode = base.load(path, episodes.EPISODE.parse)
    except RecordInvalidError:
        return None
    return episode if episode.imprints else None
