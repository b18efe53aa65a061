"""A model that is not there, and one that goes away."""

from __future__ import annotations

from bumble.errors import AnswerInvalidError, ModelUnreachableError
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import ScriptedModel


class Absent(ScriptedModel):
    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        self.requests.append(request)
        raise ModelUnreachableError("nothing answers at 127.0.0.1")


class Leaving(ScriptedModel):
    """Answers by its script, and is gone when that ends."""

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        try:
            return super().complete(request, on_text)
        except AnswerInvalidError as error:
            raise ModelUnreachableError("nothing answers at 127.0.0.1") from error
