"""A model that is opened when it is first asked: most runs of a job ask nothing."""

from __future__ import annotations

from collections.abc import Callable

from bumble.llm.protocol import Completion, Model, OnText, Request


class LazyModel:
    """Stands for a `Model` until it is needed."""

    def __init__(self, opens: Callable[[], Model]) -> None:
        """Set up without opening anything.

        Args:
            opens: Opens the model; what it raises is raised by the first question.
        """
        self._opens = opens
        self._model: Model | None = None

    @property
    def opened(self) -> bool:
        """Whether it was needed."""
        return self._model is not None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._the_model().name

    @property
    def context_tokens(self) -> int | None:
        """The model's context window."""
        return self._the_model().context_tokens

    @property
    def native_tools(self) -> bool:
        """Whether the model's tool calls are reliable."""
        return self._the_model().native_tools

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer a request."""
        return self._the_model().complete(request, on_text)

    def warm(self, request: Request) -> None:
        """Evaluate ahead."""
        self._the_model().warm(request)

    def request_bytes(self, request: Request) -> int:
        """Return the length of the body."""
        return self._the_model().request_bytes(request)

    def close(self) -> None:
        """Close the model, if it was opened."""
        if self._model is not None:
            self._model.close()

    def _the_model(self) -> Model:
        if self._model is None:
            self._model = self._opens()
        return self._model
