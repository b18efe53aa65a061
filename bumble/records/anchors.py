"""Anchor files: a state of the body with a name, which it can come back to.

Layout: `anchors/<slug>.yaml`, one mapping. Knows nothing of how a recall moves the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

from bumble.body.config import HORMONE_NAMES
from bumble.entity.changes import Change
from bumble.files import disk
from bumble.records import base, kind
from bumble.records.fields import LATER, Key, counted, greater, line, text, told, unit
from bumble.text import words

DECIMALS = 4  # of a stored level


def _levels(meta: Mapping[str, Any], key: str) -> dict[str, float]:
    stored = base.field(meta, key, dict)
    return {name: base.unit(stored, name) for name in HORMONE_NAMES}


class Anchor(kind.Record, frozen=True, kw_only=True):
    """One state of the body that has a name."""

    ABOUT: ClassVar[kind.About] = kind.About(
        defaults_to_id="label",
        headline='anchor "{0.label}"',
        quoted="description",
        changed='anchor "{1.label}"',
        retold='anchor "{1.label}" says',
        words="description",
        of_newer={"hormones": "at"},
    )

    label: Annotated[str, Key(read=line)]
    description: Annotated[str, Key(read=text)]
    levels: Annotated[Mapping[str, float], Key("hormones", read=_levels)]  # in [0, 1], by name
    at: Annotated[datetime, LATER]  # when it was made
    # in [0, 1], when it was made
    strength: Annotated[float, Key(read=unit(1.0), merge=greater)]
    recalled: Annotated[int, Key(merge=counted, said=told(": recalled {0} -> {1} times"))] = (
        0  # how often
    )
    last_recalled: Annotated[datetime | None, LATER] = None
    # when it was last made or recalled without being asked for
    stirred: Annotated[datetime | None, LATER] = None

    @property
    def told(self) -> str:
        return f"{self.label}\n{self.description}".rstrip()

    @property
    def touched(self) -> datetime:
        """When it was last made or recalled."""
        return max(self.at, self.last_recalled or self.at)


ANCHOR = kind.RecordKind(
    name="anchor",
    singular="anchor",
    plural="anchors",
    key="anchors",
    patterns=("anchors/*.yaml",),
    record=Anchor,
    forgetting="file",
    merging="bumble",
    text_keys=("label", "description"),
    explained=True,
    counted=True,
    named_by=("label", "id"),
)


def new(
    label: str,
    description: str,
    levels: Mapping[str, float],
    at: datetime,
    strength: float,
    *,
    stirred: bool = False,
    provenance: base.Provenance | None = None,
) -> Anchor:
    """Make an anchor that is not in the folder yet; `plan_new` puts it there.

    Args:
        label: What it is called; its file is named for it.
        description: What it was like, or what gave rise to it.
        levels: Of every hormone, in [0, 1].
        at: When.
        strength: How much it counts, in [0, 1].
        stirred: Whether nobody asked for it.
        provenance: Where its words come from.

    Raises:
        ValueError: If the label is empty or a number is out of range.
    """
    if not label.strip():
        raise ValueError("an anchor needs a label")
    return ANCHOR.new(
        disk.file_name(label),
        "",
        provenance,
        label=words.one_line(label),
        description=description.strip(),
        hormones={name: round(levels[name], DECIMALS) for name in HORMONE_NAMES},
        at=at,
        strength=round(strength, DECIMALS),
        recalled=0,
        stirred=at if stirred else None,
    )


def plan_recalled(anchor: Anchor, at: datetime, why: str, *, stirred: bool) -> Change | None:
    """Plan to count that an anchor was recalled.

    Args:
        anchor: As it was read.
        at: When.
        why: For the change set.
        stirred: Whether nobody asked for it.
    """
    values = {"recalled": anchor.recalled + 1, "last_recalled": at}
    return ANCHOR.plan_edit(anchor, values | ({"stirred": at} if stirred else {}), why)
