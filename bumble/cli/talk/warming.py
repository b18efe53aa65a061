"""Evaluating the prompt of a conversation while its first message is typed, in a thread.

The weights are loaded before the prompt line is there: loading holds Python up, evaluating doesn't.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from msgspec.structs import replace

from bumble.chat import plain_turn, turn
from bumble.errors import UserError
from bumble.llm.protocol import Model, Request
from bumble.records.sessions import Session
from bumble.runtime import spoken
from bumble.runtime.runtime import Runtime


class Warming:
    """One prompt that is evaluated until it is done, or ended; the model is nobody else's then."""

    def __init__(self, model: Model, request: Request) -> None:
        """Load the model and begin.

        Args:
            model: Asked by this alone until it is ended.
            request: With all that the next request begins with.
        """
        self._stop = threading.Event()
        stopped = threading.Event()
        stopped.set()
        with suppress(UserError):  # the message itself will meet it, and say so
            model.warm(replace(request, stop=stopped))
        wanted = replace(request, stop=self._stop)
        self._thread = threading.Thread(
            target=self._run, args=(model, wanted), daemon=True, name="warming"
        )
        self._thread.start()

    def _run(self, model: Model, request: Request) -> None:
        with suppress(UserError):
            model.warm(request)

    def end(self) -> None:
        """End it, and wait until the model is free."""
        self._stop.set()
        self._thread.join()


def request(runtime: Runtime, session: Session, person: str) -> Request | None:
    """Return what the next request of a conversation will begin with.

    None where evaluating it ahead gains nothing: a server minds its own cache, a model that may not
    talk isn't asked, and incognito nothing is kept.
    """
    language = spoken.language(runtime, session, person)
    if not (runtime.local and runtime.writes and plain_turn.asks_model(runtime, language)):
        return None
    return turn.next_request(runtime, session, person)
