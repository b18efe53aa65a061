from __future__ import annotations

from typing import Any

import pytest

from bumble.errors import AnswerInvalidError
from bumble.llm import structured
from bumble.llm.protocol import PromptMessage, Request
from bumble.llm.scripted import Reply, ScriptedModel

SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}},
    "required": ["items"],
}
REQUEST = Request([PromptMessage("user", "List them.")], purpose="distill")


@pytest.mark.parametrize(
    "text",
    [
        '{"items": ["a", "b"]}',
        '```json\n{"items": ["a", "b"]}\n```',
        'Sure, here it is:\n\n{"items": ["a", "b"]}\n\nAnything else?',
        '{"items": ["a", "b",],}',
        'I mean [this]: {"items": ["a", "b"]}',
        '{"items": ["a", "b", "cut o',
        '```json\n{"items": ["a", "b"], "more": {"x": ',
    ],
)
def test_what_can_be_repaired_is_read(text: str) -> None:
    assert structured.read(text, SCHEMA)["items"] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no idea", "no JSON"),
        ("7 bees", "no JSON"),
        ('{"items": [1]}', "$.items[0]"),
        ("", "no JSON"),
    ],
)
def test_what_cannot_be_used_is_said_precisely(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        structured.read(text, SCHEMA)
    assert says in str(caught.value)


def test_a_second_try_hears_what_was_wrong_with_the_first() -> None:
    model = ScriptedModel([Reply(text='{"items": 3}'), Reply(text='{"items": []}')])
    assert structured.answer(model, REQUEST, SCHEMA) == {"items": []}
    first, second = model.requests
    assert first.schema == second.schema == SCHEMA
    assert second.messages[: len(REQUEST.messages)] == first.messages
    assert structured.ONE_LINE in first.messages[-1].content
    assert "$.items: 3 is not of type 'array'" in second.messages[-1].content


def test_two_unusable_answers_are_an_error_that_keeps_the_raw_text() -> None:
    model = ScriptedModel([Reply(text="no"), Reply(text="still no")])
    with pytest.raises(AnswerInvalidError) as caught:
        structured.answer(model, REQUEST, SCHEMA)
    assert caught.value.answer == "still no"
    assert len(model.requests) == 2


def test_a_good_answer_costs_one_call() -> None:
    model = ScriptedModel([Reply(text='{"items": ["x"]}')])
    value: Any = structured.answer(model, REQUEST, SCHEMA)
    assert value == {"items": ["x"]} and len(model.requests) == 1


def test_load_names_the_brackets_a_cut_answer_lacked() -> None:
    assert structured.load('{"a": [1, {"b": 2}, {"c"') == ({"a": [1, {"b": 2}, {}]}, "}]}")
    assert structured.load('{"a": 1}') == ({"a": 1}, "")


RANGES = {
    "type": "object",
    "properties": {
        "note": {"type": "string", "maxLength": 20},
        "delta": {"type": "number", "minimum": -0.1, "maximum": 0.1},
        "sure": {"enum": [0.3, 0.5, 0.7, 0.9]},
        "who": {"enum": ["Sam", "Kim"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 4}, "maxItems": 2},
    },
    "required": ["note", "delta"],
    "additionalProperties": False,
}


def test_what_only_is_too_long_or_too_large_is_cut_and_clamped_at_the_first_answer() -> None:
    text = (
        '{"note": "He likes green tea a lot.", "delta": 5, "sure": 0.85, "who": "sam",'
        ' "tags": ["a", "bbbbbb", "c"], "mood": "fine"}'
    )
    model = ScriptedModel([Reply(text=text)])
    assert structured.answer(model, REQUEST, RANGES) == {
        "note": "He likes green …",
        "delta": 0.1,
        "sure": 0.9,
        "who": "Sam",
        "tags": ["a", "bb …"],
    }


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ('{"note": "Tea", "delta": 0, "tags": null}', []),
        ('{"note": "Tea", "delta": 0, "tags": "new"}', ["new"]),
        ('{"note": ["Tea"], "delta": "0,0", "tags": [["new"]]}', ["new"]),
        ('{"Note": "Tea", "DELTA": 0, "tags": ["new"]}', ["new"]),
    ],
)
def test_what_is_written_in_another_form_is_read_at_the_first_answer(
    text: str, tags: list[str]
) -> None:
    schema = RANGES | {"required": ["note", "delta", "tags"]}
    assert structured.read(text, schema) == {"note": "Tea", "delta": 0, "tags": tags}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"note": "right", "Note": "wrong"}, {"note": "right"}),
        ({"count": "1,000"}, {"count": "1,000"}),
        ({"tongue": "C#"}, {"tongue": "C#"}),
        ({"either": ["x"]}, {"either": ["x"]}),
    ],
)
def test_what_is_in_its_form_or_may_be_two_things_stays(value: Any, read: Any) -> None:
    fields = {
        "note": {"type": "string"},
        "count": {"type": "integer"},
        "tongue": {"enum": ["C++", "C#"]},
        "either": {"anyOf": [{"type": "array"}, {"type": "null"}]},
    }
    schema = {"type": "object", "properties": fields, "additionalProperties": False}
    assert structured.fitted(value, schema) == read


def test_truths_choices_and_texts_of_nothing_are_read() -> None:
    fields = {"known": {"type": "boolean"}, "mood": {"enum": ["calm", "very_glad"]}}
    schema = {"type": "object", "properties": fields | {"note": {"type": "string"}}}
    text = '{"known": "yes", "mood": "Very glad.", "note": null}'
    schema["required"] = ["known", "mood", "note"]
    assert structured.read(text, schema) == {"known": True, "mood": "very_glad", "note": ""}


@pytest.mark.parametrize(
    "text", ['{"tags": null}', "{}", '{"mood": "fine"}', '{"note": "Tea", "delta": 0}']
)
def test_what_an_answer_leaves_out_is_not_empty(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        structured.read(text, RANGES | {"required": ["note", "delta", "tags"]})


@pytest.mark.parametrize("text", ['{"delta": 0}', '{"note": 3, "delta": 0}', '{"who": "Bo"}'])
def test_what_is_missing_or_something_else_is_not_made_up(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        structured.read(text, RANGES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"questions":["What of Ada?"', {"questions": ["What of Ada?"]}),
        ('{"questions":["a"],"note":"n"', {"questions": ["a"], "note": "n"}),
        ('```json\n{"note":"n"\n```', {"note": "n"}),
        ('{"note":"n","more"', {"note": "n"}),
        ('{"notes":["n","m', {"notes": ["n"]}),
    ],
)
def test_a_last_text_that_is_whole_is_kept_where_brackets_alone_are_lacking(
    text: str, value: object
) -> None:
    assert structured.load(text)[0] == value
