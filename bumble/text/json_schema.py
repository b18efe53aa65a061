"""What is wrong with a value by a JSON schema; the library is loaded with the first check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


def error(value: Any, schema: Mapping[str, Any]) -> ValidationError | None:
    """Return what is most wrong with a value; None: it satisfies the schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    worst: ValidationError | None = best_match(Draft202012Validator(schema).iter_errors(value))
    return worst
