"""Every number of the body and of what it leaves in memory: the types of these settings.

A field's name is the setting's name: `SomaConfig.bars` is `soma.bars`, and so on down. What a
setting does and its default stand in `bumble/defaults.yaml`. Knows nothing of where values come
from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct

from bumble.text.schema import Above, Amount, Count, Names, Positive, Range, Share

BAR_NAMES = ("social", "curiosity", "creative", "tension", "comfort")
HORMONE_NAMES = ("dopamine", "cortisol", "oxytocin")

NEUTRAL = "neutral"
LOW_NEGATIVE = frozenset({"melancholy", "concerned", "anxious", "withdrawn", "frustrated"})
POSITIVE = frozenset({"content", "affectionate", "amused", "excited", "curious"})
RESTLESS = "restless"
RESTLESS_KIN = frozenset({"curious", "excited", "frustrated"})
EMOTIONS = (*sorted(POSITIVE), *sorted(LOW_NEGATIVE), RESTLESS, NEUTRAL)

BarName = Annotated[str, Names(BAR_NAMES)]
HormoneName = Annotated[str, Names(HORMONE_NAMES)]
Emotion = Annotated[str, Names(EMOTIONS)]
Level = Annotated[float, Range(0, 100)]  # of a bar
Points = Annotated[float, Range(-100, 100)]
Step = Annotated[float, Range(-1, 1)]  # of a hormone
Affinity = Annotated[float, Range(1)]


class BarConfig(Struct, frozen=True):
    """How one bar starts and relaxes."""

    initial: Level
    decay_percent_per_hour: Amount


class CircadianConfig(Struct, frozen=True):
    """The daily rhythm of decay."""

    amplitude: Annotated[float, Range(0, 0.99)]
    phase_hour: Annotated[float, Range(0, 24)]


class CouplingConfig(Struct, frozen=True):
    """One bar, when high, hurries another."""

    source: BarName
    above: Level
    target: BarName  # may be the source itself
    factor: Above


class ImpulseConfig(Struct, frozen=True):
    """An urge that a full bar gives."""

    bar: BarName
    threshold: Level
    cooldown_seconds: Amount
    cost: Level


class ConflictConfig(Struct, frozen=True):
    """Bars that pull apart when all of them are high."""

    bars: tuple[BarName, ...]
    threshold: Level


class BarsConfig(Struct, frozen=True):
    """The five bars."""

    levels: Mapping[BarName, BarConfig]
    resting_drift_per_hour: Amount
    resting_band: Level
    circadian: CircadianConfig
    coupling: tuple[CouplingConfig, ...]
    events: Mapping[str, Mapping[BarName, Points]]
    idle_per_minute: Mapping[BarName, Points]
    impulses: Mapping[str, ImpulseConfig]
    conflicts: Mapping[str, ConflictConfig]


class HormoneConfig(Struct, frozen=True):
    """How one hormone relaxes."""

    half_life_minutes: Above
    rest: Annotated[float, Range(0, 0.99)]


class HormonesConfig(Struct, frozen=True):
    """The three hormones."""

    levels: Mapping[HormoneName, HormoneConfig]
    events: Mapping[str, Mapping[HormoneName, Step]]
    per_point: Mapping[BarName, Mapping[HormoneName, Step]]
    active_above: Share
    dominant_above: Share
    show_names: bool


class MoodConfig(Struct, frozen=True):
    """A bar that gives a mood when high."""

    mood: Emotion
    bar: BarName
    threshold: Level


class AffectsConfig(Struct, frozen=True):
    """Affects and moods."""

    half_life_minutes: Above
    forget_below: Share
    limit: Count
    moods: tuple[MoodConfig, ...]  # the earlier one wins a tie
    mood_base: Share
    mood_slope: Share


class AppraisalConfig(Struct, frozen=True):
    """What a turn may do to the body."""

    max_points: Above
    max_affects: Count
    full_points: Above
    affect_base: Share
    affect_slope: Share

    def __post_init__(self) -> None:
        if self.affect_base + self.affect_slope > 1:
            raise ValueError("`affect_base` and `affect_slope` must add up to 1 at most")


class EbbConfig(Struct, frozen=True):
    """How loud the body is in the prompt."""

    deviation_weight: Share
    conflict_weight: Share
    impulse_weight: Share
    affects_weight: Share
    noise_weight: Share
    quiet_below: Share
    high_from: Share
    block_max_chars: Count

    def __post_init__(self) -> None:
        if self.quiet_below > self.high_from:
            raise ValueError("`quiet_below` must not be above `high_from`")


class NoiseConfig(Struct, frozen=True):
    """The ring of stray thoughts."""

    interval_seconds: Amount
    capacity: Count
    duplicate_jaccard: Share
    dream_protected_hours: Amount


class EndocrineConfig(Struct, frozen=True):
    """What the endocrine section of a prompt says of growth and self."""

    mature_interactions: Positive
    young_below: Share


class AnchorsConfig(Struct, frozen=True):
    """Anchors: states of the body that it can come back to."""

    by_itself: bool


class SomaConfig(Struct, frozen=True):
    """The body by day: `soma` without its dreams."""

    bars: BarsConfig
    hormones: HormonesConfig
    affects: AffectsConfig
    appraisal: AppraisalConfig
    ebb: EbbConfig
    noise: NoiseConfig
    endocrine: EndocrineConfig
    anchors: AnchorsConfig


class FeltMemoryConfig(Struct, frozen=True):
    """How a stored significance fades, and imprints weigh in recall: part of `memory`."""

    consolidation_interval: Above
    memory_decay_rate: Share
    imprint_recall_weight: Amount
    imprint_decay_half_life_seconds: Above
    imprint_cap: Amount
    imprint_base: Share


class AffinityConfig(Struct, frozen=True):
    """How akin a present mood is to the one a memory was made in."""

    same: Affinity
    low: Affinity
    positive: Affinity
    restless: Affinity


class SignificanceConfig(Struct, frozen=True):
    """The weights of an event's significance."""

    base: Share
    meaningful_weight: Share
    familiarity_weight: Share
    appraisal_weight: Share
    novelty_weight: Share
    meaningful_chars: Count


class ScalarConfig(Struct, frozen=True):
    """A relationship in numbers only."""

    initial_warmth: Share
    initial_trust: Share
    familiarity_half_life_hours: Above
    familiarity_floor: Share
    meaningful_bump: Share
    plain_bump: Share
    ceiling_interactions: Positive
    step: Share


class BodyConfig(Struct, frozen=True):
    """All of these, from the sections where they stand."""

    soma: SomaConfig
    appraisal: AppraisalConfig
    ebb: EbbConfig
    endocrine: EndocrineConfig
    memory: FeltMemoryConfig
    affinity: AffinityConfig
    significance: SignificanceConfig
    scalar: ScalarConfig
