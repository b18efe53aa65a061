"""Requests and answers in the form of OpenAI's chat completions; no server, no SDK.

Servers that claim this form fill it as they like. What comes in is read field by field: what can
be left out may be missing, and what has another type than it should is an error that names it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.llm import logprobs
from bumble.llm.protocol import PromptMessage, Request, Usage
from bumble.text.whole_text import whole

ANSWER_TOOL = "answer"  # the name of the schema, or of the tool that stands in for it


def message_body(message: PromptMessage) -> dict[str, Any]:
    return {"role": message.role, "content": message.content}


def enforced(request: Request, mode: str) -> dict[str, Any]:
    """Choose what makes the server keep to the schema."""
    if request.schema is None:
        return {}
    if mode == "json_schema":
        schema = {"name": ANSWER_TOOL, "schema": request.schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if mode == "tool":
        function = {"name": ANSWER_TOOL, "description": "Give the answer."}
        return {
            "tools": [{"type": "function", "function": function | {"parameters": request.schema}}],
            "tool_choice": {"type": "function", "function": {"name": ANSWER_TOOL}},
        }
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}


def with_schema(messages: Sequence[PromptMessage], request: Request) -> Sequence[PromptMessage]:
    """Say in words what the server does not enforce."""
    told = (
        "\n\nAnswer with one JSON value and nothing else. It must satisfy this JSON schema:\n"
        + json.dumps(request.schema, ensure_ascii=False)
    )
    return (*messages[:-1], replace(messages[-1], content=messages[-1].content + told))


class Piece(Struct, frozen=True):
    """What one event adds to an answer."""

    text: str = ""
    reasoning: str = ""
    arguments: str = ""  # of the tool that stands in for the schema
    finish_reason: str = ""
    usage: Usage | None = None
    logprobs: dict[str, float] = field(default_factory=dict)  # of its first token

    @property
    def is_token(self) -> bool:
        """Whether it is a sign of life of the model."""
        return bool(self.text or self.reasoning or self.arguments)

    @property
    def chars(self) -> int:
        """Its length."""
        return len(self.text) + len(self.reasoning) + len(self.arguments)


def read_event(data: Any) -> Piece:
    """Read an event of a stream.

    Raises:
        ValueError: If it can't be read; names the field that is wrong.
    """
    event = _object(data, "an event")
    text = reasoning = arguments = finish = ""
    candidates: dict[str, float] = {}
    for entry in _items(event.get("choices"), "choices"):
        choice = _object(entry, "a choice")
        delta = _object(choice.get("delta"), "delta")
        text += _text(delta.get("content"), "content")
        # No part of OpenAI's own format; two names are about.
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        reasoning += _text(thought, "reasoning")
        for part in _items(delta.get("tool_calls"), "tool_calls"):
            arguments += _arguments(_object(part, "a tool call"))
        finish = _text(choice.get("finish_reason"), "finish_reason") or finish
        candidates = candidates or logprobs.read(choice.get("logprobs"))
    return Piece(text, reasoning, arguments, finish, _usage(event.get("usage")), candidates)


def _arguments(part: dict[str, Any]) -> str:
    arguments = _object(part.get("function"), "function").get("arguments")
    if isinstance(arguments, dict):  # some servers have read them already
        return json.dumps(arguments, ensure_ascii=False)
    return _text(arguments, "arguments")


def _usage(value: Any) -> Usage | None:
    """Read what an answer cost; it informs, nothing more: None for what can't be read."""
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    counts = (value.get("prompt_tokens"), cached, value.get("completion_tokens"))
    return Usage(*(count if _is_count(count) else None for count in counts))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40


def _object(value: Any, name: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {_kind(value)}, not an object")
    return value


def _items(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{name} is {_kind(value)}, not a list")
    return value


def _text(value: Any, name: str) -> str:
    """Read a text; of a list of parts, those that are text."""
    if value is None:
        return ""
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in value)
        value = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(value, str):
        raise ValueError(f"{name} is {_kind(value)}, not text")
    return str(whole(value))


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return kinds.get(type(value), "a number")
