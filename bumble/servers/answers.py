"""What MCP servers give: the tools they list, answers to calls, and how they fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class ServerFailedError(Exception):
    """A server does not do as it should; says how, to be read after its name."""


@dataclass(frozen=True)
class ListedTool:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    reads: bool  # whether the server says that it changes nothing


@dataclass(frozen=True)
class ToolAnswer:
    """What a call gave."""

    text: str
    failed: bool
