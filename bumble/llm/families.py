"""Context windows of families of models, for endpoints that don't tell theirs."""

from __future__ import annotations

import re

# By the beginning of a name, without the owner before a slash; the first that fits counts. From
# the makers' own model pages, November 2026; where versions differ, the smallest window.
_WINDOWS = (
    (r"gpt-5", 272_000),
    (r"gpt-4\.1", 1_047_576),
    (r"gpt-4o|gpt-4-turbo|chatgpt-4o", 128_000),
    (r"gpt-oss", 131_072),
    (r"gpt-3\.5", 16_385),
    (r"o[134]\b", 128_000),
    (r"claude", 200_000),
    (r"gemini", 1_048_576),
    (r"gemma-?3", 128_000),
    (r"gemma-?4", 128_000),
    (r"mistral-(large|medium|small)|magistral|ministral|devstral", 128_000),
    (r"codestral", 32_000),
    (r"deepseek", 64_000),
    (r"llama-?4", 131_072),
    (r"llama-?3\.[123]|meta-llama-3\.[123]", 131_072),
    (r"qwen-?3", 40_960),
    (r"qwen-?2\.5", 32_768),
    (r"grok", 131_072),
    (r"kimi", 131_072),
    (r"glm", 128_000),
    (r"command-[ar]", 128_000),
    (r"phi-?4", 16_384),
)


def window(name: str) -> int | None:
    """Return the tokens that a model of this name takes; None: no family that is known."""
    short = name.rsplit("/", 1)[-1].lower()
    return next((length for start, length in _WINDOWS if re.match(start, short)), None)
