"""The rooms of the house in the order of imports."""

from __future__ import annotations

# An import points up this list, or to a module of the same room.
ROOMS = (
    "errors",
    "files",
    "text",
    "body",
    "entity",
    "records",
    "llm",
    "models",
    "index",
    "guard",
    "runtime",
    "fallback",
    "prompt",
    "recall",
    "chat",
    "history",
    "jobs",
    "bridges",
    "cli",
    "__main__",
)
