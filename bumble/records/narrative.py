"""The narrative file: the story the entity tells of itself, and its sources.

One file, `narrative.md`; its earlier versions are git's, or the history folder's. Knows nothing of
models.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar

from bumble import patterns
from bumble.body.soma import is_open
from bumble.entity import changes
from bumble.records import base, episodes, fields, kind
from bumble.text import markdown

PATH = "narrative.md"
_OWN = (*base.ORIGIN_KEYS, "fingerprint", "summary_source")
_LINK = r"\[([^\[\]\n]*)\]\(episodes/[^()\s]+\)"
_CITED = patterns.compile(rf"(?<![ \t])[ \t]*\((?:(?:{_LINK}|ep_\w+)(?:, )?)+\)")


class Narrative(kind.Record, frozen=True, kw_only=True):
    """The story as it stands; its sources are the episodes it used."""

    ABOUT: ClassVar[kind.About] = kind.About(
        headline="story it tells of itself",
        retold="the story it tells of itself",
    )

    text: Annotated[str, fields.BODY]  # Markdown; empty until it is first told
    at: datetime | None = None  # when it was told
    # of what it was told from: unchanged, there is nothing new to tell
    fingerprint: Annotated[str, fields.Key(read=lambda meta, key: str(meta.get(key) or ""))]


NARRATIVE = kind.RecordKind(
    name="narrative",
    singular="story",
    plural="stories",
    key="narrative",
    patterns=(PATH,),
    record=Narrative,
    forgetting="file",
    merging="bumble",
    paired=True,
    file_name="story",
    passages="narrative",
    retells=True,
    explained=True,
    page=True,
)


def read(file: Path) -> Narrative | None:
    """Read the story; None where there is no file."""
    return base.load_or(file, NARRATIVE.parse, None)


def uncited(text: str) -> str:
    """Return a story without the episodes it rests on, as a prompt shows it."""
    return re.sub(_LINK, r"\1", _CITED.sub("", text)).strip()


def cited(rested_on: Sequence[episodes.Episode]) -> str:
    """Return what stands behind a part of the story: links to the episodes it rests on."""
    return f" ({', '.join(map(episodes.link, rested_on))})" if rested_on else ""


def told_to(story: Narrative | None, readers: Collection[str]) -> str:
    """Return what a prompt that some people cause may hold of the story; empty: nothing.

    Args:
        story: As it was read.
        readers: Ids of all who meet it.
    """
    return uncited(story.text) if story and is_open(story.audience, readers) else ""


def plan_tell(
    old: Narrative | None,
    text: str,
    at: datetime,
    provenance: base.Provenance,
    why: str,
    *,
    fingerprint: str = "",
) -> changes.Change | None:
    """Plan to replace the story; fields of the file that we don't know stay.

    Args:
        old: As it was read; None where there is no file.
        text: The story, Markdown.
        at: When it is told.
        provenance: Where it comes from.
        why: For the change set.
        fingerprint: Of what it was told from.
    """
    values = {"at": base.stamp(at)} | provenance.meta() | base.filled({"fingerprint": fingerprint})
    if old is None:
        return changes.write(PATH, markdown.render(values, text).text, None, why)
    if text.strip() == old.text.strip() and fingerprint in ("", old.fingerprint):
        return None
    gone = {key: None for key in _OWN if key not in values}
    document = base.with_values(old.source, values | gone).with_body(text)
    return base.plan_edit(PATH, old.source, document, why)
