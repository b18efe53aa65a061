"""What endpoints were seen to take, kept in the user's cache for a week.

A process that knows which parameters an endpoint refuses doesn't send them again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from bumble.errors import UserError
from bumble.files import disk
from bumble.llm.wire import Habits

LIFE = timedelta(days=7)
MOST = 100  # endpoints and models; the oldest go


class _Kept(Struct, frozen=True):
    at: datetime  # when they were learned
    habits: Habits


class HabitFile:
    """The habits of one model at one endpoint, read and written in a file of many."""

    def __init__(
        self, path: Path | None, key: str, now: Callable[[], datetime], *, writes: bool = True
    ) -> None:
        """Set up without reading.

        Args:
            path: The file; None: nothing is kept beyond this process.
            key: Endpoint and model.
            now: The clock.
            writes: Whether what is seen is kept; else the file is only read.
        """
        self._path, self._key, self._now = path, key, now
        self._writes = writes

    def load(self) -> Habits:
        """Return what was seen within the last week."""
        kept = self._all().get(self._key)
        return kept.habits if kept else Habits()

    def keep(self, habits: Habits) -> None:
        """Keep what was seen; where nothing can be written it is learned again."""
        if self._path is None or not self._writes:
            return
        known = self._all() | {self._key: _Kept(self._now(), habits)}
        latest = sorted(known.items(), key=lambda item: item[1].at)[-MOST:]
        try:
            disk.write_atomic(self._path, msgspec.json.encode(dict(latest)))
        except (OSError, UserError):
            return

    def _all(self) -> dict[str, _Kept]:
        raw = disk.read_cache(self._path) if self._path else None
        try:
            kept = msgspec.json.decode(raw or b"{}", type=dict[str, _Kept])
        except (ValueError, RecursionError):
            return {}  # damaged, or another version's
        now = self._now()
        return {key: one for key, one in kept.items() if abs(now - one.at) < LIFE}
