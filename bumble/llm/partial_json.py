"""JSON while it comes: a value as far as it is there, and each text in it piece by piece.

A comma too many and a raw line break are no errors here: models write them. Knows nothing of what
the value is for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any

from bumble import patterns

MOST_DEEP = 200  # lists and objects within each other; nobody asks for more than a few
_CLOSING = {"{": "}", "[": "]"}
_BLANK = patterns.compile(r"\s*")
_BARE = patterns.compile(r'[^\s,:{}\[\]"]*')  # a number, true, false or null; or no JSON
# What of a text can be read by now: all but the beginning of an escape.
_READABLE = patterns.compile(
    r'(?:[^\\"]++|\\[^u]|\\u[0-9a-fA-F]{4}|\\u(?=[0-9a-fA-F]{0,3}[^0-9a-fA-F]))*+', re.DOTALL
)
_ESCAPE = patterns.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "u": "\\u"}  # others: themselves


class PartialJson:
    """A value of JSON, read in pieces; what stands behind it is passed over."""

    def __init__(self, hear: Callable[[str | None], None] = lambda _: None) -> None:
        """Begin.

        Args:
            hear: Hears each piece of a text, and None at its end. The text belongs into the last of
                `open`, under `key`.
        """
        self.is_broken = False  # whether it is no JSON, or nested too deep
        self.lacks = ""  # the brackets that are missing at its end
        self.open: list[Any] = [[]]  # what is not closed, each within the one before
        self.key: Any = None  # of what is being read
        self._top, self._hear = self.open[0], hear
        self._left, self._at = "", 0  # what came and isn't read
        self._reading = self._read()

    @property
    def value(self) -> Any:
        """What there is; None before its beginning. An unfinished member is left out."""
        return self._top[0] if self._top else None

    @property
    def is_whole(self) -> bool:
        """Whether it is there from beginning to end, and nothing behind it."""
        is_over = bool(self._top) and not (self.is_broken or self.lacks)
        return is_over and not self._left[self._at :].strip()

    @property
    def is_deep(self) -> bool:
        """Whether it is nested so deep that it is no answer."""
        return len(self.lacks) > MOST_DEEP

    def feed(self, piece: str) -> None:
        """Take the next piece."""
        over = self.is_broken or (bool(self._top) and not self.lacks)
        rest = self._left[self._at :]
        self._left, self._at = (rest.lstrip()[:1] if over else rest) + piece, 0
        try:
            next(self._reading, None)
        except ValueError:
            self.is_broken = True

    def _read(self) -> Generator[None, None, None]:
        while not self._top or self.lacks:
            top, sign = self.open[-1], (yield from self._sign())
            if sign == self.lacks[:1]:
                self._at += 1
                self.lacks = self.lacks[1:]
                self.open.pop()
                continue
            if sign == "," and self.lacks:
                self._at += 1
                continue
            self.key = None
            if isinstance(top, dict):
                key = yield from self._text(sign)
                if (yield from self._sign()) != ":":
                    raise ValueError("a key without a value")
                self._at += 1
                sign, self.key = (yield from self._sign()), key
            value: Any
            if sign in _CLOSING:
                self._at += 1
                value = {} if sign == "{" else []
                self.lacks = _CLOSING[sign] + self.lacks
                self.open.append(value)
                if self.is_deep:
                    raise ValueError("nested too deep")
            else:
                value = yield from (self._text(sign) if sign == '"' else self._bare())
            if isinstance(top, dict):
                top[key] = value
            else:
                top.append(value)

    def _sign(self) -> Generator[None, None, str]:
        """Return the next sign that is no blank, without going on behind it."""
        while True:
            self._run(_BLANK)
            if self._at < len(self._left):
                return self._left[self._at]
            yield

    def _run(self, signs: re.Pattern[str]) -> str:
        """Go on behind what fits."""
        match = signs.match(self._left, self._at)
        found = match[0] if match else ""
        self._at += len(found)
        return found

    def _text(self, sign: str) -> Generator[None, None, str]:
        if sign != '"':
            raise ValueError("no text")
        parts = list[str]()
        self._at += 1
        while True:
            text = _ESCAPE.sub(
                lambda one: chr(int(one[1], 16)) if one[1] else _ESCAPES.get(one[2], one[2]),
                self._run(_READABLE),
            )
            parts.append(text)
            self._hear(text)
            if self._left.startswith('"', self._at):
                self._at += 1
                self._hear(None)
                return "".join(parts)
            yield

    def _bare(self) -> Generator[None, None, Any]:
        written = ""
        while True:
            written += self._run(_BARE)
            if self._at < len(self._left):
                return json.loads(written)
            yield
