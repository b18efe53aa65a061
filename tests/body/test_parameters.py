from __future__ import annotations

import copy
from typing import Any

import pytest

from bumble.body import parameters
from tests.support.body_defaults import BODY, SETTINGS


def test_every_number_of_the_defaults_arrives() -> None:
    assert BODY.soma.bars.levels["curiosity"].decay_percent_per_hour == 22
    assert BODY.soma.bars.coupling[1].target == "comfort"
    assert BODY.soma.bars.conflicts["settle_or_search"].bars == ("curiosity", "comfort")
    assert BODY.soma.hormones.levels["oxytocin"].half_life_minutes == 45
    assert BODY.soma.noise.capacity == 8
    assert BODY.imprint.recall_weight == 0.35
    assert BODY.imprint.decay_half_life_seconds == 2592000
    assert BODY.affinity.low == 1.48
    assert BODY.fading.consolidation_interval == 7200
    assert BODY.scalar.familiarity_floor == 0.08


def test_settings_of_other_rooms_are_passed_over() -> None:
    soma = {**SETTINGS["soma"], "weather": {"enabled": False}}
    memory = {**SETTINGS["memory"], "palace": 10}
    assert parameters.read(soma, memory, SETTINGS["recall"]) == BODY


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("soma.noise.capacity", 8.5, "`soma.noise.capacity` is not a whole number"),
        ("soma.noise.capacity", True, "`soma.noise.capacity` is not a whole number"),
        ("soma.hormones.show_names", "yes", "`soma.hormones.show_names` is not true or false"),
        ("soma.ebb.quiet_below", None, "`soma.ebb.quiet_below` is not a number"),
        ("soma.bars.coupling", {}, "`soma.bars.coupling` is not a list"),
        ("soma.bars.impulses", [], "`soma.bars.impulses` is not a mapping"),
        ("soma.bars.levels.social.initial", "x", "`soma.bars.levels.social.initial` is not"),
        ("soma.bars.levels", {}, "soma.bars: `levels`|must name exactly"),
        ("soma.affects.moods", [{"mood": 1}], r"`soma.affects.moods\[0\].mood` is not text"),
        ("soma.ebb.quiet_below", 0.9, "soma.ebb: .*not above `high_from`"),
        ("memory.imprint_decay_half_life_seconds", 0, "memory: .*half-life"),
        ("recall.affinity.low", 0.5, "recall.affinity: .*at least 1"),
        ("soma.bars.circadian.amplitude", 1.5, r"soma.bars.circadian: .*in \[0, 1\)"),
    ],
)
def test_a_setting_that_will_not_do_is_named(path: str, value: object, problem: str) -> None:
    settings: Any = copy.deepcopy(SETTINGS)
    *parents, last = path.split(".")
    inner = settings
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    with pytest.raises(ValueError, match=problem):
        parameters.read(settings["soma"], settings["memory"], settings["recall"])


def test_a_setting_that_is_missing_is_named() -> None:
    settings: Any = copy.deepcopy(SETTINGS)
    del settings["memory"]["imprint_cap"]
    with pytest.raises(ValueError, match=r"`memory.imprint_cap` is missing"):
        parameters.read(settings["soma"], settings["memory"], settings["recall"])
