"""What an answer in the JSON of actions says to the person, read while it comes.

A comma too many and a raw line break are no errors here: models write them. Knows nothing of
models, nor of any tool but `say`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bumble import patterns
from bumble.llm.marks import ThinkFilter
from bumble.llm.structured import MOST_DEEP

_SIGN = patterns.compile(r'[^"{}\[\]:,]++|["{}\[\]:,]')  # one of JSON's, or what is between them
# What of a text can be read by now: all but the beginning of an escape.
_READABLE = patterns.compile(
    r'(?:[^\\"]++|\\[^u]|\\u[0-9a-fA-F]{4}|\\u(?=[0-9a-fA-F]{0,3}[^0-9a-fA-F]))*+', re.DOTALL
)
_ESCAPE = patterns.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "u": "\\u"}  # others: themselves
# Where an action may stand: by the key before each bracket that is open around its members.
_PLACES = ([""], ["", ""], ["", "actions", ""])
_ACTIONS = patterns.compile(r'\{\s*"actions"\s*:\s*\[')  # where an answer in the full shape begins
# An answer that is JSON, fenced perhaps; and what may become the beginning of one.
_OPENING = patterns.compile(r"(?:```\w{0,12}[ \t]*\n\s*)?(?=[{\[])")
_MAY_OPEN = patterns.compile(r"`{0,2}|```\w{0,12}[ \t]*(?:\n\s*)?")


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
        self.filters: list[ThinkFilter] = []  # what each text went through
        self._raw: list[str] = []
        self._start: str | None = ""  # the beginning, until it is known what it is of
        self._is_json = self._acts = self._says = self._is_over = False
        self._left = ""  # what came and isn't read
        self._open: list[str] = []  # the key before each bracket that is open
        self._key = self._last = self._tool = ""  # of what is read; the text before; of the action
        self._text: list[str] | None = None  # a text that is open, as far as it is there
        self.feed(text)

    @property
    def is_deep(self) -> bool:
        """Whether it is nested so deep that it is no answer."""
        return len(self._open) > MOST_DEEP

    @property
    def texts(self) -> list[str]:
        """What is said, each text for itself; of plain text all, as if it ended here."""
        if self._acts:
            return [one.text for one in self.filters]
        raw = "".join(self._raw).strip()
        if begins := _ACTIONS.search(raw):
            return SayReader(raw[begins.start() :]).texts if begins.start() else []
        is_broken = self._is_json and ('"actions"' in raw or self.is_deep)
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
        return list(self._read(self._left + piece)) if self._is_json else []

    def _read(self, left: str) -> Iterator[tuple[int, str]]:
        at = 0
        while at < len(left) and not (self._is_over or self.is_deep):
            match: Any = (_SIGN if self._text is None else _READABLE).match(left, at)
            at = match.end()
            if self._text is None:
                self._take(match[0])
                continue
            text = _ESCAPE.sub(
                lambda one: chr(int(one[1], 16)) if one[1] else _ESCAPES.get(one[2], one[2]),
                match[0],
            )
            self._text.append(text)
            ends = left.startswith('"', at)
            if self._says:
                thinking = self.filters[-1]
                yield (
                    len(self.filters) - 1,
                    thinking.feed(text) + (thinking.finish() if ends else ""),
                )
            if not ends:
                break
            at, self._last, self._text = at + 1, "".join(self._text), None
            if self._key == "tool" and self._open in _PLACES:
                self._tool, self._acts = self._last, True
            self._key = ""
        self._left = left[at:]

    def _take(self, sign: str) -> None:
        """Go on by a sign outside of texts."""
        match sign:
            case '"':
                inside = self._open[-1:] == ["arguments"] and self._open[:-1] in _PLACES
                self._text, self._says = [], inside and (self._tool, self._key) == ("say", "text")
                self.filters += [ThinkFilter()] if self._says else []
            case ":" | ",":
                self._key = self._last if sign == ":" else ""
            case "{" | "[":
                self._open.append(self._key)
                self._tool = "" if self._open in _PLACES else self._tool
                self._key = ""
            case "}" | "]":
                self._open.pop()
                self._key, self._is_over = "", not self._open
