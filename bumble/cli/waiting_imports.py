"""How much imported talk lies that nothing was learnt of, as `status` and `tick` tell it."""

from __future__ import annotations

from collections.abc import Iterable

from bumble.cli import listing, output
from bumble.records.session_files import SessionInfo


def look(infos: Iterable[SessionInfo]) -> dict[str, int]:
    """Count the imported conversations, those that are not wholly learnt from, and their bytes."""
    imported = [info for info in infos if info.imported is not None]
    waiting = [info.size_bytes for info in imported if info.waits]
    return {"conversations": len(imported), "waiting": len(waiting), "waiting_bytes": sum(waiting)}


def line(waiting: dict[str, int]) -> str:
    """Say it for people; nothing where none lies."""
    if not waiting["waiting"]:
        return ""
    count = listing.counted(waiting["waiting"], "conversation")
    size = output.size(waiting["waiting_bytes"])
    return f"{count} ({size}) not learnt from; `bumble distill --session ID` does it, nothing else"
