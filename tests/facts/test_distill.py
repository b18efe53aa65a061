from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from bumble.abilities.tiers import Abilities
from bumble.entity.folder import Entity
from bumble.facts import distill
from bumble.llm.scripted import ScriptedModel
from bumble.runtime.job import apply
from bumble.runtime.runtime import Runtime
from tests.support.talks import NOON, TALK, said
from tests.support.turns import Clock, runtime_of


def weak(entity: Entity, clock: Clock | None = None, model: ScriptedModel | None = None) -> Runtime:
    """Return a life whose model may not write."""
    runtime = runtime_of(entity, model or ScriptedModel([]), clock)
    return replace(runtime, abilities=Abilities("none"))


def at_one(entity: Entity, model: ScriptedModel) -> Runtime:
    """An hour after the talk began."""
    clock = Clock()
    clock.at = NOON + timedelta(hours=1)
    return weak(entity, clock, model)


def test_where_the_model_may_write_it_is_no_job_of_this_pass(ada: Entity) -> None:
    said(ada, TALK)
    assert not distill.check(runtime_of(ada, ScriptedModel([])), force=True).jobs


@pytest.mark.parametrize(("intensity", "turns"), [(0.0, 6), (0.6, 6), (0.8, 5), (1.0, 4)])
def test_the_more_is_felt_the_fewer_turns_are_enough(
    ada: Entity, intensity: float, turns: int
) -> None:
    config = weak(ada).config.memory.distillation
    assert distill.turns_needed(intensity, config) == turns


def talk_of(turns: int) -> Sequence[tuple[str, str]]:
    return [
        (who, f"{word} {n}") for n in range(turns) for who, word in (("Sam", "a"), ("Ada", "b"))
    ]


@pytest.mark.parametrize(
    ("turns", "minutes", "due"),
    [(3, 60, False), (4, 60, True), (4, 2, False), (6, 2, True), (5, 4, False)],
)
def test_due_is_time_or_turns_in_a_talk_deep_enough(
    ada: Entity, turns: int, minutes: int, due: bool
) -> None:
    said(ada, talk_of(turns))
    clock = Clock()
    clock.at = NOON + timedelta(minutes=1 + minutes)
    found = distill.check(weak(ada, clock))
    assert found.due is due
    names = [gate.name for gate in found.conditions]
    assert names == ["enabled", "new turns", "time or turns", "depth", "urgency"]


def test_a_time_that_a_wrong_clock_left_far_ahead_is_not_waited_for(ada: Entity) -> None:
    said(ada, talk_of(4))
    with ada.state.open("a") as file:
        file.write("distill:\n  ses_1: {at: 2099-01-01T00:00:00+00:00, hash: x}\n")
    assert distill.check(weak(ada)).due


def test_nothing_is_due_where_nobody_spoke_or_it_is_switched_off(ada: Entity) -> None:
    assert not distill.check(weak(ada)).due
    said(ada, TALK)
    settings = ada.file.read_text(encoding="utf-8")
    ada.file.write_text(f"{settings}\nmemory: {{distillation: {{enabled: false}}}}\n", "utf-8")
    assert not distill.check(at_one(ada, ScriptedModel([]))).due


def test_a_long_talk_is_cut_into_windows_and_an_open_question_waits(ada: Entity) -> None:
    long = [(who, text * 40) for who, text in TALK] * 3
    said(ada, [*long, ("Sam", "Are you there?")])
    found = distill.check(at_one(ada, ScriptedModel([])))
    assert len(found.jobs) > 1
    assert found.jobs[-1].last == "msg_024"
    assert [one.first for one in found.jobs[1:]] > [one.last for one in found.jobs[:-1]]


def test_a_model_that_is_not_trusted_draws_nothing(ada: Entity) -> None:
    said(ada, TALK)
    model = ScriptedModel([], name="embedded:smollm2-135m")
    runtime = at_one(ada, model)
    [job] = distill.check(runtime).jobs
    outcome = distill.run(runtime, job)
    apply(runtime, outcome)
    assert "by form" in outcome.lines[0]
    assert model.requests == []
    assert not outcome.asked
