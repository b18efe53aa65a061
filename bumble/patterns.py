"""Regular expressions, each compiled when it is first used: most that is imported never is.

Knows nothing of what any of them is for.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Uncompiled:
    """Stands for an expression: whatever is asked of it is asked of the compiled one, and kept."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled: re.Pattern[Any] = re.compile(self.pattern, self._flags)
        for method in ("match", "fullmatch", "search", "finditer", "findall", "sub", "split"):
            setattr(self, method, getattr(compiled, method))  # not asked for here again
        return getattr(compiled, name)


def compile(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:  # noqa: A001  # as `re` calls it
    """Take an expression as `re.compile` does, later."""
    return cast("re.Pattern[AnyStr]", _Uncompiled(text, flags))
