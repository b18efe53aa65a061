"""Providers of models that are known by name: address, key, and how their models think."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from bumble.text import yaml_read

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
    """Return a provider by its name."""
    return next((one for one in known() if one.name == name.strip().lower()), None)
