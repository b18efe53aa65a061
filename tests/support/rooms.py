"""The rooms of the house in the order of imports."""

from __future__ import annotations

# An import points up this list, or to a module of the same room.
ROOMS = (
    "errors",
    "files",
    "gitdir",
    "git",
    "text",
    "body",
    "entity",
    "records",
    "embed",
    "llm",
    "weights",
    "prompts",
    "abilities",
    "forms",
    "index",
    "grounding",
    "imports",
    "runtime",
    "choosing",
    "topics",
    "episodes",
    "facts",
    "portraits",
    "sleep",
    "context",
    "agent",
    "history",
    "upkeep",
    "app",
    "cli",
    "commands",
    "__main__",
)
