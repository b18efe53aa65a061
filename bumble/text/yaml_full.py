"""The full reader of YAML: ruamel's, which builds plain values, and keeps to limits.

It takes a while to import, and few files need it.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import SequenceNode
from ruamel.yaml.reader import ReaderError

__all__ = ["FAILURES", "MAX_DEPTH", "TOO_DEEP", "MarkedYAMLError", "ReaderError", "reader"]

MAX_MERGED = 1_000  # keys that merge keys bring into a mapping: they can double at each step
MAX_DEPTH = 100
MAX_DIGITS = 250  # of a whole number: a longer one is no float


class _Constructor(SafeConstructor):
    """Builds plain values: what JSON has, and times as text. Every error names its line."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Build a value; what its text can't be read as is an error of that place."""
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ConstructorError(None, None, str(error), node.start_mark) from error

    def construct_scalar(self, node: Any) -> Any:
        """Read a text. JSON escapes a character as two halves; half of one is no text anywhere."""
        text = super().construct_scalar(node)
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def construct_yaml_int(self, node: Any) -> int:
        """Read a whole number that can be calculated with."""
        if len(node.value) > MAX_DIGITS:
            raise ValueError(f"a number has more than {MAX_DIGITS} digits; put it in quotes")
        return super().construct_yaml_int(node)

    def flatten_mapping(self, node: Any) -> None:
        """Bring in what merge keys name."""
        for key, value in node.value:
            merges = key.tag == "tag:yaml.org,2002:merge" and isinstance(value, SequenceNode)
            if merges and len(value.value) > MAX_DEPTH:
                raise ConstructorError(None, None, "too much is merged", key.start_mark)
        super().flatten_mapping(node)
        if len(getattr(node, "merge", None) or ()) > MAX_MERGED:
            raise ConstructorError(None, None, "too much is merged", node.start_mark)


_TAG = "tag:yaml.org,2002:"
_PLAIN = {f"{_TAG}{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map")}
_Constructor.yaml_constructors = {
    tag: build
    for tag, build in SafeConstructor.yaml_constructors.items()
    if tag in _PLAIN or tag is None  # None refuses all others
}
_Constructor.add_constructor(f"{_TAG}int", _Constructor.construct_yaml_int)
_Constructor.add_constructor(f"{_TAG}timestamp", SafeConstructor.construct_yaml_str)


TOO_DEEP = (RecursionError, MaxDepthExceededError)
# What ruamel raises over a text; the last two over a directive of another version, `%YAML 1.9`.
FAILURES = (YAMLError, ArithmeticError, ValueError, LookupError, AssertionError)


def reader() -> YAML:
    """Return a reader, for one text."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    yaml.max_depth = MAX_DEPTH
    yaml.composer.warn_double_anchors = False  # it would print
    return yaml
