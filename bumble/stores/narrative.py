"""The narrative: the story the entity tells of itself.

One file, `narrative.md`; its earlier versions are git's, or the history folder's. Knows nothing of
models.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bumble import markdown
from bumble.entity.changes import Change
from bumble.markdown import Document
from bumble.stores import records
from bumble.stores.records import Provenance

PATH = "narrative.md"


@dataclass(frozen=True)
class Narrative:
    """The story as it stands."""

    text: str  # Markdown; empty until it is first told
    at: datetime | None  # when it was told
    provenance: Provenance  # its sources are the episodes it used
    source: Document  # the file as it stands; edits splice its lines


def parse(source: str, stem: str = "") -> Narrative:
    """Read the narrative from the text of its file; `source.text` gives the same bytes back."""
    document = markdown.parse(source)
    meta = document.meta
    at = None if meta.get("at") is None else records.field(meta, "at", datetime)
    return Narrative(document.body, at, records.provenance(meta), document)


def read(file: Path) -> Narrative | None:
    """Read the narrative; None where there is no file."""
    return records.load(file, parse) if file.exists() else None


def plan_tell(
    old: Narrative | None, text: str, at: datetime, provenance: Provenance, why: str
) -> Change | None:
    """Plan to replace the story; fields of the file that we don't know stay."""
    values = {"at": records.stamp(at)} | provenance.meta()
    if old is None:
        return records.plan_new(PATH, markdown.render(values, text), why)
    if text.strip() == old.text.strip():
        return None
    document = records.with_values(old.source, values).with_body(text)
    return records.plan_edit(PATH, old.source, document, why)
