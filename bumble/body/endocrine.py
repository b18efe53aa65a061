"""The hormones in a prompt: levels, tone, who the entity has become (phenotype), maturity."""

from __future__ import annotations

import re

from bumble.body import hormones
from bumble.body.config import HORMONE_NAMES
from bumble.body.hormones import Hormones
from bumble.text.words import one_line, shorten

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
    labels = hormones.labels(levels)
    level_words = ", ".join(
        f"{hormones.shown_name(name, named=named)} {levels.levels[name]:.2f} ({labels[name]})"
        for name in HORMONE_NAMES
    )
    lines = [
        "## Endocrine State",
        f"Levels: {level_words}.",
        f"Tone: {hormones.tone(levels)}.",
    ]
    lines.append(EMBODY)
    if sentence := phenotype_sentence(phenotype, PHENOTYPE_MAX_CHARS):
        lines.append(f"Self: {sentence}")
    if note := young_note(interactions):
        lines.append(note)
    return "\n".join(lines)
