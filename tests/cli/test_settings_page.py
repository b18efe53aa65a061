from __future__ import annotations

from bumble.cli import reference
from bumble.entity.config import LlmConfig, MemoryConfig


def test_each_setting_is_explained() -> None:
    assert [
        ".".join(keys) for keys, said in reference.setting_rows() if not said.strip("()yours al")
    ] == []


def test_a_comment_stands_on_the_line_or_above_it_also_of_what_is_inherited() -> None:
    said = reference.explained(LlmConfig)
    assert said["silence_timeout_seconds"] == "between two tokens"
    assert said["provider"] == "a provider's address and its own key variable"
    assert reference.explained(MemoryConfig)["consolidation_interval"] == "seconds"
