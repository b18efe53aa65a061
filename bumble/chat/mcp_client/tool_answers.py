"""What MCP servers give: the tools they list, answers to calls, and how they fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class ServerFailedError(Exception):
    """A server does not do as it should; says how, to be read after its name."""


class ListedTool(Struct, frozen=True):
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    reads: bool  # whether the server says that it changes nothing


class ToolAnswer(Struct, frozen=True):
    """What a call gave."""

    text: str
    failed: bool
