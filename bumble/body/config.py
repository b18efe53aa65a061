"""Every number of the body and of what it leaves in memory: the types of these settings.

A field's name is the setting's name: `SomaConfig.bars` is `soma.bars`, and so on down. What a
setting does and its default stand in `bumble/defaults.yaml`. Knows nothing of where values come
from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from bumble.text.schema import Above, Amount, Count, Names, Positive, Range, Share, dataclass

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


@dataclass(frozen=True)
class BarConfig:
    """How one bar starts and relaxes."""

    initial: Level
    decay_percent_per_hour: Amount


@dataclass(frozen=True)
class CircadianConfig:
    """The daily rhythm of decay."""

    amplitude: Annotated[float, Range(0, 0.99)]
    phase_hour: Annotated[float, Range(0, 24)]


@dataclass(frozen=True)
class CouplingConfig:
    """One bar, when high, hurries another."""

    source: BarName
    above: Level
    target: BarName  # may be the source itself
    factor: Above


@dataclass(frozen=True)
class ImpulseConfig:
    """An urge that a full bar gives."""

    bar: BarName
    threshold: Level
    cooldown_seconds: Amount
    cost: Level


@dataclass(frozen=True)
class ConflictConfig:
    """Bars that pull apart when all of them are high."""

    bars: tuple[BarName, ...]
    threshold: Level


@dataclass(frozen=True)
class BarsConfig:
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


@dataclass(frozen=True)
class HormoneConfig:
    """How one hormone relaxes."""

    half_life_minutes: Above
    rest: Annotated[float, Range(0, 0.99)]


@dataclass(frozen=True)
class HormonesConfig:
    """The three hormones."""

    levels: Mapping[HormoneName, HormoneConfig]
    events: Mapping[str, Mapping[HormoneName, Step]]
    per_point: Mapping[BarName, Mapping[HormoneName, Step]]
    active_above: Share
    dominant_above: Share
    show_names: bool


@dataclass(frozen=True)
class MoodConfig:
    """A bar that gives a mood when high."""

    mood: Emotion
    bar: BarName
    threshold: Level


@dataclass(frozen=True)
class AffectsConfig:
    """Affects and moods."""

    half_life_minutes: Above
    forget_below: Share
    limit: Count
    moods: tuple[MoodConfig, ...]  # the earlier one wins a tie
    mood_base: Share
    mood_slope: Share


@dataclass(frozen=True)
class AppraisalConfig:
    """What a turn may do to the body."""

    max_points: Above
    max_affects: Count
    full_points: Above
    affect_base: Share
    affect_slope: Share

    def __post_init__(self) -> None:
        if self.affect_base + self.affect_slope > 1:
            raise ValueError("`affect_base` and `affect_slope` must add up to 1 at most")


@dataclass(frozen=True)
class EbbConfig:
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


@dataclass(frozen=True)
class NoiseConfig:
    """The ring of stray thoughts."""

    interval_seconds: Amount
    capacity: Count
    duplicate_jaccard: Share
    dream_protected_hours: Amount


@dataclass(frozen=True)
class EndocrineConfig:
    """What the endocrine section of a prompt says of growth and self."""

    mature_interactions: Positive
    young_below: Share


@dataclass(frozen=True)
class AnchorsConfig:
    """Anchors: states of the body that it can come back to."""

    by_itself: bool


@dataclass(frozen=True)
class SomaConfig:
    """The body by day: `soma` without its dreams."""

    bars: BarsConfig
    hormones: HormonesConfig
    affects: AffectsConfig
    appraisal: AppraisalConfig
    ebb: EbbConfig
    noise: NoiseConfig
    endocrine: EndocrineConfig
    anchors: AnchorsConfig


@dataclass(frozen=True)
class ImprintConfig:
    """How imprints weigh in recall: part of `memory`."""

    imprint_recall_weight: Amount
    imprint_decay_half_life_seconds: Above
    imprint_cap: Amount
    imprint_base: Share


@dataclass(frozen=True)
class FadingConfig:
    """How a stored significance fades: part of `memory`."""

    consolidation_interval: Above
    memory_decay_rate: Share


@dataclass(frozen=True)
class AffinityConfig:
    """How akin a present mood is to the one a memory was made in."""

    same: Affinity
    low: Affinity
    positive: Affinity
    restless: Affinity


@dataclass(frozen=True)
class SignificanceConfig:
    """The weights of an event's significance."""

    base: Share
    meaningful_weight: Share
    familiarity_weight: Share
    appraisal_weight: Share
    novelty_weight: Share
    meaningful_chars: Count


@dataclass(frozen=True)
class ScalarConfig:
    """A relationship in numbers only."""

    initial_warmth: Share
    initial_trust: Share
    familiarity_half_life_hours: Above
    familiarity_floor: Share
    meaningful_bump: Share
    plain_bump: Share
    ceiling_interactions: Positive
    step: Share


@dataclass(frozen=True)
class BodyConfig:
    """All of these, from the sections where they stand."""

    soma: SomaConfig
    appraisal: AppraisalConfig
    ebb: EbbConfig
    endocrine: EndocrineConfig
    imprint: ImprintConfig
    affinity: AffinityConfig
    significance: SignificanceConfig
    fading: FadingConfig
    scalar: ScalarConfig
