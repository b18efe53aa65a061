"""Dream files: what met in a dream, and what became of it.

Layout: `dreams/<id>.md`; front matter holds the pairs and where the dream went, the body its
fragments and its thread. Knows nothing of models, or of how pairs are chosen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import markdown
from bumble.text.markdown import Document

PREFIX = "drm"
FOLDER = "dreams"
FRAGMENTS, THREAD = "Fragments", "Thread"  # headings of the body


class Dream(Struct, frozen=True):
    """One dream."""

    id: str  # `drm_<ULID>`, the file's stem
    at: datetime
    pairs: tuple[tuple[str, str], ...]  # ids of the episodes that met
    fragments: tuple[str, ...]  # one image each
    thread: str  # what ran through them; may be empty
    became: tuple[str, ...]  # `journal`, `noise`, the id of a belief
    seed: int | None  # of the random choice, so that it can be made again
    bypassed: tuple[str, ...]  # names of the gates that it was forced past
    provenance: Provenance
    source: Document  # the file as it stands; edits splice its lines


def parse(source: str, stem: str) -> Dream:
    """Read a dream from the text of its file; `source.text` gives the same bytes back."""
    return of(markdown.parse(source), stem)


def of(document: Document, dream_id: str) -> Dream:
    """Read a dream from its document."""
    meta = document.meta
    parts = {one.title.casefold(): one.body for one in markdown.sections(document.body)[1]}
    return Dream(
        id=dream_id,
        at=base.field(meta, "at", datetime),
        pairs=tuple(_pair(item) for item in base.field(meta, "pairs", list, [])),
        fragments=_fragments(parts.get(FRAGMENTS.casefold(), "")),
        thread=parts.get(THREAD.casefold(), ""),
        became=base.texts(meta, "became"),
        seed=None if meta.get("seed") is None else base.field(meta, "seed", int),
        bypassed=base.texts(meta, "bypassed"),
        provenance=base.provenance(meta),
        source=document,
    )


def _pair(item: object) -> tuple[str, str]:
    if not (isinstance(item, list) and len(item) == 2 and all(isinstance(i, str) for i in item)):
        raise ValueError("`pairs` should be a list of [episode id, episode id]")
    return item[0], item[1]


def _fragments(text: str) -> tuple[str, ...]:
    rows = (line.strip() for line in markdown.lines(text))
    return tuple(line.removeprefix("- ").strip() for line in rows if line)


def new_id(folder: Path, at: datetime, rng: random.Random) -> str:
    """Make the id of a dream, behind those of all that are there, whatever the clocks said."""
    made = base.new_id(PREFIX, at, rng)
    newest = next((file.stem for file in reversed(paths(folder)) if base.time_of(file.stem)), "")
    last_at = base.time_of(newest)
    if last_at is None or made > newest:
        return made
    return base.new_id(PREFIX, last_at + timedelta(milliseconds=1), rng)


def new(
    dream_id: str,
    at: datetime,
    pairs: tuple[tuple[str, str], ...],
    fragments: tuple[str, ...],
    thread: str,
    *,
    became: tuple[str, ...] = (),
    seed: int | None = None,
    bypassed: tuple[str, ...] = (),
    provenance: Provenance | None = None,
) -> Dream:
    """Make a dream that is not in the folder yet; `plan_new` puts it there."""
    meta: Mapping[str, Any] = {"at": base.stamp(at)} | base.filled(
        {
            "pairs": [list(pair) for pair in pairs],
            "became": list(became),
            "seed": seed,
            "bypassed": list(bypassed),
        }
    )
    rows = "\n".join(f"- {' '.join(fragment.split())}" for fragment in fragments)
    parts = [f"## {FRAGMENTS}\n\n{rows}"] if rows else []
    if thread:
        parts.append(f"## {THREAD}\n\n{markdown.contained(' '.join(thread.split()))}")
    body = "\n\n".join(parts)
    return of(markdown.render({**meta, **(provenance or Provenance()).meta()}, body), dream_id)


def path(dream_id: str) -> str:
    """Return where a dream lies, relative to the entity folder."""
    return f"{FOLDER}/{dream_id}.md"


def paths(folder: Path) -> list[Path]:
    """Return the files of all dreams, oldest first."""
    return base.paths(folder, "*.md")


def read(folder: Path) -> Iterator[Dream]:
    """Yield every dream, oldest first."""
    for file in paths(folder):
        yield base.load(file, parse)


def plan_new(dream: Dream, why: str) -> Change:
    """Plan to put a new dream into the folder."""
    return base.plan_new(path(dream.id), dream.source, why)
