"""Which chunks a search may meet: by kind, people, readers, conversation, time.

Each store writes it as a condition of its own. Knows nothing of queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Filter:
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
