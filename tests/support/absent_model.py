"""A model that is not there."""

from __future__ import annotations

from bumble.errors import ModelUnreachableError
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import ScriptedModel


class Absent(ScriptedModel):
    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        self.requests.append(request)
        raise ModelUnreachableError("nothing answers at 127.0.0.1")
