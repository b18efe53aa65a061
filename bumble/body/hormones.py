"""Dopamine, cortisol, oxytocin: how they move and decay, and the tone they give to speech.

Each is a level in [0, 1] that relaxes to its rest by its half-life. They are a figure of speech
with numbers, not physiology. Knows nothing of bars beyond the names in its table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from bumble.body.circadian import seconds_between
from bumble.body.config import HORMONE_NAMES, HormonesConfig

PLAIN_NAMES = {"dopamine": "drive", "cortisol": "strain", "oxytocin": "closeness"}

DOMINANT, ACTIVE, BASELINE = "DOMINANT", "active", "baseline"

TONES = {  # the first two are the wording of the document this section comes from
    "dopamine": "be enthusiastic and celebrate wins",
    "cortisol": "be focused and concise, minimize tangents",
    "oxytocin": "be warm and attentive, make room for the other",
}
UNDERTONES = {
    "dopamine": "lean towards the lively and hopeful",
    "cortisol": "keep close to the point",
    "oxytocin": "let some warmth show",
}
STEADY = "be steady and natural"


class Hormones(Struct, frozen=True):
    """All three levels, at the time they were true."""

    at: datetime  # timezone-aware
    levels: Mapping[str, float]  # in [0, 1], by the names of HORMONE_NAMES, in that order


def birth(at: datetime, config: HormonesConfig) -> Hormones:
    """Give a new body its hormones at rest."""
    return Hormones(at, {name: config.levels[name].rest for name in HORMONE_NAMES})


def advance(hormones: Hormones, now: datetime, config: HormonesConfig) -> Hormones:
    """Let every level relax until `now`; levels that are ahead of it are those of now."""
    minutes = seconds_between(hormones.at, now) / 60
    if minutes <= 0:
        return Hormones(min(hormones.at, now), hormones.levels)
    levels = {}
    for name, level in hormones.levels.items():
        hormone = config.levels[name]
        left = math.exp2(-(minutes / hormone.half_life_minutes))
        levels[name] = hormone.rest + (level - hormone.rest) * left
    return Hormones(now, levels)


def nudge(hormones: Hormones, deltas: Mapping[str, float]) -> Hormones:
    """Change levels at once; what raises a level counts less the higher it is.

    Args:
        deltas: Change by hormone, any sign; d > 0 adds d · (1 − level).
    """
    levels = dict(hormones.levels)
    for name, delta in deltas.items():
        change = delta * (1 - levels[name]) if delta > 0 else delta
        levels[name] = min(1.0, max(0.0, levels[name] + change))
    return replace(hormones, levels=levels)


def apply_event(hormones: Hormones, event: str, config: HormonesConfig) -> Hormones:
    """Let something that happened move the hormones; an event without a row moves none."""
    return nudge(hormones, config.events.get(event, {}))


def apply_bar_deltas(
    hormones: Hormones, bar_deltas: Mapping[str, float], config: HormonesConfig
) -> Hormones:
    """Let an appraisal's points on the bars move the hormones with them."""
    total = dict.fromkeys(HORMONE_NAMES, 0.0)
    for bar, points in bar_deltas.items():
        for name, per_point in config.per_point.get(bar, {}).items():
            total[name] += points * per_point
    return nudge(hormones, total)


def excess(hormones: Hormones, config: HormonesConfig) -> dict[str, float]:
    """Tell how far each level is on its way from rest (0) to full (1); below rest is negative."""
    rests = {name: config.levels[name].rest for name in HORMONE_NAMES}
    return {name: (hormones.levels[name] - rest) / (1 - rest) for name, rest in rests.items()}


def labels(hormones: Hormones, config: HormonesConfig) -> dict[str, str]:
    """Call each hormone DOMINANT, active or baseline; the highest alone may be DOMINANT."""
    above = excess(hormones, config)
    highest = max(HORMONE_NAMES, key=lambda name: above[name])
    label_of = {
        name: ACTIVE if share >= config.active_above else BASELINE for name, share in above.items()
    }
    if above[highest] >= config.dominant_above:
        label_of[highest] = DOMINANT
    return label_of


def tone(hormones: Hormones, config: HormonesConfig) -> str:
    """Say how to speak in this state: the dominant tone first, then the active undertones."""
    label_of, above = labels(hormones, config), excess(hormones, config)
    parts = []
    for name in sorted(HORMONE_NAMES, key=lambda name: -above[name]):
        if label_of[name] == DOMINANT:
            parts.append(TONES[name])
        elif label_of[name] == ACTIVE:
            parts.append(UNDERTONES[name])
    return "; ".join(parts) if parts else STEADY


def shown_name(name: str, config: HormonesConfig) -> str:
    """Give the hormone's name, or the plain word for it where names are hidden."""
    return name if config.show_names else PLAIN_NAMES[name]
