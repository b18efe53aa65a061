"""A model that is not there, for commands that look at an entity and ask nothing."""

from __future__ import annotations

from bumble.errors import UserError
from bumble.llm.protocol import Completion, OnText, Request


class AbsentModel:
    """Stands for a `Model` that could not be opened."""

    name = "none"
    context_tokens = None
    native_tools = False

    def __init__(self, error: UserError) -> None:
        """Set up.

        Args:
            error: Why there is none; every question raises it.
        """
        self.error = error

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Raise what stands in the way."""
        raise self.error

    def warm(self, request: Request) -> None:
        """Do nothing."""

    def request_bytes(self, request: Request) -> int:
        """Count what any model would be sent: the texts, and the schema of the answer."""
        return request.messages_bytes + len(request.schema_text.encode())

    def close(self) -> None:
        """Do nothing."""
