"""JSON while it comes: a value as far as it is there, and each text in it piece by piece.

A comma too many and a raw line break are no errors here: models write them. Of an answer that is
JSON of actions, `SayReader` gives the words of each `say` while it streams. Knows nothing of models
or of tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any

from bumble import patterns
from bumble.llm.marks import ThinkFilter

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


_ACTIONS = patterns.compile(r'\{\s*"actions"\s*:\s*\[')  # where an answer in the full shape begins
# An answer that is JSON, fenced perhaps; and what may become the beginning of one.
_OPENING = patterns.compile(r"(?:```\w{0,12}[ \t]*\n\s*)?(?=[{\[])")
_MAY_OPEN = patterns.compile(r"`{0,2}|```\w{0,12}[ \t]*(?:\n\s*)?")


def listed(value: Any) -> tuple[list[Any], int]:
    """Return the actions of an answer, and how many brackets stand around them."""
    if isinstance(value, dict) and isinstance(value.get("actions"), list):
        return value["actions"], 2
    return (value, 1) if isinstance(value, list) else ([value], 0)


class SayReader:
    """Reads the text of each `say` piece by piece, without a thought in it.

    Text that is no JSON of actions is said too, but only at its end: where actions follow it after
    all, it was thought, and they do the saying. What has been returned is never taken back.
    """

    def __init__(self, text: str = "") -> None:
        """Begin an answer.

        Args:
            text: All of it, where it is there.
        """
        self.json = PartialJson(self._hear)
        self._is_json = False
        self._raw: list[str] = []
        self._start: str | None = ""  # the beginning, until it is known what it is of
        self.filters: list[ThinkFilter] = []  # what each text went through
        self._saying: Any = None  # the arguments whose text is read
        self._new: list[tuple[int, str]] = []
        if text:
            self.feed(text)

    @property
    def texts(self) -> list[str]:
        """What is said, each text for itself; of plain text all, as if it ended here."""
        found = listed(self.json.value)[0]
        acted = any(isinstance(one, dict) and isinstance(one.get("tool"), str) for one in found)
        if acted or self.filters:
            return [one.text for one in self.filters]
        raw = "".join(self._raw).strip()
        if begins := _ACTIONS.search(raw):
            return SayReader(raw[begins.start() :]).texts if begins.start() else []
        is_broken = self._is_json and ('"actions"' in raw or self.json.is_deep)
        return [raw] if raw and not is_broken else []

    def feed(self, piece: str) -> list[tuple[int, str]]:
        """Take the next piece; return what it adds: to which of the texts, and what."""
        self._raw.append(piece)
        if self._start is not None:
            self._start = (self._start + piece).lstrip()
            if opening := _OPENING.match(self._start):
                self._is_json, piece, self._start = True, self._start[opening.end() :], None
            elif not _MAY_OPEN.fullmatch(self._start):
                self._start = None
        elif not self._is_json:  # calls begin a piece of their own
            self._is_json = _ACTIONS.match(piece) is not None
        if self._is_json:
            self.json.feed(piece)
        new, self._new = self._new, []
        return new

    def _hear(self, text: str | None) -> None:
        inside, found = self.json.open[-1], listed(self.json.value)[0]
        action: Any = found[-1] if found else None
        says = isinstance(action, dict) and action.get("tool") == "say"
        if self.json.key != "text" or not says or action.get("arguments") is not inside:
            return
        if inside is not self._saying:
            self._saying = inside
            self.filters.append(ThinkFilter())
        thinking = self.filters[-1]
        said = thinking.finish() if text is None else thinking.feed(text)
        self._new.append((len(self.filters) - 1, said))
