"""Texts without halves of characters (lone surrogates), which UTF-8 cannot hold.

A lone surrogate stands for a byte of the command line that is no text, or comes of a JSON escape
such as `\\ud800`; no file, index or request takes one. Knows nothing of where texts come from.
"""

from __future__ import annotations

import os
import re
from typing import Any

HALF = re.compile("[\ud800-\udfff]")


def whole(value: Any) -> Any:
    """Replace the halves of characters in a text, or in all texts of a JSON value."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return value


def argument(value: str) -> str:
    """Return what was typed on the command line, whatever the locale says of its bytes.

    Raises:
        ValueError: If it is not UTF-8.
    """
    return os.fsencode(value).decode() if HALF.search(value) else value
