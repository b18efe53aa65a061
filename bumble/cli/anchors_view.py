"""Anchors as `soma --explain` shows them: what is left of each, likeness, the cool-down."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bumble.app import output
from bumble.app.body_view import Presence
from bumble.app.opening import Opened
from bumble.body import hormones
from bumble.cli import listing
from bumble.records import anchors
from bumble.runtime import anchor_recall

BLENDS = (
    (hormones.ASKED, "asked for"),
    (hormones.WORDS, "its words in a message"),
    (hormones.ALIKE, f"a body like it, above {hormones.ALIKE_ABOVE:g}"),
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
    cooling = hormones.is_cooling(stirred, now)
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
    again = stirred + hormones.COOL_DOWN if stirred and cooling else None
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
