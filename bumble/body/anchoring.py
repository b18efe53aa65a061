"""Anchors and the body: the blend of a recall, likeness, what time leaves of an anchor.

Pure functions of levels and times; knows nothing of files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from bumble.body.circadian import seconds_between
from bumble.body.hormones import REST, Hormones
from bumble.text import moments

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


def is_cooling(stirred: datetime | None, now: datetime) -> bool:
    """Whether one stirred so lately that no other may."""
    return stirred is not None and moments.gap(stirred, now) < COOL_DOWN
