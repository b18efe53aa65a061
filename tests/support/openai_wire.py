"""What an OpenAI-compatible server sends, for the fake one to say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.support.fake_server import Exchange

CHAT = "/v1/chat/completions"


def event(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**chunk, "choices": [choice], **more}).encode() + b"\n\n"


def calls(actions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the delta of an answer that calls the tools of these actions."""
    written = [(one["tool"], json.dumps(one["arguments"])) for one in actions]
    listed = [
        {"index": n, "id": f"c{n}", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(written)
    ]
    return {"tool_calls": listed}


def usage(cached: int | None = 3) -> bytes:
    counts: dict[str, Any] = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    if cached is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": cached}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**chunk, "choices": [], "usage": counts}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def says(*events: bytes) -> Callable[[Exchange], None]:
    def respond(exchange: Exchange) -> None:
        exchange.start()
        for piece in events:
            exchange.chunk(piece)
        exchange.end()

    return respond


def hello() -> Callable[[Exchange], None]:
    return says(event({"content": "Hel"}), event({"content": "lo"}, "stop"), usage(), DONE)
