"""Audiences: which memories may meet in one text, and who may read what comes of it.

A text that is made of several memories reaches everybody whom its prompt, its diary entry or its
belief reaches. So it is made of what is for everyone and of what one and the same circle of people
may meet, and is for that circle; what came from elsewhere, by a tool or an import, stays out of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from bumble.records.base import Provenance

Audience = tuple[str, ...]  # ids of people; empty: everyone
UNTRUSTED = ("tool", "imported")


def within(origin: Provenance, circle: Audience) -> bool:
    """Whether a memory may go into a text for a circle."""
    return origin.trust not in UNTRUSTED and fits(origin.audience, circle)


def fits(audience: Audience, circle: Audience) -> bool:
    """Whether an audience is everyone, or this very circle."""
    return not audience or set(audience) == set(circle)


def joined(audiences: Iterable[Audience]) -> Audience:
    """Return for whom a text is that is made of memories of one circle: theirs, or everyone's."""
    return next((audience for audience in audiences if audience), ())
