"""Providers of models that are known by name: address, key, and how their models think."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from bumble.text import yaml_read

NONE = "none"  # what the setting says where no provider is set
FILE = Path(__file__).with_name("providers.yaml")


class Provider(Struct, frozen=True, forbid_unknown_fields=True):
    """A provider with an OpenAI-compatible endpoint."""

    name: str  # as `llm.provider` has it
    label: str
    url: str
    key: str  # the environment variable that holds the key
    model: str  # one of its models that suits a talk, offered to who has a key
    source: str  # the page that says what it takes
    models: str  # the page that names the model
    # Sent when it is asked for its models, beside what goes with every request; `$key` is the key.
    list_headers: Mapping[str, str] = field(default_factory=dict)
    thinks: Mapping[str, Any] = field(default_factory=dict)  # parameters that have a model think
    thinks_not: Mapping[str, Any] = field(default_factory=dict)
    marks_cache: bool = False  # whether it takes marks of what is worth keeping


@lru_cache(maxsize=1)
def known() -> tuple[Provider, ...]:
    """Return all of them, in the order in which they are offered."""
    listed = yaml_read.parse(FILE.read_text(encoding="utf-8"))
    return msgspec.convert(listed, tuple[Provider, ...])


def of_url(url: str) -> Provider | None:
    """Return the provider that an address belongs to."""
    host = urlsplit(url).hostname
    return next((one for one in known() if urlsplit(one.url).hostname == host), None)


def named(name: str) -> Provider | None:
    """Return a provider by its name; None: that is of none, as where no provider is set."""
    wanted = name.strip().lower()
    listed = known() if wanted != NONE else ()  # their file takes its time
    return next((one for one in listed if one.name == wanted), None)


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
