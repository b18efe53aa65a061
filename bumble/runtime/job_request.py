"""The request of a job, built from its prompt file: messages, limits, cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bumble.llm import prompts
from bumble.llm.protocol import PromptMessage, Request
from bumble.runtime.runtime import Runtime


def request(
    runtime: Runtime,
    purpose: str,
    slots: Mapping[str, str],
    *,
    max_tokens: int,
    temperature: float,
    schema: Mapping[str, Any] | None = None,
) -> Request:
    """Make the request of a cycle; its seed is the next of the life's chance.

    Args:
        runtime: Who asks.
        purpose: The cycle, which is also the name of its prompt.
        slots: What the prompt takes.
        max_tokens: Of the answer.
        temperature: Of the answer.
        schema: Of the answer, where it is not asked for through `structured.answer`.
    """
    return Request(
        messages=messages(purpose, slots),
        purpose=purpose,
        schema=schema,
        max_tokens=max_tokens,
        temperature=temperature,
        seed=runtime.rng.getrandbits(31),
        cache_id=cache_id(purpose),
    )


def messages(prompt: str, slots: Mapping[str, str]) -> tuple[PromptMessage, ...]:
    """Fill a prompt: its instructions, its examples, and what is asked now."""
    turns = prompts.load(prompt).turns(**slots)
    return tuple(PromptMessage(role, text) for role, text in turns)


def cache_id(purpose: str) -> str:
    """Name what is evaluated once for all requests of a purpose: they begin alike."""
    return f"cycle:{purpose}"
