"""The scalar relationship: familiarity, warmth, trust as numbers, without a portrait.

Familiarity grows with every exchange under a ceiling that the count of exchanges sets, and fades
in silence; warmth and trust move by small steps. The numbers are bumble's own choice; see
docs/log.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bumble.body.config import ScalarConfig


class Bond(Struct, frozen=True):
    """What one person is to the entity, each in [0, 1]."""

    familiarity: float
    warmth: float
    trust: float


def stranger(config: ScalarConfig) -> Bond:
    """Give the bond to somebody just met."""
    return Bond(0.0, config.initial_warmth, config.initial_trust)


def decayed(familiarity: float, silence_hours: float, config: ScalarConfig) -> float:
    """Let familiarity fade toward its floor; what is below the floor stays as it is."""
    gap = familiarity - config.familiarity_floor
    if gap <= 0:
        return familiarity
    left = math.exp2(-max(0.0, silence_hours) / config.familiarity_half_life_hours)
    return config.familiarity_floor + gap * left


def ceiling(interactions: int, config: ScalarConfig) -> float:
    """Tell how familiar anyone can be after so many exchanges, in [0, 1]."""
    full = math.log1p(config.ceiling_interactions)
    return min(1.0, math.log1p(max(0, interactions)) / full)


def direction(bar_deltas: Mapping[str, float]) -> int:
    """Read from an appraisal whether an exchange did good (1), harm (−1) or neither (0)."""
    get = bar_deltas.get
    balance = get("social", 0.0) + get("comfort", 0.0) - get("tension", 0.0)
    return (balance > 0) - (balance < 0)


def after_exchange(
    bond: Bond,
    *,
    silence_hours: float,
    interactions: int,
    meaningful: bool,
    config: ScalarConfig,
) -> Bond:
    """Let one exchange with a person make them more familiar.

    Args:
        bond: As stored after the last exchange.
        silence_hours: Since then; it fades familiarity first.
        interactions: How many exchanges there have been, this one included.
        meaningful: Whether anything of substance was said or done.
        config: How fast it fades and rises.
    """
    faded = decayed(bond.familiarity, silence_hours, config)
    bump = config.meaningful_bump if meaningful else config.plain_bump
    risen = max(faded, min(faded + bump, ceiling(interactions, config)))
    return replace(bond, familiarity=risen)


def felt(bond: Bond, direction: int, config: ScalarConfig) -> Bond:
    """Let the good (1) or harm (−1) that an exchange did move warmth and trust by a step."""
    step = config.step * direction
    return replace(bond, warmth=_clamp(bond.warmth + step), trust=_clamp(bond.trust + step))


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
