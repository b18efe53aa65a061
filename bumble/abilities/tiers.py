"""Tiers of trust in a model: whether it may write, only choose, or is not asked, by language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# What a model is asked for: to answer somebody, or to make memories of what was said.
Purpose = Literal["talk", "memory"]
# `write`: its own words stand, once checked. `choose`: it labels and draws, rules and fixed forms
# decide what stands. `none`: it isn't asked.
Tier = Literal["none", "choose", "write"]


@dataclass(frozen=True)
class Abilities:
    """What one model can be trusted with."""

    unmeasured: Tier = "choose"  # for what no probe has measured
    measured: Mapping[tuple[Purpose, str], Tier] = field(default_factory=dict)  # by language: `de`

    def tier(self, purpose: Purpose, language: str) -> Tier:
        """Return how far the model is trusted with a purpose in a language."""
        return self.measured.get((purpose, language), self.unmeasured)


ABLE = Abilities(unmeasured="write")
