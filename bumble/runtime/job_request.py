"""The question of a job: built from its prompt file, with its limits and cache, and asked.

What an answer says is held to its grounds: what it was asked of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bumble.guard import verifier
from bumble.guard.speakers import Speakers
from bumble.llm import prompts, structured
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


def answer(
    runtime: Runtime,
    purpose: str,
    slots: Mapping[str, str],
    schema: Mapping[str, Any],
    *,
    max_tokens: int,
    temperature: float,
) -> Any:
    """Ask for an answer of a form, as every job does; what it says has still to be checked.

    Raises:
        AnswerInvalidError: If it can't be used.
        ModelUnreachableError: If no model answers; likewise what else stands in its way.
    """
    asked = request(runtime, purpose, slots, max_tokens=max_tokens, temperature=temperature)
    return structured.answer(runtime.model, asked, schema)


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an object that has all of some properties, and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def array(item: Mapping[str, Any], most: int, *, least: int = 0) -> dict[str, Any]:
    """Describe a list of so many things."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def text(most: int) -> dict[str, Any]:
    """Describe a text of so many characters."""
    return {"type": "string", "maxLength": most}


class Grounds(Struct, frozen=True):
    """What the sentences of an answer may rest on."""

    texts: Sequence[str]  # that its names, numbers and dates may come from
    speakers: Speakers

    def bear(self, sentence: str) -> bool:
        """Whether a sentence says nothing that nobody said."""
        return verifier.problem(sentence, self.texts, self.speakers) is None

    def sound(self, sentences: Iterable[str]) -> list[str]:
        """Return the sentences that may stand."""
        return list(filter(self.bear, sentences))


def messages(prompt: str, slots: Mapping[str, str]) -> tuple[PromptMessage, ...]:
    """Fill a prompt: its instructions, its examples, and what is asked now."""
    turns = prompts.load(prompt).turns(**slots)
    return tuple(PromptMessage(role, text) for role, text in turns)


def cache_id(purpose: str) -> str:
    """Name what is evaluated once for all requests of a purpose: they begin alike."""
    return f"cycle:{purpose}"
