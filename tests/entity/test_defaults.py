from __future__ import annotations

from bumble.entity import layers
from bumble.entity.config import Config, defaults
from bumble.text import schema, yaml_edit

SEEDS = """
cognition:
  max_context_tokens: 32768
  reflex_max_tokens: 512
  history_compression:
    enabled: true
    compaction_threshold_ratio: 0.75
    compaction_target_ratio: 0.20
    compaction_protect_last_n: 12
    compaction_protect_first_n: 2
    compaction_max_passes: 3
    compaction_flush_to_knowledge: true
memory:
  episode_significance_threshold: 0.3
  max_recall_results: 10
  embedding_dimensions: 768
  imprint_decay_half_life_seconds: 2592000
  imprint_recall_weight: 0.35
  narrative_every_n_consolidations: 3
  consolidation_interval: 7200
  memory_decay_rate: 0.0001
  relational:
    enabled: true
    reflection_temperature: 0.4
    reflection_max_tokens: 800
    reflection_min_gap_seconds: 30
    score_derivation: true
    flush_to_disk: true
    max_context_tokens: 800
    deep_review_on_consolidation: true
    amendment_mode_threshold: 0.3
    deep_review_min_new_interactions: 3
    deep_review_max_tokens: 1200
    gen_recent_hours: 24
    gen_tail_sentences: 3
  distillation:
    enabled: true
    cycle_seconds: 300
    min_turns: 6
    min_turns_absolute: 4
    soma_urgency_divisor: 1.5
    max_extract_tokens: 800
    temperature: 0.15
    context_char_budget: 6000
soma:
  dreams:
    enabled: false
    model: ""
    temperature: 1.15
    max_tokens: 500
    min_silence_seconds: 3600
    min_gap_seconds: 14400
    max_cycles_per_day: 2
    dream_hours: [0, 1, 2, 3, 4, 5]
    memory_pair_count: 3
    min_time_gap_hours: 24
    max_similarity: 0.35
    write_journal: true
    write_beliefs: true
    belief_confidence: 0.35
    inject_noise: true
    max_noise_fragments: 2
"""


def test_the_defaults_hold_every_value_of_the_seeds() -> None:
    mine = dict(layers.leaves(defaults()))
    theirs = dict(layers.leaves(yaml_edit.parse_mapping(SEEDS)))
    assert {keys: mine.get(keys) for keys in theirs} == theirs


def test_there_are_no_more_settings_than_people_can_know() -> None:
    assert len(list(layers.leaves(defaults()))) <= 150


def test_every_setting_belongs_to_one_environment_variable() -> None:
    names = [layers.variable(keys) for keys, _ in layers.leaves(defaults())]
    assert len(names) == len(set(names))
    assert not set(names) & set(layers.NOT_SETTINGS)


def test_every_number_has_a_range() -> None:
    loose = [
        ".".join(keys)
        for keys, kind in schema.walk(Config)
        for base in [schema.bare(kind)[0]]
        if base in (int, float) and not schema.bare(kind)[1]
    ]
    assert loose == []
