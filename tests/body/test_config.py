from __future__ import annotations

from typing import Any

import pytest

from bumble.entity import layers, settings
from bumble.entity.config import Config
from bumble.errors import UsageError
from bumble.text import schema
from tests.support.body_defaults import BODY


def test_every_number_of_the_defaults_arrives() -> None:
    assert BODY.soma.bars.levels["curiosity"].decay_percent_per_hour == 22
    assert BODY.soma.bars.coupling[1].target == "comfort"
    assert BODY.soma.bars.conflicts["settle_or_search"].bars == ("curiosity", "comfort")
    assert BODY.soma.hormones.levels["oxytocin"].half_life_minutes == 45
    assert BODY.soma.noise.capacity == 8
    assert BODY.memory.imprint_recall_weight == 0.35
    assert BODY.memory.imprint_decay_half_life_seconds == 2592000
    assert BODY.affinity.low == 1.48
    assert BODY.memory.consolidation_interval == 7200
    assert BODY.scalar.familiarity_floor == 0.08


def test_the_body_has_what_the_settings_say() -> None:
    loaded = settings.load(flags={"soma.bars.levels.social.initial": 12.0})
    assert loaded.config.body.soma.bars.levels["social"].initial == 12.0


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("soma.noise.capacity", 8.5, "`soma.noise.capacity` must be a whole number"),
        ("soma.noise.capacity", True, "`soma.noise.capacity` must be a whole number"),
        ("soma.hormones.show_names", "yes", "`soma.hormones.show_names` must be true or false"),
        ("soma.ebb.quiet_below", None, "`soma.ebb.quiet_below` must be a number"),
        ("soma.bars.coupling", {}, "`soma.bars.coupling` must be a list"),
        ("soma.bars.impulses", [], "`soma.bars.impulses` is a section"),
        ("soma.bars.levels.social.initial", "x", "`soma.bars.levels.social.initial` must be a num"),
        ("soma.bars.levels.hunger", {}, "`soma.bars.levels.hunger` is not"),
        ("soma.bars.events", {"meal": {"hunger": -5}}, "`soma.bars.events.meal.hunger` is not"),
        ("soma.bars.idle_per_minute", {"hunger": -5}, "`soma.bars.idle_per_minute.hunger` is not"),
        ("soma.bars.conflicts", {"a": {"bars": ["hunger"]}}, "social, curiosity"),
        ("soma.bars.coupling", [{"source": "hunger"}], "`soma.bars.coupling.0..source` must be"),
        ("soma.hormones.events", {"fright": {"adrenaline": 1.0}}, "adrenaline` is not"),
        ("soma.affects.moods", [{"mood": 1}], r"`soma.affects.moods\[0\].mood` must be text"),
        ("soma.affects.moods", [{"mood": "giddy"}], 'neutral, not "giddy"'),
        ("memory.imprint_decay_half_life_seconds", 0, "half_life_seconds` must be a number of at"),
        ("recall.affinity.low", 0.5, "`recall.affinity.low` must be a number of at least 1"),
        ("soma.bars.circadian.amplitude", 1.5, "from 0 to 0.99"),
    ],
)
def test_a_setting_that_will_not_do_is_named(path: str, value: object, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        layers.from_flags({path: value})


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("soma.ebb.quiet_below", 0.9, "`soma.ebb` does not hold together: .*not be above"),
        ("soma.appraisal.affect_slope", 0.7, "`soma.appraisal` .* add up to 1 at most"),
        ("soma.bars.impulses.sing", {"bar": "social"}, "`soma.bars.impulses.sing.threshold` is m"),
    ],
)
def test_settings_that_do_not_go_together_are_named(path: str, value: object, problem: str) -> None:
    values = layers.merge(settings.load().values, layers.from_flags({path: value}))
    with pytest.raises(schema.ValueProblem, match=problem):
        schema.build(Config, values)


def test_a_setting_that_is_missing_is_named() -> None:
    values: dict[str, Any] = {**settings.load().values}
    memory = values["memory"]
    values["memory"] = {name: memory[name] for name in memory if name != "imprint_cap"}
    with pytest.raises(schema.ValueProblem, match=r"`memory.imprint_cap` is missing"):
        schema.build(Config, values)
