"""The file `state.yaml`: cursors, counters and pending work of the jobs; its form.

One file, `state.yaml`. Cursors are ids, never positions in a list. Knows nothing of the cycles
but the form in which they keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from bumble.entity.changes import Change
from bumble.records import base
from bumble.records.fields import (
    ABSENT,
    Rule,
    Values,
    by_kind,
    counted,
    either,
    joined,
    later,
    mapping,
    moved,
    nested,
    newer,
)
from bumble.records.kind import Kind
from bumble.text import yaml_edit

PATH = "state.yaml"
HEAD = "How far its work has come. Only bumble needs this: no memory stands here."
Keys = tuple[str, ...]
EACH = ""  # any key of a mapping
FORM: Mapping[str, Any] = {  # what is not named is passed over
    "sessions": {},  # ids by conversation; nested in folders of earlier versions
    "distill": {EACH: {"at": datetime, "hash": str, "tried": str, "failed": int}},
    "consolidate": {"at": datetime, "count": int},
    "dream": {"last_at": datetime, "empty_at": datetime, "count": int},
    "working": {"at": datetime},
    "wake": {"recent": list, "reason": str},
    "evolve": {"interactions": int, "at": datetime},
    "handover": {"without": list},
    "review": {"waiting": {EACH: datetime}},
    "refused": {EACH: datetime},
}


def parse(source: str, stem: str = "") -> base.MappingFile:
    """Read the state from the text of its file.

    Raises:
        SourceError: If it is not a YAML mapping, or a value of another form.
    """
    file = base.parse_mapping(source, stem)
    _check(file.values, FORM, (), source)
    return file


def _check(values: Mapping[Any, Any], form: Mapping[str, Any], above: Keys, source: str) -> None:
    for key, value in values.items():
        kind, keys = form.get(key, form.get(EACH)), (*above, str(key))
        try:
            if not isinstance(key, str):
                raise ValueError(f"the key `{key}` is not text; put it in quotes")
            if kind is not None and value is not None:
                base.field(values, key, dict if isinstance(kind, Mapping) else kind)
        except ValueError as error:
            raise yaml_edit.SourceError(str(error), yaml_edit.line_of(source, keys)) from error
        if isinstance(kind, Mapping) and value is not None:
            _check(value, kind, keys, source)


def read(file: Path) -> base.MappingFile:
    """Read the file; none at all counts as an empty mapping."""
    return base.read_mapping(file, parse)


plan_write: Callable[..., Change | None] = partial(base.plan_mapping, PATH, head=HEAD)


def oldest(marks: Mapping[str, Any], new: Collection[str], most: int) -> list[str]:
    """Return which of some marks, each with its time, make room for new ones."""
    left = sorted((mark for mark in marks if mark not in new), key=lambda one: str(marks[one]))
    return left[: max(0, len(left) + len(new) - most)]


def _joined(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
    """Merge where the cycles stand: cursors that moved on, later times, counts added up."""
    rules: dict[str, Rule] = {
        "sessions": nested({}, moved),
        "consolidate": _consolidation,
        "dream": _dream_count,
        "wake": nested({"recent": joined, "reason": either}),
        "review": _review,
    }
    return mapping(base, current, incoming, rules, by_kind)


def _review(base: Any, current: Any, incoming: Any) -> Any:
    """Merge what waits for review: what either side has decided no longer does."""
    merged = mapping(base, current, incoming, {"waiting": _dated, "dealt": _dated})
    return {key: value for key, value in merged.items() if value} or ABSENT


def _dated(base: Any, current: Any, incoming: Any) -> Any:
    """Merge names that have a time each: what either side took out is gone."""
    return mapping(base, current, incoming, {}, otherwise=later)


def _consolidation(base: Any, current: Any, incoming: Any) -> Any:
    """Merge when memory was last put in order; what there was to see goes with the later time."""
    if not (isinstance(current, Mapping) and isinstance(incoming, Mapping)):
        return by_kind(base, current, incoming)
    last = newer(current, incoming, "at")
    rules: dict[str, Rule] = {"seen": lambda *_: last.get("seen", ABSENT)}
    return mapping(base, current, incoming, rules, by_kind)


def _dream_count(base: Any, current: Any, incoming: Any) -> Any:
    """Merge the count of dreams: those of one day add up, of two days the later one counts."""
    if not (isinstance(current, Mapping) and isinstance(incoming, Mapping)):
        return by_kind(base, current, incoming)
    sides = [side if isinstance(side, Mapping) else {} for side in (base, current, incoming)]
    day = max(str(side.get("day", "")) for side in sides[1:])
    merged = mapping(base, current, incoming, {"day": lambda *_: day, "count": counted}, by_kind)
    counts = [side.get("count", 0) if side.get("day") == day else 0 for side in sides]
    return {**merged, "count": counted(*counts)} if "count" in merged else merged


STATE = Kind(
    name="state",
    singular="bookkeeping",
    plural="bookkeeping",
    key="state",
    patterns=(PATH,),
    parser=parse,
    teller=lambda *_: iter(("bookkeeping of the cycles",)),
    joiner=_joined,
    forgetting="values",
    merging="bumble",
    file_name="bookkeeping",
    of_now=True,
)
