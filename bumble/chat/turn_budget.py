"""What a turn may cost: room in the context window, tokens of an answer, thought."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bumble.chat.loop import Profile
from bumble.entity.config import Config
from bumble.llm.protocol import PromptMessage, Request
from bumble.prompt.system import Stable
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import tokens

LEAST_ANSWER_TOKENS = 64  # however full the window is
LEAST_HISTORY_TOKENS = 256  # however long the stable part, or what is attached
WINDOW_SHARE = 0.75  # of the context window that stable part and history may fill


def profile(
    config: Config, name: ProfileName, temperature: float, *, reads_fast: bool = False
) -> Profile:
    """Return what a turn may cost.

    Args:
        config: The settings.
        name: How much thought it is worth.
        temperature: The model's own, if no setting names one.
        reads_fast: Whether what is recalled costs no time, so that a reflex gets as much of it.
    """
    named = config.llm.temperature
    reflex = name == "reflex"
    cognition = config.cognition
    return Profile(
        name=name,
        max_tokens=cognition.reflex_max_tokens if reflex else cognition.deliberate_max_tokens,
        thinking=not reflex and cognition.deliberate_thinking,
        temperature=temperature if named is None else named,
        preamble_max_tokens=(
            config.prompt.preamble_reflex_max_tokens
            if reflex and not reads_fast
            else config.prompt.preamble_max_tokens
        ),
    )


def history(runtime: Runtime, stable: Stable) -> int:
    """Return the tokens that stored history may take; the same for every profile."""
    room = int(runtime.window_tokens * WINDOW_SHARE / runtime.token_ratio)
    return max(LEAST_HISTORY_TOKENS, room - stable.tokens)


def fitting(runtime: Runtime, request: Request) -> Request:
    """Let an answer be no longer than the window still holds."""
    most = min(request.max_tokens, room(runtime, request.messages))
    return replace(request, max_tokens=max(LEAST_ANSWER_TOKENS, most))


def room(runtime: Runtime, messages: Sequence[PromptMessage]) -> int:
    """Estimate what the window still holds beside a prompt."""
    used = sum(tokens.estimate_message(one.content) for one in messages)
    return runtime.window_tokens - int(runtime.token_ratio * used)
