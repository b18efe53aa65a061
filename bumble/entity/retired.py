"""Settings that earlier versions had: each with the reason why it is gone.

One in a file of settings is a warning, not an error; `bumble migrate` takes it out of an
entity.yaml. A name stands for all that was below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bumble.text import yaml_edit
from bumble.text.schema import Keys

CONSTANT = "nobody needed two values of it"
UNBUILT = "no code reads it any more"
WHOLE = "portraits are written whole, with their scores"
REASONS: Mapping[Keys, str] = {
    tuple(name.split(".")): reason
    for reason, names in {
        CONSTANT: """
            automations cognition.gate.judge_max_tokens
            cognition.history_compression.compaction_min_gain_ratio
            cognition.history_compression.keep_messages_per_role
            cognition.history_compression.keep_tool_results
            cognition.history_compression.max_messages
            cognition.history_compression.message_max_tokens
            cognition.history_compression.tool_result_max_tokens
            cognition.loop.length_stops cognition.loop.preview_chars cognition.loop.preview_count
            cognition.loop.repeat_limit cognition.router memory.beliefs memory.dormant_below
            memory.distillation.soma_urgency_from memory.episode_reflection_max_chars
            memory.imprint_base memory.imprint_cap memory.knowledge memory.narrative
            memory.relational.max_loss_ratio memory.relational.min_document_chars
            memory.relational.pending_in_prompt memory.relational.scalar memory.relational.stages
            memory.significance memory.skills prompt.living_memory_max_lines
            prompt.living_memory_max_tokens prompt.reference_max_bytes prompt.reference_max_files
            prompt.topics_max_tokens recall.affinity recall.deep.cache_entries
            recall.deep.cache_seconds recall.deep.enough recall.late_interaction
            recall.lexical_weight recall.prefetch
            session.handover_aged_hours session.handover_min_quality soma.affects soma.appraisal
            soma.bars.circadian soma.bars.conflicts soma.bars.coupling soma.bars.events
            soma.bars.idle_per_minute soma.bars.impulses soma.bars.resting_band
            soma.bars.resting_drift_per_hour soma.dreams.empty_backoff_minutes
            soma.dreams.min_significance soma.ebb soma.endocrine soma.hormones.active_above
            soma.hormones.dominant_above soma.hormones.events soma.hormones.levels
            soma.hormones.per_point soma.noise.capacity soma.noise.dream_protected_hours
            soma.noise.duplicate_jaccard tools.cache tools.output_max_tokens
        """,
        UNBUILT: """
            evolution.max_step memory.anchors.max_count memory.distillation.max_delta
            memory.memory_decay_scale memory.relational.pending_max memory.working
            recall.deep.max_calls recall.deep.max_cost_usd recall.deep.max_reads
            recall.deep.timeout_seconds recall.lexical_previous_turns recall.petri
            recall.recency_weight recall.vector_previous_turns soma.hormones.anchor_blend
        """,
        WHOLE: """
            memory.relational.amendment_max_lines memory.relational.amendment_max_share
            memory.relational.score_temperature
        """,
        "in doubt a message is thought about, and no model is asked first": """
            cognition.router.classifier cognition.router.classifier_max_tokens
            cognition.router.classifier_temperature cognition.router.escalation_threshold
        """,
    }.items()
    for name in names.split()
}


def reason(keys: Keys) -> str | None:
    """Say why a setting, or the section that held it, is gone; None: there was none."""
    depths = range(len(keys), 0, -1)
    return next((REASONS[keys[:n]] for n in depths if keys[:n] in REASONS), None)


def warning(place: str, keys: Keys, *, is_users: bool) -> str:
    """Say that a setting in a file is none any more, and how to take it out."""
    key = ".".join(keys)
    undo = f"config unset --user {key}" if is_users else "migrate"
    return f"{place}: `{key}` is no setting any more: {reason(keys)}. Take it out: bumble {undo}"


def found(values: Mapping[str, Any], above: Keys = ()) -> Iterator[Keys]:
    """Yield the retired settings that a file of settings holds."""
    for name, below in values.items():
        keys = (*above, str(name))
        inside = list(found(below, keys)) if isinstance(below, Mapping) else []
        if inside:
            yield from inside
        elif reason(keys):
            yield keys


def left(values: Mapping[str, Any], above: Keys = ()) -> dict[str, Any]:
    """Return what a file of settings holds without those that are gone."""
    kept = {}
    for name, below in values.items():
        keys = (*above, str(name))
        inside = left(below, keys) if isinstance(below, Mapping) else below
        if not reason(keys) and (inside or not below):
            kept[name] = inside
    return kept


def without_retired(source: str) -> str:
    """Return the text of a file of settings without those that are gone, and else as it was.

    Raises:
        SourceError: If the file can't be changed in place.
    """
    for keys in list(found(yaml_edit.parse_mapping(source))):
        source = removed(source, keys)
    return source


def removed(source: str, keys: Keys) -> str:
    """Return the text without a setting, and without the sections that it leaves empty."""
    source = yaml_edit.remove(source, keys)
    while len(keys := keys[:-1]) and not _value(source, keys):
        source = yaml_edit.remove(source, keys)
    return source


def _value(source: str, keys: Keys) -> object:
    value: object = yaml_edit.parse_mapping(source)
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
