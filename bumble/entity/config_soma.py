"""The settings under `soma` as typed fields: bars, hormones, affects, noise, dreams….

Names and shapes are those of the parameters in `bumble.body`, which are read from the same section.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from bumble.entity.schema import Above, Amount, Count, Length, Positive, Range, Share, Temperature

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from bumble.entity.schema import light_dataclass as dataclass  # starts faster

BarName = Literal["social", "curiosity", "creative", "tension", "comfort"]
HormoneName = Literal["dopamine", "cortisol", "oxytocin"]
Level = Annotated[float, Range(0, 100)]
Points = Annotated[float, Range(-100, 100)]
Step = Annotated[float, Range(-1, 1)]


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
    target: BarName
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
    anchor_blend: Share


@dataclass(frozen=True)
class MoodConfig:
    """A bar that gives a mood when high."""

    mood: str
    bar: BarName
    threshold: Level


@dataclass(frozen=True)
class AffectsConfig:
    """Affects and moods."""

    half_life_minutes: Above
    forget_below: Share
    limit: Count
    moods: tuple[MoodConfig, ...]
    mood_base: Share
    mood_slope: Share


@dataclass(frozen=True)
class AppraisalConfig:
    """What a turn may do to the body."""

    max_points: Above
    max_affects: Count
    felt_max_chars: Count
    trigger_max_chars: Count
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
    full_affects: Positive
    quiet_below: Share
    high_from: Share
    block_max_chars: Count
    tag_max_chars: Count

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

    phenotype_max_chars: Positive
    mature_interactions: Positive
    young_below: Share


@dataclass(frozen=True)
class DreamsConfig:
    """When and what the entity dreams."""

    enabled: bool
    model: str
    temperature: Temperature
    max_tokens: Positive
    min_silence_seconds: Amount
    min_gap_seconds: Amount
    max_cycles_per_day: Count
    dream_hours: tuple[Annotated[int, Range(0, 23)], ...]
    empty_backoff_minutes: Amount
    memory_pair_count: Positive
    min_significance: Share
    min_time_gap_hours: Amount
    max_similarity: Annotated[float, Range(-1, 1)]
    band: Annotated[tuple[Share, ...], Length((0, 2))]
    write_journal: bool
    write_beliefs: bool
    belief_confidence: Annotated[float, Range(0, 0.99)]
    inject_noise: bool
    max_noise_fragments: Count

    def __post_init__(self) -> None:
        if self.band and self.band[0] >= self.band[1]:
            raise ValueError("the first percentile of `band` must be below the second")


@dataclass(frozen=True)
class SomaConfig:
    """The body, and what it does at night."""

    bars: BarsConfig
    hormones: HormonesConfig
    affects: AffectsConfig
    appraisal: AppraisalConfig
    ebb: EbbConfig
    noise: NoiseConfig
    endocrine: EndocrineConfig
    dreams: DreamsConfig
