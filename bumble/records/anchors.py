"""Anchor files: a state of the body with a name, which it can come back to.

Layout: `anchors/<slug>.yaml`, one mapping. Knows nothing of how a recall moves the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from bumble.body.config import HORMONE_NAMES
from bumble.entity.changes import Change
from bumble.files import disk
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import yaml_edit
from bumble.text.markdown import YamlDocument
from bumble.text.words import one_line

FOLDER = "anchors"
DECIMALS = 4  # of a stored level


class Anchor(Struct, frozen=True):
    """One state of the body that has a name."""

    id: str  # the file's stem
    label: str
    description: str
    levels: Mapping[str, float]  # in [0, 1], by the names of the hormones
    at: datetime  # when it was made
    strength: float  # in [0, 1], when it was made
    recalled: int  # how often
    last_recalled: datetime | None
    stirred: datetime | None  # when it was last made or recalled without being asked for
    provenance: Provenance
    source: YamlDocument  # the file as it stands; edits splice its lines

    @property
    def touched(self) -> datetime:
        """When it was last made or recalled."""
        return max(self.at, self.last_recalled or self.at)


def parse(source: str, stem: str) -> Anchor:
    """Read an anchor from the text of its file; `source.text` gives the same bytes back."""
    return of(YamlDocument.of(source), stem)


def of(document: YamlDocument, anchor_id: str) -> Anchor:
    """Read an anchor from its document."""
    meta = document.meta
    stored = base.field(meta, "hormones", dict)
    return Anchor(
        id=anchor_id,
        label=one_line(base.field(meta, "label", str, "")) or anchor_id,
        description=base.field(meta, "description", str, "").strip(),
        levels={name: base.unit(stored, name) for name in HORMONE_NAMES},
        at=base.field(meta, "at", datetime),
        strength=base.unit(meta, "strength", 1.0),
        recalled=base.field(meta, "recalled", int, 0),
        last_recalled=_moment(meta, "last_recalled"),
        stirred=_moment(meta, "stirred"),
        provenance=base.provenance(meta),
        source=document,
    )


def _moment(meta: Mapping[str, object], key: str) -> datetime | None:
    return None if meta.get(key) is None else base.field(meta, key, datetime)


def new(
    label: str,
    description: str,
    levels: Mapping[str, float],
    at: datetime,
    strength: float,
    *,
    stirred: bool = False,
    provenance: Provenance | None = None,
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
    meta = {
        "label": one_line(label),
        "description": description.strip(),
        "hormones": {name: round(levels[name], DECIMALS) for name in HORMONE_NAMES},
        "at": base.stamp(at),
        "strength": round(strength, DECIMALS),
        "recalled": 0,
        "stirred": base.stamp(at) if stirred else "",
    }
    source = yaml_edit.dump(base.filled(meta) | (provenance or Provenance()).meta())
    return of(YamlDocument.of(source), disk.file_name(label))


def path(anchor_id: str) -> str:
    """Return where an anchor lies, relative to the entity folder."""
    return f"{FOLDER}/{anchor_id}.yaml"


def paths(folder: Path) -> list[Path]:
    """Return the files of all anchors, by name."""
    return base.paths(folder, "*.yaml")


def load(file: Path) -> Anchor:
    """Read the anchor in a file.

    Raises:
        RecordInvalidError: If it is none.
    """
    return base.load(file, parse)


def readable(folder: Path) -> list[Anchor]:
    """Return every anchor that can be read, by name; a broken file holds up nothing."""
    return base.load_all(paths(folder), load)[0]


def match(anchors: Iterable[Anchor], name: str) -> Anchor | None:
    """Return the anchor of a label or of a file's name; case and spaces do not count."""
    wanted, everything = disk.same_name(name), list(anchors)
    spellings = [(key, anchor) for anchor in everything for key in (anchor.label, anchor.id)]
    return next((anchor for key, anchor in spellings if disk.same_name(key) == wanted), None)


def plan_new(anchor: Anchor, why: str) -> Change:
    """Plan to put a new anchor into the folder."""
    return base.plan_new(path(anchor.id), anchor.source, why)


def plan_recalled(anchor: Anchor, at: datetime, why: str, *, stirred: bool) -> Change | None:
    """Plan to count that an anchor was recalled.

    Args:
        anchor: As it was read.
        at: When.
        why: For the change set.
        stirred: Whether nobody asked for it.
    """
    values = {"recalled": anchor.recalled + 1, "last_recalled": base.stamp(at)}
    values |= {"stirred": base.stamp(at)} if stirred else {}
    document = base.with_values(anchor.source, values)
    return base.plan_edit(path(anchor.id), anchor.source, document, why)


def plan_forget(anchor: Anchor, why: str) -> Change:
    """Plan to remove an anchor's file."""
    return base.plan_remove(path(anchor.id), anchor.source, why)
