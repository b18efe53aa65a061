"""What an Ollama server sends, for the fake one to say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.fake_server import Exchange


def part(content: str = "", **more: Any) -> bytes:
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return json.dumps({"model": "m", "message": message, "done": False, **more}).encode() + b"\n"


END = part(done=True, done_reason="stop", prompt_eval_count=20, eval_count=4)


def says(*parts: bytes) -> Callable[[Exchange], None]:
    def respond(exchange: Exchange) -> None:
        exchange.start("application/x-ndjson")
        for piece in parts:
            exchange.chunk(piece)
        exchange.end()

    return respond
