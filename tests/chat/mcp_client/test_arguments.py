from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bumble.chat import mcp_servers


def of(properties: Any, *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


def test_a_plain_schema_keeps_what_a_grammar_can_hold_to() -> None:
    made = mcp_servers.closed(
        of(
            {
                "city": {"type": "string", "format": "city", "pattern": "^x", "title": "City"},
                "days": {"type": "integer", "minimum": 1, "default": 3, "description": "How\nmany"},
                "tags": {"type": "array", "items": {"enum": ["a", "b", None]}, "maxItems": 2},
                "place": {"type": "object", "properties": {"x": {"type": "number"}}},
            },
            "city",
        )
    )
    assert made["required"] == ["city"]
    assert made["additionalProperties"] is False
    assert made["properties"] == {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "description": "How many"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
        "place": {**of({"x": {"type": "number"}}), "additionalProperties": False},
    }


def test_references_and_what_may_be_null_are_followed() -> None:
    unit = {"$ref": "#/$defs/Unit", "description": "Which"}
    may = {"anyOf": [{"type": "null"}, {"type": "integer"}]}
    made = mcp_servers.closed(
        of({"unit": unit, "may": may, "kinds": {"type": ["null", "string"]}})
        | {"$defs": {"Unit": {"const": "C"}}}
    )
    assert made["properties"] == {
        "unit": {"enum": ["C"], "description": "Which"},
        "may": {"type": "integer"},
        "kinds": {"type": "string"},
    }


def test_what_can_not_be_asked_is_left_out_if_it_need_not_be_given() -> None:
    free = {"type": "object"}
    made = mcp_servers.closed(of({"free": free, "x": {"type": "string"}}))
    assert made["properties"].keys() == {"x"}
    with pytest.raises(ValueError, match="its argument free can"):
        mcp_servers.closed(of({"free": free}, "free"))
    with pytest.raises(ValueError, match="its argument x can"):
        mcp_servers.closed(of({}, "x"))


@pytest.mark.parametrize(
    "schema",
    [
        of({"x": {"$ref": "#/$defs/X"}}, "x", **{"$defs": {"X": {"$ref": "#/$defs/X"}}}),
        of(
            {"x": {"$ref": "#/$defs/X"}},
            "x",
            **{"$defs": {"X": of({"a": {"$ref": "#/$defs/X"}, "b": {"$ref": "#/$defs/X"}}, "a")}},
        ),
        of({f"a{n}": {"type": "string"} for n in range(40)}, *(f"a{n}" for n in range(40))),
        of({"x" * 90: {"type": "string"}}, "x" * 90),
        of({"x": {"enum": [str(n) * 30 for n in range(900)]}}, "x"),
        of([], "x"),
        of({}) | {"properties": 7},
    ],
)
def test_a_schema_without_end_or_measure_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="argument"):
        mcp_servers.closed(schema)


words = st.sampled_from(
    ["type", "properties", "required", "enum", "items", "$ref", "anyOf", "object", "string", "x"]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(words, below, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(words, anything, max_size=5))
def test_any_schema_becomes_a_closed_one_or_is_refused(schema: dict[str, Any]) -> None:
    try:
        made = mcp_servers.closed(schema)
    except ValueError:
        return
    Draft202012Validator.check_schema(made)
    assert made["additionalProperties"] is False
