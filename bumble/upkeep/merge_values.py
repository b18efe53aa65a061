"""Merging plain values by rules: later times win, counters add up, lists join.

A rule takes a value as it was in the base and on both sides, ABSENT where there was none, and
returns what it becomes; it raises `Clash` if nothing says which side is right, which leaves CLASHED
in a merged mapping. Rules that are named here do not depend on which side is whose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from bumble import moments
from bumble.stores import records

ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "ABSENT", "__bool__": lambda _: False})()
CLASHED: Any = type("Clashed", (), {"__repr__": lambda _: "CLASHED"})()
BOTH: Any = type("Both", (), {"__repr__": lambda _: "BOTH"})()

Rule: TypeAlias = Callable[[Any, Any, Any], Any]


class Clash(Exception):
    """Both sides changed a value, each to something else."""


def plain(base: Any, ours: Any, theirs: Any) -> Any:
    """Take the side that changed; mappings are merged key by key, lists joined."""
    alone = ours if _same(ours, theirs) else unchanged(base, ours, theirs)
    if alone is not BOTH:
        return alone
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return mapping(base, ours, theirs, {})
    if isinstance(ours, list) and isinstance(theirs, list):
        return joined(base, ours, theirs)
    raise Clash


def by_kind(base: Any, ours: Any, theirs: Any) -> Any:
    """Merge bookkeeping of which only the kind is known: times and ids later, counts added."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return mapping(base, ours, theirs, {}, by_kind)
    for rule in (later, counted, greater):
        try:
            return rule(base, ours, theirs)
        except Clash:
            continue
    return plain(base, ours, theirs)


def mapping(
    base: Any, ours: Any, theirs: Any, rules: Mapping[str, Rule], otherwise: Rule = plain
) -> dict[str, Any]:
    """Merge mappings key by key.

    Args:
        base: The mapping, or what else stood there.
        ours: One side; anything but a mapping counts as an empty one.
        theirs: The other.
        rules: By key.
        otherwise: For all other keys.

    Returns:
        The values, CLASHED for each on which no rule can decide.
    """
    sides = [one if isinstance(one, Mapping) else {} for one in (base, ours, theirs)]
    merged: dict[str, Any] = {}
    for key in dict.fromkeys((*sides[1], *sides[2])):
        values = [side.get(key, ABSENT) for side in sides]
        value = unchanged(*values)
        if value is BOTH:
            try:
                value = rules.get(str(key), otherwise)(*values)
            except Clash:
                value = CLASHED
        if value is not ABSENT:
            merged[key] = value
    return merged


def nested(rules: Mapping[str, Rule], otherwise: Rule = plain) -> Rule:
    """Return the rule that merges a mapping by rules of its own."""

    def rule(base: Any, ours: Any, theirs: Any) -> Any:
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            return mapping(base, ours, theirs, rules, otherwise) or ABSENT
        return plain(base, ours, theirs)

    return rule


def later(base: Any, ours: Any, theirs: Any) -> Any:
    """Take the later of two times."""
    return _by_time(ours, theirs, max)


def earlier(base: Any, ours: Any, theirs: Any) -> Any:
    """Take the earlier of two times."""
    return _by_time(ours, theirs, min)


def _by_time(ours: Any, theirs: Any, choose: Callable[..., Any]) -> Any:
    if _is_none(ours) or _is_none(theirs):
        return theirs if _is_none(ours) else ours
    at = [moment(ours), moment(theirs)]
    if at[0] is None or at[1] is None:
        raise Clash
    if at[0] == at[1]:  # one moment, written with two offsets
        return max(ours, theirs, key=str)
    return ours if choose(at) == at[0] else theirs


def greater(base: Any, ours: Any, theirs: Any) -> Any:
    """Take the greater number, or the later id."""
    if _is_none(ours) or _is_none(theirs):
        return theirs if _is_none(ours) else ours
    if _is_number(ours) and _is_number(theirs):
        return max(ours, theirs)
    if isinstance(ours, str) and isinstance(theirs, str) and _kind(ours) == _kind(theirs) != "":
        return max(ours, theirs)
    raise Clash


def counted(base: Any, ours: Any, theirs: Any) -> Any:
    """Add up what both sides counted since the base."""
    start, one, other = (0 if _is_none(value) else value for value in (base, ours, theirs))
    if not all(isinstance(value, int) and _is_number(value) for value in (start, one, other)):
        raise Clash
    return max(0, one + other - start)


def moved(base: Any, ours: Any, theirs: Any) -> Any:
    """Take the side that moved on: a cursor that is gone has nothing left to wait for.

    Removed on one side and untouched on the other it is removed; moved on the other, the message it
    moved to still waits there.
    """
    if _is_none(ours) or _is_none(theirs):
        return theirs if _is_none(ours) else ours
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return mapping(base, ours, theirs, {}, moved) or ABSENT
    return greater(base, ours, theirs)


def joined(base: Any, ours: Any, theirs: Any) -> Any:
    """Join two lists: what one side took out is out, what either added is in."""
    lists = [one if isinstance(one, list) else [] for one in (base, ours, theirs)]
    if ours is ABSENT and theirs is ABSENT:
        return ABSENT
    before, mine, other = lists
    kept = [one for one in before if one in mine and one in other]
    added = [one for one in (*mine, *other) if one not in before]
    if mine == before or other == before:  # one side alone: its order stands
        return (other if mine == before else mine) or ABSENT
    return unique((*kept, *sorted(added, key=repr))) or ABSENT


def unique(values: Iterable[Any]) -> list[Any]:
    """Return values without their doubles."""
    found: list[Any] = []
    for one in values:
        if one not in found:
            found.append(one)
    return found


def trusted(base: Any, ours: Any, theirs: Any) -> Any:
    """Take the lower trust: what rests on both is worth no more."""
    known = [one for one in (ours, theirs) if one in records.TRUSTS]
    return records.lowest_trust(known) or ABSENT


def heard_by(base: Any, ours: Any, theirs: Any) -> Any:
    """Keep it to those who may meet both sides; none at all means everybody, so that clashes."""
    if not ours or not theirs:
        return ours or theirs or ABSENT
    both = [one for one in ours if one in theirs]
    if not both:
        raise Clash
    return sorted(both) if both not in (ours, theirs) else both


ORIGIN: Mapping[str, Rule] = {
    "from": joined,
    "trust": trusted,
    "audience": heard_by,
    "by": lambda base, ours, theirs: _either(base, ours, theirs),
    "model": lambda base, ours, theirs: _either(base, ours, theirs),
}


def _either(base: Any, ours: Any, theirs: Any) -> Any:
    try:
        return plain(base, ours, theirs)
    except Clash:
        return max(ours, theirs, key=lambda one: "" if one is ABSENT else str(one))


def unchanged(base: Any, ours: Any, theirs: Any) -> Any:
    """Return what stands where one side at most changed it; BOTH where both did, though alike."""
    if _same(theirs, base):
        return ours
    return theirs if _same(ours, base) else BOTH


def _is_none(value: Any) -> bool:
    return value is ABSENT or value is None


def moment(value: Any) -> datetime | None:
    """Read a time with its offset; None for anything else."""
    if not isinstance(value, str | datetime):
        return None
    try:
        return moments.read(value, "at")
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(name: str) -> str:
    """Return the prefix of an id; empty for what is none."""
    prefix, _, rest = name.partition("_")
    return prefix if rest and records.is_id(name) else ""


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)
