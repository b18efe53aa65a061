from __future__ import annotations

from pathlib import Path

import pytest

from bumble.entity import settings
from bumble.errors import SettingInvalidError, UsageError

SOURCE = """\
# my bee
schema_version: 3
name: Ada      # after Lovelace

memory:        # less is more
  max_recall_results: 5     # enough
  relational: {enabled: true}
"""


@pytest.mark.parametrize(
    ("key", "typed", "old", "new"),
    [
        ("memory.max_recall_results", "7", "max_recall_results: 5 ", "max_recall_results: 7 "),
        ("memory.relational.enabled", "off", "enabled: true", "enabled: false"),
        ("name", "Bea", "name: Ada ", "name: Bea "),
        ("llm.model", "qwen3-4b", "", "llm:\n  model: qwen3-4b\n"),
        ("llm.model", "4", "", 'llm:\n  model: "4"\n'),
        (
            "soma.dreams.dream_hours",
            "[22, 23]",
            "",
            "soma:\n  dreams:\n    dream_hours: [22, 23]\n",
        ),
        ("limits.tokens_per_day", "null", "", "limits:\n  tokens_per_day: null\n"),
        ("identity.voice", "Plain.", "", "identity:\n  voice: Plain.\n"),
    ],
)
def test_setting_changes_that_value_and_no_other_byte(
    key: str, typed: str, old: str, new: str, tmp_path: Path
) -> None:
    changed = settings.plan_set(SOURCE, key, typed)
    assert changed == (SOURCE.replace(old, new) if old else SOURCE + new)
    path = tmp_path / "entity.yaml"
    path.write_text(changed, "utf-8")
    settings.load(path)


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [
        ("memory.max_recal_results", "3", "did you mean `memory.max_recall_results`?"),
        ("memory.max_recall_results", "many", 'must be a whole number of at least 1, not "many"'),
        ("memory.max_recall_results", "[3", "must be a whole number"),
        ("memory.max_recall_results", "", "must be a whole number of at least 1, not empty"),
        ("memory", "3", "is a section; name one of its settings: consolidation_interval,"),
        ("soma.bars.levels.joy.initial", "3", "`soma.bars.levels.joy` is not a setting"),
        ("timezone", "Nowhere", "names a time zone"),
        ("nonsense", "3", "`nonsense` is not a setting"),
    ],
)
def test_a_wrong_key_or_value_is_a_wrong_call(key: str, typed: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        settings.plan_set(SOURCE, key, typed)
    assert said in str(raised.value)
    assert raised.value.exit_code == 2


def test_a_file_that_cannot_be_edited_is_named_with_its_line() -> None:
    with pytest.raises(SettingInvalidError, match=r"^mine\.yaml:\d+: "):
        settings.plan_set("llm: [\n", "llm.model", "x", file="mine.yaml")
