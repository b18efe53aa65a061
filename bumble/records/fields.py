"""Fields that a struct declares: how each is read, and what two sides of it become.

A field's type says how it is read, its default what a missing value counts as; what neither says,
a `Key` in its annotation does. A rule takes a value as it was in the base and on both sides, ABSENT
where there was none, and returns what it becomes; it raises `Clash` if nothing says which side is
right, which leaves CLASHED in a merged mapping. Which side is whose makes no difference to a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin

from msgspec import NODEFAULT, Struct, structs

from bumble.entity import companions
from bumble.records import base
from bumble.records.base import TRUSTS, is_id, lowest_trust
from bumble.text import moments, words

ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "ABSENT", "__bool__": lambda _: False})()
CLASHED: Any = type("Clashed", (), {"__repr__": lambda _: "CLASHED"})()
BOTH: Any = type("Both", (), {"__repr__": lambda _: "BOTH"})()

Rule: TypeAlias = Callable[[Any, Any, Any], Any]
Values: TypeAlias = Mapping[str, Any]


class Clash(Exception):
    """Both sides changed a value, each to something else."""


# What a rule raises that was given something else than it merges: people write what they like.
_MISSHAPEN = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


def plain(base: Any, current: Any, incoming: Any) -> Any:
    """Take the side that changed; mappings are merged key by key, lists joined."""
    alone = current if _same(current, incoming) else unchanged(base, current, incoming)
    if alone is not BOTH:
        return alone
    if isinstance(current, Mapping) and isinstance(incoming, Mapping):
        return mapping(base, current, incoming, {})
    if isinstance(current, list) and isinstance(incoming, list):
        return joined(base, current, incoming)
    raise Clash


def by_kind(base: Any, current: Any, incoming: Any) -> Any:
    """Merge bookkeeping of which only the kind is known: times and ids later, counts added."""
    if isinstance(current, Mapping) and isinstance(incoming, Mapping):
        return mapping(base, current, incoming, {}, by_kind)
    for rule in (later, counted, greater):
        try:
            return rule(base, current, incoming)
        except Clash:
            continue
    return plain(base, current, incoming)


def mapping(
    base: Any, current: Any, incoming: Any, rules: Mapping[str, Rule], otherwise: Rule = plain
) -> dict[str, Any]:
    """Merge mappings key by key.

    Args:
        base: The mapping, or what else stood there.
        current: One side; anything but a mapping counts as an empty one.
        incoming: The other.
        rules: By key.
        otherwise: For all other keys.

    Returns:
        The values, CLASHED for each on which no rule can decide.
    """
    sides = [side if isinstance(side, Mapping) else {} for side in (base, current, incoming)]
    merged: dict[str, Any] = {}
    for key in dict.fromkeys((*sides[1], *sides[2])):
        values = [side.get(key, ABSENT) for side in sides]
        value = unchanged(*values)
        if value is BOTH:
            try:
                value = rules.get(str(key), otherwise)(*values)
            except (Clash, *_MISSHAPEN):
                value = CLASHED
        if value is CLASHED and ABSENT in values[1:]:  # what was changed outlives its removal
            value = values[1] if values[2] is ABSENT else values[2]
        if value is not ABSENT:
            merged[key] = value
    return merged


def nested(rules: Mapping[str, Rule], otherwise: Rule = plain) -> Rule:
    """Return the rule that merges a mapping by rules of its own."""

    def rule(base: Any, current: Any, incoming: Any) -> Any:
        if isinstance(current, Mapping) and isinstance(incoming, Mapping):
            return mapping(base, current, incoming, rules, otherwise) or ABSENT
        return plain(base, current, incoming)

    return rule


def _by_time(base: Any, current: Any, incoming: Any, *, choose: Callable[..., Any]) -> Any:
    """Take the time that is chosen of two, the later or the earlier one."""
    if _is_none(current) or _is_none(incoming):
        return incoming if _is_none(current) else current
    at = [moment(current), moment(incoming)]
    if at[0] is None or at[1] is None:
        raise Clash
    if at[0] == at[1]:  # one moment, written with two offsets
        return max(current, incoming, key=str)
    return current if choose(at) == at[0] else incoming


later, earlier = partial(_by_time, choose=max), partial(_by_time, choose=min)


def greater(base: Any, current: Any, incoming: Any) -> Any:
    """Take the greater number, or the later id."""
    if _is_none(current) or _is_none(incoming):
        return incoming if _is_none(current) else current
    are_ids = isinstance(current, str) and isinstance(incoming, str)
    if (_is_number(current) and _is_number(incoming)) or (
        are_ids and _kind(current) == _kind(incoming) != ""
    ):
        return max(current, incoming)
    raise Clash


def counted(base: Any, current: Any, incoming: Any) -> Any:
    """Add up what both sides counted since the base."""
    start, current_count, incoming_count = (
        0 if _is_none(value) else value for value in (base, current, incoming)
    )
    if not all(
        isinstance(value, int) and _is_number(value)
        for value in (start, current_count, incoming_count)
    ):
        raise Clash
    return max(0, current_count + incoming_count - start)


def moved(base: Any, current: Any, incoming: Any) -> Any:
    """Take the side that moved on: a cursor that is gone has nothing left to wait for.

    Removed on one side and untouched on the other it is removed; moved on the other, the message it
    moved to still waits there.
    """
    if _is_none(current) or _is_none(incoming):
        return incoming if _is_none(current) else current
    if isinstance(current, Mapping) and isinstance(incoming, Mapping):
        return mapping(base, current, incoming, {}, moved) or ABSENT
    return greater(base, current, incoming)


def joined(base: Any, current: Any, incoming: Any) -> Any:
    """Join two lists: what one side took out is out, what either added is in."""
    before, in_current, in_incoming = (
        side if isinstance(side, list) else [] for side in (base, current, incoming)
    )
    shared = [element for element in before if element in in_current and element in in_incoming]
    added = [element for element in (*in_current, *in_incoming) if element not in before]
    if in_current == before or in_incoming == before:  # one side alone: its order stands
        return (in_incoming if in_current == before else in_current) or ABSENT
    return unique((*shared, *sorted(added, key=repr))) or ABSENT


def unique(values: Iterable[Any]) -> list[Any]:
    """Return values without their doubles."""
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct


def lower_trust(base: Any, current: Any, incoming: Any) -> Any:
    """Take the lower trust: what rests on both is worth no more."""
    return lowest_trust(trust for trust in (current, incoming) if trust in TRUSTS) or ABSENT


def shared_audience(base: Any, current: Any, incoming: Any) -> Any:
    """Keep it to those who may meet both sides; none at all means everybody, so that clashes."""
    if not current or not incoming:
        return current or incoming or ABSENT
    both = [person_id for person_id in current if person_id in incoming]
    if not both:
        raise Clash
    return sorted(both) if both not in (current, incoming) else both


ORIGIN: Mapping[str, Rule] = {
    "from": joined,
    "trust": lower_trust,
    "audience": shared_audience,
    "by": lambda *sides: either(*sides),
    "model": lambda *sides: either(*sides),
    companions.BY_SENTENCE: nested({}, lambda *sides: joined(*sides)),
}


# Where a text comes from, and what else a front matter of no kind of its own holds.
origin = partial(mapping, rules=ORIGIN)
parts = partial(mapping, rules={}, otherwise=nested(ORIGIN))  # where those of a file come from


def newer(current: Values, incoming: Values, *keys: str) -> Values:
    """Return the side whose time is later; which side is whose makes no difference."""
    ranks = []
    for side in (current, incoming):
        times = (moment(side.get(key)) for key in keys)
        at = next((time for time in times if time is not None), None)
        ranks.append((at is not None, at.timestamp() if at else 0.0, repr(sorted(side.items()))))
    return current if ranks[0] >= ranks[1] else incoming


def of_side(key: str, side: Values) -> Rule:
    """Return the rule that takes what one side has under a key."""
    return lambda *_: side.get(key, ABSENT)


def either(base: Any, current: Any, incoming: Any) -> Any:
    """Take the side that changed; where both did, the same one whichever side is whose."""
    try:
        return plain(base, current, incoming)
    except Clash:
        return max(current, incoming, key=lambda value: "" if value is ABSENT else str(value))


def unchanged(base: Any, current: Any, incoming: Any) -> Any:
    """Return what stands where one side at most changed it; BOTH where both did, though alike."""
    if _same(incoming, base):
        return current
    return incoming if _same(current, base) else BOTH


def _is_none(value: Any) -> bool:
    return value is ABSENT or value is None


def moment(value: Any) -> datetime | None:
    """Read a time; None for anything else."""
    if not isinstance(value, str | datetime):
        return None
    try:
        return moments.read(value, "at", moments.HOME.get())
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(name: str) -> str:
    """Return the prefix of an id; empty for what is none."""
    prefix, _, rest = name.partition("_")
    return prefix if rest and is_id(name) else ""


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


Meta = Mapping[str, Any]
S = TypeVar("S", bound=Struct)
EXTRA = "extra"  # the field that holds all keys which the others don't name


class Key(Struct, frozen=True):
    """What a field's type does not say of it."""

    name: str = ""  # its key in the file; by default that of the attribute
    read: Callable[[Meta, str], Any] | None = None  # ValueError if the value is none
    merge: Rule = plain  # what two sides of it become
    ahead: bool = False  # of a time: it may lie ahead
    stored: bool = True  # under a key; else whoever reads the file gives the value
    # what a log says of its change, behind the name of the record, a text a line
    said: Callable[[Any, Any], Sequence[str]] = lambda was, now: ()


