"""`bumble mcp` as a client starts it, and what it may change nothing of."""

from __future__ import annotations

import sys
from typing import Any

from tests.support import forked
from tests.support.running import Run

READING = ["recall", "read", "why", "person", "whoami"]


def truth(full: Run) -> dict[str, bytes]:
    """Every file but what is derived."""
    root = full.entity.root
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".bumble" not in path.parts and "memory.db" not in path.name
    }


def words(full: Run, *arguments: str) -> list[str]:
    return ["-e", str(full.entity.root), "mcp", *arguments]


def command(full: Run, *arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "bumble", *words(full, *arguments)]


def process(full: Run, *arguments: str, **more: str) -> dict[str, Any]:
    """Return what has `subprocess` run it, in a fork: it loads for two seconds."""
    loaded = [*forked.LOADED, "bridges.mcp_server"]
    return forked.bumble(words(full, *arguments), {**full.environ, **more}, loaded=loaded)
