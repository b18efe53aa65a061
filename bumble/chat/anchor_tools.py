"""What the tools of anchors do: keep how the body is, list what there is, and come back to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.errors import RecordMissingError
from bumble.records import anchors, base, provenance
from bumble.records.anchors import Anchor
from bumble.records.base import Provenance
from bumble.runtime import anchor_recall, body_state
from bumble.runtime.runtime import Runtime
from bumble.text.words import one_line

Plans = tuple[Callable[[], Change | None], ...]


class Recalled(Struct, frozen=True):
    """What the model gets to see of an anchor, and what is to be written."""

    text: str
    trust: str  # its tier, if it is a quoted one
    plans: Plans


class Feelings(Struct, frozen=True):
    """The anchors of an entity as its tools use them."""

    runtime: Runtime

    def keep(self, label: str, description: str, origin: Provenance, at: datetime) -> Plans:
        """Plan to make an anchor of the body as it is.

        Raises:
            ValueError: If the label is empty, or there is one of that label.
        """
        soma = body_state.read(self.runtime, at)
        intensity = body_state.intensity(self.runtime, soma)
        anchor = anchors.new(
            label, description, soma.hormones.levels, at, intensity, provenance=origin
        )
        return anchor_recall.plans_new(self.runtime, anchor, f"make an anchor: {anchor.label}")

    def listing(self, readers: Sequence[str]) -> str:
        """Return the labels of all anchors that these people may meet, a line each."""
        return "\n".join(f"- {anchor.label}" for anchor in self._open(readers))

    def recall(self, label: str, readers: Sequence[str], at: datetime) -> Recalled:
        """Plan to recall an anchor.

        Raises:
            RecordMissingError: If there is none of that label.
        """
        listed = self._open(readers)
        anchor = anchors.match(listed, label)
        if anchor is None:
            near = base.nearest(label, [other.label for other in listed])
            raise RecordMissingError("anchor", label, near)
        about = f": {one_line(anchor.description)}" if anchor.description else ""
        trust = provenance.lowest_untrusted((anchor.provenance.trust,))
        plans = anchor_recall.plans_recall(self.runtime, anchor, at, f"recall: {anchor.label}")
        return Recalled(f"it comes back: {anchor.label}{about}", trust, plans)

    def _open(self, readers: Sequence[str]) -> list[Anchor]:
        listed = anchors.readable(self.runtime.entity.anchors)
        return [anchor for anchor in listed if base.may_read(anchor.provenance.audience, readers)]
