from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.records import soma as store
from bumble.runtime import body_state
from bumble.runtime.job import apply
from tests.support.turns import NOON, Clock, runtime_of


def test_time_is_applied_once_however_often_it_is_written(ada: Entity) -> None:
    stepping, leaping = Clock(), Clock()
    runtime = runtime_of(ada, ScriptedModel([]), stepping)
    apply(runtime, body_state.run_tick(runtime, body_state.check_tick(runtime).jobs[0]))
    born = ada.soma.read_bytes()
    leaping.at = NOON + timedelta(hours=9)
    whole = body_state.read(runtime_of(ada, ScriptedModel([]), leaping), leaping.at)
    for hour in (1, 4, 9):
        stepping.at = NOON + timedelta(hours=hour)
        apply(runtime, body_state.run_tick(runtime, body_state.check_tick(runtime).jobs[0]))
    assert ada.soma.read_bytes() != born
    stepped = body_state.read(runtime, leaping.at)
    for name, bar in whole.bars.levels.items():
        assert stepped.bars.value(name) == pytest.approx(bar.value, rel=0.01)


def test_a_clock_that_went_back_sets_only_the_time(ada: Entity) -> None:
    clock = Clock()
    runtime = runtime_of(ada, ScriptedModel([]), clock)
    apply(runtime, body_state.run_tick(runtime, body_state.check_tick(runtime).jobs[0]))
    clock.at = NOON - timedelta(days=1)
    before = store.read(ada.soma).get("hormones", "dopamine")
    found = body_state.check_tick(runtime)
    assert found.conditions[0].value == "0 s old"
    apply(runtime, body_state.run_tick(runtime, found.jobs[0]))
    assert str(store.read(ada.soma).get("bars", "at")).startswith("2026-05-23")
    assert store.read(ada.soma).get("hormones", "dopamine") == before
    assert not body_state.check_tick(replace(runtime, clock=lambda: found.jobs[0])).due
