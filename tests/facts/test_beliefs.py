from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.facts import belief_conflicts, beliefs
from bumble.facts.beliefs import Claim
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import beliefs as store
from bumble.records.base import Provenance
from bumble.records.beliefs import Belief
from bumble.runtime.runtime import Runtime
from tests.support.talks import NOON
from tests.support.turns import life_of

SAM = Provenance(by="distill", trust="owner", audience=("sam",))
JO = Provenance(by="distill", trust="person", audience=("jo",))


def hold(
    life: Runtime, name: str, text: str, category: str = "preference", **fields: Any
) -> Belief:
    origin = fields.pop("provenance", SAM)
    confidence = fields.pop("confidence", 0.6)
    one = store.new(name, text, category, confidence, NOON, provenance=origin, **fields)
    life.apply(ChangeSet("", (store.plan_new(one, ""),)))
    return one


def claim(text: str, name: str = "bel_new", category: str = "preference", **fields: Any) -> Claim:
    made = Claim(name, text, category, 0.7, ("msg_9",), "conversation", SAM)
    return replace(made, **fields)


def judging(*pairs: dict[str, object]) -> ScriptedModel:
    return ScriptedModel(
        [Reply(json.dumps({"pairs": list(pairs)}), purpose=belief_conflicts.PURPOSE)]
    )


def take(life: Runtime, *claims: Claim, days: float = 0) -> dict[str, Belief]:
    life.memory.sync()
    weighed = belief_conflicts.weigh(life, claims)
    planned = beliefs.plan_claims(life, weighed, NOON + timedelta(days=days))
    life.apply(ChangeSet("", tuple(planned)))
    return {one.id: one for one in store.read(life.entity.beliefs)}


@pytest.fixture
def life(ada: Entity) -> Runtime:
    return life_of(ada, ScriptedModel([]))


@pytest.mark.parametrize(
    ("category", "days"),
    [("correction", 365), ("preference", 180), ("world_fact", 90), ("dream_insight", 21)],
)
def test_confidence_halves_toward_the_floor(life: Runtime, category: str, days: int) -> None:
    config = life.config.memory.beliefs
    one = hold(life, "bel_1", "Tea is good.", category, confidence=0.85)
    assert beliefs.strength(one, NOON, config) == 0.85
    assert beliefs.strength(one, NOON + timedelta(days=days), config) == pytest.approx(0.45)
    assert beliefs.strength(one, NOON - timedelta(days=9), config) == 0.85
    assert beliefs.strength(one, NOON + timedelta(days=9999), config) == pytest.approx(
        0.05, abs=1e-3
    )


def test_what_is_below_the_floor_does_not_rise(life: Runtime) -> None:
    one = hold(life, "bel_1", "Tea is good.", confidence=0.02)
    later = NOON + timedelta(days=900)
    assert beliefs.strength(one, later, life.config.memory.beliefs) == 0.02


def stored(life: Runtime, belief_id: str) -> Belief:
    [belief] = [one for one in store.read(life.entity.beliefs) if one.id == belief_id]
    return belief


@pytest.mark.parametrize(("by", "after"), [("user", 0.7), ("extracted", 0.66), ("dream", 0.64)])
def test_a_confirmation_counts_by_who_made_it(life: Runtime, by: str, after: float) -> None:
    one = hold(life, "bel_1", "Tea is good.", confidence=0.6)
    change = beliefs.plan_confirm(one, by, NOON, life.config.memory.beliefs)
    assert change is not None
    life.apply(ChangeSet("", (change,)))
    assert stored(life, "bel_1").confidence == pytest.approx(after)


def test_no_number_of_confirmations_makes_certain(life: Runtime) -> None:
    one = hold(life, "bel_1", "Tea is good.")
    for _ in range(60):
        change = beliefs.plan_confirm(one, "user", NOON, life.config.memory.beliefs)
        if change is not None:
            life.apply(ChangeSet("", (change,)))
        one = stored(life, "bel_1")
    assert one.confidence == 0.99


def test_a_confirmation_starts_from_what_is_left(life: Runtime) -> None:
    one = hold(life, "bel_1", "Tea is good.", confidence=0.85)
    later = NOON + timedelta(days=180)
    change = beliefs.plan_confirm(one, "user", later, life.config.memory.beliefs)
    assert change is not None
    life.apply(ChangeSet("", (change,)))
    found = stored(life, "bel_1")
    assert found.confidence == pytest.approx(1 - 0.55 * 0.75, abs=1e-4)
    assert found.reinforced == later


def test_the_same_evidence_confirms_only_once(life: Runtime) -> None:
    hold(life, "bel_1", "Sam likes tea", evidence=("msg_9",))
    assert take(life, claim("Sam likes tea."))["bel_1"].confidence == 0.6


def test_the_same_words_confirm_without_a_model(life: Runtime) -> None:
    hold(life, "bel_1", "Sam likes tea", evidence=("msg_1",))
    held = take(life, claim("sam likes  tea."))
    assert list(held) == ["bel_1"]
    assert held["bel_1"].confidence == pytest.approx(0.66)
    assert held["bel_1"].evidence == ("msg_1", "msg_9")


def test_what_is_trusted_less_makes_nobody_s_word_firmer(life: Runtime) -> None:
    hold(life, "bel_1", "Sam likes tea", evidence=("msg_1",))
    before = {one.id: one for one in store.read(life.entity.beliefs)}
    less = replace(SAM, trust="entity")
    assert take(life, claim("Sam likes tea.", provenance=less)) == before


def test_nearly_the_same_words_confirm_when_nobody_can_judge(life: Runtime) -> None:
    hold(life, "bel_1", "Sam has a dog called Biscuit.", "world_fact")
    held = take(life, claim("Sam has a dog, called Biscuit now.", category="world_fact"))
    assert list(held) == ["bel_1"]


