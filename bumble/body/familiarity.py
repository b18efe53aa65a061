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

FIRST_WARMTH = FIRST_TRUST = 0.5  # for somebody new
HALF_LIFE_HOURS = 336  # of familiarity, in silence
FLOOR = 0.08  # silence takes no more than down to this
MEANINGFUL_BUMP, PLAIN_BUMP = 0.017, 0.007  # won by an exchange of substance, and by any other
CEILING_INTERACTIONS = 80  # exchanges after which familiarity may be full
STEP = 0.02  # by which warmth and trust move


class Scores(Struct, frozen=True):
    """How the entity stands to a person; each in [0, 1]."""

    familiarity: float = 0.0
    warmth: float = 0.0
    trust: float = 0.0
    tension: float = 0.0
    investment: float = 0.0


STRANGER = Scores(warmth=FIRST_WARMTH, trust=FIRST_TRUST)  # to somebody just met


def decayed(familiarity: float, silence_hours: float) -> float:
    """Let familiarity fade toward its floor; what is below the floor stays as it is."""
    gap = familiarity - FLOOR
    if gap <= 0:
        return familiarity
    return FLOOR + gap * math.exp2(-max(0.0, silence_hours) / HALF_LIFE_HOURS)


def ceiling(interactions: int) -> float:
    """Tell how familiar anyone can be after so many exchanges, in [0, 1]."""
    return min(1.0, math.log1p(max(0, interactions)) / math.log1p(CEILING_INTERACTIONS))


def direction(bar_deltas: Mapping[str, float]) -> int:
    """Read from an appraisal whether an exchange did good (1), harm (−1) or neither (0)."""
    get = bar_deltas.get
    balance = get("social", 0.0) + get("comfort", 0.0) - get("tension", 0.0)
    return (balance > 0) - (balance < 0)


def after_exchange(
    scores: Scores, *, silence_hours: float, interactions: int, meaningful: bool
) -> Scores:
    """Let one exchange with a person make them more familiar.

    Args:
        scores: As stored after the last exchange.
        silence_hours: Since then; it fades familiarity first.
        interactions: How many exchanges there have been, this one included.
        meaningful: Whether anything of substance was said or done.
    """
    faded = decayed(scores.familiarity, silence_hours)
    bump = MEANINGFUL_BUMP if meaningful else PLAIN_BUMP
    risen = max(faded, min(faded + bump, ceiling(interactions)))
    return replace(scores, familiarity=risen)


def felt(scores: Scores, direction: int) -> Scores:
    """Let the good (1) or harm (−1) that an exchange did move warmth and trust by a step."""
    step = STEP * direction
    return replace(scores, warmth=_clamp(scores.warmth + step), trust=_clamp(scores.trust + step))


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
