"""What changed in the last weeks: what was made and met, by its dates; what the history counts.

Of the history only counts are told: what a commit is titled, and the names of files that are gone,
may speak of somebody who was forgotten.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from bumble.bridges.report.life import ON_TIMELINE, Life, LifeEntry, Portrait, shown
from bumble.history import log
from bumble.history.log import Commit
from bumble.records import kinds
from bumble.records.kind import Kind

SPAN = timedelta(days=30)
BY_HAND = "by hand"


class CycleWork(Struct, frozen=True):
    """What one kind of commit did."""

    cycle: str  # `dream`, `chat`, or BY_HAND
    commits: int
    made: str  # "3 beliefs, 1 episode"
    changed: str
    removed: str


class Changed(Struct, frozen=True):
    """What is new since a day."""

    since: datetime
    beliefs: tuple[LifeEntry, ...]  # formed since then
    confirmed: tuple[LifeEntry, ...]
    met: tuple[Portrait, ...]
    reflected: tuple[Portrait, ...]  # whose portraits were thought about, the new ones left out
    counts: tuple[tuple[str, int, int], ...]  # plural, how many since then, how many before
    work: tuple[CycleWork, ...] = ()
    has_history: bool = False


def of(life: Life, now: datetime, commits: list[Commit] | None) -> Changed:
    """Put together what changed.

    Args:
        life: What the reader may know.
        now: The present.
        commits: Of the same time; None where there is no history, or it is not for the reader.
    """
    since = now - SPAN
    beliefs = life.of(kinds.BELIEF)
    met = tuple(who for who in life.people if _is_new(who.first_met, since))
    return Changed(
        since,
        tuple(entry for entry in beliefs if entry.at >= since),
        tuple(e for e in beliefs if e.at < since and _is_new(e.confirmed, since)),
        met,
        tuple(w for w in life.people if w not in met and _is_new(w.last_reflection, since)),
        tuple((kind.plural, *_counts(life.of(kind), since)) for kind in ON_TIMELINE),
        tuple(_work(commits or [])),
        commits is not None,
    )


def _is_new(at: datetime | None, since: datetime) -> bool:
    return at is not None and at >= since


def _counts(entries: list[LifeEntry], since: datetime) -> tuple[int, int]:
    before = since - SPAN
    new = sum(entry.at >= since for entry in entries)
    return new, sum(before <= entry.at < since for entry in entries)


def history(root: Path, now: datetime) -> list[Commit]:
    """Return the commits of the last weeks.

    Raises:
        HistoryUnreadableError: If git gives up.
    """
    return log.read(root, after=now - SPAN)


def _work(commits: list[Commit]) -> list[CycleWork]:
    groups: dict[str, list[Commit]] = {}
    for commit in commits:
        groups.setdefault(commit.cycle or BY_HAND, []).append(commit)
    ordered = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [
        CycleWork(
            shown(cycle), len(group), *(_counted(group, action) for action in ("A", "M", "D"))
        )
        for cycle, group in ordered
    ]


def _counted(commits: list[Commit], action: str) -> str:
    """Tell how many records of which kinds some commits made, changed or removed."""
    paths = {
        touched.path for commit in commits for touched in commit.touched if touched.action == action
    }
    counts = Counter(kind.name for kind in map(_kind, paths) if kind is not None)
    ordered = (kind for kind in kinds.KINDS if kind.name in counts)
    return ", ".join(_phrase(kind, counts[kind.name]) for kind in ordered)


def _kind(path: str) -> Kind | None:
    """Return the kind of the record that a file is; None for what lies beside a conversation."""
    kind = kinds.of_path(path)
    is_record = kind is not None and any(Path(path).match(pattern) for pattern in kind.patterns)
    return kind if is_record and kind is not kinds.HANDOVER else None


def _phrase(kind: Kind, count: int) -> str:
    if kind.is_file:
        return kind.file_name or kind.singular
    return f"{count} {kind.singular if count == 1 else kind.plural}"
