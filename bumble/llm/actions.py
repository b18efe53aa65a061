"""Tool calls as JSON text: the action schema, and how an answer is read as actions.

The shape is `{"actions": [{"tool": NAME, "arguments": {…}}, …]}`. What is said to the user is an
action too, `say`, whose text can be read while it comes. Text not of this shape is speech.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bumble.errors import AnswerInvalidError
from bumble.llm import structured
from bumble.llm.protocol import Action, Tool
from bumble.llm.say_stream import SayReader
from bumble.text.whole_text import whole

MAX_ACTIONS = 8  # in one answer; a bound keeps a small model from going on for ever


def schema(groups: Sequence[Sequence[Tool]]) -> Mapping[str, Any]:
    """Build the schema of an answer made of calls, for constrained decoding.

    Args:
        groups: Tools that may be called beside each other; an answer keeps to one group.
    """
    return {
        "type": "object",
        "properties": {"actions": {"anyOf": [_actions(group) for group in groups if group]}},
        "required": ["actions"],
        "additionalProperties": False,
    }


def _actions(tools: Sequence[Tool]) -> Mapping[str, Any]:
    return {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_ACTIONS,
        "items": {"anyOf": [_action(tool) for tool in tools]},
    }


def _action(tool: Tool) -> Mapping[str, Any]:
    # "tool" comes first: a grammar keeps this order, so `say` is known before its text streams.
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}, "arguments": tool.parameters},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def parse(text: str) -> tuple[Action, ...]:
    """Read the tool calls of an answer; plain text is `say` and `end_turn`.

    Of an answer that was cut off, the complete actions count, and of a `say` what was said. An
    incomplete call of another tool is dropped, never run half.

    Raises:
        AnswerInvalidError: If the answer is meant as actions and none can be read.
    """
    if not text.strip():
        return ()
    reader = SayReader()
    shown = reader.feed(text) + reader.finish()
    if reader.too_deep:
        raise AnswerInvalidError("The model's answer is nested too deep.", answer=text)
    calls = _read_calls(text)
    spoken = [
        str(arguments["text"])
        for tool, arguments in calls
        if tool == "say" and arguments.get("text")
    ]
    spoken_text = "\n\n".join(dict.fromkeys(spoken))
    if not calls and not shown:
        if '"actions"' not in text:
            return _calls([("say", {"text": text.strip()}), ("end_turn", {})])
        raise AnswerInvalidError("The model's actions could not be read.", answer=text)
    if not calls and shown.strip() == text.strip():
        return _calls([("say", {"text": shown.strip()}), ("end_turn", {})])
    if (
        _is_json(text)
        and shown.startswith(spoken_text)
        and (rest := shown[len(spoken_text) :].lstrip("\n"))
    ):
        calls.append(("say", {"text": rest}))
    return _calls(calls)


def said_in(text: str) -> str:
    """Read what an answer says to the user, exactly as `SayReader` shows it."""
    reader = SayReader()
    return reader.feed(text) + reader.finish()


def _read_calls(text: str) -> list[tuple[str, Mapping[str, Any]]]:
    try:
        value, missing = structured.load(text)
    except ValueError:
        return []
    # 1. find the list; in prose, only the full shape counts: an example in a sentence is no call
    depth = 0  # of a complete action, in brackets still open around it
    if isinstance(value, dict) and isinstance(value.get("actions"), list):
        value, depth = value["actions"], 2
    elif not _is_json(text):
        return []
    elif isinstance(value, dict):
        value = [value]
    else:
        depth = 1
    # 2. leave out what was cut off in the middle
    if len(missing) > depth:
        value = value[:-1]
    return [
        (item["tool"], whole(item.get("arguments", {})))
        for item in value
        if isinstance(item, dict)
        and isinstance(item.get("tool"), str)
        and isinstance(item.get("arguments", {}), dict)
    ]


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "[", "```"))


def _calls(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[Action, ...]:
    return tuple(
        Action(f"call_{number}", name, arguments)
        for number, (name, arguments) in enumerate(calls, start=1)
    )
