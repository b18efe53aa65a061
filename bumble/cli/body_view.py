"""The body as commands show it: read and brought to the present; no model, nothing written."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bumble.body import affects, anchoring
from bumble.body.affects import Mood
from bumble.body.soma import Soma, advance, birth
from bumble.cli import listing, output
from bumble.cli.opening import Opened
from bumble.records import anchors, soma
from bumble.runtime import anchor_recall, body_state

if TYPE_CHECKING:
    from bumble.body.noise import Fragment


class Presence(Struct, frozen=True):
    """A body at the present."""

    soma: Soma
    stored_at: datetime | None  # when the values of its file were true; None: not written yet

    @property
    def mood(self) -> Mood:
        """The feeling that stands out."""
        return affects.mood(self.soma.bars)


def look(opened: Opened) -> Presence:
    """Read the body from its file and bring it to the present.

    Raises:
        RecordInvalidError: If the file does not hold a body.
    """
    temperament, zone = opened.config.soma.bars.levels, opened.zone
    place = opened.within(opened.entity.soma)
    file = soma.read(place)
    stored = body_state.stored(place, file)
    at = opened.shell.now().astimezone(zone)
    if stored is None:
        return Presence(birth(at, temperament), None)
    return Presence(advance(stored, at, zone, temperament), stored.at)


def fragment_data(held: Fragment) -> dict[str, Any]:
    """Return a stray thought as data."""
    return {
        "text": held.text,
        "kind": held.kind,
        "salience": held.salience,
        "at": held.at.isoformat(),
        "audience": list(held.audience),
    }


BLENDS = (
    (anchoring.ASKED, "asked for"),
    (anchoring.WORDS, "its words in a message"),
    (anchoring.ALIKE, f"a body like it, above {anchoring.ALIKE_ABOVE:g}"),
)


class AnchorsView(Struct, frozen=True):
    """The anchors of a body, as data and as lines."""

    data: dict[str, Any]
    lines: list[str]


def of(opened: Opened, presence: Presence) -> AnchorsView:
    """Say how near each anchor is, and when one may come back by itself."""
    listed = listing.readable(opened, anchors.paths(opened.entity.anchors), anchors.load).records
    now, by_itself = opened.shell.now(), opened.config.soma.anchors.by_itself
    stirred = anchor_recall.stirred_at(listed, now)
    cooling = anchoring.is_cooling(stirred, now)
    entries = [
        {
            "id": anchor.id,
            "label": anchor.label,
            "left": round(anchor_recall.strength(anchor, now), 4),
            "like": round(anchor_recall.like(anchor, presence.soma), 4),
            "recalled": anchor.recalled,
        }
        for anchor in listed
    ]
    again = stirred + anchoring.COOL_DOWN if stirred and cooling else None
    data = {
        "by_itself": by_itself,
        "again": again.isoformat() if again else None,
        "entries": entries,
    }
    blends = "; ".join(f"{share:g} {cause}" for share, cause in BLENDS)
    lines = [f"anchors: level ← (1 − s)·level + s·anchor, s = {blends}"]
    if not by_itself:
        lines.append("  none comes back by itself: soma.anchors.by_itself is off")
    elif again:
        lines.append(f"  none comes back by itself before {listing.when(again, opened)}")
    rows = [
        [str(entry["label"]), f"left {entry['left']:.2f}", f"like now {entry['like']:+.2f}"]
        for entry in entries
    ]
    return AnchorsView(data, [*lines, *(output.table(rows, indent="  ") or ["  none yet"])])
