"""Requests and answers in Ollama's own form, which can set and report the context window.

Its OpenAI form does neither, and Ollama cuts a prompt that is too long without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.llm import openai_format
from bumble.llm.protocol import Request, Usage
from bumble.llm.wire import Ask, Habits, Piece, StatusError
from bumble.text.printable import whole


class OllamaDialect(Struct, frozen=True):
    """`/api/chat`."""

    model: str
    window_tokens: int  # to ask for (`num_ctx`)

    path = "/api/chat"
    asks_first = True  # whether the model can think

    def learned(self, ask: Ask, habits: Habits) -> Habits:
        """Return habits with what `/api/show` says."""
        shown = ask("/api/show", {"model": self.model})
        if not isinstance(shown, dict) or not shown:
            tags = ask("/api/tags", None)
            names = tuple(_names(tags.get("models") if isinstance(tags, dict) else None))
            return replace(habits, names=names)  # the request itself will say what is wrong
        told = shown.get("model_info")
        info = told if isinstance(told, dict) else {}
        lengths = (value for name, value in info.items() if name.endswith(".context_length"))
        able = shown.get("capabilities")
        window = next((one for one in lengths if isinstance(one, int)), None)
        return replace(
            habits,
            asked=True,
            names=(),
            context_tokens=window,
            window_told=window is not None,
            parameters=_count(info.get("general.parameter_count")),
            can_think=isinstance(able, list) and "thinking" in able,
        )

    def loaded_tokens(self, ask: Ask) -> int | None:
        """Return the window of the model as it runs."""
        running = ask("/api/ps", None)
        models = running.get("models") if isinstance(running, dict) else None
        for one in models if isinstance(models, list) else ():
            if isinstance(one, dict) and one.get("model") in (self.model, f"{self.model}:latest"):
                return _count(one.get("context_length"))
        return None

    def native(self, habits: Habits) -> bool:
        """Whether requests may carry tools: its schema is enforced by a grammar, which is surer."""
        return False

    def body(self, request: Request, habits: Habits, *, thinks: bool) -> dict[str, Any]:
        """Write the body of a request."""
        options: dict[str, Any] = {
            "num_ctx": self.window_tokens,
            "num_predict": request.max_tokens,
            "temperature": request.temperature,
        }
        if request.seed is not None:
            options["seed"] = request.seed
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": one.role, "content": one.content} for one in request.messages],
            "stream": True,
            "options": options,
        }
        if request.schema is not None:
            body["format"] = dict(request.schema)
        if habits.can_think:
            body["think"] = thinks
        return {name: value for name, value in body.items() if name not in habits.without}

    def without(
        self, problem: StatusError, request: Request, body: Mapping[str, Any], habits: Habits
    ) -> Habits | None:
        """Return None: what it doesn't know it passes over."""
        return None

    def pieces(self, lines: Iterable[bytes]) -> Iterator[Piece]:
        """Read the lines of a stream."""
        for line in lines:
            if line.strip():
                try:
                    yield _read(json.loads(line))
                except RecursionError as problem:
                    raise ValueError("its JSON is nested too deep") from problem


def _read(chunk: Any) -> Piece:
    if not isinstance(chunk, dict):
        raise ValueError("no answer of Ollama's")
    if chunk.get("error"):
        raise openai_format.failure(chunk, 0)
    message = chunk.get("message") or {}
    if not isinstance(message, dict):
        raise ValueError("no answer of Ollama's: its message is no object")
    usage = None
    finish = ""
    if chunk.get("done"):
        finish = "length" if chunk.get("done_reason") == "length" else "stop"
        usage = Usage(_count(chunk.get("prompt_eval_count")), None, _count(chunk.get("eval_count")))
    return Piece(
        _text(message.get("content")),
        _text(message.get("thinking")),
        (),
        finish,
        usage,
    )


def _names(models: Any) -> Iterator[str]:
    for one in models if isinstance(models, list) else ():
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            yield one["name"]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("no answer of Ollama's: its text is none")
    return str(whole(value))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