def told(line: str) -> Callable[[Any, Any], Sequence[str]]:
    """Have a log say of a value what it was and is: `: confidence {0:.2f} -> {1:.2f}`."""
    return lambda was, now: [line.format(was, now)]


def listed(came: str, went: str) -> Callable[[Any, Any], Sequence[str]]:
    """Have a log say of a list what came to it, and what went: `feels {}`, `no longer feels {}`."""
    return lambda was, now: [
        *(came.format(one) for one in now if one not in was),
        *(went.format(one) for one in was if one not in now),
    ]


GIVEN, BODY = Key(stored=False), Key("body", stored=False)  # the text below the front matter
JOINED, LATER = Key(merge=joined), Key(merge=later)
EARLIER = Key(merge=earlier)


class Field(Struct, frozen=True):
    """A field of a struct."""

    name: str  # of the attribute
    how: Key
    read: Callable[[Meta], Any]
    is_past: bool  # a time that has passed
    default: Any  # that says nothing, and so is not written


def text(meta: Meta, key: str) -> str:
    """Read a text without the blanks around it; missing is empty."""
    return base.field(meta, key, str, "").strip()


def line(meta: Meta, key: str) -> str:
    """Read a text as one line."""
    return words.one_line(text(meta, key))


def unit(*default: float) -> Callable[[Meta, str], float]:
    """Read a number in [0, 1]; without a default it must be there."""
    return lambda meta, key: base.unit(meta, key, *default)


