"""Plain YAML values held against types, with errors that name the place and what is allowed.

A type is whatever `msgspec.convert` builds: structs, mappings, tuples, literals, numbers with
`msgspec.Meta`. What Meta can't say is an annotation with `holds`. Knows nothing of files or of
settings. JSON schemas of others are held by their library, which is loaded with the first check.
"""

from __future__ import annotations

import functools
import math
import sys
import types
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta, Struct, ValidationError

from bumble.text import moments, printable

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError as SchemaViolation

T = TypeVar("T")
Keys = tuple[str, ...]
KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    datetime: "a time",
}
LANGUAGE_CODE = "[a-z]{2,3}"  # of ISO 639
LARGEST = sys.float_info.max  # keeps infinity out
SHOWN_CHARS = 60  # of a wrong value in its error

Share = Annotated[float, Meta(ge=0, le=1)]
Amount = Annotated[float, Meta(ge=0, le=LARGEST)]
Above = Annotated[float, Meta(ge=0.001, le=LARGEST)]  # zero: it is divided by
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Temperature = Annotated[float, Meta(ge=0, le=2)]


class ValueProblem(ValueError):
    """A value is not what its type wants."""

    def __init__(self, keys: Keys, problem: str) -> None:
        self.keys, self.problem = keys, problem
        super().__init__(f"`{'.'.join(keys)}` {problem}")


class UnknownKeyProblem(ValueProblem):
    """A section holds a key that it does not know."""

    def __init__(self, keys: Keys, names: tuple[str, ...]) -> None:
        self.names = names  # that it knows
        super().__init__(keys, "is not known")


