"""Proposals of evolution: what the entity would change about itself, and why; the owner decides.

Layout: `evolution/<id>.md`; the body is the diff of entity.yaml as it was then. Knows nothing of
how a proposal comes about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base, kind
from bumble.records.fields import Key, later, moment, one_of, read_struct, told, write_struct

OPEN, APPLIED, REJECTED = "open", "applied", "rejected"
STATUSES = (OPEN, APPLIED, REJECTED)
MOST_TRAITS, MOST_BEHAVIOURS, MOST_TOPICS = 4, 2, 4
MOST_CHANGE = 0.01  # of a trait, either way


class Item(Struct, frozen=True):
    """One change that is proposed."""

    text: str = ""  # the trait's name, the behaviour or the topic
    reason: str = ""
    sources: Annotated[tuple[str, ...], Key("from")] = ()  # ids of the records it rests on
    change: float = 0.0  # of a trait


def _items(most: int) -> Callable[[Mapping[str, Any], str], tuple[Item, ...]]:
    """Read a list of changes; what a forgetting has emptied is passed over."""

    def read(meta: Mapping[str, Any], key: str) -> tuple[Item, ...]:
        listed = base.field(meta, key, list, [])
        if len(listed) > most:
            raise ValueError(f"`{key}` should be {most} at most, not {len(listed)}")
        if not all(isinstance(value, Mapping) for value in listed):
            raise ValueError(f"`{key}` should be a list of mappings")
        items = (read_struct(Item, value) for value in listed)
        return tuple(item for item in items if item.text.strip())

    return read


def _moment(meta: Mapping[str, Any], key: str) -> datetime | None:
    """Read a time that only a merge looks at: a word there spoils no proposal."""
    return moment(meta.get(key))


class Proposal(kind.Record, frozen=True, kw_only=True):
    """What the entity would change about itself."""

    ABOUT: ClassVar[kind.About] = kind.About(
        headline="proposal {0.id}",
        changed="proposal {0.id}",
        of_newer={"status": "decided"},
    )

    at: datetime
    status: Annotated[str, Key(read=one_of(STATUSES, OPEN), said=told(": {0} -> {1}"))]
    interactions: int = 0  # in the entity's life, when it was made
    traits: Annotated[tuple[Item, ...], Key(read=_items(MOST_TRAITS))]
    behaviours: Annotated[tuple[Item, ...], Key(read=_items(MOST_BEHAVIOURS))]
    decided: Annotated[datetime | None, Key(read=_moment, merge=later)] = None  # by its owner
    # of curiosity
    topics: Annotated[tuple[Item, ...], Key("curiosity", read=_items(MOST_TOPICS))]

    def check(self) -> None:
        """Refuse one that goes too far."""
        for item in self.traits:
            if not abs(item.change) <= MOST_CHANGE:
                raise ValueError(f"`change` should be {MOST_CHANGE} at most, not {item.change:g}")

    @property
    def items(self) -> tuple[Item, ...]:
        """All of its changes."""
        return (*self.traits, *self.behaviours, *self.topics)

    @property
    def told(self) -> str:
        return "\n".join(f"{item.text}: {item.reason}" for item in self.items)

    @property
    def rests_on(self) -> tuple[str, ...]:
        return kind.unite(*(item.sources for item in self.items))


PROPOSAL = kind.RecordKind(
    name="proposal",
    singular="proposal",
    plural="proposals",
    key="proposals",
    patterns=("evolution/*.md",),
    record=Proposal,
    forgetting="file",
    merging="bumble",
    prefix="evo",
    text_keys=("traits", "behaviours", "curiosity"),
    own_words=True,
    explained=True,
    counted=True,
)


def new(
    proposal_id: str,
    at: datetime,
    interactions: int,
    items: Mapping[str, Sequence[Item]],
    diff: str,
    *,
    provenance: base.Provenance | None = None,
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
    listed = {name: list(map(write_struct, changes)) for name, changes in items.items()}
    values = {"at": at, "status": OPEN, "interactions": interactions, **listed}
    return PROPOSAL.new(proposal_id, f"```diff\n{diff.rstrip()}\n```", provenance, **values)


def plan_decided(proposal: Proposal, status: str, at: datetime, why: str) -> Change | None:
    """Plan to note what its owner decided; None if that is noted already."""
    if proposal.status == status:
        return None
    return PROPOSAL.plan_edit(proposal, {"status": status, "decided": at}, why)
