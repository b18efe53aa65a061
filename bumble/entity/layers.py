"""One layer of settings (environment, flags, typed text): read, merged, located.

Settings that earlier versions had stand here with the reason why each is gone: one in a file is a
warning, not an error, and `bumble migrate` takes it out of an entity.yaml. Knows nothing of which
layers there are.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from bumble.entity.config import Config, Identity, defaults
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import SettingInvalidError, UsageError
from bumble.text import schema, yaml_edit
from bumble.text.printable import HALF

CONSTANT = "nobody needed two values of it"
REASONS: Mapping[schema.Keys, str] = {
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
        "no code reads it any more": """
            evolution.max_step memory.anchors.max_count memory.distillation.max_delta
            memory.memory_decay_scale memory.relational.pending_max memory.working
            recall.deep.max_calls recall.deep.max_cost_usd recall.deep.max_reads
            recall.deep.timeout_seconds recall.lexical_previous_turns recall.petri
            recall.recency_weight recall.vector_previous_turns soma.hormones.anchor_blend
        """,
        "portraits are written whole, with their scores": """
            memory.relational.amendment_max_lines memory.relational.amendment_max_share
            memory.relational.score_temperature
        """,
        "no link leads out of an entity's folder": "linked",
        "a deep recall reads in its own steps": "recall.deep.sub_calls",
        "in doubt a message is thought about, and no model is asked first": """
            cognition.router.classifier cognition.router.classifier_max_tokens
            cognition.router.classifier_temperature cognition.router.escalation_threshold
        """,
    }.items()
    for name in names.split()
}


def reason(keys: schema.Keys) -> str | None:
    """Say why a setting, or the section that held it, is gone; None: there was none."""
    return next((REASONS[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in REASONS), None)


def warning(place: str, keys: schema.Keys, *, is_users: bool) -> str:
    """Say that a setting in a file is none any more, and how to take it out."""
    key = ".".join(keys)
    undo = f"config unset --user {key}" if is_users else "migrate"
    return f"{place}: `{key}` is no setting any more: {reason(keys)}. Take it out: bumble {undo}"


def found(values: Mapping[str, Any]) -> list[schema.Keys]:
    """Return the retired settings that a file of settings holds."""
    return [keys for keys in (tuple(map(str, keys)) for keys, _ in leaves(values)) if reason(keys)]


def without(values: Mapping[str, Any], gone: Collection[schema.Keys]) -> Plain:
    """Return settings without some of them, or of their sections, and what that leaves empty."""
    kept: Plain = {}
    for keys, value in leaves(values):
        names = tuple(map(str, keys))
        if not any(names[:n] in gone for n in range(1, len(names) + 1)):
            _put(kept, keys, value)
    return kept


def without_retired(source: str) -> str:
    """Return the text of a file of settings without those that are gone, and else as it was.

    Raises:
        SourceError: If the file can't be changed in place.
    """
    for keys in found(yaml_edit.parse_mapping(source)):
        source = removed(source, keys)
    return source


def removed(source: str, keys: schema.Keys) -> str:
    """Return the text without a setting, and without the sections that it leaves empty."""
    source = yaml_edit.remove(source, keys)
    while len(keys := keys[:-1]) and not value_at(yaml_edit.parse_mapping(source), keys):
        source = yaml_edit.remove(source, keys)
    return source


def value_at(values: Mapping[str, Any], keys: schema.Keys) -> Any:
    """Return what stands under some keys, which must be there."""
    return functools.reduce(lambda inner, key: inner[key], keys, values)


NOTES = "x"  # free notes of an entity.yaml, never read
ENVIRONMENT_PREFIX = "BUMBLE_"
# names under the prefix with other meanings
NOT_SETTINGS = (
    "BUMBLE_ENTITY",
    "BUMBLE_API_KEY",
    "BUMBLE_WEIGHTS",
)
NOT_SETTINGS_PREFIX = "BUMBLE_TEST_"
SWITCH_WORDS = {"1": True, "yes": True, "on": True, "0": False, "no": False, "off": False}
CLOSE_ENOUGH = 0.6  # of difflib's likeness, to suggest one name for another

Plain = dict[str, Any]


class Layer(Struct, frozen=True):
    """One source of settings."""

    kind: Literal["default", "file", "environment", "flag"]
    values: Mapping[str, Any]
    name: str = ""  # of a file, as origins show it
    source: str = ""  # of a file, its text

    def depth(self, keys: schema.Keys) -> int:
        """Count how many of `keys`, from the first, lead on in this layer."""
        value: Any = self.values
        for depth, key in enumerate(keys):
            if not isinstance(value, Mapping) or key not in value:
                return depth
            value = value[key]
        return len(keys)

    def origin(self, keys: schema.Keys) -> str:
        """Say where in this layer a value stands."""
        if self.kind == "environment":
            return f"environment {variable(keys)}"
        return place(self.name, self.source, keys) if self.kind == "file" else self.kind


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> Plain:
    """Put one layer over another: mappings join key by key, any other value replaces.

    An empty section (`memory:` with nothing below it) takes nothing away. Both stay as they are.
    """
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(under, Mapping) and (isinstance(value, Mapping) or value is None):
            merged[key] = merge(under, value or {})
        else:
            merged[key] = value
    return merged


def leaves(values: Mapping[str, Any], keys: schema.Keys = ()) -> Iterator[tuple[schema.Keys, Any]]:
    """Yield every value below a mapping that is no section itself, with its path."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*keys, key))
        else:
            yield (*keys, key), value


