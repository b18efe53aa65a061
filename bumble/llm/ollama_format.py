"""Requests and answers in Ollama's own form, which can set and report the context window.

Its OpenAI form does neither, and Ollama cuts a prompt that is too long without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.llm.openai_format import as_text, count_of, failure, typed
from bumble.llm.protocol import Request, Usage
from bumble.llm.wire import Ask, Habits, Piece, StatusError, entries


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
            listed = (one.get("name") for one in entries(ask("/api/tags", None), "models"))
            names = tuple(name for name in listed if isinstance(name, str))
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
            parameters=count_of(info.get("general.parameter_count")),
            can_think=isinstance(able, list) and "thinking" in able,
        )

    def loaded_tokens(self, ask: Ask) -> int | None:
        """Return the window of the model as it runs."""
        running, names = ask("/api/ps", None), (self.model, f"{self.model}:latest")
        found = (one for one in entries(running, "models") if one.get("model") in names)
        return count_of(next(found, {}).get("context_length"))

    def native(self, habits: Habits) -> bool:
        """Whether requests may carry tools: its schema is enforced by a grammar, which is surer."""
        return False

    def body(self, request: Request, habits: Habits) -> dict[str, Any]:
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
            body["think"] = request.thinking
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
    answer = typed(chunk, dict, "an answer of Ollama's")
    if answer.get("error"):
        raise failure(answer, 0)
    message, finish, usage = typed(answer.get("message"), dict, "its message"), "", None
    if answer.get("done"):
        finish = "length" if answer.get("done_reason") == "length" else "stop"
        counts = (count_of(answer.get(name)) for name in ("prompt_eval_count", "eval_count"))
        usage = Usage(next(counts), None, next(counts))
    text, thought = (as_text(message.get(name), name) for name in ("content", "thinking"))
    return Piece(text, thought, (), finish, usage)
