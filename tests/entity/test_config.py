from __future__ import annotations

import pytest

from bumble.entity import layers, settings
from bumble.entity.config import Config
from bumble.errors import UsageError
from bumble.text import schema


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("soma.dreams.max_tokens", 8.5, "`soma.dreams.max_tokens` must be a whole number"),
        ("soma.dreams.max_tokens", True, "`soma.dreams.max_tokens` must be a whole number"),
        ("soma.hormones.show_names", "yes", "`soma.hormones.show_names` must be true or false"),
        ("soma.bars.levels.social.initial", "x", "`soma.bars.levels.social.initial` must be a num"),
        ("soma.bars.levels.hunger", {}, "`soma.bars.levels.hunger` is not"),
        ("memory.imprint_decay_half_life_seconds", 0, "half_life_seconds` must be a number of at"),
        ("soma.dreams.dream_hours", {}, "`soma.dreams.dream_hours` must be a list"),
        ("soma.dreams.dream_hours", [3, "x"], r"`soma.dreams.dream_hours\[1\]` must be a whole"),
        ("soma.bars.levels", [], "`soma.bars.levels` is a section"),
        ("memory.max_recall_results", None, "`memory.max_recall_results` must be a whole number"),
        (
            "memory.consolidation_interval",
            float("inf"),
            "must be a number of at least 0.001, not inf",
        ),
        ("limits.lock_timeout_seconds", float("nan"), "must be a number of at least 0, not nan"),
        ("cognition.gate.judge", "maybe", 'must be auto, always or never, not "maybe"'),
    ],
)
def test_a_setting_that_will_not_do_is_named(path: str, value: object, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        layers.from_flags({path: value})


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (
            "soma.dreams.band",
            [0.9, 0.1],
            "`soma.dreams` does not hold .*below the second",
        ),
        ("soma.dreams.band", [0.9], "`soma.dreams` does not hold together: .*two percentiles"),
        ("wake.timer_minutes", [9, 3], "`wake` does not hold together: .*not above the second"),
        ("tools.servers.a", {"words": ["x"]}, "`tools.servers.a.command` is missing"),
        ("tools.servers.a", {"command": []}, "`tools.servers.a` .* must name a program"),
        ("tools.servers.A", {"command": ["x"]}, "`tools` .* may only have a-z"),
    ],
)
def test_settings_that_do_not_go_together_are_named(path: str, value: object, problem: str) -> None:
    values = layers.merge(settings.load().values, layers.from_flags({path: value}))
    with pytest.raises(schema.ValueProblem, match=problem):
        schema.build(Config, values)
