"""Fields that a struct declares: the key of each, how its value is read, what two sides become.

A field's type says how it is read, its default what a missing value counts as; what neither says,
a `Key` in its annotation does. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin

from msgspec import NODEFAULT, Struct, structs
from msgspec.structs import FieldInfo

from bumble.records import base, merge_rules
from bumble.records.merge_rules import Rule

Meta = Mapping[str, Any]
S = TypeVar("S", bound=Struct)
EXTRA = "extra"  # the field that holds all keys which the others don't name


class Key(Struct, frozen=True):
    """What a field's type does not say of it."""

    name: str = ""  # its key in the file; by default that of the attribute
    read: Callable[[Meta, str], Any] | None = None  # ValueError if the value is none
    merge: Rule = merge_rules.plain  # what two sides of it become
    ahead: bool = False  # of a time: it may lie ahead
    also: str = ""  # another key that it is read from
    stored: bool = True  # under a key; else whoever reads the file gives the value


GIVEN, BODY = Key(stored=False), Key("body", stored=False)  # the text below the front matter
JOINED, LATER = Key(merge=merge_rules.joined), Key(merge=merge_rules.later)
EARLIER = Key(merge=merge_rules.earlier)


class Field(Struct, frozen=True):
    """A field of a struct."""

    name: str  # of the attribute
    how: Key
    read: Callable[[Meta], Any]
    is_past: bool  # a time that has passed


def unit(default: float | None = None) -> Callable[[Meta, str], float]:
    """Read a number in [0, 1]; without a default it must be there."""
    given = () if default is None else (default,)
    return lambda meta, key: base.unit(meta, key, *given)


def one_of(names: Sequence[str], *default: str) -> Callable[[Meta, str], str]:
    """Read one of some names; without a default it must be there."""
    return lambda meta, key: base.choice(meta, key, names, *default)


@cache
def of(struct: type[Struct]) -> tuple[Field, ...]:
    """Return the fields that a struct declares, in order."""
    return tuple(_field(info) for info in structs.fields(struct) if info.name != EXTRA)


def _field(info: FieldInfo) -> Field:
    wanted, *extras = get_args(info.type) if get_origin(info.type) is Annotated else (info.type,)
    how = next((extra for extra in extras if isinstance(extra, Key)), Key())
    how = how if how.name else structs.replace(how, name=info.name)
    kind = next((one for one in get_args(wanted) if one is not type(None)), wanted)
    given = () if info.default is NODEFAULT else (info.default,)
    name, own = how.name, how.read
    read: Callable[[Meta], Any]
    if own is not None:
        read = lambda meta: own(meta, name)  # noqa: E731
    elif get_origin(wanted) is tuple:
        read = lambda meta: base.texts(meta, name)  # noqa: E731
    else:
        read = lambda meta: base.field(meta, name, kind, *given)  # noqa: E731
    return Field(info.name, how, read, kind is datetime and not how.ahead)


def read(struct: type[S], meta: Meta) -> S:
    """Read a struct from a mapping; keys that it doesn't name go into its `extra`, if it has one.

    Raises:
        ValueError: If a value is none.
    """
    values = {field.name: field.read(meta) for field in of(struct)}
    if EXTRA in struct.__struct_fields__:
        known = {"type", *(key for field in of(struct) for key in (field.how.name, field.how.also))}
        values[EXTRA] = {key: value for key, value in meta.items() if key not in known}
    return struct(**values)
