"""Type checking of settings: plain YAML values against types, into frozen structs.

A type is a `msgspec.Struct`, `Mapping[str, T]`, `tuple[T, ...]`, `Literal`, `T | None`, or a plain
bool, int, float or str, each (and the keys of a mapping too) perhaps `Annotated` with what it must
satisfy. Knows nothing of files or of settings.
"""

from __future__ import annotations

import functools
import math
import re
import types
import zoneinfo
from collections.abc import Iterator, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct, structs

from bumble.text import urls

T = TypeVar("T")
Keys = tuple[str, ...]
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
LANGUAGE_CODE = "[a-z]{2,3}"  # of ISO 639
SHOWN_CHARS = 60  # of a wrong value in its error


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


class Constraint(Protocol):
    """What a value of the right type must satisfy besides."""

    def holds(self, value: Any) -> bool:
        """Tell whether it does."""

    def __str__(self) -> str:
        """Say it, to be read after the type: `from 0 to 1`."""


class Range(Struct, frozen=True):
    """A number between two bounds, which belong to it."""

    low: float
    high: float = math.inf

    def holds(self, value: Any) -> bool:
        """Tell whether the number lies in between."""
        return bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"of at least {self.low:g}"
        return f"from {self.low:g} to {self.high:g}"


class Length(Struct, frozen=True):
    """A list with one of these lengths."""

    allowed: tuple[int, ...]

    def holds(self, value: Any) -> bool:
        """Tell whether the list has such a length."""
        return len(value) in self.allowed

    def __str__(self) -> str:
        return f"with {' or '.join(map(str, self.allowed))} items"


class Names(Struct, frozen=True):
    """Text that is one of some names: a choice for the reader of types, plain text for mypy."""

    allowed: tuple[str, ...]

    def holds(self, value: Any) -> bool:
        """Tell whether it is such a name."""
        return value in self.allowed

    def __str__(self) -> str:
        *names, last = self.allowed
        return f"that is {', '.join(names)} or {last}"


class TimeZone(Struct, frozen=True):
    """The name of a time zone."""

    def holds(self, value: Any) -> bool:
        """Tell whether the system knows the zone."""
        try:
            zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            return False
        return True

    def __str__(self) -> str:
        return "that names a time zone, like Europe/Berlin"


class LanguageCode(Struct, frozen=True):
    """The code of a language, or `auto`."""

    def holds(self, value: Any) -> bool:
        """Tell whether it is written like one; which there are, nobody needs to list."""
        return value == "auto" or re.fullmatch(LANGUAGE_CODE, value) is not None

    def __str__(self) -> str:
        return "that is auto or a language's code, like de"


Share = Annotated[float, Range(0, 1)]
Amount = Annotated[float, Range(0)]
Above = Annotated[float, Range(0.001)]  # above zero, because something is divided by it
Count = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
Temperature = Annotated[float, Range(0, 2)]


@functools.cache
def fields(section: Any) -> Mapping[str, Any]:
    """Return the types of a struct's fields by name, annotations included."""
    hints = get_type_hints(section, include_extras=True)
    return {name: hints[name] for name in section.__struct_fields__}


