from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.recall import belief_strength
from bumble.recall.belief_strength import Claim, Verdict
from bumble.records import beliefs as store
from bumble.records import knowledge
from bumble.records.base import Provenance
from bumble.records.beliefs import Belief
from bumble.runtime.runtime import Runtime
from tests.support.talks import NOON
from tests.support.turns import runtime_of

SAM = Provenance(by="distill", trust="owner", audience=("sam",))
AGAINST: dict[str, Verdict] = {"bel_1": "contradicts"}


def hold(
    runtime: Runtime, name: str, text: str, category: str = "preference", **fields: Any
) -> Belief:
    origin = fields.pop("provenance", SAM)
    confidence = fields.pop("confidence", 0.6)
    one = store.new(name, text, category, confidence, NOON, provenance=origin, **fields)
    runtime.apply(ChangeSet("", (store.BELIEF.plan_new(one, ""),)))
    return one


def claim(text: str, name: str = "bel_new", category: str = "preference", **fields: Any) -> Claim:
    made = Claim(name, text, category, 0.7, ("msg_9",), "conversation", SAM)
    return replace(made, **fields)


def take(runtime: Runtime, *claims: Claim, days: float = 0) -> dict[str, Belief]:
    planned = belief_strength.plan_claims(runtime, claims, NOON + timedelta(days=days))
    runtime.apply(ChangeSet("", tuple(planned)))
    return {one.id: one for one in store.BELIEF.readable(runtime.entity.beliefs)}


@pytest.fixture
def runtime(ada: Entity) -> Runtime:
    return runtime_of(ada, ScriptedModel([]))


@pytest.mark.parametrize(
    ("category", "days"),
    [("correction", 365), ("preference", 180), ("world_fact", 90), ("dream_insight", 21)],
)
def test_confidence_halves_toward_the_floor(runtime: Runtime, category: str, days: int) -> None:
    one = hold(runtime, "bel_1", "Tea is good.", category, confidence=0.85)
    assert belief_strength.strength(one, NOON) == 0.85
    assert belief_strength.strength(one, NOON + timedelta(days=days)) == pytest.approx(0.45)
    assert belief_strength.strength(one, NOON - timedelta(days=9)) == 0.85
    assert belief_strength.strength(one, NOON + timedelta(days=9999)) == pytest.approx(
        0.05, abs=1e-3
    )


def stored(runtime: Runtime, belief_id: str) -> Belief:
    [belief] = [one for one in store.BELIEF.readable(runtime.entity.beliefs) if one.id == belief_id]
    return belief


@pytest.mark.parametrize(("by", "after"), [("user", 0.7), ("extracted", 0.66), ("dream", 0.64)])
def test_a_confirmation_counts_by_who_made_it(runtime: Runtime, by: str, after: float) -> None:
    one = hold(runtime, "bel_1", "Tea is good.", confidence=0.6)
    change = belief_strength.plan_confirm(one, by, NOON)
    assert change is not None
    runtime.apply(ChangeSet("", (change,)))
    assert stored(runtime, "bel_1").confidence == pytest.approx(after)


def test_a_confirmation_starts_from_what_is_left(runtime: Runtime) -> None:
    one = hold(runtime, "bel_1", "Tea is good.", confidence=0.85)
    later = NOON + timedelta(days=180)
    change = belief_strength.plan_confirm(one, "user", later)
    assert change is not None
    runtime.apply(ChangeSet("", (change,)))
    found = stored(runtime, "bel_1")
    assert found.confidence == pytest.approx(1 - 0.55 * 0.75, abs=1e-4)
    assert found.reinforced == later


def test_the_same_evidence_confirms_only_once(runtime: Runtime) -> None:
    hold(runtime, "bel_1", "Sam likes tea", evidence=("msg_9",))
    assert take(runtime, claim("Sam likes tea."))["bel_1"].confidence == 0.6


def test_a_model_tells_that_two_wordings_are_one_claim(runtime: Runtime) -> None:
    hold(runtime, "bel_1", "Sam is fond of tea")
    held = take(runtime, claim("Sam likes tea", verdicts={"bel_1": "same"}))
    assert list(held) == ["bel_1"]


def test_a_contradiction_of_the_same_person_weakens_the_older_and_links_both(
    runtime: Runtime,
) -> None:
    hold(runtime, "bel_1", "Sam likes cilantro")
    held = take(runtime, claim("Sam hates cilantro", verdicts=AGAINST))
    assert held["bel_1"].confidence == pytest.approx(0.36)
    assert held["bel_1"].contradicts == ("bel_new",)
    assert held["bel_new"].confidence == 0.7
    assert held["bel_new"].contradicts == ("bel_1",)
    assert belief_strength.superseded(held["bel_1"], held, NOON) is False  # formed together
    later = NOON + timedelta(minutes=1)
    newer = replace(held["bel_new"], formed=later)
    assert belief_strength.superseded(held["bel_1"], {"bel_new": newer}, later)


def test_two_claims_that_say_the_same_are_one_belief(runtime: Runtime) -> None:
    held = take(
        runtime,
        claim("Sam likes tea", evidence=("msg_1",)),
        claim("Sam likes tea.", "bel_2", evidence=("msg_2",)),
    )
    assert list(held) == ["bel_new"]
    assert held["bel_new"].evidence == ("msg_1", "msg_2")


def test_faded_beliefs_are_put_away_once_and_come_back_when_confirmed(runtime: Runtime) -> None:
    hold(runtime, "bel_1", "Tides dream.", "dream_insight", confidence=0.35)
    hold(runtime, "bel_2", "Sam likes tea")
    later = NOON + timedelta(days=60)
    held = list(store.BELIEF.readable(runtime.entity.beliefs))
    planned = belief_strength.archive_check(held, later)
    assert [one.path for one in planned] == ["beliefs/bel_1.md"]
    runtime.apply(ChangeSet("", tuple(planned)))
    held = list(store.BELIEF.readable(runtime.entity.beliefs))
    assert belief_strength.archive_check(held, later) == []
    assert take(runtime, claim("Tides dream.", category="dream_insight"))["bel_1"].archived is False


def test_a_correction_stands_where_the_sentence_stood_that_it_replaces() -> None:
    old = "Sam's piano is black. It stands in the hallway. Odete tunes it.\n\nIt has a tea stain."
    new = knowledge.corrected(old, "It stands in the living room.", ["It stands in the hallway."])
    assert new == old.replace("hallway", "living room")
    assert knowledge.corrected("Dot keeps hens.", "Kim rows.") == "Dot keeps hens.\nKim rows."
    piano = knowledge.corrected(
        "ピアノは黒い。廊下にある。古い。", "居間にある。", ["廊下にある。"]
    )
    assert piano == "ピアノは黒い。居間にある。古い。"


def test_what_is_about_the_same_thing_takes_no_other_sentence_away() -> None:
    assert "eighty" in knowledge.corrected("Odete is eighty.", "Odete sings.")
    assert "trumpet" in knowledge.corrected("Bero plays the trumpet.", "Bero plays chess.")
    again = knowledge.corrected("Odete sings.", "Odete sings in a choir.")
    assert again == "Odete sings in a choir."
