"""Tools of other programs, as a turn sees them: when they are wanted, and what a call gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from bumble.llm.protocol import Tool


class OutsideResult(Struct, frozen=True):
    """What came of a call: text from outside, or why there is none."""

    text: str
    failed: bool = False


class OutsideTools(Protocol):
    """The tools of other programs that the owner lists."""

    def called_for(self, text: str) -> bool:
        """Whether a message names one of the programs, or what it is for."""

    def offered(self, text: str) -> tuple[Tool, ...]:
        """Start what a message may need, and return its tools; what fails is said, not raised."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> OutsideResult:
        """Carry out a call; never raises for what the other program does."""

    def close(self) -> None:
        """End all that was started."""
