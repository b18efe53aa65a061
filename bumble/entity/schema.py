"""Type checking of settings: plain YAML values against types, into frozen dataclasses.

A type is a dataclass, `Mapping[str, T]` (or with a `Literal` for the keys), `tuple[T, ...]`,
`Literal`, `T | None`, or a plain bool, int, float or str, each perhaps `Annotated` with what it
must satisfy. Knows nothing of files or of settings.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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

from bumble.text import urls

T = TypeVar("T")
Keys = tuple[str, ...]
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
SHOWN_CHARS = 60  # of a wrong value in its error


class ValueProblem(ValueError):
    """A value is not what its type wants."""

    def __init__(self, keys: Keys, problem: str) -> None:
        self.keys, self.problem = keys, problem
        super().__init__(f"`{'.'.join(keys)}` {problem}")


class UnknownKeyProblem(ValueProblem):
    """A section holds a key that it does not know."""

    def __init__(self, keys: Keys, known: tuple[str, ...]) -> None:
        self.known = known
        super().__init__(keys, "is not known")


class Constraint(Protocol):
    """What a value of the right type must satisfy besides."""

    def holds(self, value: Any) -> bool:
        """Tell whether it does."""

    def __str__(self) -> str:
        """Say it, to be read after the type: `from 0 to 1`."""


@dataclass(frozen=True)
class Range:
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


@dataclass(frozen=True)
class Length:
    """A list with one of these lengths."""

    allowed: tuple[int, ...]

    def holds(self, value: Any) -> bool:
        """Tell whether the list has such a length."""
        return len(value) in self.allowed

    def __str__(self) -> str:
        return f"with {' or '.join(map(str, self.allowed))} items"


@dataclass(frozen=True)
class TimeZone:
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


Share = Annotated[float, Range(0, 1)]
Amount = Annotated[float, Range(0)]
Above = Annotated[float, Range(0.001)]  # above zero, because something is divided by it
Count = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
Temperature = Annotated[float, Range(0, 2)]


def light_dataclass(*, frozen: Literal[True]) -> Callable[[type[T]], type[T]]:
    """Make a class a frozen dataclass, at a quarter of the cost.

    `dataclasses` compiles six methods a class; for some sixty sections that is 50 to 80 ms of every
    command on Python 3.11. Here they share their methods, and only `__init__` is compiled.
    """

    def decorate(cls: type[T]) -> type[T]:
        made: Any = dataclasses.dataclass(repr=False, eq=False)(cls)
        made.__setattr__, made.__delattr__ = _set_once, _delete_never
        made.__eq__, made.__hash__, made.__repr__ = _equal, _hash, _represent
        return cast("type[T]", made)

    return decorate


def _set_once(self: object, name: str, value: object) -> None:
    if name in vars(self):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete_never(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _equal(self: object, other: object) -> bool:
    return type(self) is type(other) and vars(self) == vars(other)


def _hash(self: object) -> int:
    return hash(tuple(vars(self).values()))


def _represent(self: object) -> str:
    named = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
    return f"{type(self).__name__}({named})"


@functools.cache
def fields(section: Any) -> Mapping[str, Any]:
    """Return the types of a dataclass's fields by name, annotations included."""
    hints = get_type_hints(section, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(section)}


