"""The names of bars, hormones and emotions, and what an owner may set of the body.

A field's name is the setting's name, its comment what it does. All other numbers of the body stand
in the module that uses them. Knows nothing of where values come from.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from bumble.text.schema import Above, Amount, Share

BAR_NAMES = ("social", "curiosity", "creative", "tension", "comfort")
HORMONE_NAMES = ("dopamine", "cortisol", "oxytocin")

NEUTRAL = "neutral"
LOW_NEGATIVE = frozenset({"melancholy", "concerned", "anxious", "withdrawn", "frustrated"})
POSITIVE = frozenset({"content", "affectionate", "amused", "excited", "curious"})
RESTLESS = "restless"
RESTLESS_KIN = frozenset({"curious", "excited", "frustrated"})
EMOTIONS = (*sorted(POSITIVE), *sorted(LOW_NEGATIVE), RESTLESS, NEUTRAL)


class BarConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How one bar starts and relaxes."""

    initial: Annotated[float, Meta(ge=0, le=100)]  # first value and resting point
    decay_percent_per_hour: Amount  # share of the gap to its resting point that it loses


class Temperament(Struct, frozen=True, forbid_unknown_fields=True):
    """The five bars: first value and resting point; share of the gap to it lost an hour."""

    social: BarConfig = BarConfig(50, 15)
    curiosity: BarConfig = BarConfig(45, 22)
    creative: BarConfig = BarConfig(40, 12)
    tension: BarConfig = BarConfig(15, 6)
    comfort: BarConfig = BarConfig(65, 3)

    def __getitem__(self, name: str) -> BarConfig:
        bar: BarConfig = getattr(self, name)
        return bar


class FeltMemoryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How a stored significance fades, and imprints weigh in recall: part of `memory`."""

    consolidation_interval: Above = 7200  # seconds
    memory_decay_rate: Share = 0.0001  # ten times this share of significance fades in one interval
    imprint_recall_weight: Amount = 0.35  # 0 gives plain retrieval
    imprint_decay_half_life_seconds: Above = 2592000  # 30 days
