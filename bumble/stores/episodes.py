"""Episodes: what happened, one Markdown file each.

Layout: `episodes/<year>/<month>/<id>.md`. Ids start with the time, so sorting by name sorts by time.
Knows nothing of models or ranking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bumble import markdown
from bumble.markdown import Document
from bumble.stores import records

PREFIX = "ep"


@dataclass(frozen=True)
class Imprint:
    """What the entity felt while it happened."""

    emotion: str
    intensity: float  # in [0, 1]
    trigger: str


@dataclass(frozen=True)
class Episode:
    """One remembered event."""

    id: str  # `ep_<ULID>`, the file's stem; unique across clones
    at: datetime  # when it began; timezone-aware
    significance: float  # how much it mattered when it happened, in [0, 1]
    people: tuple[str, ...]  # ids of those who took part
    imprints: tuple[Imprint, ...]
    soma: str  # the body at the time as a tag, empty if unknown
    dormant: bool  # found by search, not by recall
    audience: tuple[str, ...]  # who may meet it in a prompt; empty: everyone
    text: str  # Markdown, without surrounding blank lines
    source: Document  # the file as it stands; edits splice its lines


def parse(source: str, stem: str) -> Episode:
    """Read an episode from the text of its file; `source.text` gives the same bytes back."""
    document = markdown.parse(source)
    meta = document.meta
    return Episode(
        id=stem,
        at=records.field(meta, "at", datetime),
        significance=records.unit(meta, "significance"),
        people=records.texts(meta, "people"),
        imprints=tuple(_imprint(item) for item in records.field(meta, "imprints", list, [])),
        soma=records.field(meta, "soma", str, ""),
        dormant=records.field(meta, "dormant", bool, False),
        audience=records.texts(meta, "audience"),
        text=document.body,
        source=document,
    )


def _imprint(item: object) -> Imprint:
    if not isinstance(item, dict):
        raise ValueError("`imprints` should be a list of {emotion, intensity, trigger}")
    return Imprint(
        records.field(item, "emotion", str),
        records.unit(item, "intensity"),
        records.field(item, "trigger", str, ""),
    )


def path(folder: Path, episode_id: str, at: datetime) -> Path:
    """Return where an episode that began at `at` lies."""
    return folder / f"{at:%Y}" / f"{at:%m}" / f"{episode_id}.md"


def paths(folder: Path) -> list[Path]:
    """Return the files of all episodes, oldest first."""
    return sorted(folder.glob("*/*/*.md"), key=lambda file: file.name)


def read(folder: Path) -> Iterator[Episode]:
    """Yield every episode, oldest first."""
    for file in paths(folder):
        yield records.load(file, parse)
