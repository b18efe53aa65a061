"""Scratch notes moved into the journal at consolidation, where recall finds them.

Word for word, without a model; notes for the same ears become one entry. Lines of the file that are
no notes stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.records import base, journal, scratch
from bumble.records.base import Provenance
from bumble.runtime.job import Due, JobResult
from bumble.runtime.runtime import Runtime

TAG = "note"


def check(runtime: Runtime) -> Due[int]:
    count = len(scratch.lines(runtime.entity.root / scratch.PATH))
    return Due((), (count,) if count else ())


def run(runtime: Runtime, job: int) -> JobResult:
    """Move the notes of the scratch pad to the journal, all or none."""
    at = runtime.now()
    amount = "1 note" if job == 1 else f"{job} notes"
    return JobResult(
        title=f"{amount} to the journal",
        plan=lambda: plan_moved(runtime, at),
        lines=(f"{amount} moved to the journal.",),
        data={"notes": job},
    )


def plan_moved(runtime: Runtime, at: datetime) -> Sequence[Change]:
    """Plan to move all notes to the journal."""
    path = runtime.entity.root / scratch.PATH
    lines = scratch.lines(path)
    if not lines:
        return []
    old = base.read_text(path)
    left = scratch.without_notes(old)
    why = "the notes are in the journal"
    gone = changes.write(scratch.PATH, left, old, why) if left.strip() else None
    entries = [
        journal.plan_add(at, text, runtime.zone, "keep the notes", tags=(TAG,), provenance=origin)
        for origin, text in _entries(lines)
    ]
    return [gone or changes.delete(scratch.PATH, old, why), *entries]


def _entries(lines: Sequence[str]) -> list[tuple[Provenance | None, str]]:
    """Gather notes by who may meet them and how far they are trusted."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for line in lines:
        origin = scratch.origin(line)
        groups.setdefault((origin.trust, origin.audience), []).append(line)
    return [(_origin(group), "\n".join(map(scratch.shown, group))) for group in groups.values()]


def _origin(lines: Sequence[str]) -> Provenance | None:
    """Say where some notes come from; None for what a person wrote."""
    origins = [scratch.origin(line) for line in lines]
    if not any(origin.by for origin in origins):
        return None
    first = next(origin for origin in origins if origin.by)
    sources = dict.fromkeys(source for origin in origins for source in origin.sources)
    return replace(first, by="consolidate", sources=tuple(sources))
