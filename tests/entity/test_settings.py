from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import bumble
from bumble.entity import folder_trust, layers, settings
from bumble.entity.config import OWNERS, Config, defaults
from bumble.errors import SettingInvalidError, UserError
from bumble.text import schema, yaml_edit
from bumble.text.schema import Keys

ENTITY = """\
# my bee
schema_version: 3
name: Ada
timezone: Europe/Berlin
owner:
  name: Robin
identity:
  archetype: curious
  monologue: |
    I am Ada.
  voice: Plain words.
memory:
  max_recall_results: 5     # enough
x: {anything: [goes]}
"""


def entity(folder: Path, more: str = "") -> Path:
    path = folder / "ada" / "entity.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(ENTITY + more, "utf-8")
    return path


def user(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text, "utf-8")
    return path


def test_without_any_file_every_setting_is_its_default() -> None:
    loaded = settings.load()
    assert loaded.values == defaults()
    assert loaded.identity is None
    assert {origin for _, _, origin in loaded.flat()} == {"default"}
    assert loaded.config.memory.relational.reflection_min_gap_seconds == 30
    assert loaded.config.soma.dreams.dream_hours == (0, 1, 2, 3, 4, 5)


def test_an_entity_says_who_it_is_and_what_it_overrides(tmp_path: Path) -> None:
    loaded = settings.load(entity(tmp_path))
    assert loaded.identity is not None
    assert (loaded.identity.name, loaded.identity.timezone) == ("Ada", "Europe/Berlin")
    assert loaded.identity.owner.name == "Robin"
    assert loaded.identity.identity.monologue == "I am Ada.\n"
    assert loaded.config.memory.max_recall_results == 5
    assert loaded.config.memory.imprint_recall_weight == 0.35


def test_the_template_of_a_new_entity_is_accepted(tmp_path: Path) -> None:
    template = Path(__file__).parents[2] / "entity-template" / "entity.yaml"
    filled = template.read_text("utf-8").replace("$timezone", "UTC").replace("$owner", "Robin")
    filled = filled.replace("$monologue", "    I am.").replace("$voice", "    Plain.")
    path = tmp_path / "entity.yaml"
    path.write_text(filled.replace("$name", "Ada").replace("$archetype", "curious"), "utf-8")
    loaded = settings.load(path)
    assert loaded.identity is not None
    assert loaded.identity.identity.archetype == "curious"


def other(kind: Any, value: Any) -> Any:
    """Find another value that a setting allows."""
    tries: list[Any] = [True, False, 1, 2, 7, 0.5, 3.5, 600, "small", "raw", "auto", "other", ["x"]]
    tries += [
        "social",
        "comfort",
        [],
        [3],
        [0.1, 0.2],
        {"one": 0.5},
        {"tool": {}},
    ]
    tries += [[{"mood": "calm", "bar": "social", "threshold": 1}]]
    tries += [[{"source": "social", "above": 1, "target": "social", "factor": 1}]]
    for candidate in tries:
        try:
            schema.build(kind, candidate, ("it",))
        except schema.ValueProblem:
            continue
        if repr(candidate) != repr(value):
            return candidate
    raise AssertionError(f"nothing else fits {kind}")


# An empty mapping takes nothing away: entries of layers join. What is its owner's alone has no
# layer of the entity's: tests of their own try these.
OF_OWNERS = folder_trust.marked(defaults(), OWNERS)
LEAVES = [
    (keys, value)
    for keys, value in layers.leaves(defaults())
    if value != {} and keys not in OF_OWNERS
]
SECTIONS = sorted({keys[:depth] for keys, _ in LEAVES for depth in range(1, len(keys))})


def sample(section: Keys) -> tuple[Keys, Any]:
    """Take a setting that stands in a section itself, else one that stands deeper."""
    inside = [(keys, value) for keys, value in LEAVES if keys[: len(section)] == section]
    return min(inside, key=lambda leaf: len(leaf[0]))


@pytest.mark.parametrize("section", SECTIONS, ids=".".join)
def test_each_layer_overrides_the_one_below_in_every_section(section: Keys, tmp_path: Path) -> None:
    keys, default = sample(section)
    dotted = ".".join(keys)
    kind = schema.at(Config, keys)
    first = other(kind, default)
    mine = user(
        tmp_path, f"trusted: {{'{tmp_path}/ada': []}}\n{yaml_edit.set_value('', keys, first)}"
    )
    path = entity(tmp_path)
    origins, values = [], []
    for level in range(5):
        if level == 2:
            path.write_text(yaml_edit.set_value(ENTITY, keys, default), "utf-8")
        loaded = settings.load(
            path,
            mine if level >= 1 else None,
            {layers.variable(keys): as_text(first)} if level >= 3 else {},
            {dotted: default} if level >= 4 else {},
        )
        origins.append(loaded.origin(dotted))
        values.append(loaded.get(dotted))
    assert values == [default, first, default, first, default]
    assert origins[0] in ("default", "entity.yaml:13")
    assert origins[1:3] == [f"{mine}:{line(mine, keys)}", f"entity.yaml:{line(path, keys)}"]
    assert origins[3:] == [f"environment {layers.variable(keys)}", "flag"]


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return yaml_edit.dump({"v": value}).removeprefix("v:").strip()


