"""The overview of topics in the system prompt: what memory is about, as of the start of the day.

The turns of one day share it, so it is kept with the caches once it was made. A new day changes the
prompt before the whole history: for a model in this process it is in the prompt only where `tick`
has evaluated that ahead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from bumble import files, prompts
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line
from bumble.topics import survey
from bumble.topics.petri import LEAST_RECORDS
from bumble.topics.survey import Survey

TOPICS, CATALYSTS = 20, 3  # in it, and of each topic
FOLDER = "cache/topics"  # among the entity's private files


def text(life: Runtime, readers: Sequence[str]) -> str:
    """Return the overview for a talk of some people; empty where there is to be none.

    Made at the first turn of a day; with a model in this process by `tick` alone.
    """
    if not is_wanted(life):
        return ""
    stored = stored_text(life, readers)
    if stored is not None or life.local:
        return stored or ""
    overview = make(life, readers)
    if overview and life.writes:
        keep(life, readers, overview)
    return overview


def is_wanted(life: Runtime) -> bool:
    """Whether the settings want it, and the model's window is large enough."""
    config = life.config.prompt
    return config.topics and life.window_tokens >= config.topics_min_window_tokens


def make(life: Runtime, readers: Sequence[str]) -> str:
    """Make the overview from the files, as of the start of the day; empty: there are no topics."""
    if life.memory.report is None:
        life.memory.sync()
    start = day_start(life)
    taken = survey.take(life.memory, start, readers, until=start, quoted=False)
    return _worded(taken, start, life.config.prompt.topics_max_tokens)


def day_start(life: Runtime) -> datetime:
    """Return when the entity's day began."""
    return life.now().replace(hour=0, minute=0, second=0, microsecond=0)


def _worded(taken: Survey, start: datetime, max_tokens: int) -> str:
    lines: list[str] = []
    recurring = [topic for topic in taken.topics if topic.frequency >= LEAST_RECORDS]
    for topic in recurring[:TOPICS]:
        file = taken.file_of(topic)
        is_drawn = file is not None and (file.at is None or file.at < start)
        questions = [one_line(each.text) for each in file.catalysts] if file and is_drawn else []
        days = topic.days_since(start)
        seen = "" if days is None else f", last {days} days before today"
        head = f"- {one_line(topic.name)} ({topic.frequency} times{seen}, {topic.trend})"
        line = f"{head}: {' | '.join(questions[:CATALYSTS])}" if questions else head
        lines += [line]
        if tokens.estimate(prompts.tagged("memory", "\n".join(lines))) > max_tokens:
            lines.pop()
            break
    return prompts.tagged("memory", "\n".join(lines)) if lines else ""


def stored_text(life: Runtime, readers: Sequence[str]) -> str | None:
    """Return the overview of the day as it was made; None if it wasn't."""
    raw = files.read_cache(_place(life, readers))
    try:
        stored = json.loads(raw) if raw else None
    except ValueError:
        return None
    return stored if isinstance(stored, str) else None


def keep(life: Runtime, readers: Sequence[str], overview: str) -> None:
    """Keep the overview of the day, and drop those of other days."""
    place = _place(life, readers)
    for old in place.parent.glob("*.json"):
        if not old.name.startswith(f"{life.now():%Y-%m-%d}"):
            files.remove(old)
    files.write_atomic(place, json.dumps(overview).encode())


def _place(life: Runtime, readers: Sequence[str]) -> Path:
    key = json.dumps([sorted(readers), life.config.prompt.topics_max_tokens])
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]
    return life.entity.private / FOLDER / f"{life.now():%Y-%m-%d}-{digest}.json"
