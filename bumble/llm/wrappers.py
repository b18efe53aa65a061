"""What stands for a model: the base of what wraps one, a model opened late, and an absent one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from bumble.errors import UserError
from bumble.llm.protocol import Completion, Model, OnText, Request

T = TypeVar("T")


class Wrapper:
    """A `Model` that hands every question on to another; a subclass says what it does besides."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def _ask(self, question: Callable[[Model], T]) -> T:
        """Put a question to the wrapped model: the one way to it but closing."""
        return question(self._model)

    @property
    def name(self) -> str:
        return self._ask(lambda model: model.name)

    @property
    def context_tokens(self) -> int | None:
        return self._ask(lambda model: model.context_tokens)

    @property
    def native_tools(self) -> bool:
        return self._ask(lambda model: model.native_tools)

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        return self._ask(lambda model: model.complete(request, on_text))

    def warm(self, request: Request) -> None:
        self._ask(lambda model: model.warm(request))

    def request_bytes(self, request: Request) -> int:
        return self._ask(lambda model: model.request_bytes(request))

    def close(self) -> None:
        self._model.close()


class LazyModel(Wrapper):
    """A model that is opened when it is first asked: most runs of a cycle ask nothing."""

    def __init__(self, opens: Callable[[], Model]) -> None:
        """Set up without opening anything.

        Args:
            opens: Opens the model; what it raises is raised by the first question.
        """
        self._opens = opens
        self._opened: Model | None = None

    def _ask(self, question: Callable[[Model], T]) -> T:
        if self._opened is None:
            self._opened = self._opens()
        return question(self._opened)

    def close(self) -> None:
        """Close the model, if it was opened."""
        if self._opened is not None:
            self._opened.close()


class AbsentModel:
    """A model that could not be opened: what looks at an entity without asking needs none."""

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
