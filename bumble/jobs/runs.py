"""The run ledger: what each run between turns did, one JSON line a run.

Holds titles, counts and times, never what was said. Of this machine only, as the call ledger is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.llm import ledger
from bumble.text import moments


class RunEvent(Struct, frozen=True):
    """A step of a run: `dream_cycle_start`, then `dream_cycle_completed` or `…_left`."""

    at: datetime
    event: str
    title: str = ""  # of the change set, or the first line of what went wrong
    id: str = ""  # of what was made: `drm_…`


class RunRecord(Struct, frozen=True):
    """What one run between turns did, and what it cost."""

    at: datetime  # when it began; timezone-aware
    command: str  # "tick", "settle"
    ms: int
    calls: int  # to the model
    tokens: int  # of prompts and answers
    events: tuple[RunEvent, ...]  # in order
    errors: tuple[str, ...] = ()  # what went wrong, a line each


def append(path: Path, run: RunRecord) -> None:
    """Add a run to the ledger.

    Raises:
        OSError: If it cannot be written.
    """
    ledger.append_line(path, data(run))


def data(run: RunRecord) -> dict[str, Any]:
    """Return a run as its line holds it."""
    return {
        "at": run.at.isoformat(timespec="milliseconds"),
        "command": run.command,
        "ms": run.ms,
        "calls": run.calls,
        "tokens": run.tokens,
        "events": [_event_data(event) for event in run.events],
        "errors": list(run.errors),
    }


def _event_data(event: RunEvent) -> dict[str, str]:
    texts = {"title": event.title, "id": event.id}
    at = {"at": event.at.isoformat(timespec="milliseconds"), "event": event.event}
    return at | {name: text for name, text in texts.items() if text}


def read(path: Path) -> Iterator[RunRecord]:
    """Yield the runs of a ledger, newest first; lines that were torn are left out."""
    for line in ledger.newest_lines(path):
        try:
            yield _parse(json.loads(line))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def _parse(values: Any) -> RunRecord:
    ms, calls, tokens = (values[name] for name in ("ms", "calls", "tokens"))
    if not all(map(ledger.is_count, (ms, calls, tokens))):
        raise TypeError("values of other types")
    return RunRecord(
        at=moments.read(values["at"], "at"),
        command=str(values["command"]),
        ms=ms,
        calls=calls,
        tokens=tokens,
        events=tuple(_event(row) for row in values["events"]),
        errors=tuple(str(error) for error in values["errors"]),
    )


def _event(row: Mapping[str, Any]) -> RunEvent:
    title, event_id = (str(row[name]) if name in row else "" for name in ("title", "id"))
    return RunEvent(moments.read(row["at"], "at"), str(row["event"]), title, event_id)
