"""Proposals of evolution: what the entity would change about itself, and why; the owner decides.

Layout: `evolution/<id>.md`; the body is the diff of entity.yaml as it was then. Knows nothing of
how a proposal comes about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import markdown
from bumble.text.markdown import Document

PREFIX = "evo"
FOLDER = "evolution"
OPEN, APPLIED, REJECTED = "open", "applied", "rejected"
STATUSES = (OPEN, APPLIED, REJECTED)
MOST_TRAITS, MOST_BEHAVIOURS, MOST_TOPICS = 4, 2, 4
MOST_CHANGE = 0.01  # of a trait, either way


class Item(Struct, frozen=True):
    """One change that is proposed."""

    text: str  # the trait's name, the behaviour or the topic
    reason: str
    sources: tuple[str, ...]  # ids of the records it rests on
    change: float = 0.0  # of a trait

    def meta(self) -> dict[str, Any]:
        """Return the fields as the file holds them."""
        change = {"change": self.change} if self.change else {}
        return {"text": self.text, **change, "reason": self.reason, "from": list(self.sources)}


class Proposal(Struct, frozen=True):
    """What the entity would change about itself."""

    id: str  # `evo_<ULID>`, the file's stem
    at: datetime
    status: str  # one of STATUSES
    interactions: int  # in the entity's life, when it was made
    traits: tuple[Item, ...]
    behaviours: tuple[Item, ...]
    topics: tuple[Item, ...]  # of curiosity
    provenance: Provenance
    source: Document  # the file as it stands; edits splice its lines

    @property
    def items(self) -> tuple[Item, ...]:
        """All of its changes."""
        return (*self.traits, *self.behaviours, *self.topics)


def parse(source: str, stem: str) -> Proposal:
    """Read a proposal from the text of its file; `source.text` gives the same bytes back."""
    return of(markdown.parse(source), stem)


def of(document: Document, proposal_id: str) -> Proposal:
    """Read a proposal from its document."""
    meta = document.meta
    traits = _items(meta, "traits", MOST_TRAITS)
    for item in traits:
        if not abs(item.change) <= MOST_CHANGE:
            raise ValueError(f"`change` should be {MOST_CHANGE} at most, not {item.change:g}")
    return Proposal(
        id=proposal_id,
        at=base.field(meta, "at", datetime),
        status=base.choice(meta, "status", STATUSES, OPEN),
        interactions=base.field(meta, "interactions", int, 0),
        traits=traits,
        behaviours=_items(meta, "behaviours", MOST_BEHAVIOURS),
        topics=_items(meta, "curiosity", MOST_TOPICS),
        provenance=base.provenance(meta),
        source=document,
    )


def _items(meta: Mapping[str, Any], name: str, most: int) -> tuple[Item, ...]:
    """Read a list of changes; what a forgetting has emptied is passed over."""
    listed = base.field(meta, name, list, [])
    if len(listed) > most:
        raise ValueError(f"`{name}` should be {most} at most, not {len(listed)}")
    if not all(isinstance(value, Mapping) for value in listed):
        raise ValueError(f"`{name}` should be a list of mappings")
    items = (
        Item(
            text=base.field(value, "text", str, "").strip(),
            reason=base.field(value, "reason", str, ""),
            sources=base.texts(value, "from"),
            change=base.field(value, "change", float, 0.0),
        )
        for value in listed
    )
    return tuple(item for item in items if item.text)


def new(
    proposal_id: str,
    at: datetime,
    interactions: int,
    items: Mapping[str, Sequence[Item]],
    diff: str,
    *,
    provenance: Provenance | None = None,
) -> Proposal:
    """Make a proposal that is not in the folder yet; `plan_new` puts it there.

    Args:
        proposal_id: Its id.
        at: When.
        interactions: In the entity's life so far.
        items: Its changes under `traits`, `behaviours` and `curiosity`.
        diff: Of entity.yaml.
        provenance: Where its words come from.

    Raises:
        ValueError: If there are too many of a sort, or one goes too far.
    """
    meta = {"at": base.stamp(at), "status": OPEN, "interactions": interactions}
    listed = {name: [item.meta() for item in changes] for name, changes in items.items()}
    origin = (provenance or Provenance()).meta()
    body = f"```diff\n{diff.rstrip()}\n```"
    return of(markdown.render(meta | base.filled(listed) | origin, body), proposal_id)


def path(proposal_id: str) -> str:
    """Return where a proposal lies, relative to the entity folder."""
    return f"{FOLDER}/{proposal_id}.md"


def paths(folder: Path) -> list[Path]:
    """Return the files of all proposals, oldest first."""
    return base.paths(folder, "*.md")


def load(file: Path) -> Proposal:
    """Read the proposal in a file.

    Raises:
        RecordInvalidError: If it is none.
    """
    return base.load(file, parse)


def read(folder: Path) -> Iterator[Proposal]:
    """Yield every proposal, oldest first."""
    for file in paths(folder):
        yield load(file)


def plan_new(proposal: Proposal, why: str) -> Change:
    """Plan to put a new proposal into the folder."""
    return base.plan_new(path(proposal.id), proposal.source, why)


def plan_decided(proposal: Proposal, status: str, at: datetime, why: str) -> Change | None:
    """Plan to note what its owner decided; None if that is noted already."""
    if proposal.status == status:
        return None
    document = base.with_values(proposal.source, {"status": status, "decided": base.stamp(at)})
    return base.plan_edit(path(proposal.id), proposal.source, document, why)
