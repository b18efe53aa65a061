"""`bumble mcp` as a client starts it, and what it may change nothing of."""

from __future__ import annotations

import sys

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


def command(full: Run, *arguments: str) -> list[str]:
    root = str(full.entity.root)
    return [sys.executable, "-P", "-m", "bumble", "-e", root, "mcp", *arguments]
