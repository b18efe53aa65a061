"""Strict fields of a catalog: what is missing, wrong or left over, by line where YAML tells it."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from bumble.errors import RecordInvalidError

T = TypeVar("T")

_KINDS: dict[type[Any], str] = {
    int: "a whole number",
    str: "text",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
}


class Fields:
    """The fields of one mapping, taken one by one; what is left over is an error."""

    def __init__(self, path: Path, node: Any, what: str, line: int) -> None:
        self.path, self.what, self.line = path, what, line
        if not isinstance(node, dict):
            raise RecordInvalidError(path, f"{what} must be a mapping of names to values", line)
        self.node = node
        self._read_keys: list[str] = []

    def fail(self, problem: str, key: str | None = None) -> NoReturn:
        """Raise the error of a field, naming its line."""
        raise RecordInvalidError(self.path, problem, self._line_of(key))

    def take(self, key: str, kind: type[T]) -> T:
        """Take a field that must be there and be of a kind."""
        self._read_keys.append(key)
        if key not in self.node:
            self.fail(f"{self.what} has no `{key}`")
        value = self.node[key]
        # `true` is an int to Python, but not to the person who wrote it.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(f"`{key}` must be {_KINDS[kind]}", key)
        return value

    def positive(self, key: str) -> int:
        """Take a whole number above 0."""
        value = self.take(key, int)
        if value <= 0:
            self.fail(f"`{key}` must be above 0", key)
        return value

    def matching(self, key: str, pattern: re.Pattern[str], meaning: str) -> str:
        """Take a text of a certain form."""
        value = self.take(key, str)
        if not pattern.fullmatch(value):
            self.fail(f"`{key}` must be {meaning}, not {value!r}", key)
        return value

    def choice(self, key: str, allowed: tuple[T, ...]) -> T:
        """Take one of a few words."""
        value = self.take(key, str)
        matches = [option for option in allowed if option == value]
        if not matches:
            self.fail(f"`{key}` must be one of {', '.join(map(str, allowed))}, not {value!r}", key)
        return matches[0]

    def child(self, key: str) -> Fields:
        """Take a mapping."""
        node = self.take(key, dict)
        return Fields(self.path, node, f"`{key}`", self._line_of(key))

    def each(self, key: str) -> list[Fields]:
        """Take a list of mappings that is not empty."""
        nodes = self.take(key, list)
        if not nodes:
            self.fail(f"`{key}` must not be empty", key)
        return [
            Fields(self.path, node, f"an item of `{key}`", _line(nodes, "item", number))
            for number, node in enumerate(nodes)
        ]

    def pass_over(self, *keys: str) -> None:
        """Let fields stand that count no more."""
        self._read_keys += keys

    def check_empty(self) -> None:
        """Fail if a field has not been taken."""
        for key in self.node:
            if key not in self._read_keys:
                near = difflib.get_close_matches(str(key), self._read_keys, 1)
                hint = f"; did you mean `{near[0]}`?" if near else ""
                self.fail(f"{self.what} takes no `{key}`{hint}", key)

    def _line_of(self, key: str | None) -> int:
        if key is None or key not in self.node:
            return self.line
        return _line(self.node, "key", key)


def _line(node: Any, what: str, place: str | int) -> int:
    """Return the line of a place in what was read of YAML; of JSON, which keeps none, the first."""
    lines = getattr(node, "lc", None)
    return 1 if lines is None else int(getattr(lines, what)(place)[0]) + 1
