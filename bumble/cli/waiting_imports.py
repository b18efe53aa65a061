"""How much imported talk lies that nothing was learnt of, as `status` and `tick` tell it."""

from __future__ import annotations

from typing import Any

from bumble.app import output
from bumble.app.opening import Opened
from bumble.cli import listing
from bumble.records import session_files


def look(opened: Opened) -> dict[str, int]:
    """Count the imported conversations that are not wholly learnt from, and their bytes."""
    waiting = [info for info in session_files.imports(opened.entity.sessions) if info.waits]
    return {"conversations": len(waiting), "bytes": sum(info.size_bytes for info in waiting)}


def line(waiting: dict[str, int]) -> str:
    """Say it for people; nothing where none lies."""
    if not waiting["conversations"]:
        return ""
    count = listing.counted(waiting["conversations"], "conversation")
    size = output.size(waiting["bytes"])
    return f"{count} ({size}) not learnt from; `bumble distill --session ID` does it, nothing else"
