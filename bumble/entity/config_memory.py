"""The settings under `memory` as typed fields: distillation, beliefs, relationships…."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct

from bumble.body.config import FeltMemoryConfig, ScalarConfig, SignificanceConfig
from bumble.text.schema import Above, Amount, Count, Positive, Range, Share, Temperature


class StagesConfig(Struct, frozen=True):
    """Interactions at which a stage of a relationship ends."""

    forming: Positive
    developing: Positive
    established: Positive

    def __post_init__(self) -> None:
        if not self.forming < self.developing < self.established:
            raise ValueError("each stage must end later than the one before")


class RelationalConfig(Struct, frozen=True):
    """Portraits of people."""

    enabled: bool
    reflection_temperature: Temperature
    reflection_max_tokens: Positive
    reflection_min_gap_seconds: Amount
    score_derivation: bool
    score_temperature: Temperature
    flush_to_disk: bool
    max_context_tokens: Count
    deep_review_on_consolidation: bool
    deep_review_min_new_interactions: Positive
    deep_review_max_tokens: Positive
    amendment_mode_threshold: Share
    amendment_max_share: Share
    amendment_max_lines: Count
    max_loss_ratio: Share
    min_document_chars: Count
    pending_in_prompt: Count
    gen_recent_hours: Amount
    gen_tail_sentences: Count
    scalar: ScalarConfig
    stages: StagesConfig


class DistillationConfig(Struct, frozen=True):
    """What ordinary conversation leaves behind."""

    enabled: bool
    cycle_seconds: Amount
    min_turns: Positive
    min_turns_absolute: Count
    soma_urgency_divisor: Annotated[float, Range(1)]
    soma_urgency_from: Share
    max_extract_tokens: Positive
    temperature: Temperature
    context_char_budget: Positive
    max_delta: Share


class BeliefsConfig(Struct, frozen=True):
    """How beliefs strengthen and fade."""

    confirm_user: Share
    confirm_extracted: Share
    confirm_dream: Share
    contradict_factor: Share
    floor: Share
    archive_below: Share
    neighbours: Count
    half_life_days: Mapping[str, Above]


class KnowledgeConfig(Struct, frozen=True):
    """What of knowledge is recalled."""

    max_sections: Count
    threshold: Share


class SkillsConfig(Struct, frozen=True):
    """What of the skills is recalled."""

    max_results: Count
    max_chars: Positive


class NarrativeConfig(Struct, frozen=True):
    """What the self-story is made from, and its length."""

    max_episodes: Count
    max_relationships: Count
    max_beliefs: Count
    max_words: Positive


class MemoryConfig(FeltMemoryConfig, frozen=True):
    """What is remembered, how it fades and how it is recalled."""

    episode_significance_threshold: Share
    max_recall_results: Positive
    embedding_dimensions: Annotated[int, Range(1)]
    narrative_every_n_consolidations: Positive
    dormant_below: Share
    episode_pause_minutes: Amount
    episode_max_turns: Positive
    episode_reflection_max_chars: Positive
    significance: SignificanceConfig
    relational: RelationalConfig
    distillation: DistillationConfig
    beliefs: BeliefsConfig
    knowledge: KnowledgeConfig
    skills: SkillsConfig
    narrative: NarrativeConfig
