"""Named feelings (affects) that fade, the mood from the bars, and mood-congruent recall weight.

An affect is a word with an intensity that halves with time. A mood is one of EMOTIONS, read from
the bars. An imprint is the feeling an episode left; it lifts that episode in recall, most when
the present mood is akin to it. The lists of emotions and their affinities are bumble's own
choice; see docs/log.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bumble.body.bars import FULL, Bars
from bumble.body.circadian import seconds_between

NEUTRAL = "neutral"
LOW_NEGATIVE = frozenset({"melancholy", "concerned", "anxious", "withdrawn", "frustrated"})
POSITIVE = frozenset({"content", "affectionate", "amused", "excited", "curious"})
RESTLESS = "restless"
RESTLESS_KIN = frozenset({"curious", "excited", "frustrated"})
EMOTIONS = (*sorted(POSITIVE), *sorted(LOW_NEGATIVE), RESTLESS, NEUTRAL)

NAME_MAX_CHARS = 24


@dataclass(frozen=True)
class Affect:
    """One named feeling, as strong as it was at its time."""

    name: str  # a slug of letters, digits and hyphens, at most 24 characters
    intensity: float  # in [0, 1]
    at: datetime  # timezone-aware


@dataclass(frozen=True)
class Mood:
    """The feeling that stands out."""

    name: str  # one of EMOTIONS
    intensity: float  # in [0, 1]; 0 when neutral


@dataclass(frozen=True)
class FeltImprint:
    """The feeling an episode left."""

    emotion: str  # one of EMOTIONS; a neutral one counts nothing
    intensity: float  # in [0, 1]
    trigger: str  # what gave rise to it, a few words


@dataclass(frozen=True)
class MoodConfig:
    """A bar that gives a mood when high."""

    mood: str  # one of EMOTIONS
    bar: str
    threshold: float  # in [0, 100]


@dataclass(frozen=True)
class AffectsConfig:
    """Everything affects and mood need to know."""

    half_life_minutes: float  # > 0
    forget_below: float  # an affect fainter than this is gone, in [0, 1]
    limit: int  # how many are held, the strongest
    moods: tuple[MoodConfig, ...]  # the earlier one wins a tie
    mood_base: float  # intensity of a mood at its threshold, in [0, 1]
    mood_slope: float  # what a full overshoot of 100 points would add

    def __post_init__(self) -> None:
        if self.half_life_minutes <= 0 or self.limit < 0:
            raise ValueError("`affects`: half-life is above 0 and the limit at least 0")
        if unknown := [each.mood for each in self.moods if each.mood not in EMOTIONS]:
            raise ValueError(f"`{unknown[0]}` is not a mood; they are {', '.join(EMOTIONS)}")


@dataclass(frozen=True)
class ImprintConfig:
    """How imprints weigh in recall."""

    recall_weight: float  # 0 gives plain retrieval, exactly
    decay_half_life_seconds: float  # > 0
    cap: float  # most that all imprints of one episode can add before weighting
    base: float  # what an imprint counts when the mood is not akin to it

    def __post_init__(self) -> None:
        if self.decay_half_life_seconds <= 0:
            raise ValueError("an imprint's half-life must be above 0")


@dataclass(frozen=True)
class AffinityConfig:
    """How akin a mood is to a memory's emotion, each >= 1."""

    same: float
    low: float  # both in LOW_NEGATIVE
    positive: float  # both in POSITIVE
    restless: float  # one restless, the other in RESTLESS_KIN

    def __post_init__(self) -> None:
        if min(self.same, self.low, self.positive, self.restless) < 1:
            raise ValueError("an affinity is at least 1")


def slug(name: str) -> str:
    """Make a feeling's name comparable: lower case, words joined by hyphens; may come out empty."""
    words = re.findall(r"[^\W_]+", name.casefold())
    return "-".join(words)[:NAME_MAX_CHARS].rstrip("-")


