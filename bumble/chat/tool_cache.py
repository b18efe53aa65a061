"""Results of tools kept on disk for a few minutes, so that one question is not run twice.

Only tools the settings name, and never one that writes. A file that was read is read again as soon
as its time or size differs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.errors import FolderUnwritableError
from bumble.files import disk

FOLDER = "tools"
CACHED = ("read_file", "web_search", "web_fetch", "image", "memory_search")
MOST_ENTRIES, LIFE_SECONDS = 500, 300


class ToolCache(Struct, frozen=True):
    """The cache of one entity."""

    folder: Path  # below `.bumble/cache`
    writes: bool = True
    tools: tuple[str, ...] = CACHED  # whose results are kept
    most_entries: int = MOST_ENTRIES
    life_seconds: float = LIFE_SECONDS  # of a result

    def get(
        self, tool: str, arguments: Mapping[str, Any], state: Sequence[int], now: datetime
    ) -> str | None:
        """Return what a call gave before, None if that is not known, too old, or of another state.

        Args:
            tool: Its name.
            arguments: Of the call.
            state: What must not have changed since: time and size of a file.
            now: The present.
        """
        if tool not in self.tools:
            return None
        raw = disk.read_cache(self._place(tool, arguments))
        try:
            entry = json.loads(raw) if raw else {}
            age = (now - datetime.fromisoformat(entry["at"])).total_seconds()
            fresh = 0 <= age <= self.life_seconds and entry["state"] == list(state)
            return str(entry["text"]) if fresh else None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None  # damaged: it is only a cache

    def put(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        state: Sequence[int],
        text: str,
        now: datetime,
    ) -> None:
        """Keep a result; the oldest go where there are too many."""
        if tool not in self.tools or not self.writes:
            return
        data = json.dumps({"at": now.isoformat(), "state": list(state), "text": text})
        with contextlib.suppress(FolderUnwritableError):  # a full disk must not cost the answer
            disk.write_atomic(self._place(tool, arguments), data.encode())
            self._evict()

    def _place(self, tool: str, arguments: Mapping[str, Any]) -> Path:
        canonical = json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False)
        return self.folder / f"{disk.sha256(f'{tool} {canonical}'.encode())}.json"

    def _evict(self) -> None:
        paths = sorted(self.folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
        for file in paths[: max(0, len(paths) - self.most_entries)]:
            disk.remove(file)
