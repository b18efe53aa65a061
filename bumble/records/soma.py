"""The file `soma.yaml`: the body as it was last, with the time its values were true.

One file, `soma.yaml`. Reading never writes; what the values are *now* is computed in `body`. Knows
nothing of what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from bumble.body import affects as feelings
from bumble.body import noise
from bumble.entity.changes import Change
from bumble.records import base, kind
from bumble.records.fields import (
    ABSENT,
    BOTH,
    joined,
    later,
    listed,
    mapping,
    nested,
    newer,
    unchanged,
)
from bumble.text import moments

PATH = "soma.yaml"
HEAD = "Its body, as it last was: bars from 0 to 100, each with the point where it comes to rest."

parse, read = base.parse_mapping, base.read_mapping
plan_write: Callable[..., Change | None] = partial(base.plan_mapping, PATH, head=HEAD)


def _later_whole(base: Any, current: Any, incoming: Any) -> Any:
    """Take the mapping whose `at` is later; one that is there, where the other is none."""
    there = [side for side in (current, incoming) if isinstance(side, Mapping)]
    return newer(there[0], there[-1], "at") if there else max(current, incoming, key=repr)


def _affects(base: Any, current: Any, incoming: Any) -> Any:
    """Hold each feeling once, as it was later; one that has faded on a side is gone."""
    sides = [
        {affect["name"]: affect for affect in side or [] if isinstance(affect, dict)}
        for side in (base, current, incoming)
    ]
    names = dict.fromkeys((*sides[1], *sides[2]))
    affects = []
    for name in names:
        values = [side.get(name, ABSENT) for side in sides]
        affect = unchanged(*values)
        affect = _later_whole(*values) if affect is BOTH else affect
        affects += [affect] if affect is not ABSENT else []
    affects.sort(key=lambda affect: (-float(affect["intensity"]), affect["name"]))
    return affects[: max(feelings.MOST, len(sides[1]), len(sides[2]))]


def _noise(base: Any, current: Any, incoming: Any) -> Any:
    """Merge the noise; a body that had no thought yet has an empty one."""
    sides = [{} if side in (ABSENT, None) else side for side in (base, current, incoming)]
    return nested({"ticked_at": later, "fragments": _fragments})(*sides)


def _fragments(base: Any, current: Any, incoming: Any) -> Any:
    """Hold the thoughts of both sides in one ring, near doubles once."""
    together = joined(base, current, incoming)
    together = [] if together is ABSENT else sorted(together, key=lambda one: (_at(one), str(one)))
    room = max(noise.CAPACITY, len(current or []), len(incoming or []))
    ring: tuple[noise.Fragment, ...] = ()
    held: dict[noise.Fragment, Any] = {}
    for fragment in together:
        thought = noise.Fragment(
            fragment["text"], fragment["kind"], float(fragment["salience"]), _at(fragment)
        )
        ring = noise.push(ring, thought, room)
        held[thought] = fragment
    return [held[thought] for thought in ring]


def _at(fragment: Any) -> datetime:
    return moments.read(fragment["at"], "noise.at")


_FEELS = listed("feels {}", "no longer feels {}")
_THINKS = listed("on its mind: {}", "off its mind: {}")


def _told(before: str | None, after: str | None) -> kind.Told:
    old, new = (parse(text or "").values for text in (before, after))
    if moves := list(_moves(_levels(old), _levels(new))):
        yield f"body: {', '.join(moves)}"
    heard = (side.get("noise") for side in (old, new))
    thoughts = [each.get("fragments") if isinstance(each, dict) else None for each in heard]
    felt = [side.get("affects") for side in (old, new)]
    yield from _FEELS(*(_named(each, "name") for each in felt))
    yield from _THINKS(*(_named(each, "text") for each in thoughts))
    now = new.get("felt")
    if isinstance(now, Mapping) and now != old.get("felt"):
        yield f"felt: {now.get('text')}"


def _levels(values: Mapping[str, Any]) -> dict[str, float]:
    """Return all bars and hormones that have a number."""
    parts = [part for name in ("bars", "hormones") if isinstance(part := values.get(name), Mapping)]
    pairs = ((key, value) for part in parts for key, value in part.items())
    found = {key: one.get("value") if isinstance(one, Mapping) else one for key, one in pairs}
    return {key: one for key, one in found.items() if isinstance(one, int | float)}


def _moves(old: Mapping[str, float], new: Mapping[str, float]) -> kind.Told:
    for key, now in new.items():
        was = old.get(key)
        if was is None:
            yield f"{key} {now:.4g}"
        elif f"{was:.4g}" != f"{now:.4g}":
            yield f"{key} {was:.4g} -> {now:.4g}"


def _named(value: Any, key: str) -> list[str]:
    entries = value if isinstance(value, list) else []
    return [str(entry[key]) for entry in entries if isinstance(entry, dict) and key in entry]


SOMA = kind.Kind(
    name="soma",
    singular="body",
    plural="bodies",
    key="soma",
    patterns=(PATH,),
    parser=parse,
    teller=_told,
    # what was true later stands, feelings and thoughts of both are held
    joiner=partial(
        mapping,
        rules={
            "bars": _later_whole,
            "hormones": _later_whole,
            "felt": _later_whole,
            "impulses": nested({}, later),
            "affects": _affects,
            "noise": _noise,
        },
    ),
    forgetting="listed",
    merging="bumble",
    file_name="body",
    of_now=True,
)
