"""The body over time: its bars by what episodes and the history of `soma.yaml` hold, as lines.

Nobody's words are in it. Knows no HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from bumble.body import soma as body
from bumble.body.bars import FULL
from bumble.body.config import BAR_NAMES
from bumble.bridges.report.life import LifeEntry
from bumble.files import git
from bumble.history import log
from bumble.records import soma

MOST_VERSIONS = 150  # of the file that are read; each takes milliseconds
MOST_POINTS = 240  # of a line
WIDTH, HEIGHT = 600.0, 100.0  # of a drawing, in its own units
MOST_FEELINGS = 12


class BodyMoment(Struct, frozen=True):
    """The body at a time."""

    at: datetime
    levels: Mapping[str, float]  # percent by bar


class BarLine(Struct, frozen=True):
    """How one bar went."""

    name: str
    points: str  # of a polyline
    first: float
    lowest: float
    highest: float
    last: float


class Feeling(Struct, frozen=True):
    """How often something was felt."""

    name: str
    count: int
    intensity: float  # on average, in [0, 1]


class BodyOverTime(Struct, frozen=True):
    """All of it."""

    lines: tuple[BarLine, ...] = ()
    begin: datetime | None = None
    end: datetime | None = None
    feelings: tuple[Feeling, ...] = ()
    moods: tuple[tuple[str, int], ...] = ()  # how often each, the most frequent first


def of(
    episodes: Sequence[LifeEntry], history: Iterable[BodyMoment], now: BodyMoment | None
) -> BodyOverTime:
    """Put together what is known of a body.

    Args:
        episodes: With the body at the time of each.
        history: Of its file.
        now: As it is at present.
    """
    tagged = [BodyMoment(entry.at, entry.body.bars) for entry in episodes if entry.body]
    moments = sorted((*tagged, *history, *((now,) if now else ())), key=lambda each: each.at)
    moods = Counter(entry.body.mood for entry in episodes if entry.body)
    feelings = _feelings(episodes)
    if not moments:
        return BodyOverTime(feelings=feelings)
    lines = tuple(_line(name, moments) for name in BAR_NAMES)
    return BodyOverTime(lines, moments[0].at, moments[-1].at, feelings, tuple(moods.most_common()))


def history(root: Path, zone: tzinfo, since: datetime | None = None) -> list[BodyMoment]:
    """Return the body by some commits of its file, evenly chosen; none where there are none.

    Raises:
        HistoryUnreadableError: If git gives up.
    """
    commits = log.read(root, wanted=[f":(literal){soma.PATH}"], after=since)
    step = max(1, -(-len(commits) // MOST_VERSIONS))
    chosen = commits[::step][::-1]  # the oldest first, also of those of the same second
    texts = git.blobs(root, [f"{commit.id}:./{soma.PATH}" for commit in chosen])
    moments = []
    for commit, data in zip(chosen, texts, strict=True):
        levels = _levels(data) if data else {}
        if levels:
            moments.append(BodyMoment(commit.at.astimezone(zone), levels))
    return moments


def _levels(data: bytes) -> dict[str, float]:
    """Return the bars of a version of the file; nothing of one that holds no body."""
    try:
        return levels(body.from_mapping(soma.parse(data.decode()).values))
    except ValueError:
        return {}


def levels(state: body.Soma) -> dict[str, float]:
    """Return the bars of a body."""
    return {name: state.bars.value(name) for name in BAR_NAMES}


def _line(name: str, moments: Sequence[BodyMoment]) -> BarLine:
    values = [moment.levels[name] for moment in moments]
    begin, end = moments[0].at, moments[-1].at
    span = (end - begin).total_seconds() or 1.0
    size = -(-len(moments) // MOST_POINTS)
    points = []
    for at in range(0, len(moments), size):
        group = moments[at : at + size]
        x = fmean((moment.at - begin).total_seconds() for moment in group) / span * WIDTH
        y = HEIGHT - fmean(moment.levels[name] for moment in group) / FULL * HEIGHT
        points.append(f"{x:.1f},{y:.1f}")
    if len(points) == 1:
        points = [points[0], f"{WIDTH:.1f},{points[0].partition(',')[2]}"]
    return BarLine(name, " ".join(points), values[0], min(values), max(values), values[-1])


def _feelings(episodes: Sequence[LifeEntry]) -> tuple[Feeling, ...]:
    strengths: dict[str, list[float]] = {}
    for entry in episodes:
        for imprint in entry.imprints:
            strengths.setdefault(imprint.emotion, []).append(imprint.intensity)
    ordered = sorted(strengths.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return tuple(
        Feeling(name, len(values), fmean(values)) for name, values in ordered[:MOST_FEELINGS]
    )
