from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.entity import layers
from bumble.entity.config import Config
from bumble.errors import SettingInvalidError, UsageError
from bumble.text import schema

NAMES = st.sampled_from(["a", "b", "c", "d"])
LEAVES = (
    st.integers() | st.text("xyz", max_size=3) | st.lists(st.integers(), max_size=2) | st.booleans()
)
TREES = st.dictionaries(
    NAMES, st.recursive(LEAVES, lambda below: st.dictionaries(NAMES, below, max_size=3))
)


@st.composite
def trees_of_one_shape(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Three trees in which a name leads to a section in all or in none, as settings do."""

    def tree(shape: Any) -> dict[str, Any]:
        kept = [name for name in shape if draw(st.booleans())]
        return {n: tree(shape[n]) if isinstance(shape[n], dict) else draw(LEAVES) for n in kept}

    shape = draw(TREES)
    return [tree(shape), tree(shape), tree(shape)]


@given(TREES, TREES)
def test_every_value_of_the_upper_layer_shows(lower: Any, upper: Any) -> None:
    merged = layers.merge(lower, upper)
    for keys, value in layers.leaves(upper):
        at: Any = merged
        for key in keys:
            at = at[key]
        assert at == value or value == {}  # an empty section takes nothing away


@given(trees_of_one_shape())
def test_a_value_shows_through_where_the_upper_layer_has_none(trees: list[Any]) -> None:
    lower, upper, _ = trees
    merged = dict(layers.leaves(layers.merge(lower, upper)))
    above = dict(layers.leaves(upper))
    for keys, value in layers.leaves(lower):
        if value != {}:
            assert repr(merged[keys]) == repr(above.get(keys, value))


def test_the_environment_is_read_by_type() -> None:
    environ = {
        "BUMBLE_LLM_MODEL": "4",
        "BUMBLE_MEMORY_MAX_RECALL_RESULTS": "4",
        "BUMBLE_SOMA_DREAMS_DREAM_HOURS": "[22, 23]",
        "BUMBLE_SOMA_BARS_LEVELS_TENSION_INITIAL": "2.5",
        "BUMBLE_LIMITS_TOKENS_PER_DAY": "null",
    }
    assert layers.from_environment(environ) == {
        "llm": {"model": "4"},
        "memory": {"max_recall_results": 4},
        "soma": {
            "dreams": {"dream_hours": [22, 23]},
            "bars": {"levels": {"tension": {"initial": 2.5}}},
        },
        "limits": {"tokens_per_day": None},
    }


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("on", True), ("true", True), ("No", False), ("0", False)]
)
def test_a_switch_takes_what_shells_are_used_to(text: str, value: bool) -> None:
    assert layers.from_environment({"BUMBLE_OUTPUT_USAGE": text}) == {"output": {"usage": value}}


@pytest.mark.parametrize("text", ["many", "0", "3.5", "[1", "{a: b}"])
def test_a_wrong_value_in_the_environment_names_the_variable(text: str) -> None:
    with pytest.raises(SettingInvalidError) as raised:
        layers.from_environment({"BUMBLE_MEMORY_MAX_RECALL_RESULTS": text})
    assert "environment BUMBLE_MEMORY_MAX_RECALL_RESULTS: " in str(raised.value)
    assert "a whole number of at least 1" in str(raised.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"memory.max_recal_results": 3}, "did you mean `memory.max_recall_results`?"),
        ({"memory.max_recall_results": "3"}, "must be a whole number"),
        ({"nonsense": 3}, "`nonsense` is not a setting"),
        ({"": 3}, "`` is not a setting"),
    ],
)
def test_a_wrong_flag_is_a_wrong_call(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        layers.from_flags(flags)
    assert said in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("keys", "meant"),
    [
        (("memry",), "memory"),
        (("timzone",), "timezone"),
        (("memory", "relational", "score_derivaton"), "memory.relational.score_derivation"),
        (("dreams",), "soma.dreams"),
        (("memory", "dreams"), "soma.dreams"),
        (("max_context_token",), "cognition.max_context_tokens"),
        (("cognition", "compaction_protect_last_n"), "compaction_protect_last_n"),
        (("dreams", "enabled"), "soma.dreams"),
        (("gate", "enabled"), "cognition.gate"),
    ],
)
def test_an_unknown_key_names_the_nearest_right_one(keys: tuple[str, ...], meant: str) -> None:
    value: Any = 1
    for key in reversed(keys):
        value = {key: value}
    with pytest.raises(schema.UnknownKeyProblem) as raised:
        schema.check(Config, value)
    assert f"{meant}`?" in layers.sentence(raised.value)
