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
from bumble.body.config import HORMONE_NAMES

HALF_LIFE_MINUTES = {"dopamine": 30, "cortisol": 60, "oxytocin": 45}  # of the gap to rest
REST = {"dopamine": 0.15, "cortisol": 0.02, "oxytocin": 0.20}
EVENTS: Mapping[str, Mapping[str, float]] = {  # what raises a level counts less the higher it is
    "message_in": {"oxytocin": 0.03, "dopamine": 0.02},
    "message_out": {"oxytocin": 0.01},
    "tool": {"dopamine": 0.03},
    "tool_failed": {"cortisol": 0.05},
    "impulse": {"dopamine": 0.10},
    "dream": {"dopamine": 0.05, "cortisol": -0.05},
}
PER_POINT: Mapping[str, Mapping[str, float]] = {  # by which an appraisal raises a bar
    "social": {"oxytocin": 0.02},
    "curiosity": {"dopamine": 0.015},
    "creative": {"dopamine": 0.015},
    "tension": {"cortisol": 0.02},
    "comfort": {"oxytocin": 0.01, "cortisol": -0.015},
}
ACTIVE_ABOVE = 0.15  # share of the way from rest to full
DOMINANT_ABOVE = 0.40  # share of that way from which the highest sets the tone
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


def birth(at: datetime) -> Hormones:
    """Give a new body its hormones at rest."""
    return Hormones(at, dict(REST))


def advance(hormones: Hormones, now: datetime) -> Hormones:
    """Let every level relax until `now`; levels that are ahead of it are those of now."""
    minutes = seconds_between(hormones.at, now) / 60
    if minutes <= 0:
        return Hormones(min(hormones.at, now), hormones.levels)
    levels = {}
    for name, level in hormones.levels.items():
        left = math.exp2(-(minutes / HALF_LIFE_MINUTES[name]))
        levels[name] = REST[name] + (level - REST[name]) * left
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


def apply_event(hormones: Hormones, event: str) -> Hormones:
    """Let something that happened move the hormones; an event without a row moves none."""
    return nudge(hormones, EVENTS.get(event, {}))


def apply_bar_deltas(hormones: Hormones, bar_deltas: Mapping[str, float]) -> Hormones:
    """Let an appraisal's points on the bars move the hormones with them."""
    total = dict.fromkeys(HORMONE_NAMES, 0.0)
    for bar, points in bar_deltas.items():
        for name, per_point in PER_POINT.get(bar, {}).items():
            total[name] += points * per_point
    return nudge(hormones, total)


def excess(hormones: Hormones) -> dict[str, float]:
    """Tell how far each level is on its way from rest (0) to full (1); below rest is negative."""
    return {name: (hormones.levels[name] - rest) / (1 - rest) for name, rest in REST.items()}


def labels(hormones: Hormones) -> dict[str, str]:
    """Call each hormone DOMINANT, active or baseline; the highest alone may be DOMINANT."""
    above = excess(hormones)
    highest = max(HORMONE_NAMES, key=lambda name: above[name])
    label_of = {
        name: ACTIVE if share >= ACTIVE_ABOVE else BASELINE for name, share in above.items()
    }
    if above[highest] >= DOMINANT_ABOVE:
        label_of[highest] = DOMINANT
    return label_of


def tone(hormones: Hormones) -> str:
    """Say how to speak in this state: the dominant tone first, then the active undertones."""
    label_of, above = labels(hormones), excess(hormones)
    parts = []
    for name in sorted(HORMONE_NAMES, key=lambda name: -above[name]):
        if label_of[name] == DOMINANT:
            parts.append(TONES[name])
        elif label_of[name] == ACTIVE:
            parts.append(UNDERTONES[name])
    return "; ".join(parts) if parts else STEADY


def shown_name(name: str, *, named: bool) -> str:
    """Give the hormone's name, or the plain word for it where names are hidden."""
    return name if named else PLAIN_NAMES[name]
