"""Belief files: one claim each, with confidence, category and evidence.

Layout: `beliefs/<id>.md`; the claim is the body. Confidence is stored as of `reinforced`; how much
of it is left today is computed on reading, elsewhere. Knows nothing of models or matching.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import markdown
from bumble.text.markdown import Document

PREFIX = "bel"
FOLDER = "beliefs"
DREAM_INSIGHT, WORLD_FACT = "dream_insight", "world_fact"
CATEGORIES = ("preference", "correction", WORLD_FACT, "self_insight", DREAM_INSIGHT)
ORIGINS = ("conversation", "observation", "inference", "dream")  # a dream's is `dream:<id>`
MAX_CONFIDENCE = 0.99  # never quite certain


class Belief(Struct, frozen=True):
    """One claim."""

    id: str  # `bel_<ULID>`, the file's stem
    text: str  # the claim, Markdown
    category: str  # one of CATEGORIES
    confidence: float  # in [0, 1), as of `reinforced`
    formed: datetime
    reinforced: datetime  # when it was last confirmed or weakened; `formed` until then
    evidence: tuple[str, ...]  # ids of messages, episodes or dreams, oldest first
    origin: str  # one of ORIGINS, `dream:<id>` for a dream's; the field is called `source`
    contradicts: tuple[str, ...]  # ids of beliefs
    archived: bool  # kept, but out of recall and prompts
    provenance: Provenance
    source: Document  # the file as it stands; edits splice its lines

    @property
    def audience(self) -> tuple[str, ...]:
        """Who may meet it in a prompt; empty: everyone."""
        return self.provenance.audience


def parse(source: str, stem: str) -> Belief:
    """Read a belief from the text of its file; `source.text` gives the same bytes back."""
    return of(markdown.parse(source), stem)


def of(document: Document, belief_id: str) -> Belief:
    """Read a belief from its document."""
    meta = document.meta
    # a companion that is lost takes the time and the category with it
    formed = base.time_of(belief_id) if meta.get("formed") is None else None
    formed = formed or base.field(meta, "formed", datetime)
    if not document.body:
        raise ValueError("there is no claim below the front matter")
    return Belief(
        id=belief_id,
        text=document.body,
        category=base.choice(meta, "category", CATEGORIES, WORLD_FACT),
        confidence=base.unit(meta, "confidence"),
        formed=formed,
        reinforced=base.field(meta, "reinforced", datetime, formed),
        evidence=base.texts(meta, "evidence"),
        origin=_origin(meta),
        contradicts=base.texts(meta, "contradicts"),
        archived=base.choice(meta, "status", ("active", "archived"), "active") == "archived",
        provenance=base.provenance(meta),
        source=document,
    )


def _origin(meta: Any) -> str:
    origin = base.field(meta, "source", str, "conversation")
    if origin.split(":")[0] not in ORIGINS:
        raise ValueError(f"`source` should be one of {', '.join(ORIGINS)}, not `{origin}`")
    return origin


def new(
    belief_id: str,
    text: str,
    category: str,
    confidence: float,
    formed: datetime,
    *,
    origin: str = "conversation",
    evidence: tuple[str, ...] = (),
    contradicts: tuple[str, ...] = (),
    provenance: Provenance | None = None,
) -> Belief:
    """Make a belief that is not in the folder yet; `plan_new` puts it there.

    Raises:
        ValueError: If the category or origin is unknown, or the text is empty.
    """
    meta = {
        "category": category,
        "confidence": _stored(confidence),
        "formed": base.stamp(formed),
        "source": origin,
    } | base.filled({"evidence": list(evidence), "contradicts": list(contradicts)})
    return of(markdown.render(meta | (provenance or Provenance()).meta(), text), belief_id)


def _stored(confidence: float) -> float:
    return round(min(max(confidence, 0.0), MAX_CONFIDENCE), 4)


def path(belief_id: str) -> str:
    """Return where a belief lies, relative to the entity folder."""
    return f"{FOLDER}/{belief_id}.md"


def paths(folder: Path) -> list[Path]:
    """Return the files of all beliefs, oldest first."""
    return base.paths(folder, "*.md")


def read(folder: Path) -> Iterator[Belief]:
    """Yield every belief, archived ones included, oldest first."""
    for file in paths(folder):
        yield base.load(file, parse)


def readable(folder: Path) -> list[Belief]:
    """Return every belief that can be read, oldest first; one broken file stops no talk."""
    return base.load_all(paths(folder), lambda file: base.load(file, parse))[0]


def plan_new(belief: Belief, why: str) -> Change:
    """Plan to put a new belief into the folder."""
    return base.plan_new(path(belief.id), belief.source, why)


def plan_update(
    belief: Belief,
    why: str,
    *,
    confidence: float | None = None,
    at: datetime | None = None,
    evidence: tuple[str, ...] = (),
    contradicts: tuple[str, ...] = (),
    archived: bool | None = None,
) -> Change | None:
    """Plan to reinforce, weaken, link or archive a belief.

    Args:
        belief: As it was read.
        why: For the change set.
        confidence: The new confidence, which holds as of `at`.
        at: When it was confirmed or weakened.
        evidence: Ids to add to those that are there.
        contradicts: Ids of beliefs to add to those that are there.
        archived: Whether it is to be out of recall and prompts.
    """
    values: dict[str, Any] = {}
    if confidence is not None:
        values["confidence"] = _stored(confidence)
    if at is not None:
        values["reinforced"] = base.stamp(at)
    if set(evidence) - set(belief.evidence):
        values["evidence"] = list(dict.fromkeys((*belief.evidence, *evidence)))
    if set(contradicts) - set(belief.contradicts):
        values["contradicts"] = list(dict.fromkeys((*belief.contradicts, *contradicts)))
    if archived is not None and archived != belief.archived:
        values["status"] = "archived" if archived else None
    document = base.with_values(belief.source, values)
    return base.plan_edit(path(belief.id), belief.source, document, why)


def plan_unlinked(belief: Belief, other_id: str) -> Change | None:
    """Plan to take out the link to a belief that goes."""
    left = [linked_id for linked_id in belief.contradicts if linked_id != other_id]
    document = base.with_values(belief.source, {"contradicts": left or None})
    why = f"{other_id} is gone"
    return base.plan_edit(path(belief.id), belief.source, document, why)


def plan_forget(belief: Belief, why: str) -> Change:
    """Plan to remove a belief's file."""
    return base.plan_remove(path(belief.id), belief.source, why)
