from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bumble.body import appraisal
from bumble.body.soma import FeltLine
from tests.support.body_defaults import BORN, NOON

ANSWER: dict[str, Any] = {
    "bars": {"social": 4, "curiosity": 6, "creative": 0, "tension": -3, "comfort": 2},
    "affects": ["Amused", "a little proud"],
    "felt": "a quick bright tug,\nlike a kite",
    "imprint": {"emotion": "amused", "intensity": 0.6, "trigger": "the bee joke"},
}


def test_the_schema_is_valid_and_accepts_a_whole_answer_only() -> None:
    schema = appraisal.form()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid(ANSWER)
    assert not validator.is_valid({**ANSWER, "bars": {**ANSWER["bars"], "social": 11}})
    assert not validator.is_valid({**ANSWER, "affects": ["x"] * 9})
    assert not validator.is_valid({name: ANSWER[name] for name in ("bars", "felt")})


def test_what_is_too_much_is_clamped() -> None:
    wild = {
        "bars": {"social": 99, "tension": -1e9, "hunger": 5},
        "affects": [f"feeling {n}" for n in range(12)] + ["", "feeling 0"],
        "felt": "x" * 500,
        "imprint": {"emotion": "ANXIOUS ", "intensity": 7, "trigger": "y" * 300},
    }
    found = appraisal.parse(wild)
    assert found.points == {
        "social": 10, "curiosity": 0, "creative": 0, "tension": -10, "comfort": 0,
    }  # fmt: skip
    assert len(found.affects) == 8
    assert len(found.felt) == 200
    assert found.imprint is not None
    assert (found.imprint.emotion, found.imprint.intensity) == ("anxious", 1.0)
    assert len(found.imprint.trigger) == 120


def test_a_neutral_or_absent_imprint_leaves_nothing() -> None:
    neutral = {"emotion": "neutral", "intensity": 0.9, "trigger": ""}
    assert appraisal.parse({**ANSWER, "imprint": neutral}).imprint is None
    assert appraisal.parse({"bars": {}}).imprint is None


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        ("fine, thanks", "appraisal"),
        ([ANSWER], "appraisal"),
        ({"felt": "warm"}, "appraisal.bars"),
        ({**ANSWER, "bars": [1, 2]}, "appraisal.bars"),
        ({**ANSWER, "bars": {"social": "4"}}, "appraisal.bars.social"),
        ({**ANSWER, "bars": {"social": True}}, "appraisal.bars.social"),
        ({**ANSWER, "bars": {"social": math.nan}}, "appraisal.bars.social"),
        ({**ANSWER, "bars": {"social": math.inf}}, "appraisal.bars.social"),
        ({**ANSWER, "affects": "amused"}, "appraisal.affects"),
        ({**ANSWER, "affects": [3]}, "appraisal.affects[0]"),
        ({**ANSWER, "felt": None}, "appraisal.felt"),
        ({**ANSWER, "imprint": {"emotion": "giddy", "intensity": 1}}, "imprint.emotion"),
        ({**ANSWER, "imprint": {"emotion": "amused"}}, "appraisal.imprint.intensity"),
    ],
)
def test_an_answer_that_cannot_be_used_names_the_field(broken: object, field: str) -> None:
    with pytest.raises(ValueError, match="`" + field.replace("[", r"\[") + "`"):
        appraisal.parse(broken)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["bars", "social", "affects", "felt", "imprint", "emotion"]), inner
        )
    ),
    max_leaves=10,
)


@given(JSON)
def test_any_answer_is_read_or_refused(answer: object) -> None:
    try:
        found = appraisal.parse(answer)
    except ValueError:
        return
    assert all(-10 <= points <= 10 for points in found.points.values())
    assert len(found.affects) <= 8


def test_an_appraisal_moves_bars_hormones_and_affects_together() -> None:
    found = appraisal.parse(ANSWER)
    moved = appraisal.apply(BORN, found)
    assert moved.bars.value("social") == pytest.approx(52)  # headroom of one half
    assert moved.bars.value("tension") == pytest.approx(12)
    assert moved.hormones.levels["dopamine"] > BORN.hormones.levels["dopamine"]
    assert moved.hormones.levels["cortisol"] == 0.0
    strength = 0.4 + 0.5 * 15 / 40
    assert [affect.name for affect in moved.affects] == ["a-little-proud", "amused"]
    assert [affect.intensity for affect in moved.affects] == pytest.approx([strength] * 2)
    assert moved.felt == FeltLine("a quick bright tug, like a kite", NOON)
