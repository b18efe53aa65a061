"""How much an episode mattered: meaning, novelty, appraisal, summed by formula; its fading.

The formula is bumble's own choice; see docs/log.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct

from bumble.body.config import FeltMemoryConfig

BASE = 0.1  # what every event has
MEANINGFUL_WEIGHT = 0.15  # added where something of substance was said or done
FAMILIARITY_WEIGHT = 0.1  # times familiarity with the person
APPRAISAL_WEIGHT = 0.35  # times how much the body was moved
NOVELTY_WEIGHT = 0.3  # times how unlike earlier episodes it is
MEANINGFUL_CHARS = 40  # longer content is meaningful
FULL_POINTS = 40  # sum of |points| that counts as a full appraisal
DECAY_SCALE = 10  # multiplies `memory_decay_rate`


class Significance(Struct, frozen=True):
    """A significance with the shares it is made of."""

    shares: Mapping[str, float]  # by what each is of, already weighted

    @property
    def total(self) -> float:
        """The significance, in [0, 1]."""
        return min(1.0, sum(self.shares.values()))

    def why_too_little(self, threshold: float) -> str:
        """Say for the ledger why this is not enough for an episode."""
        shares = ", ".join(f"{name} {share:.2f}" for name, share in self.shares.items())
        return f"significance {self.total:.2f} is below {threshold:.2f} ({shares})"


def is_meaningful(content: str, *, used_tool: bool) -> bool:
    """Tell whether anything of substance was said or done."""
    return used_tool or len(content.strip()) > MEANINGFUL_CHARS


def appraisal_strength(bar_deltas: Mapping[str, float]) -> float:
    """Tell how much an appraisal's points moved the body, in [0, 1]: min(1, Σ|points| / 40)."""
    return min(1.0, sum(abs(points) for points in bar_deltas.values()) / FULL_POINTS)


def novelty(similarities: Iterable[float]) -> float:
    """Tell how unlike all earlier episodes this is: 1 − the highest similarity.

    Args:
        similarities: Calibrated cosines to earlier episodes; what is outside [0, 1] is clamped.

    Returns:
        In [0, 1]; 1 without earlier episodes.
    """
    return 1 - min(1.0, max([0.0, *similarities]))


def significance(
    *,
    meaningful: bool,
    familiarity: float,
    appraisal: float,
    novelty: float,
) -> Significance:
    """Weigh what happened.

    Args:
        meaningful: See `is_meaningful`.
        familiarity: With the person, in [0, 1].
        appraisal: See `appraisal_strength`; 0 when there was none.
        novelty: See `novelty`.
    """
    return Significance(
        {
            "base": BASE,
            "meaningful": MEANINGFUL_WEIGHT * meaningful,
            "familiarity": FAMILIARITY_WEIGHT * familiarity,
            "appraisal": APPRAISAL_WEIGHT * appraisal,
            "novelty": NOVELTY_WEIGHT * novelty,
        }
    )


def decayed(value: float, age_seconds: float, config: FeltMemoryConfig) -> float:
    """Let a stored significance fade: s · exp(−rate · 10 · age / interval).

    Args:
        value: As stored, in [0, 1].
        age_seconds: Since the episode; one from the future has not faded.
        config: The pace.
    """
    intervals = max(0.0, age_seconds) / config.consolidation_interval
    return value * math.exp(-config.memory_decay_rate * DECAY_SCALE * intervals)
