"""The hormones in a prompt: levels, tone, who the entity has become (phenotype), maturity."""

from __future__ import annotations

import re

from bumble.body import hormones
from bumble.body.config import HORMONE_NAMES, EndocrineConfig, HormonesConfig
from bumble.body.hormones import Hormones
from bumble.text.words import one_line, shorten

PHENOTYPE_MAX_CHARS = 200  # of what the entity says it is
EMBODY = "Embody this state naturally, without mentioning it."
YOUNG = "You are still young: be curious, explore, ask, and try things out."


def maturity(interactions: int, config: EndocrineConfig) -> float:
    """Tell how grown an entity is after so many exchanges: min(1, n / mature_interactions)."""
    return min(1.0, max(0, interactions) / config.mature_interactions)


def phenotype_sentence(text: str, max_chars: int) -> str:
    """Take the first sentence of an entity's view of itself, on one line, cut at a word."""
    first = re.split(r"(?<=[.!?…])\s", one_line(text), maxsplit=1)[0]
    return shorten(first, max_chars, at_word=True)


def young_note(interactions: int, config: EndocrineConfig) -> str:
    """Return the note for an entity that is still young; empty once it has grown."""
    grown = maturity(interactions, config)
    return f"{YOUNG} (maturity {grown:.2f})" if grown < config.young_below else ""


def section(
    levels: Hormones,
    *,
    phenotype: str,
    interactions: int,
    config: HormonesConfig,
    endocrine: EndocrineConfig,
) -> str:
    """Write the section, for a body already advanced to the present.

    Args:
        levels: The hormones now.
        phenotype: The entity's view of itself; only its first sentence is used, none if empty.
        interactions: Exchanges in the entity's whole life.
        config: For labels, tone, and whether names are shown.
        endocrine: The limits.
    """
    labels = hormones.labels(levels, config)
    level_words = ", ".join(
        f"{hormones.shown_name(name, config)} {levels.levels[name]:.2f} ({labels[name]})"
        for name in HORMONE_NAMES
    )
    lines = [
        "## Endocrine State",
        f"Levels: {level_words}.",
        f"Tone: {hormones.tone(levels, config)}.",
    ]
    lines.append(EMBODY)
    if sentence := phenotype_sentence(phenotype, PHENOTYPE_MAX_CHARS):
        lines.append(f"Self: {sentence}")
    if note := young_note(interactions, endocrine):
        lines.append(note)
    return "\n".join(lines)