@pytest.mark.parametrize(
    "text",
    [
        "Sam has a dog called Rex.",
        "Sam has no dog called Biscuit.",
        "Sam has two dogs called Biscuit.",
        "Sam lives in Lisbon.",
    ],
)
def test_what_is_only_alike_is_a_belief_of_its_own(life: Runtime, text: str) -> None:
    hold(life, "bel_1", "Sam has a dog called Biscuit.", "world_fact")
    held = take(life, claim(text, category="world_fact"))
    assert set(held) == {"bel_1", "bel_new"}
    assert held["bel_1"].confidence == 0.6


def test_the_same_words_in_another_category_are_another_belief(life: Runtime) -> None:
    hold(life, "bel_1", "Sam likes tea")
    assert len(take(life, claim("Sam likes tea", category="world_fact"))) == 2


def test_a_model_tells_that_two_wordings_are_one_claim(ada: Entity) -> None:
    model = judging({"new": "a", "held": 1, "verdict": "same"})
    life = life_of(ada, model)
    hold(life, "bel_1", "Sam is fond of tea")
    held = take(life, claim("Sam likes tea"))
    assert list(held) == ["bel_1"]
    assert len(model.requests) == 1
    assert "1. Sam is fond of tea" in model.requests[0].messages[-1].content


def test_a_contradiction_of_the_same_person_weakens_the_older_and_links_both(ada: Entity) -> None:
    life = life_of(ada, judging({"new": "a", "held": 1, "verdict": "contradicts"}))
    hold(life, "bel_1", "Sam likes cilantro")
    held = take(life, claim("Sam hates cilantro"))
    assert held["bel_1"].confidence == pytest.approx(0.36)
    assert held["bel_1"].contradicts == ("bel_new",)
    assert held["bel_new"].confidence == 0.7
    assert held["bel_new"].contradicts == ("bel_1",)
    config = life.config.memory.beliefs
    assert beliefs.superseded(held["bel_1"], held, NOON, config) is False  # formed together
    later = NOON + timedelta(minutes=1)
    newer = replace(held["bel_new"], formed=later)
    assert beliefs.superseded(held["bel_1"], {"bel_new": newer}, later, config)


def test_a_contradiction_between_people_weakens_both(ada: Entity) -> None:
    life = life_of(ada, judging({"new": "a", "held": 1, "verdict": "contradicts"}))
    both = Provenance(by="distill", audience=("sam", "jo"))
    hold(life, "bel_1", "Sam likes cilantro", provenance=both)
    stranger = claim("Sam hates cilantro", provenance=JO)
    held = take(life, replace(stranger, provenance=replace(JO, audience=("jo",))))
    assert held["bel_1"].confidence == pytest.approx(0.36)


def test_a_verdict_on_what_has_nothing_in_common_is_noise(ada: Entity) -> None:
    life = life_of(ada, judging({"new": "a", "held": 1, "verdict": "contradicts"}))
    hold(life, "bel_1", "Sam plays chess")
    held = take(life, claim("Sam hates cilantro"))
    assert held["bel_1"].confidence == 0.6
    assert held["bel_new"].contradicts == ()


def test_what_was_said_to_others_is_neither_shown_nor_touched(ada: Entity) -> None:
    model = judging({"new": "a", "held": 1, "verdict": "same"})
    life = life_of(ada, model)
    hold(life, "bel_1", "Sam likes tea", provenance=JO)
    held = take(life, claim("Sam likes tea"))
    assert set(held) == {"bel_1", "bel_new"}
    assert model.requests == []


def test_two_claims_that_say_the_same_are_one_belief(life: Runtime) -> None:
    held = take(
        life,
        claim("Sam likes tea", evidence=("msg_1",)),
        claim("Sam likes tea.", "bel_2", evidence=("msg_2",)),
    )
    assert list(held) == ["bel_new"]
    assert held["bel_new"].evidence == ("msg_1", "msg_2")


def test_planning_again_plans_the_same(life: Runtime) -> None:
    hold(life, "bel_1", "Sam likes tea")
    claims = [claim("Sam likes tea"), claim("Sam plays chess", "bel_2")]
    first = beliefs.plan_claims(life, claims, NOON)
    assert beliefs.plan_claims(life, claims, NOON) == first
    life.apply(ChangeSet("", tuple(first)))
    assert beliefs.plan_claims(life, claims, NOON) == []


def test_faded_beliefs_are_put_away_once_and_come_back_when_confirmed(life: Runtime) -> None:
    config = life.config.memory.beliefs
    hold(life, "bel_1", "Tides dream.", "dream_insight", confidence=0.35)
    hold(life, "bel_2", "Sam likes tea")
    later = NOON + timedelta(days=60)
    held = list(store.read(life.entity.beliefs))
    planned = beliefs.archive_check(held, later, config)
    assert [one.path for one in planned] == ["beliefs/bel_1.md"]
    life.apply(ChangeSet("", tuple(planned)))
    held = list(store.read(life.entity.beliefs))
    assert beliefs.archive_check(held, later, config) == []
    assert take(life, claim("Tides dream.", category="dream_insight"))["bel_1"].archived is False


def test_where_all_is_alike_near_is_nearer(life: Runtime, tmp_path: Path) -> None:
    for n in range(12):
        hold(life, f"bel_{n}", f"Sam repaired an old valve radio from the fifties, number {n}")
    held = list(store.read(life.entity.beliefs))
    assert belief_conflicts._limit(life, held[:3]) == belief_conflicts.NEAR
    assert belief_conflicts._limit(life, held) > belief_conflicts.NEAR