def bare(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split a type from its annotations."""
    if get_origin(kind) is Annotated:
        return kind.__origin__, kind.__metadata__
    return kind, ()


def walk(kind: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield every section and field below a struct with its type; mappings are not entered."""
    yield keys, kind
    if is_section(kind):
        for name, below in fields(bare(kind)[0]).items():
            yield from walk(below, (*keys, name))


def at(kind: Any, keys: Keys) -> Any:
    """Return the type of what stands under `keys`.

    Raises:
        UnknownKeyProblem: If there is nothing of that name.
    """
    for depth, key in enumerate(keys):
        base = bare(kind)[0]
        if get_origin(base) is Mapping:
            key_kind, kind = get_args(base)
            _check_key(key_kind, key, keys[: depth + 1])
            continue
        below = fields(base) if is_section(base) else {}
        if key not in below:
            raise UnknownKeyProblem(keys[: depth + 1], tuple(below))
        kind = below[key]
    return kind


def _check_key(kind: Any, key: str, keys: Keys) -> None:
    for note in bare(kind)[1]:
        if isinstance(note, Names) and not note.holds(key):
            raise UnknownKeyProblem(keys, note.allowed)


def check(kind: Any, value: object, keys: Keys = ()) -> None:
    """Hold a value against a type; sections may leave fields out, but not those in lists.

    Args:
        kind: The type.
        value: As YAML gives it.
        keys: Where the value stands, for errors.

    Raises:
        ValueProblem: Naming the first place that will not do.
    """
    _convert(kind, value, keys, whole=False)


def build(kind: type[T], value: object, keys: Keys = ()) -> T:
    """Make a struct of a value.

    Raises:
        ValueProblem: Naming the first place that will not do, or lacks a field; or if values that
            are right each by itself do not go together.
    """
    return cast("T", _convert(kind, value, keys, whole=True))


def _convert(kind: Any, value: object, keys: Keys, *, whole: bool) -> Any:
    """Hold a value against a type and build it; of a section that is not `whole`, None."""
    base, notes = bare(kind)
    origin, inner = get_origin(base), get_args(base)
    if _optional(base):
        return None if value is None else _convert_optional(kind, value, keys, whole=whole)
    if is_section(base):
        built = _convert_section(base, value, keys, whole=whole)
    elif origin is Mapping:
        built = _convert_mapping(inner, value, keys, whole=whole)
    elif origin is tuple and isinstance(value, list):
        places = ((*keys[:-1], f"{keys[-1]}[{number}]") for number in range(len(value)))
        built = tuple(
            _convert(inner[0], item, place, whole=True)
            for item, place in zip(value, places, strict=True)
        )
    elif _fits(base, value):
        built = float(cast("float", value)) if base is float else value
    else:
        raise ValueProblem(keys, f"must be {expected(kind)}, not {shown(value)}")
    constraints = (cast("Constraint", note) for note in notes if hasattr(note, "holds"))
    if not all(constraint.holds(value) for constraint in constraints):
        raise ValueProblem(keys, f"must be {expected(kind)}, not {shown(value)}")
    return built


def _convert_optional(kind: Any, value: object, keys: Keys, *, whole: bool) -> Any:
    try:
        return _convert(_without_none(bare(kind)[0]), value, keys, whole=whole)
    except ValueProblem as problem:
        if problem.keys != keys:
            raise
        raise ValueProblem(keys, f"must be {expected(kind)}, not {shown(value)}") from problem


def _convert_section(section: Any, value: object, keys: Keys, *, whole: bool) -> Any:
    values, kinds = _mapping(value, keys), fields(section)
    built = {}
    for key, below in values.items():
        if key not in kinds:
            raise UnknownKeyProblem((*keys, key), tuple(kinds))
        built[key] = _convert(kinds[key], below, (*keys, key), whole=whole)
    if not whole:
        return None
    if missing := _required(section) - set(built):
        raise ValueProblem((*keys, next(name for name in kinds if name in missing)), "is missing")
    try:
        return section(**built)
    except ValueError as problem:
        raise ValueProblem(keys, f"does not hold together: {problem}") from problem


def _convert_mapping(
    inner: tuple[Any, ...], value: object, keys: Keys, *, whole: bool
) -> Mapping[str, Any]:
    built = {}
    for key, below in _mapping(value, keys).items():
        _check_key(inner[0], key, (*keys, key))
        built[key] = _convert(inner[1], below, (*keys, key), whole=whole)
    return types.MappingProxyType(built)


@functools.cache
def _required(section: Any) -> frozenset[str]:
    return frozenset(field.name for field in structs.fields(section) if field.required)


def _mapping(value: object, keys: Keys) -> Mapping[str, object]:
    if value is None:  # `section:` with everything below it commented out
        return {}
    if not isinstance(value, dict):
        raise ValueProblem(keys, f"is a section of `key: value` lines, not {shown(value)}")
    for key in value:
        if not isinstance(key, str):
            raise ValueProblem(keys, f"holds the key {shown(key)}, which is not text; quote it")
    return value


def _fits(base: Any, value: object) -> bool:
    if get_origin(base) is Literal:
        return isinstance(value, str) and value in get_args(base)
    if base is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(cast("float", value))
    return type(value) is base


def _optional(base: Any) -> bool:
    return get_origin(base) in (types.UnionType, Union)


def _without_none(base: Any) -> Any:
    return next(kind for kind in get_args(base) if kind is not type(None))


def is_section(kind: Any) -> bool:
    """Tell whether a type is a section with fields of its own."""
    base = bare(kind)[0]
    return isinstance(base, type) and issubclass(base, Struct)


def expected(kind: Any) -> str:
    """Say what a type allows."""
    base, notes = bare(kind)
    constraints = " ".join(str(note) for note in notes if hasattr(note, "holds"))
    return f"{_expected(base)} {constraints}".rstrip()


def _expected(base: Any) -> str:
    if _optional(base):
        return f"{expected(_without_none(base))}, or null"
    if get_origin(base) is Literal:
        *choices, last = get_args(base)
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
    text = urls.masked(f'"{value}"' if isinstance(value, str) else str(value))
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