def bare(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split a type from its annotations."""
    if get_origin(kind) is Annotated:
        return kind.__origin__, kind.__metadata__
    return kind, ()


def walk(kind: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield every section and field below a dataclass with its type; mappings are not entered."""
    yield keys, kind
    if is_section(kind):
        for name, below in fields(bare(kind)[0]).items():
            yield from walk(below, (*keys, name))


def at(kind: Any, keys: Keys) -> Any:
    """Return the type found under `keys`.

    Raises:
        UnknownKeyProblem: If there is nothing of that name.
    """
    for depth, key in enumerate(keys):
        base = bare(kind)[0]
        if get_origin(base) is Mapping:
            named, kind = get_args(base)
            if get_origin(named) is Literal and key not in get_args(named):
                raise UnknownKeyProblem(keys[: depth + 1], get_args(named))
            continue
        known = fields(base) if is_section(base) else {}
        if key not in known:
            raise UnknownKeyProblem(keys[: depth + 1], tuple(known))
        kind = known[key]
    return kind


def check(kind: Any, value: object, keys: Keys = (), *, partial: bool = True) -> None:
    """Hold a value against a type.

    Args:
        kind: The type.
        value: As YAML gives it.
        keys: Where the value stands, for errors.
        partial: Whether sections may leave fields out.

    Raises:
        ValueProblem: Naming the first place that will not do.
    """
    base, notes = bare(kind)
    origin, inner = get_origin(base), get_args(base)
    constraints = [cast("Constraint", note) for note in notes if hasattr(note, "holds")]
    if value is None and _optional(base):
        return
    if _optional(base):
        _check_optional(kind, value, keys, partial=partial)
    elif is_section(base):
        _check_section(base, value, keys, partial=partial)
    elif origin is Mapping:
        for key, below in _mapping(value, keys).items():
            if get_origin(inner[0]) is Literal and key not in get_args(inner[0]):
                raise UnknownKeyProblem((*keys, key), get_args(inner[0]))
            check(inner[1], below, (*keys, key), partial=partial)
    elif origin is tuple and isinstance(value, list):
        for n, item in enumerate(value):
            check(inner[0], item, (*keys[:-1], f"{keys[-1]}[{n}]"), partial=False)
    elif not _fits(base, value):
        raise ValueProblem(keys, f"must be {expected(kind)}, not {shown(value)}")
    if not all(constraint.holds(value) for constraint in constraints):
        raise ValueProblem(keys, f"must be {expected(kind)}, not {shown(value)}")


def _check_optional(kind: Any, value: object, keys: Keys, *, partial: bool) -> None:
    try:
        check(_without_none(bare(kind)[0]), value, keys, partial=partial)
    except ValueProblem as problem:
        if problem.keys != keys:
            raise
        raise ValueProblem(keys, f"must be {expected(kind)}, not {shown(value)}") from problem


def _check_section(section: Any, value: object, keys: Keys, *, partial: bool) -> None:
    given, known = _mapping(value, keys), fields(section)
    for key, below in given.items():
        if key not in known:
            raise UnknownKeyProblem((*keys, key), tuple(known))
        check(known[key], below, (*keys, key), partial=partial)
    required = [
        field.name
        for field in dataclasses.fields(section)
        if field.name not in given
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if required and not partial:
        raise ValueProblem((*keys, required[0]), "is missing")


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
    return dataclasses.is_dataclass(bare(kind)[0])


def expected(kind: Any) -> str:
    """Say what a type allows."""
    base, notes = bare(kind)
    said = " ".join(str(note) for note in notes if hasattr(note, "holds"))
    return f"{_expected(base)} {said}".rstrip()


def _expected(base: Any) -> str:
    if _optional(base):
        return f"{expected(_without_none(base))}, or null"
    if get_origin(base) is Literal:
        *others, last = get_args(base)
        return f"{', '.join(others)} or {last}"
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


def build(kind: type[T], value: object) -> T:
    """Make a dataclass of a value that `check` let pass, nothing left out.

    Raises:
        ValueProblem: If values that are right one by one do not go together.
    """
    return cast("T", _build(kind, value, ()))


def _build(kind: Any, value: Any, keys: Keys) -> Any:
    base = bare(kind)[0]
    if _optional(base):
        return None if value is None else _build(_without_none(base), value, keys)
    if is_section(base):
        given = {
            name: _build(below, value[name], (*keys, name))
            for name, below in fields(base).items()
            if name in (value or {})
        }
        try:
            return base(**given)
        except ValueError as problem:
            raise ValueProblem(keys, f"does not hold together: {problem}") from problem
    inner = get_args(base)
    if get_origin(base) is Mapping:
        items = (value or {}).items()
        return types.MappingProxyType({k: _build(inner[1], v, (*keys, k)) for k, v in items})
    if get_origin(base) is tuple:
        return tuple(_build(inner[0], item, keys) for item in value)
    return float(value) if base is float else value
