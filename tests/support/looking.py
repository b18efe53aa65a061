"""Records written as a person would write them, for the commands that look."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.running import Run


def without_models(run: Run) -> Run:
    """Let no model be chosen, so that no server is asked and nothing is fetched."""
    run.environ["BUMBLE_LLM_MODEL"] = "qwen3-1.7b"
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    return run


def episode(run: Run, stem: str, text: str, **meta: Any) -> Path:
    """Write an episode."""
    front: Mapping[str, Any] = {"at": "2026-05-23T03:12:47+02:00", "significance": 0.5, **meta}
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
    return run.write(f"episodes/2026/05/ep_{stem}.md", f"---\n{lines}---\n\n{text}\n")


def session(run: Run, stem: str, *turns: tuple[str, str], by: str = "sam", day: int = 20) -> Path:
    """Write a transcript; the speaker "" is the entity."""
    date = f"2026-05-{day}T10"
    rows: list[dict[str, Any]] = [
        {"type": "session", "id": f"ses_{stem}", "at": f"{date}:00:00+00:00", "by": by}
    ]
    for n, (speaker, text) in enumerate(turns):
        who = {"role": "user", "speaker": speaker} if speaker else {"role": "assistant"}
        at = f"{date}:{n:02}:00+00:00"
        rows.append({"type": "message", "id": f"msg_{stem}{n}", "at": at, **who, "text": text})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    return run.write(f"sessions/ses_{stem}/messages.jsonl", lines)


def truths(run: Run) -> dict[str, tuple[str, int]]:
    """Return hash and time of everything that git would keep."""
    derived = (".bumble", "memory.db")
    return {path: seen for path, seen in run.state().items() if not path.startswith(derived)}