def faded(affects: Iterable[Affect], now: datetime, config: AffectsConfig) -> tuple[Affect, ...]:
    """Bring affects to `now`: weaker by their half-life, the strongest first, the faintest gone.

    One whose time is not before `now` keeps it as it is.
    """
    left = []
    for affect in affects:
        minutes = seconds_between(affect.at, now) / 60
        if minutes > 0:
            intensity = affect.intensity * math.exp2(-(minutes / config.half_life_minutes))
            affect = Affect(affect.name, intensity, now)
        if affect.intensity >= config.forget_below:
            left.append(affect)
    left.sort(key=lambda affect: (-affect.intensity, affect.name))
    return tuple(left[: config.limit])


def feel(
    affects: Iterable[Affect],
    names: Iterable[str],
    intensity: float,
    now: datetime,
    config: AffectsConfig,
) -> tuple[Affect, ...]:
    """Add feelings at `now`; one already there grows: i ← i + (1 − i) · intensity.

    Raises:
        ValueError: If the intensity is not in [0, 1].
    """
    if not 0 <= intensity <= 1:
        raise ValueError("an affect's intensity must be in [0, 1]")
    held = {affect.name: affect for affect in faded(affects, now, config)}
    for name in dict.fromkeys(filter(None, map(slug, names))):
        before = held[name].intensity if name in held else 0.0
        held[name] = Affect(name, before + (1 - before) * intensity, now)
    return faded(held.values(), now, config)


def mood(bars: Bars, config: AffectsConfig) -> Mood:
    """Read the mood from the bars: the largest overshoot of a threshold wins.

    Returns:
        The mood with min(1, base + slope · overshoot / 100), or neutral with 0.
    """
    over = [(bars.value(each.bar) - each.threshold, each.mood) for each in config.moods]
    overshoot, name = max(over, key=lambda pair: pair[0], default=(-FULL, NEUTRAL))
    if overshoot < 0:
        return Mood(NEUTRAL, 0.0)
    return Mood(name, min(1.0, config.mood_base + config.mood_slope * overshoot / FULL))


def emotional_intensity(present: Mood, affects: Iterable[Affect]) -> float:
    """Tell how strongly anything is felt at all, in [0, 1]: the mood or the strongest affect."""
    return max([present.intensity, *(affect.intensity for affect in affects)])


def affinity(present: str, emotion: str, config: AffinityConfig) -> float:
    """Tell how akin a mood is to a memory's emotion; symmetric, 1 when it is not.

    Source:
        Mood-congruent memory is Bower, "Mood and memory" (1981); the numbers are bumble's own
        choice; see docs/log.md.
    """
    pair = {present, emotion}
    if present == emotion:
        return config.same
    if pair <= LOW_NEGATIVE:
        return config.low
    if pair <= POSITIVE:
        return config.positive
    if RESTLESS in pair and pair & RESTLESS_KIN:
        return config.restless
    return 1.0


def imprint_shares(
    imprints: Sequence[FeltImprint],
    present: str,
    age_seconds: float,
    config: ImprintConfig,
    kinship: AffinityConfig,
) -> tuple[float, ...]:
    """Tell what each imprint of one episode adds before cap and weight, in the given order.

    Args:
        imprints: What the episode left.
        present: The mood now, one of EMOTIONS.
        age_seconds: Since the episode; one from the future counts as new.
        config: Base and half-life.
        kinship: The affinities.

    Returns:
        intensity · (affinity − 1 + base) · .5^(age / half-life); 0 for a neutral imprint.
    """
    left = math.exp2(-(max(0.0, age_seconds) / config.decay_half_life_seconds))
    return tuple(
        0.0
        if imprint.emotion == NEUTRAL
        else imprint.intensity
        * (affinity(present, imprint.emotion, kinship) - 1 + config.base)
        * left
        for imprint in imprints
    )


def imprint_factor(
    imprints: Sequence[FeltImprint],
    present: str,
    age_seconds: float,
    config: ImprintConfig,
    kinship: AffinityConfig,
) -> float:
    """Weigh an episode's relevance by what it left: 1 + w · min(cap, Σ shares).

    Returns:
        At least 1; exactly 1 with weight 0, without imprints, and for neutral imprints.
    """
    total = sum(imprint_shares(imprints, present, age_seconds, config, kinship))
    return 1 + config.recall_weight * min(config.cap, total)
