"""Dopamine, cortisol, oxytocin: how they move and decay, and the tone they give to speech.

Each is a level in [0, 1] that relaxes to its rest by its half-life. They are a figure of speech
with numbers, not physiology. Knows nothing of bars beyond the names in its table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from bumble.body.config import HORMONE_NAMES
from bumble.text.moments import seconds_between
from bumble.text.words import one_line, shorten

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
    left = {name: math.exp2(-(minutes / half)) for name, half in HALF_LIFE_MINUTES.items()}
    return Hormones(
        now,
        {name: rest + (hormones.levels[name] - rest) * left[name] for name, rest in REST.items()},
    )


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
    tones = {DOMINANT: TONES, ACTIVE: UNDERTONES, BASELINE: {}}
    strongest = sorted(HORMONE_NAMES, key=lambda name: -above[name])
    parts = (tones[label_of[name]].get(name) for name in strongest)
    return "; ".join(filter(None, parts)) or STEADY


def shown_name(name: str, *, named: bool) -> str:
    """Give the hormone's name, or the plain word for it where names are hidden."""
    return name if named else PLAIN_NAMES[name]


PHENOTYPE_MAX_CHARS = 200  # of what the entity says it is
MATURE_INTERACTIONS = 200  # exchanges after which maturity is 1
YOUNG_BELOW = 0.15  # maturity under which the note for the young is added
EMBODY = "Embody this state naturally, without mentioning it."
YOUNG = "You are still young: be curious, explore, ask, and try things out."


def maturity(interactions: int) -> float:
    """Tell how grown an entity is after so many exchanges: min(1, n / 200)."""
    return min(1.0, max(0, interactions) / MATURE_INTERACTIONS)


def phenotype_sentence(text: str, max_chars: int) -> str:
    """Take the first sentence of an entity's view of itself, on one line, cut at a word."""
    first = re.split(r"(?<=[.!?…])\s", one_line(text), maxsplit=1)[0]
    return shorten(first, max_chars, at_word=True)


def young_note(interactions: int) -> str:
    """Return the note for an entity that is still young; empty once it has grown."""
    grown = maturity(interactions)
    return f"{YOUNG} (maturity {grown:.2f})" if grown < YOUNG_BELOW else ""


def section(levels: Hormones, *, phenotype: str, interactions: int, named: bool) -> str:
    """Write the section, for a body already advanced to the present.

    Args:
        levels: The hormones now.
        phenotype: The entity's view of itself; only its first sentence is used, none if empty.
        interactions: Exchanges in the entity's whole life.
        named: Whether the hormones' names are shown.
    """
    named_levels = labels(levels)
    level_words = ", ".join(
        f"{shown_name(name, named=named)} {levels.levels[name]:.2f} ({named_levels[name]})"
        for name in HORMONE_NAMES
    )
    sentence = phenotype_sentence(phenotype, PHENOTYPE_MAX_CHARS)
    lines = (
        "## Endocrine State",
        f"Levels: {level_words}.",
        f"Tone: {tone(levels)}.",
        EMBODY,
        f"Self: {sentence}" if sentence else "",
        young_note(interactions),
    )
    return "\n".join(filter(None, lines))


MOST = 20  # anchors at once; the next one drops the weakest
ASKED, WORDS, ALIKE = 0.3, 0.25, 0.15  # the anchor's share in the blend, by what recalls it
ALIKE_ABOVE = 0.85  # cosine from which a body is like an anchor's
LEAST_MOVED = 0.05  # length of what is above and below rest; a body at rest is like no anchor's
COOL_DOWN = timedelta(minutes=15)  # between two that nobody asked for
CHARGED = 0.8  # intensity from which a turn makes an anchor by itself
HALF_LIFE_DAYS = 30.0  # of an anchor's strength, since it was made or recalled


def blend(hormones: Hormones, levels: Mapping[str, float], share: float) -> Hormones:
    """Draw the body towards an anchor: level ← (1 − share)·level + share·anchor, exactly.

    Args:
        hormones: The levels now.
        levels: The anchor's.
        share: Of the anchor, in [0, 1].
    """
    mixed = {
        name: (1 - share) * level + share * levels[name] for name, level in hormones.levels.items()
    }
    return replace(hormones, levels=mixed)


def likeness(levels: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the cosine of two states, of what each has above and below rest, in [-1, 1].

    Levels as such are all positive and small at rest, so that any two would be alike.

    Returns:
        0 where a state is at rest.
    """
    sides = [[state[name] - rest for name, rest in REST.items()] for state in (levels, other)]
    lengths = [math.hypot(*side) for side in sides]
    if min(lengths) < LEAST_MOVED:
        return 0.0
    product = math.fsum(part * other for part, other in zip(*sides, strict=True))
    return product / math.prod(lengths)


def left(strength: float, touched: datetime, now: datetime) -> float:
    """Return what time has left of an anchor's strength, in [0, 1]."""
    days = max(0.0, seconds_between(touched, now)) / 86_400
    return strength * math.exp2(-days / HALF_LIFE_DAYS)
