"""Which chunks a search may meet: by kind, people, readers, conversation, time.

Each store writes it as a condition of its own. Knows nothing of queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct


class Filter(Struct, frozen=True):
    """Which chunks count. Empty fields let everything pass."""

    kinds: tuple[str, ...] = ()
    people: tuple[str, ...] = ()  # ids; about, or with, at least one of them
    tags: tuple[str, ...] = ()  # that it has, each of them
    audience: tuple[str, ...] = ()  # ids of all who will read it; each must be allowed to
    sessions: tuple[str, ...] = ()  # the messages of these sessions alone
    not_session: str = ""  # a session whose messages are known already
    unseen: tuple[str, ...] = ()  # ids of messages of that session that are not
    after: datetime | None = None  # what is from then or newer
    before: datetime | None = None  # what is older than that, and what has no time
    dormant: bool = False  # dormant and archived records too


class Allowed:
    """Which chunks a condition lets through, asked of the store once for each chunk.

    Candidates are looked at in ever longer lists until enough pass, each beginning with the last.
    """

    def __init__(self, ask: Callable[[Sequence[int]], set[int]]) -> None:
        self._ask = ask
        self._asked, self._passing = set[int](), set[int]()

    def __call__(self, ids: Sequence[int]) -> set[int]:
        """Return those that pass, of these ids and all that were asked for before."""
        new = [key for key in ids if key not in self._asked]
        if new:
            self._asked.update(new)
            self._passing |= self._ask(new)
        return self._passing
