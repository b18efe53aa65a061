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

from bumble.files import disk
from bumble.llm import prompts
from bumble.recall import survey
from bumble.recall.survey import Survey
from bumble.recall.topic_mining import LEAST_RECORDS
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line

MOST_TOKENS = 1500  # of the overview
TOPICS, CATALYSTS = 20, 3  # in it, and of each topic
FOLDER = "cache/topics"  # among the entity's private files


def text(runtime: Runtime, readers: Sequence[str]) -> str:
    """Return the overview for a talk of some people; empty where there is to be none.

    Made once a day between two turns, by `tick` or after an answer: nobody waits for it.
    """
    return (stored_text(runtime, readers) or "") if is_wanted(runtime) else ""


def is_wanted(runtime: Runtime) -> bool:
    """Whether the settings want it, and the model's window is large enough."""
    config = runtime.config.prompt
    return config.topics and runtime.window_tokens >= config.topics_min_window_tokens


def make(runtime: Runtime, readers: Sequence[str]) -> str:
    """Make the overview from the files, as of the start of the day; empty: there are no topics."""
    if runtime.memory.report is None and not runtime.memory.unusable:
        runtime.memory.sync_or_go_without()
    start = day_start(runtime)
    taken = survey.take(runtime.memory, start, readers, until=start, quoted=False)
    return _worded(taken, start)


def day_start(runtime: Runtime) -> datetime:
    """Return when the entity's day began."""
    return runtime.now().replace(hour=0, minute=0, second=0, microsecond=0)


def _worded(taken: Survey, start: datetime) -> str:
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
        if tokens.estimate(prompts.tagged("memory", "\n".join(lines))) > MOST_TOKENS:
            lines.pop()
            break
    return prompts.tagged("memory", "\n".join(lines)) if lines else ""


def stored_text(runtime: Runtime, readers: Sequence[str]) -> str | None:
    """Return the overview of the day as it was made; None if it wasn't."""
    raw = disk.read_cache(_place(runtime, readers))
    try:
        stored = json.loads(raw) if raw else None
    except ValueError:
        return None
    return stored if isinstance(stored, str) else None


def keep(runtime: Runtime, readers: Sequence[str], overview: str) -> None:
    """Keep the overview of the day, and drop those of other days."""
    place = _place(runtime, readers)
    for old in place.parent.glob("*.json"):
        if not old.name.startswith(f"{runtime.now():%Y-%m-%d}"):
            disk.remove(old)
    disk.write_atomic(place, json.dumps(overview).encode())


def _place(runtime: Runtime, readers: Sequence[str]) -> Path:
    key = json.dumps([sorted(readers), MOST_TOKENS])
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]
    return runtime.entity.private / FOLDER / f"{runtime.now():%Y-%m-%d}-{digest}.json"