def variable(keys: schema.Keys) -> str:
    """Name the environment variable of a setting."""
    return ENVIRONMENT_PREFIX + "_".join(keys).upper()


def from_environment(
    environ: Mapping[str, str], warn: Callable[[str], None] = lambda text: None
) -> Plain:
    """Read the settings in an environment; an empty variable counts as none.

    Args:
        environ: The environment.
        warn: Hears of variables that were settings once.

    Raises:
        SettingInvalidError: If a name or value is no setting.
    """
    names: dict[str, schema.Keys] | None = None
    values: Plain = {}
    for name, text in environ.items():
        other = name in NOT_SETTINGS or name.startswith(NOT_SETTINGS_PREFIX)
        if not name.startswith(ENVIRONMENT_PREFIX) or other or not text:
            continue
        names = names or {variable(keys): keys for keys, _ in leaves(defaults())}
        if name not in names and (gone := _gone(name)):
            warn(f"environment {name}: it is no setting any more: {gone}")
            continue
        if name not in names:
            hint = _hint(name, names)
            raise SettingInvalidError(f"environment {name}", f"no setting has this name{hint}")
        if HALF.search(text):
            raise SettingInvalidError(f"environment {name}", "it is not UTF-8 text")
        try:
            _put(values, names[name], parse_value(names[name], text))
        except schema.ValueProblem as problem:
            raise SettingInvalidError(f"environment {name}", str(problem)) from problem
    return values


def _gone(name: str) -> str | None:
    """Say why a variable is no setting any more."""
    were = [keys for keys in REASONS if f"{name}_".startswith(f"{variable(keys)}_")]
    return REASONS[max(were, key=len)] if were else None


def from_flags(flags: Mapping[str, Any]) -> Plain:
    """Read the settings that the command line gave.

    Raises:
        UsageError: If a name or value is no setting.
    """
    values: Plain = {}
    for key, value in flags.items():
        keys = tuple(key.split("."))
        try:
            schema.check(schema.at(Config, keys), value, keys)
        except schema.ValueProblem as problem:
            raise UsageError(sentence(problem)) from problem
        _put(values, keys, value)
    return values


def parse_value(keys: schema.Keys, text: str, *, root: type = Config) -> Any:
    """Read one value from the text that a person typed for it.

    Text settings take what was typed as it is; all others are read as YAML, and a switch also takes
    what shells are used to: 1 and 0, yes and no, on and off.

    Raises:
        ValueProblem: If the setting is unknown or takes no such value.
    """
    kind = schema.at(root, keys)
    value: Any = text
    if schema.bare(kind)[0] is bool and text.strip().lower() in SWITCH_WORDS:
        value = SWITCH_WORDS[text.strip().lower()]
    elif schema.bare(kind)[0] is not str:
        try:
            value = yaml_edit.parse(text)
        except yaml_edit.SourceError as error:
            raise schema.ValueProblem(keys, f"must be {schema.expected(kind)}: {error}") from error
    schema.check(kind, value, keys)
    return value


def place(name: str, source: str, keys: schema.Keys) -> str:
    """Name the file and the line of the deepest of `keys` that stands in it."""
    line = yaml_edit.line_of(source, [key.partition("[")[0] for key in keys])  # `hours[3]`
    return name if line is None else f"{name}:{line}"


def sentence(problem: schema.ValueProblem) -> str:
    """Say what is wrong; for an unknown key, also which one may have been meant."""
    if not isinstance(problem, schema.UnknownKeyProblem):
        return str(problem)
    if gone := reason(problem.keys):
        return f"`{'.'.join(problem.keys)}` is no setting any more: {gone}"
    key, above = problem.keys[-1], problem.keys[:-1]
    if problem.keys[0] == NOTES:
        name = ".".join(problem.keys)
        return f"`{name}` is not a setting: `{NOTES}` is for notes of your own, in {ENTITY_FILE}"
    names = problem.names if above else (*problem.names, *schema.fields(Identity), NOTES)
    hint = _hint(key, names, above) or _elsewhere(problem.keys)
    return f"`{'.'.join(problem.keys)}` is not a setting{hint}"


def _hint(name: str, names: Iterable[str], above: schema.Keys = ()) -> str:
    near = difflib.get_close_matches(name, list(names), 1, CLOSE_ENOUGH)
    return f"; did you mean `{'.'.join((*above, near[0]))}`?" if near else ""


def _elsewhere(keys: schema.Keys) -> str:
    """Suggest the setting that has this name, or one like it, in another section."""
    every = [path for path, _ in schema.walk(Config) if path]
    near = difflib.get_close_matches(keys[-1], {path[-1] for path in every}, 1, CLOSE_ENOUGH)
    same = [path for path in every if near and path[-1] == near[0]]
    if not same:
        return ""
    best = max(same, key=lambda path: len(set(path) & set(keys)))
    return f"; did you mean `{'.'.join(best)}`?"


def _put(values: Plain, keys: schema.Keys, value: Any) -> None:
    for key in keys[:-1]:
        values = values.setdefault(key, {})
    values[keys[-1]] = value