def line(path: Path, keys: Keys) -> int | None:
    return yaml_edit.line_of(path.read_text("utf-8"), keys)


@pytest.mark.parametrize(
    ("more", "line_number", "said"),
    [
        ("memroy: {}\n", 15, "`memroy` is not a setting; did you mean `memory`?"),
        ("soma:\n  dreams:\n    enable: true\n", 17, "did you mean `soma.dreams.enabled`?"),
        ("dreams:\n  enabled: true\n", 15, "did you mean `soma.dreams`?"),
        ("soma:\n  dreams:\n    enabled: yes\n", 17, 'must be true or false, not "yes"'),
        ("soma:\n  dreams:\n    dream_hours:\n      - 3\n      - 24\n", 17, "from 0 to 23, not 24"),
        ("soma:\n  bars:\n    levels: {joy: {initial: 1}}\n", 17, "`soma.bars.levels.joy`"),
        ("cognition: 7\n", 15, "`cognition` is a section"),
        ("cognition:\n  max_context_tokens: lots\n", 16, "a whole number of at least 512"),
        ("limits:\n  tokens_per_day: -1\n", 16, "of at least 0, or null, not -1"),
        ("wake:\n  timer_minutes: [9, 3]\n", 15, "the first not above the second"),
        ("session: {idle_hours: 1, idle_hour: 2}\n", 15, "did you mean `session.idle_hours`?"),
        ("trusted: [/]\n", 15, "a folder can't trust itself"),
        ("timzone: UTC\n", 15, "did you mean `timezone`?"),
        ("llm:\n  api_key: sk-1\n", 16, "did you mean `llm.api_key_env`?"),
        ("session: [\n", 16, "not valid YAML"),
        ("memory: {}\n", 15, "not valid YAML"),  # a second time
    ],
)
def test_a_wrong_line_is_named_with_its_number(
    more: str, line_number: int, said: str, tmp_path: Path
) -> None:
    path = entity(tmp_path, more)
    with pytest.raises(SettingInvalidError) as raised:
        settings.load(path)
    text = str(raised.value)
    assert said in text
    assert f"entity.yaml:{line_number}: " in text.splitlines()[0]
    assert raised.value.exit_code == 12


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("schema_version: 3", "schema_version: 4", "made by a newer bumble (format 4)"),
        ("schema_version: 3", "schema_version: one", "must be a whole number"),
        ("name: Ada\ntime", "time", "`name` is missing"),
        ("Europe/Berlin", "Europe/Berlim", "must be text that names a time zone"),
        ("  name: Robin", "  nmae: Robin", "did you mean `owner.name`?"),
    ],
)
def test_who_an_entity_is_is_held_against_types_too(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = entity(tmp_path)
    path.write_text(ENTITY.replace(old, new), "utf-8")
    with pytest.raises(SettingInvalidError) as raised:
        settings.load(path)
    assert said in str(raised.value)


def test_files_that_are_no_text_are_errors_that_name_them(tmp_path: Path) -> None:
    path = entity(tmp_path)
    path.write_bytes(b"name: \xff\xfe\n")
    with pytest.raises(SettingInvalidError, match=r"entity\.yaml: is not UTF-8 text"):
        settings.load(path)
    with pytest.raises(UserError, match="could not be read"):
        settings.load(None, tmp_path)


def test_reading_settings_loads_no_heavy_library() -> None:
    code = (
        "import sys\nfrom bumble.entity import installation, settings\n"
        "settings.load()\n"
        "heavy = {'numpy', 'openai', 'onnxruntime', 'ollama', 'tantivy', 'apsw', 'xllamacpp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


PACKAGE = Path(bumble.__file__).parent
TYPES = {"config.py", "config_memory.py", "retired.py"}
SOURCES = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if path.name not in TYPES]
HOW_MANY = Counter(keys[-1] for keys, _ in schema.walk(Config) if keys)
BY_NAME = {"levels"}  # of the bars, read by their names
# Names of the documents that bumble began with: their comments say "no effect".
WITHOUT_EFFECT = {"reflection_min_gap_seconds", "amendment_mode_threshold"}


def is_read(keys: schema.Keys) -> bool:
    """Whether a module reads the field; of a name that others have, too, one with its section."""
    section = "" if HOW_MANY[keys[-1]] == 1 else keys[-2]
    return any(
        re.search(rf"\.{keys[-1]}\b", source) and re.search(rf"\b{section}\b", source)
        for source in SOURCES
    )


def test_each_setting_is_read_by_some_code() -> None:
    unread = [
        ".".join(keys)
        for keys, kind in schema.walk(Config)
        if len(keys) > 1 and not schema.is_section(kind) and not BY_NAME & set(keys)
        if not is_read(keys)
    ]
    assert {name.rpartition(".")[2] for name in unread} == WITHOUT_EFFECT


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