def one_of(names: Sequence[str], *default: str) -> Callable[[Meta, str], str]:
    """Read one of some names; without a default it must be there."""

    def read(meta: Meta, key: str) -> str:
        value = base.field(meta, key, str, *default)
        if value not in names:
            raise ValueError(f"`{key}` should be one of {', '.join(names)}, not `{value}`")
        return value

    return read


@cache
def declared(struct: type[Struct]) -> tuple[Field, ...]:
    """Return the fields that a struct declares, in order."""
    return tuple(_field(info) for info in structs.fields(struct) if info.name != EXTRA)


def _field(info: structs.FieldInfo) -> Field:
    wanted, *extras = get_args(info.type) if get_origin(info.type) is Annotated else (info.type,)
    how = next((extra for extra in extras if isinstance(extra, Key)), Key())
    how = how if how.name else structs.replace(how, name=info.name)
    kind = next((one for one in get_args(wanted) if one is not type(None)), wanted)
    given = () if info.default is NODEFAULT else (info.default,)
    read: Callable[[Meta, str], Any] = how.read or (
        base.texts
        if get_origin(wanted) is tuple
        else lambda meta, key: base.field(meta, key, kind, *given)
    )
    is_past = kind is datetime and not how.ahead
    return Field(info.name, how, lambda meta: read(meta, how.name), is_past, info.default)


def write_struct(value: Struct) -> dict[str, Any]:
    """Return a struct as a mapping that `read_struct` reads: what says nothing is left out."""
    data: dict[str, Any] = {}
    for one in declared(type(value)):
        stored = getattr(value, one.name)
        if stored not in (one.default, None, (), ""):
            data[one.how.name] = written(stored, "milliseconds")
    return {**data, **getattr(value, EXTRA, {})}


def written(value: Any, timespec: str = "seconds") -> Any:
    """Return a value as a file holds it."""
    match value:
        case datetime():
            return value.isoformat(timespec=timespec)
        case float():
            return round(value, 4)
        case tuple():
            return [written(one, timespec) for one in value]
    return write_struct(value) if isinstance(value, Struct) else value


def read_struct(struct: type[S], meta: Meta) -> S:
    """Read a struct from a mapping; keys that it doesn't name go into its `extra`, if it has one.

    Raises:
        ValueError: If a value is none.
    """
    values = {
        field.name: field.read(meta)
        for field in declared(struct)
        if field.how.name in meta or field.default is NODEFAULT
    }
    if EXTRA in struct.__struct_fields__:
        known = _keys(struct)
        values[EXTRA] = {key: value for key, value in meta.items() if key not in known}
    return struct(**values)


@cache
def _keys(struct: type[Struct]) -> frozenset[str]:
    """Return the keys that a struct is read from."""
    return frozenset(("type", *(field.how.name for field in declared(struct))))
