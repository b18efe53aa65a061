"""The arguments of another program's tool: any JSON schema made one of the closed action schemas.

What a grammar can hold a small model to is kept: texts, numbers, switches, choices, lists and
objects. An optional argument of another shape is left out; a tool that needs one is no use.
Descriptions are text from outside: on one line, short, and without tags. Pure functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bumble.llm import prompts
from bumble.text.words import one_line, shorten

DESCRIPTION_CHARS = 160
MOST_DEEP = 4  # objects and lists within each other
MOST_ARGUMENTS = 16
MOST_CHOICES = 40
MOST_CHARS = 6000  # of one tool's schema, as JSON
NAME_CHARS = 60
MOST_WALKED = 500  # parts of a schema, so that references within references come to an end
_BOUNDS: Mapping[str, tuple[str, ...]] = {
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "boolean": (),
    "string": ("maxLength",),
}


def closed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Make a schema closed.

    Raises:
        ValueError: If something that it requires can't be said in a closed schema.
    """
    made = _Closing(given.get("$defs") or given.get("definitions") or {}).whole(given, 0)
    if len(json.dumps(made)) > MOST_CHARS:
        raise ValueError("its arguments are described in too many words")
    return made


def described(text: object) -> str:
    """Return a description from outside as it may stand in a prompt."""
    plain = one_line(text) if isinstance(text, str) else ""
    return shorten(prompts.harmless(plain), DESCRIPTION_CHARS)


class _Closing:
    """One schema while it is made closed."""

    def __init__(self, definitions: object) -> None:
        self.definitions = definitions if isinstance(definitions, Mapping) else {}
        self.walked = 0

    def whole(self, given: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Make the schema of an object closed."""
        properties = given.get("properties") or {}
        needed = given.get("required") or []
        are_names = isinstance(needed, list) and all(isinstance(name, str) for name in needed)
        if not isinstance(properties, Mapping) or not are_names:
            raise ValueError("its arguments are not described as JSON schema wants")
        made: dict[str, Any] = {}
        for name, part in properties.items():
            try:
                made[str(name)] = self.part(part, depth + 1, str(name))
            except ValueError:
                if name in needed:
                    raise
        if missing := [name for name in needed if name not in made]:
            raise ValueError(f"its argument {missing[0][:NAME_CHARS]} is not described")
        first = sorted(made, key=lambda name: name not in needed)[:MOST_ARGUMENTS]
        if len([name for name in needed if name in first]) < len(needed):
            raise ValueError(f"it needs more than {MOST_ARGUMENTS} arguments")
        return {
            "type": "object",
            "properties": {name: made[name] for name in made if name in first},
            "required": list(dict.fromkeys(needed)),
            "additionalProperties": False,
        }

    def part(self, given: object, depth: int, name: str) -> dict[str, Any]:
        """Make the schema of one argument closed."""
        self.walked += 1
        shape = self._resolved(given, depth)
        if not shape or self.walked > MOST_WALKED or depth > MOST_DEEP or len(name) > NAME_CHARS:
            raise ValueError(f"its argument {name[:NAME_CHARS]} can't be described to a model")
        made = self._shape(shape, depth, name)
        about = described(shape.get("description"))
        return {**made, "description": about} if about else made

    def _shape(self, shape: Mapping[str, Any], depth: int, name: str) -> dict[str, Any]:
        choices = [shape["const"]] if "const" in shape else shape.get("enum")
        if isinstance(choices, list):
            plain = [one for one in choices if isinstance(one, str | int | float | bool)]
            if plain and len(plain) <= MOST_CHOICES:
                return {"enum": plain}
        kind = shape.get("type")
        if isinstance(kind, str) and kind in _BOUNDS:
            return {"type": kind, **_numbers(shape, _BOUNDS[kind])}
        if kind == "array":
            items = self.part(shape.get("items"), depth + 1, name)
            return {"type": "array", "items": items, **_numbers(shape, ("minItems", "maxItems"))}
        if kind == "object" and shape.get("properties"):
            return self.whole(shape, depth)
        raise ValueError(f"its argument {name} is of a shape that can't be asked of a model")

    def _resolved(self, given: object, depth: int) -> Mapping[str, Any]:
        """Follow references, and of several shapes take the first that is not null."""
        for _ in range(MOST_DEEP):
            if not isinstance(given, Mapping):
                return {}
            above = {key: given[key] for key in ("description",) if key in given}
            if isinstance(reference := given.get("$ref"), str):
                given = self.definitions.get(reference.rpartition("/")[2])
            elif isinstance(several := given.get("anyOf") or given.get("oneOf"), list):
                given = next((one for one in several if not _is_null(one)), None)
            elif isinstance(kinds := given.get("type"), list):
                return {**given, "type": next((one for one in kinds if one != "null"), None)}
            else:
                return given
            if isinstance(given, Mapping):
                given = {**given, **above}
        return {}


def _is_null(shape: object) -> bool:
    return isinstance(shape, Mapping) and shape.get("type") == "null"


def _numbers(shape: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: shape[name]
        for name in names
        if isinstance(shape.get(name), int | float) and not isinstance(shape[name], bool)
    }
