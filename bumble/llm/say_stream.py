"""The words of an answer while it streams: the texts of `say` inside a partial JSON of actions.

Knows nothing of models or tools.
"""

from __future__ import annotations

from typing import Any

from bumble import patterns
from bumble.llm.marks import ThinkFilter
from bumble.llm.partial_json import PartialJson

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
        action = found[-1] if found else None
        if self.json.key != "text" or not isinstance(action, dict):
            return
        if action.get("tool") != "say" or action.get("arguments") is not inside:
            return
        if inside is not self._saying:
            self._saying = inside
            self.filters.append(ThinkFilter())
        thinking = self.filters[-1]
        said = thinking.finish() if text is None else thinking.feed(text)
        self._new.append((len(self.filters) - 1, said))