class Readable(Struct, frozen=True):
    """Something that can read a value, which Meta can't say."""

    read: Callable[[Any], object]  # fails over what is none
    said: str  # what is allowed

    def holds(self, value: Any) -> bool:
        """Tell whether it can be read."""
        try:
            self.read(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            return False
        return True

    def __str__(self) -> str:
        return self.said


TIME_ZONE = Readable(zoneinfo.ZoneInfo, "that names a time zone, like Europe/Berlin")
# A time that can be calculated with: it has an offset, and lies in a year that records may name.
SANE_TIME = Readable(functools.partial(moments.read, name=""), "like 2026-05-24T03:12:47+02:00")
Moment = Annotated[datetime, SANE_TIME]


@functools.cache
def fields(section: Any) -> Mapping[str, Any]:
    """Return the types of a struct's fields by name, annotations included."""
    types_of = get_type_hints(section, include_extras=True)
    return {name: types_of[name] for name in section.__struct_fields__}


def bare(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split a type from its annotations."""
    if get_origin(kind) is Annotated:
        return kind.__origin__, kind.__metadata__
    return kind, ()


def is_section(kind: Any) -> bool:
    """Tell whether a type is a section with fields of its own."""
    base = bare(kind)[0]
    return isinstance(base, type) and issubclass(base, Struct)


def walk(kind: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield every section and field below a struct with its type; mappings are not entered."""
    yield keys, kind
    if is_section(kind):
        for name, below in fields(bare(kind)[0]).items():
            yield from walk(below, (*keys, name))


def of_values(kind: Any, values: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield what stands in values for a struct, each key with the type it should have."""
    if is_section(kind) and isinstance(values, Mapping) and values:
        for name, below in fields(bare(kind)[0]).items():
            if name in values:
                yield (*keys, name), below
                yield from of_values(below, values[name], (*keys, name))


def at(kind: Any, keys: Keys) -> Any:
    """Return the type of what stands under `keys`.

    Raises:
        UnknownKeyProblem: If there is nothing of that name.
    """
    for depth, key in enumerate(keys, 1):
        kind = _below(kind, key, keys[:depth])
    return kind


def _below(kind: Any, key: str, keys: Keys) -> Any:
    """Return the type of one entry of a mapping or a section."""
    base = bare(kind)[0]
    if get_origin(base) is Mapping:
        return get_args(base)[1]
    below = fields(base) if is_section(base) else {}
    if key not in below:
        raise UnknownKeyProblem(keys, tuple(below))
    return below[key]


def build(kind: type[T], value: object, keys: Keys = (), *, deep: bool = False) -> T:
    """Make a struct of a value.

    Args:
        kind: The struct.
        value: As YAML gives it.
        keys: Where the value stands, for errors.
        deep: Whether Meta can't say all of what stands below its own fields.

    Raises:
        ValueProblem: Naming the first place that will not do, or lacks a field; or if values that
            are right each by itself do not go together.
    """
    inner = fields(cast("Any", kind)).values() if is_section(kind) else ()
    try:  # most are right: the walk that says what is wrong takes ten times as long
        built = msgspec.convert(value, kind)
        is_told = deep or any(_told(bare(below)[1]) for below in inner)
    except ValidationError:
        is_told = True
    if is_told:
        check(kind, value, keys, whole=True)
        built = msgspec.convert(_without_empty(kind, value), kind)
    return built


def check(kind: Any, value: object, keys: Keys = (), *, whole: bool = False) -> None:
    """Hold a value against a type.

    Args:
        kind: The type.
        value: As YAML gives it.
        keys: Where the value stands, for errors.
        whole: Whether sections must be complete and go together; what is in a list always must.

    Raises:
        ValueProblem: Naming the first place that will not do.
    """
    base, notes = bare(kind)
    inner = _required(base)
    if inner is not base and value is None:
        return
    if _has_keys(inner):
        value = _mapping(value, keys)
        is_open = is_section(inner) and not inner.__struct_config__.forbid_unknown_fields
        for key, below in value.items():
            if not is_open or key in fields(inner):
                check(_below(inner, key, (*keys, key)), below, (*keys, key), whole=whole)
    elif get_origin(inner) is tuple and isinstance(value, list):
        for number, item in enumerate(value):
            check(get_args(inner)[0], item, (*keys[:-1], f"{keys[-1]}[{number}]"), whole=True)
    elif not _fits(kind, value) or not all(note.holds(value) for note in _told(notes)):
        raise ValueProblem(keys, f"must be {expected(kind)}, not {shown(value)}")
    if whole and is_section(inner):
        _check_whole(inner, value, keys)


def _check_whole(section: Any, value: object, keys: Keys) -> None:
    """Build a section of which every value is right by itself."""
    try:
        msgspec.convert(_without_empty(section, value), section)
    except ValidationError as problem:
        missing = str(problem).partition("missing required field `")[2].partition("`")[0]
        if missing:
            raise ValueProblem((*keys, missing), "is missing") from problem
        raise ValueProblem(keys, f"does not hold together: {problem}") from problem


def _mapping(value: object, keys: Keys) -> Mapping[str, object]:
    if value is None:  # `section:` with everything below it commented out
        return {}
    if not isinstance(value, dict):
        raise ValueProblem(keys, f"is a section of `key: value` lines, not {shown(value)}")
    for key in value:
        if not isinstance(key, str):
            raise ValueProblem(keys, f"holds the key {shown(key)}, which is not text; quote it")
    return value


def _without_empty(kind: Any, value: object) -> object:
    """Take out the sections of which everything is commented out."""
    if not is_section(kind) or not isinstance(value, dict):
        return value
    kinds = fields(bare(kind)[0])
    return {
        key: _without_empty(kinds[key], below)
        for key, below in value.items()
        if key in kinds and (below is not None or not _has_keys(bare(kinds[key])[0]))
    }


def _has_keys(base: Any) -> bool:
    return is_section(base) or get_origin(base) is Mapping


def _fits(kind: Any, value: object) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    try:
        msgspec.convert(value, kind)
    except ValidationError:
        return False
    return True


def _told(notes: tuple[Any, ...]) -> list[Readable]:
    return [note for note in notes if isinstance(note, Readable)]


def _required(base: Any) -> Any:
    """Return a type without `None`; itself where it takes none."""
    is_optional = get_origin(base) in (types.UnionType, Union)
    return next(kind for kind in get_args(base) if kind is not type(None)) if is_optional else base


def expected(kind: Any) -> str:
    """Say what a type allows."""
    base, notes = bare(kind)
    ranges = [_range(note) for note in notes if isinstance(note, Meta)]
    return " ".join(filter(None, (_expected(base), *ranges, *map(str, _told(notes)))))


def _range(meta: Meta) -> str:
    if meta.description:
        return meta.description
    if meta.le in (None, LARGEST):
        return "" if meta.ge is None else f"of at least {meta.ge:g}"
    return f"from {meta.ge:g} to {meta.le:g}"


def _expected(base: Any) -> str:
    if _required(base) is not base:
        return f"{expected(_required(base))}, or null"
    if get_origin(base) is Literal:
        *choices, last = map(str, get_args(base))
        return f"{', '.join(choices)} or {last}"
    if get_origin(base) is tuple:
        return f"a list (each {expected(get_args(base)[0])})"
    return KINDS.get(base, "a section")


def shown(value: object) -> str:
    """Render a wrong value for an error, the way YAML would have it."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    text = printable.masked(f'"{value}"' if isinstance(value, str) else str(value))
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an object that has all of some properties, and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def choice(values: Iterable[str]) -> dict[str, Any]:
    """Describe one of some texts; OpenAI takes no schema of a value that doesn't say its type."""
    return {"type": "string", "enum": list(values)}


def schema_error(value: Any, schema: Mapping[str, Any]) -> SchemaViolation | None:
    """Return what is most wrong with a value; None: it satisfies the schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    worst: SchemaViolation | None = best_match(Draft202012Validator(schema).iter_errors(value))
    return worst
