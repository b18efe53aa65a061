"""The ring of stray thoughts: its size, similarity, what is due, what dreams put there.

A fragment is stored as it was thought; the `[dream]` before a dream's fragment is put there by
`line` when it is shown. Knows nothing of who thinks the fragments up.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from bumble.text import moments
from bumble.text.schema import Moment, Share
from bumble.text.words import one_line, shorten

THOUGHT: Final = "thought"
DREAM: Final = "dream"
Kind = Literal["thought", "dream"]
MARK = "[dream]"
TEXT_MAX_CHARS = 200
CAPACITY = 8  # thoughts held at once
DUPLICATE_JACCARD = 0.6  # fragments this alike are refused
DREAM_PROTECTED_SECONDS = 12 * 3600  # a dream's thought is not pushed out before


class Fragment(Struct, frozen=True):
    """One stray thought."""

    text: str  # one line, at most 200 characters
    kind: Kind
    salience: Share  # how much it stands out
    at: Moment
    audience: tuple[str, ...] = ()  # ids of those who may meet it in a prompt; empty: everyone


def fragment(
    text: str, kind: Kind, salience: float, at: datetime, audience: tuple[str, ...] = ()
) -> Fragment:
    """Make a fragment of what a model wrote: one line, without marks or bullets, cut to length.

    Raises:
        ValueError: If nothing is left.
    """
    bare = re.sub(r"^(?:\[dream\]|[-*•\s])+", "", one_line(text), flags=re.IGNORECASE)
    plain = shorten(bare, TEXT_MAX_CHARS, at_word=True)
    if not words(plain):
        raise ValueError("a fragment needs words")
    return Fragment(plain, kind, salience, at, audience)


def words(text: str) -> frozenset[str]:
    """Take a text as the set of its words, in one case."""
    return frozenset(re.findall(r"\w+", text.casefold()))


def jaccard(text: str, other: str) -> float:
    """Compare two texts by the words they share, in [0, 1].

    Source:
        Jaccard, "The distribution of the flora in the alpine zone" (1912).
    """
    first, second = words(text), words(other)
    together = len(first | second)
    return len(first & second) / together if together else 1.0


def due(ticked_at: datetime | None, now: datetime, interval_seconds: float) -> bool:
    """Tell whether so much time has passed since something that it is time for a new one."""
    return ticked_at is None or moments.gap(ticked_at, now).total_seconds() >= interval_seconds


def push(
    ring: tuple[Fragment, ...], new: Fragment, capacity: int = CAPACITY
) -> tuple[Fragment, ...]:
    """Take a fragment in, pushing the oldest unprotected one out of a full ring.

    Returns:
        The ring, oldest first; the very same ring if the fragment was refused, because it is a near
        duplicate or because all that is held is protected.
    """
    if any(jaccard(held.text, new.text) >= DUPLICATE_JACCARD for held in ring):
        return ring
    held = list(ring)
    while len(held) >= capacity:
        loose = [
            old for old in held if old.kind != DREAM or due(old.at, new.at, DREAM_PROTECTED_SECONDS)
        ]
        if not loose:
            return ring
        held.remove(loose[0])
    return (*held, new)


def line(held: Fragment) -> str:
    """Show a fragment as one line of a prompt."""
    return f"{MARK} {held.text}" if held.kind == DREAM else held.text
