"""Requests in the form of OpenAI's chat completions. Pure; knows no server and no SDK."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bumble.llm.protocol import Message, Request

ANSWER_TOOL = "answer"  # the name of the schema, or of the tool that stands in for it


def message_body(message: Message) -> dict[str, Any]:
    """Write a message."""
    if message.role == "tool":
        call_id = message.tool_call_id or ""
        return {"role": "tool", "tool_call_id": call_id, "content": message.content}
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
                },
            }
            for call in message.tool_calls
        ]
    return body


def function(name: str, description: str, parameters: Any) -> dict[str, Any]:
    """Declare a function as a tool."""
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def enforced(request: Request, mode: str) -> dict[str, Any]:
    """Choose what makes the server keep to the schema."""
    if request.schema is None:
        return {}
    if mode == "json_schema":
        schema = {"name": ANSWER_TOOL, "schema": request.schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if mode == "tool":
        return {
            "tools": [function(ANSWER_TOOL, "Give the answer.", request.schema)],
            "tool_choice": {"type": "function", "function": {"name": ANSWER_TOOL}},
        }
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}


def with_schema(messages: Sequence[Message], request: Request) -> Sequence[Message]:
    """Say in words what the server does not enforce."""
    told = (
        "\n\nAnswer with one JSON value and nothing else. It must satisfy this JSON schema:\n"
        + json.dumps(request.schema, ensure_ascii=False)
    )
    return (*messages[:-1], replace(messages[-1], content=messages[-1].content + told))
