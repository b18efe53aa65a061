from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from bumble.entity.config import OutputConfig, Persona
from bumble.text import schema
from bumble.text.schema import TIME_ZONE


class Leg(Struct, frozen=True, forbid_unknown_fields=True):
    joints: Annotated[int, Meta(ge=1, le=7)]
    kind: Literal["walking", "jumping"]


class Insect(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    legs: tuple[Leg, ...]
    weight: float
    flies: bool
    wings: tuple[int, ...]
    habits: Mapping[str, Annotated[float, Meta(ge=0, le=1)]]
    home: str | None
    zone: Annotated[str, TIME_ZONE] = "UTC"

    def __post_init__(self) -> None:
        if self.flies and not self.wings:
            raise ValueError("nothing flies without wings")


BEE: dict[str, Any] = {
    "name": "bumble",
    "legs": [{"joints": 5, "kind": "walking"}],
    "weight": 1,
    "flies": True,
    "wings": [2, 2],
    "habits": {"humming": 0.9},
    "home": None,
}


def test_a_right_value_builds_a_frozen_value() -> None:
    bee = schema.build(Insect, BEE)
    assert bee.legs == (Leg(5, "walking"),)
    assert (bee.weight, type(bee.weight)) == (1.0, float)
    assert (bee.home, bee.zone) == (None, "UTC")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": 4}, "`name` must be text, not 4"),
        ({"name": None}, "`name` must be text, not empty"),
        ({"weight": "heavy"}, '`weight` must be a number, not "heavy"'),
        ({"weight": True}, "`weight` must be a number, not true"),
        ({"weight": float("nan")}, "`weight` must be a number, not nan"),
        ({"flies": "yes"}, '`flies` must be true or false, not "yes"'),
        ({"flies": 1}, "`flies` must be true or false, not 1"),
        ({"wings": [1, "x"]}, '`wings[1]` must be a whole number, not "x"'),
        ({"habits": {"humming": 2}}, "`habits.humming` must be a number from 0 to 1, not 2"),
        ({"habits": [1]}, "`habits` is a section of `key: value` lines, not [1]"),
        ({"habits": {3: 0.5}}, "`habits` holds the key 3, which is not text; quote it"),
        ({"legs": [{"joints": 0}]}, "`legs[0].joints` must be a whole number from 1 to 7, not 0"),
        (
            {"legs": [{"joints": 2.0}]},
            "`legs[0].joints` must be a whole number from 1 to 7, not 2.0",
        ),
        ({"legs": [{"joints": 2}]}, "`legs[0].kind` is missing"),
        ({"legs": "six"}, '`legs` must be a list (each a section), not "six"'),
        ({"zone": "Mars/Base"}, "that names a time zone, like Europe/Berlin, not"),
        ({"zone": "../../etc/passwd"}, "that names a time zone"),
        ({"tail": 1}, "`tail` is not known"),
    ],
)
def test_a_wrong_value_is_told_with_its_place_and_what_is_allowed(
    change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(schema.ValueProblem) as raised:
        schema.check(Insect, {**BEE, **change})
    assert problem in str(raised.value)


def test_only_a_whole_value_must_have_every_field() -> None:
    schema.check(Insect, {"name": "bee"})
    with pytest.raises(schema.ValueProblem, match="`legs` is missing"):
        schema.build(Insect, {"name": "bee"})


def test_the_type_of_a_field_is_found_by_its_path() -> None:
    assert schema.at(Insect, ("name",)) is str
    assert schema.bare(schema.at(Insect, ("habits", "anything")))[0] is float
    for path in [("nam",), ("name", "deeper"), ("colours", "tail")]:
        with pytest.raises(schema.UnknownKeyProblem):
            schema.at(Insect, path)


def test_settings_are_values_that_nothing_changes() -> None:
    output = OutputConfig(usage=True, reasoning=False)
    assert output == OutputConfig(True, False) != OutputConfig(False, False)
    assert hash(output) == hash(OutputConfig(True, False))
    with pytest.raises(AttributeError):
        output.usage = True  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del output.usage
    assert Persona().traits == {}
