"""The settings under `memory` and `soma`: types, ranges, defaults, what each does."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from bumble.body.config import FeltMemoryConfig, Temperament
from bumble.text.schema import Amount, Count, Positive, Share, Temperature


class SettingGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """What stands under one name; a key that it does not know is an error."""


class RelationalConfig(SettingGroup, frozen=True):
    """Portraits of people."""

    enabled: bool = True  # false: numbers only
    reflection_temperature: Temperature = 0.4  # of the model that writes about a stretch of talk
    reflection_max_tokens: Positive = 800  # of a portrait in an answer
    reflection_min_gap_seconds: Amount = 30  # no effect: portraits come with their stretch
    score_derivation: bool = True  # scores come with a portrait
    flush_to_disk: bool = True  # portraits are files; false keeps the scores only
    max_context_tokens: Count = 800  # most of a portrait that enters a prompt
    deep_review_on_consolidation: bool = True  # review whole portraits while consolidating
    deep_review_min_new_interactions: Positive = 3  # exchanges with a person since the last review
    deep_review_max_tokens: Positive = 1200  # longest answer of a review
    amendment_mode_threshold: Share = 0.3  # no effect: portraits are written whole
    gen_recent_hours: Amount = 24  # portraits touched since then colour the noise
    gen_tail_sentences: Count = 3  # last sentences of such a portrait that are taken


class DistillationConfig(SettingGroup, frozen=True):
    """What ordinary conversation leaves behind."""

    enabled: bool = True  # draw facts and beliefs from conversations
    cycle_seconds: Amount = 300  # time gate
    min_turns: Positive = 6  # or this many new turns
    min_turns_absolute: Count = 4  # never fire below this history depth
    # what the most charged conversation divides min_turns by
    soma_urgency_divisor: Annotated[float, Meta(ge=1, le=1000)] = 1.5
    max_extract_tokens: Positive = 800  # of facts and beliefs in an answer
    temperature: Temperature = 0.15  # of an answer without portraits
    context_char_budget: Positive = 6000  # of the conversation that one extraction reads


class MemoryConfig(FeltMemoryConfig, frozen=True):
    """What is remembered, how it fades and how it is recalled."""

    episode_significance_threshold: Share = 0.3  # below, an event becomes no episode
    max_recall_results: Positive = 10  # memories of one search
    # or 512, 256, 128, 64; a model with fewer gives what it has
    embedding_dimensions: Positive = 768
    # consolidations after which the self-story is told anew
    narrative_every_n_consolidations: Positive = 3
    episode_pause_minutes: Amount = 30  # silence that closes an episode
    episode_max_turns: Positive = 12  # turns that close an episode
    relational: RelationalConfig = RelationalConfig()
    distillation: DistillationConfig = DistillationConfig()


class BarsConfig(SettingGroup, frozen=True):
    """The five bars."""

    levels: Temperament = Temperament()


class HormonesConfig(SettingGroup, frozen=True):
    """The three hormones."""

    # false: drive, strain and closeness stand for the hormones' names
    show_names: bool = True


class NoiseConfig(SettingGroup, frozen=True):
    """The ring of stray thoughts."""

    interval_seconds: Amount = 90  # between two stray thoughts


class AnchorsConfig(SettingGroup, frozen=True):
    """Anchors: states of the body that it can come back to."""

    # a charged turn makes one, words or a like body recall one; 15 minutes apart
    by_itself: bool = True


class DreamsConfig(SettingGroup, frozen=True):
    """When and what the entity dreams."""

    enabled: bool = False  # opt-in (LLM calls during idle)
    model: str = ""  # empty: the entity's own
    temperature: Temperature = 1.15  # high temp for surreal/creative output
    max_tokens: Positive = 500  # room for 3-6 dream fragments
    min_silence_seconds: Amount = 3600  # must be idle this long before dreaming
    min_gap_seconds: Amount = 14400  # minimum 4 hours between dream cycles
    max_cycles_per_day: Count = 2  # hard cap
    dream_hours: tuple[Annotated[int, Meta(ge=0, le=23)], ...] = (0, 1, 2, 3, 4, 5)  # local time
    memory_pair_count: Positive = 3  # how many distant pairs to dream about
    min_time_gap_hours: Amount = 24  # memories must be at least this far apart
    # likeness above which a pair is too related
    max_similarity: Annotated[float, Meta(ge=-1, le=1)] = 0.35
    # instead of max_similarity: percentiles of the entity's own pairs, e.g. [0.80, 0.99]
    band: tuple[Share, ...] = ()
    write_journal: bool = True  # write dream summary to journal.md
    write_beliefs: bool = True  # extract novel connections as low-confidence beliefs
    # confidence for dream-derived beliefs
    belief_confidence: Annotated[float, Meta(ge=0, le=0.99)] = 0.35
    inject_noise: bool = True  # push [dream] fragments into the noise
    max_noise_fragments: Count = 2  # of one dream

    def __post_init__(self) -> None:
        if len(self.band) not in (0, 2):
            raise ValueError("`band` needs two percentiles, or none")
        if self.band and self.band[0] >= self.band[1]:
            raise ValueError("the first percentile of `band` must be below the second")


class SomaConfig(SettingGroup, frozen=True):
    """The body."""

    bars: BarsConfig = BarsConfig()
    hormones: HormonesConfig = HormonesConfig()
    noise: NoiseConfig = NoiseConfig()
    anchors: AnchorsConfig = AnchorsConfig()
    dreams: DreamsConfig = DreamsConfig()
