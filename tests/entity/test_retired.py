from __future__ import annotations

from pathlib import Path

from bumble.entity import layers, settings
from bumble.text import yaml_edit
from tests.support.running import Run

ENTITY = """\
schema_version: 3
name: Ada
# as it was
soma:
  ebb: {quiet_below: 0.2}   # loud
  dreams:
    enabled: true   # every night
memory:
  beliefs:
    floor: 0.1

    half_life_days: {preference: 9}
  # ten
  max_recall_results: 10
x: {memory: {beliefs: mine}}
"""
KEPT = """\
schema_version: 3
name: Ada
# as it was
soma:
  dreams:
    enabled: true   # every night
memory:
  # ten
  max_recall_results: 10
x: {memory: {beliefs: mine}}
"""


def test_a_setting_of_earlier_is_a_warning_with_its_reason_in_any_layer(tmp_path: Path) -> None:
    entity, own = tmp_path / "entity.yaml", tmp_path / "config.yaml"
    entity.write_text(ENTITY)
    own.write_text("recall:\n  affinity: {low: 1.3}\n")
    environ = {"BUMBLE_SOMA_NOISE_CAPACITY": "9"}
    loaded = settings.load(entity, own, environ)
    said = "\n".join(loaded.warnings)
    assert f"{own}:2: `recall.affinity.low` is no setting any more: {layers.CONSTANT}" in said
    assert "Take it out: bumble config unset --user recall.affinity.low" in said
    assert f"{entity}:5: `soma.ebb.quiet_below` is no setting any more" in said
    assert "Take it out: bumble migrate" in said
    assert "environment BUMBLE_SOMA_NOISE_CAPACITY: it is no setting any more" in said
    assert len(loaded.warnings) == 5
    assert loaded.config.soma.dreams.enabled
    assert all("ebb" not in key for key, _, _ in loaded.flat())


def test_taking_them_out_leaves_every_other_byte() -> None:
    assert layers.without_retired(ENTITY) == KEPT
    assert layers.without_retired(KEPT) == KEPT


def test_config_says_why_and_takes_it_out(run: Run) -> None:
    run.write("entity.yaml", run.text("entity.yaml") + "memory:\n  skills: {max_chars: 9}\n")
    before = run.text("entity.yaml")
    for words in (["get", "memory.skills.max_chars"], ["set", "memory.skills.max_chars", "3"]):
        ran = run("config", *words)
        assert (ran.code, "is no setting any more: nobody" in ran.err) == (2, True)
    assert run.text("entity.yaml") == before
    run.ok("config", "set", "memory.max_recall_results", "5")  # it stands in the way of none
    run.ok("config", "unset", "memory.skills.max_chars")
    assert run.text("entity.yaml").endswith("memory:\n  max_recall_results: 5\n")


def test_migrate_takes_it_out_of_a_folder_of_this_format(run: Run) -> None:
    text = run.text("entity.yaml")
    run.write("entity.yaml", f"{text}tools:\n  cache: {{max_entries: 9}}\n  notes: true # mine\n")
    assert "tools.cache.max_entries" in run.ok("status").err
    checked = run.ok("migrate", "--check").out
    assert f"entity.yaml: tools.cache.max_entries: 9 goes: {layers.CONSTANT}" in checked
    assert run.ok("migrate", "--json").data["backup"]
    assert run.text("entity.yaml") == f"{text}tools:\n  notes: true # mine\n"
    assert "tools.cache" not in run.ok("status").err
    assert run.ok("migrate").out.startswith("Nothing to do")
    assert yaml_edit.parse_mapping(run.text("entity.yaml"))["tools"] == {"notes": True}
