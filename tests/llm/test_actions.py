from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from bumble.llm import actions
from bumble.llm.protocol import Action, Tool

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [Tool("say", "Speak.", TEXT), Tool("end_turn", "Stop.", {"type": "object"})]


def names(text: str) -> list[tuple[str, dict[str, object]]]:
    return [(call.name, dict(call.arguments)) for call in actions.parse(text)]


def test_the_schema_takes_calls_of_the_tools_and_nothing_else() -> None:
    validator = Draft202012Validator(actions.schema([TOOLS]))
    good = {"actions": [{"tool": "say", "arguments": {"text": "Hi"}}]}
    assert validator.is_valid(good)
    assert not validator.is_valid({"actions": [{"tool": "fly", "arguments": {}}]})
    assert not validator.is_valid({"actions": [{"tool": "say", "arguments": {}}]})
    assert not validator.is_valid({"actions": []})


def test_actions_are_parsed_in_their_order() -> None:
    calls = (Action("call_1", "say", {"text": "Héy 😀"}), Action("call_2", "end_turn", {}))
    asked = [{"tool": call.name, "arguments": call.arguments} for call in calls]
    assert actions.parse(json.dumps({"actions": asked})) == calls


@pytest.mark.parametrize(
    "text",
    ["Hello there.", "  Hello there.\n", "{smile} Hello", '{"a": 1}', 'The key is "actions".'],
)
def test_plain_text_is_said_and_ends_the_turn(text: str) -> None:
    assert names(text) == [("say", {"text": text.strip()}), ("end_turn", {})]


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "recall", "arguments": {"query": "bees"}}',
        '[{"tool": "recall", "arguments": {"query": "bees"}}]',
        '```json\n{"actions": [{"tool": "recall", "arguments": {"query": "bees"}}]}\n```',
        'I will look: {"actions": [{"tool": "recall", "arguments": {"query": "bees"}}]}',
        "I will look: {'actions': [{'tool': 'recall', 'arguments': {'query': 'bees'}}]}",
        '{"actions": [{"tool": "recall", "arguments": {"query": "bees",}},]}',
        '[smiles] {"actions": [{"tool": "recall", "arguments": {"query": "bees"}},]}',
    ],
)
def test_near_misses_of_the_shape_are_read(text: str) -> None:
    assert names(text) == [("recall", {"query": "bees"})]


def test_actions_as_python_writes_them_are_read_though_one_has_no_arguments() -> None:
    calls = [("recall", {"query": "bees"}), ("end_turn", {})]
    written = {"actions": [{"tool": name, "arguments": given} for name, given in calls]}
    assert names(str(written)) == calls


def test_what_comes_behind_a_text_with_a_bare_quote_is_said_once() -> None:
    said = [{"tool": "say", "arguments": {"text": text}} for text in ('A "bee".', "Yes.")]
    text = json.dumps({"actions": said}).replace("\\", "")
    assert [given["text"] for _, given in names(text)].count("Yes.") == 1


@pytest.mark.parametrize(
    "cut",
    [
        '{"tool": "write", "arguments": {"path": "a.md", "body": "half of th',
        '{"tool": "write", "arguments": {"path": "a.md", "body": "all"',
        '{"tool": "write", "arguments": {"path": "a.md"}, ',
    ],
)
def test_a_cut_call_is_never_run_half(cut: str) -> None:
    whole = '{"actions": [{"tool": "say", "arguments": {"text": "One."}}, '
    assert names(whole + cut) == [("say", {"text": "One."})]
