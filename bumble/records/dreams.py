"""Dream files: what met in a dream, and what became of it.

Layout: `dreams/<id>.md`; front matter holds the pairs and where the dream went, the body its
fragments, a list line each, and its thread. Knows nothing of models, or of how pairs are chosen.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar

from bumble import patterns
from bumble.records import base, fields, kind
from bumble.text import markdown, titles

_LINK = patterns.compile(r"(\*?)\[([^\[\]]*)\]\(dreams/[^()\s]+\)\1")
_ITEM = "- "


def is_link(text: str) -> bool:
    """Whether a text is nothing but a link to a dream."""
    return _LINK.fullmatch(text) is not None


def _pairs(meta: Mapping[str, Any], key: str) -> tuple[tuple[str, str], ...]:
    listed = base.field(meta, key, list, [])
    for item in listed:
        if not (isinstance(item, list) and [type(each) for each in item] == [str, str]):
            raise ValueError(f"`{key}` should be a list of [episode id, episode id]")
    return tuple((first, second) for first, second in listed)


class Dream(kind.Record, frozen=True, kw_only=True):
    """One dream."""

    ABOUT: ClassVar[kind.About] = kind.About(
        headline="dream {0.id}, {0.at:%Y-%m-%d %H:%M}",
        filed_as="{0.at:%Y-%m-%d} {0.title}",
        found="pairs",
    )

    at: datetime
    pairs: Annotated[tuple[tuple[str, str], ...], fields.Key(read=_pairs)]  # episodes that met
    fragments: tuple[str, ...]  # one image each
    thread: str  # what ran through them; may be empty
    became: tuple[str, ...]  # `journal`, `noise`, the id of a belief
    seed: int | None = None  # of the random choice, so that it can be made again
    bypassed: tuple[str, ...]  # names of the gates that it was forced past

    @classmethod
    def drawn(cls, document: markdown.Document, record_id: str) -> Mapping[str, Any]:
        """Read the two parts of the body."""
        rows = markdown.prose(document.body).splitlines()
        fragments = (row.removeprefix(_ITEM).strip() for row in rows if row.startswith(_ITEM))
        thread = (row for row in rows if not row.startswith(_ITEM))
        return {"fragments": tuple(fragments), "thread": "\n".join(thread).strip()}

    @property
    def rests_on(self) -> tuple[str, ...]:
        return tuple(episode_id for pair in self.pairs for episode_id in pair)

    @property
    def title(self) -> str:
        """What it is called; empty where an earlier version wrote it."""
        return titles.heading(self.source.body)

    @property
    def quoted(self) -> str:
        return "\n".join([*(f"- {row}" for row in self.fragments), self.thread]).strip()


DREAM = kind.RecordKind(
    name="dream",
    singular="dream",
    plural="dreams",
    key="dreams",
    patterns=("dreams/*.md",),
    record=Dream,
    forgetting="file",
    merging="bumble",
    prefix="drm",
    own_words=True,
    passages="dream",
    retells=True,
    explained=True,
    counted=True,
    page=True,
)


def link(dream: Dream) -> str:
    """Write what the diary has of a dream: the thought it left, which leads to it."""
    called = dream.thread or dream.title or dream.fragments[0]
    return f"[{re.sub(r'[][]', '', called)}]({DREAM.place(dream)})"


def new_id(folder: Path, at: datetime, rng: random.Random) -> str:
    """Make the id of a dream, behind those of all that are there, whatever the clocks said."""
    made = base.new_id(DREAM.prefix, at, rng)
    stems = map(DREAM.stem, reversed(DREAM.files(folder)))
    newest = next((stem for stem in stems if base.time_of(stem)), "")
    last_at = base.time_of(newest)
    if last_at is None or made > newest:
        return made
    return base.new_id(DREAM.prefix, last_at + timedelta(milliseconds=1), rng)


def new(
    dream_id: str,
    at: datetime,
    pairs: tuple[tuple[str, str], ...],
    fragments: tuple[str, ...],
    thread: str,
    *,
    title: str = "",
    became: tuple[str, ...] = (),
    seed: int | None = None,
    bypassed: tuple[str, ...] = (),
    provenance: base.Provenance | None = None,
) -> Dream:
    """Make a dream that is not in the folder yet; `plan_new` puts it there."""
    rows = "\n".join(f"{_ITEM}{' '.join(fragment.split())}" for fragment in fragments)
    told = markdown.contained(" ".join(thread.split()).lstrip("#- "))  # no list line, no heading
    return DREAM.new(
        dream_id,
        "\n\n".join(filter(None, (f"# {title}" if title else "", rows, told))),
        provenance,
        at=at,
        pairs=pairs,
        became=became,
        seed=seed,
        bypassed=bypassed,
    )
