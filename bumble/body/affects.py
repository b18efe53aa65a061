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
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from bumble.body.bars import FULL, Bars
from bumble.body.config import (
    LOW_NEGATIVE,
    NEUTRAL,
    POSITIVE,
    RESTLESS,
    RESTLESS_KIN,
    FeltMemoryConfig,
)
from bumble.text.moments import seconds_between
from bumble.text.schema import Moment, Share

NAME_MAX_CHARS = 24
Named = Annotated[str, Meta(pattern=r"[^\W_]", description="with a letter in it")]
HALF_LIFE_MINUTES = 90  # of a feeling's intensity
FORGET_BELOW = 0.05  # a fainter feeling is gone
MOST = 8  # feelings held at once, the strongest
MOODS = (  # that a bar gives from a threshold on; the earlier one wins a tie
    ("anxious", "tension", 70),
    ("curious", "curiosity", 65),
    ("affectionate", "social", 75),
    ("excited", "creative", 70),
    ("content", "comfort", 60),
)
MOOD_BASE, MOOD_SLOPE = 0.4, 0.6  # intensity at the threshold; what 100 points above it would add
# Affinity of the present mood with an imprint: the same feeling; both low in energy and dark; both
# bright; one restless, the other of its kin.
SAME, LOW, BRIGHT, KIN = 1.55, 1.48, 1.38, 1.25
IMPRINT_BASE = 0.3  # lets charged memories surface in any mood
IMPRINT_CAP = 1.5  # most that the imprints of one episode add up to


class Affect(Struct, frozen=True):
    """One named feeling, as strong as it was at its time."""

    name: Named  # a slug of letters, digits and hyphens, at most 24 characters
    intensity: Share
    at: Moment


class Mood(Struct, frozen=True):
    """The feeling that stands out."""

    name: str  # one of EMOTIONS
    intensity: float  # in [0, 1]; 0 when neutral


class Imprint(Struct, frozen=True):
    """The feeling an episode left."""

    emotion: str  # one of EMOTIONS; a neutral one counts nothing
    intensity: float  # in [0, 1]
    trigger: str = ""  # what gave rise to it, a few words


def slug(name: str) -> str:
    """Make a feeling's name comparable: lower case, words joined by hyphens; may come out empty."""
    return "-".join(re.findall(r"[^\W_]+", name.casefold()))[:NAME_MAX_CHARS].rstrip("-")


def faded(affects: Iterable[Affect], now: datetime) -> tuple[Affect, ...]:
    """Bring affects to `now`: weaker by their half-life, the strongest first, the faintest gone.

    One whose time is ahead is as strong now.
    """
    ages = ((affect, max(0.0, seconds_between(affect.at, now) / 60)) for affect in affects)
    left = (
        Affect(affect.name, affect.intensity * math.exp2(-(minutes / HALF_LIFE_MINUTES)), now)
        for affect, minutes in ages
    )
    felt = (affect for affect in left if affect.intensity >= FORGET_BELOW)
    return tuple(sorted(felt, key=lambda affect: (-affect.intensity, affect.name))[:MOST])


def feel(
    affects: Iterable[Affect], names: Iterable[str], intensity: float, now: datetime
) -> tuple[Affect, ...]:
    """Add feelings at `now`; one already there grows: i ← i + (1 − i) · intensity, in [0, 1]."""
    held = {affect.name: affect for affect in faded(affects, now)}
    for name in dict.fromkeys(filter(None, map(slug, names))):
        before = held[name].intensity if name in held else 0.0
        held[name] = Affect(name, before + (1 - before) * intensity, now)
    return faded(held.values(), now)


def mood(bars: Bars) -> Mood:
    """Read the mood from the bars: the largest overshoot of a threshold wins.

    Returns:
        The mood with min(1, base + slope · overshoot / 100), or neutral with 0.
    """
    over = [(bars.value(bar) - threshold, name) for name, bar, threshold in MOODS]
    overshoot, name = max(over, key=lambda pair: pair[0])
    if overshoot < 0:
        return Mood(NEUTRAL, 0.0)
    return Mood(name, min(1.0, MOOD_BASE + MOOD_SLOPE * overshoot / FULL))


def affinity(present: str, emotion: str) -> float:
    """Tell how akin a mood is to a memory's emotion; symmetric, 1 when it is not.

    Source:
        Mood-congruent memory is Bower, "Mood and memory" (1981); the numbers are bumble's own
        choice; see docs/log.md.
    """
    pair = {present, emotion}
    if present == emotion:
        return SAME
    if pair <= LOW_NEGATIVE:
        return LOW
    if pair <= POSITIVE:
        return BRIGHT
    if RESTLESS in pair and pair & RESTLESS_KIN:
        return KIN
    return 1.0


def imprint_shares(
    imprints: Sequence[Imprint],
    present: str,
    age_seconds: float,
    config: FeltMemoryConfig,
) -> tuple[float, ...]:
    """Tell what each imprint of one episode adds before cap and weight, in the given order.

    Args:
        imprints: What the episode left.
        present: The mood now, one of EMOTIONS.
        age_seconds: Since the episode; one from the future counts as new.
        config: The half-life.

    Returns:
        intensity · (affinity − 1 + base) · .5^(age / half-life); 0 for a neutral imprint.
    """
    left = math.exp2(-(max(0.0, age_seconds) / config.imprint_decay_half_life_seconds))
    return tuple(
        0.0
        if imprint.emotion == NEUTRAL
        else imprint.intensity * (affinity(present, imprint.emotion) - 1 + IMPRINT_BASE) * left
        for imprint in imprints
    )


def imprint_factor(
    imprints: Sequence[Imprint],
    present: str,
    age_seconds: float,
    config: FeltMemoryConfig,
) -> float:
    """Weigh an episode's relevance by what it left: 1 + w · min(cap, Σ shares).

    Returns:
        At least 1; exactly 1 with weight 0, without imprints, and for neutral imprints.
    """
    total = sum(imprint_shares(imprints, present, age_seconds, config))
    return 1 + config.imprint_recall_weight * min(IMPRINT_CAP, total)
