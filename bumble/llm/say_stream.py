"""The words of an answer while it streams: `say` texts inside partial JSON of actions.

A small JSON reader that keeps its place between pieces. Knows nothing of models or tools.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from bumble import patterns
from bumble.llm.marks import ThinkFilter
from bumble.text.printable import whole

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}  # any other sign is itself
_ESCAPE = patterns.compile(r"\\(?:u([0-9a-fA-F]{4})|u.{4}|(.))", re.DOTALL)
# What of a string can be read by now: all but the beginning of an escape, and half a character
# whose other half may follow.
_READABLE = patterns.compile(
    r"(?:[^\\]|\\u(?![dD][89abAB]).{4}|\\u.{4}(?=[^\\]|\\[^u]|\\u.{4})|\\[^u])*", re.DOTALL
)
_BARE = frozenset("0123456789+-.eEtrufalsn")  # what numbers, true, false and null are made of
_ACTIONS = patterns.compile(r'\{\s*"actions"\s*:\s*\[')  # where an answer in the full shape begins
MOST_DEEP = 200  # lists and objects within each other; nobody asks for more than a few
_FENCE_CHARS = 16  # as long as the opening of a code fence may be


class _Frame(Struct):
    """An object or list that is open."""

    kind: str  # "{" or "["
    is_action: bool = False  # stands where `tool` and `arguments` belong
    is_arguments: bool = False  # the `arguments` of an action
    key: str = ""  # the member that is being read
    wants_key: bool = False
    tool: str | None = None  # of an action, once read
    held: list[str] = field(default_factory=list)  # of an action: its text, before its tool


class _String(Struct):
    """A string that is open."""

    raw: list[str] = field(default_factory=list)  # as it came, and not yet read
    escapes: bool = False  # whether the next sign belongs to an escape
    kept: list[str] = field(default_factory=list)  # read so far; none of a text that streams


class SayReader:
    """Yields the text of `say` actions piece by piece; several are set apart by a blank line.

    One that is word for word an earlier one is not said again, so the beginning of one that may
    become so waits.

    Text that is not a JSON of actions is said too, but only at its end: where actions follow it
    after all, it was thought, and they do the saying. What has been returned is never taken back.
    """

    def __init__(self, earlier: list[str] | None = None) -> None:
        """Begin an answer.

        Args:
            earlier: What was said before it; what it says is added.
        """
        self._earlier = [] if earlier is None else earlier
        self._saying: list[str] = []  # the text of the action that is being read
        self._is_shown = False  # whether what there is of it was returned
        self._mode = "start"  # then "json" or "plain", at last "done"
        self._start = ""  # the beginning, until it is known what it is of
        self._raw: list[str] = []  # all of it, until a tool is named: it may be speech
        self._thinking = ThinkFilter()  # of the text that is being read
        self._frames: list[_Frame] = []
        self._string: _String | None = None
        self._has_spoken = False
        self._break_due = False
        self._acted = False  # a tool has been named: this is a JSON of actions
        self.too_deep = False  # it is nested so deep that it is no answer; nothing more is said

    def feed(self, piece: str) -> str:
        """Take the next piece of an answer; return what it adds to what is said."""
        if not self._acted:
            self._raw.append(piece)
        if self._mode == "start":
            self._start = (self._start + piece).lstrip()
            return self._begin()
        return self._json(piece) if self._mode == "json" else ""  # after the JSON: nothing is said

    def finish(self, whole_text: str | None = None) -> str:
        """End the answer; return what turns out to be speech after all.

        Args:
            whole_text: The answer, where what came first of it may have been thought.
        """
        mode, self._mode = self._mode, "done"
        if mode == "done" or (mode == "json" and not self._may_be_speech()):
            return ""
        raw = ("".join(self._raw) if whole_text is None else whole_text).strip()
        is_new = raw not in self._earlier
        self._earlier.append(raw)
        return self._spoken(raw) if is_new else ""

    def _spoken(self, raw: str) -> str:
        """Return what plain text says: all of it, unless actions follow."""
        begins = _ACTIONS.search(raw)
        if begins is None:
            return raw
        reader = SayReader()
        return reader.feed(raw[begins.start() :]) + reader.finish()

    def _may_be_speech(self) -> bool:
        if self._acted or self._has_spoken or self.too_deep:
            return False
        return '"actions"' not in "".join(self._raw)

    def _begin(self) -> str:
        text = self._start
        if text.startswith("```"):
            body = text.partition("\n")[2].lstrip()
            if not body and len(text) <= _FENCE_CHARS:
                return ""
            if body.startswith(("{", "[")):
                text = body
        elif text and "```".startswith(text):
            return ""
        if not text:
            return ""
        if text.startswith(("{", "[")):
            self._mode = "json"
            return self._json(text)
        self._mode = "plain"
        return ""

    def _json(self, piece: str) -> str:
        out: list[str] = []
        for char in piece:
            out.append(self._take(char))
            if self._mode == "done" and self._may_be_speech():
                self._mode = "plain"
                return ""
            if self._mode != "json":
                break
        if self._string is not None:
            out.append(self._show(self._string))
        return "".join(out)

    def _take(self, char: str) -> str:
        if self._string is not None:
            return self._in_string(self._string, char)
        top = self._frames[-1] if self._frames else None
        if char in "{[":
            self._open(char, top)
        elif char in "}]":
            self._frames.pop()
            if not self._frames:
                self._mode = "done"
        elif char == '"':
            self._string = _String()
            self._break_due = self._has_spoken
        elif char == "," and top is not None:
            top.wants_key = top.kind == "{"
        elif char == ":" and top is not None:
            top.wants_key = False
        elif top is not None and not char.isspace() and (top.wants_key or char not in _BARE):
            self._mode = "done"  # `{smile}`, `[Laughs]`: no JSON at all
        return ""

    def _open(self, char: str, top: _Frame | None) -> None:
        frame = _Frame(char, wants_key=char == "{")
        if char == "{":
            depth = len(self._frames)
            in_actions = depth == 2 and self._frames[0].key == "actions" and self._in_list()
            frame.is_action = depth == 0 or (depth == 1 and self._in_list()) or in_actions
            frame.is_arguments = top is not None and top.is_action and top.key == "arguments"
        self._frames.append(frame)
        if len(self._frames) > MOST_DEEP:
            self.too_deep, self._mode = True, "done"

    def _in_list(self) -> bool:
        return self._frames[-1].kind == "["

    def _in_string(self, string: _String, char: str) -> str:
        if char == '"' and not string.escapes:
            shown = self._show(string, ends=True)
            self._string = None
            return shown + self._end_say() + self._close("".join(string.kept))
        string.escapes = char == "\\" and not string.escapes
        string.raw.append(char)
        return ""

    def _show(self, string: _String, *, ends: bool = False) -> str:
        """Hand out what a string has gained, if it is said; keep it, if it may matter later."""
        raw = "".join(string.raw)
        readable = raw if ends else _READABLE.findall(raw)[0]
        string.raw = [raw[len(readable) :]]
        text = str(whole(_ESCAPE.sub(_unescaped, readable)))
        if not text:
            return ""
        top = self._frames[-1] if self._frames else None
        if top is None or not top.is_arguments or top.wants_key or top.key != "text":
            string.kept.append(text)
            return ""
        action = self._frames[-2]
        if action.tool is None:
            action.held.append(text)
            return ""
        return self._say(text) if action.tool == "say" else ""

    def _close(self, text: str) -> str:
        """Act on a complete key or value."""
        top = self._frames[-1] if self._frames else None
        if top is None or top.kind == "[":
            return ""
        if top.wants_key:
            top.key = text
            return ""
        key, top.key = top.key, ""  # it has its value: what else comes before a comma is broken
        if top.is_action and key == "tool":
            top.tool, self._acted = text, True
            held, top.held = "".join(top.held), []
            if text == "say" and held:
                self._break_due = self._has_spoken
                return self._say(held) + self._end_say()
        return ""

    def _say(self, text: str) -> str:
        return self._heard(self._thinking.feed(text))

    def _heard(self, text: str) -> str:
        if not text:
            return ""
        self._saying.append(text)
        if self._is_shown:
            return text
        saying = "".join(self._saying)
        return "" if any(one.startswith(saying) for one in self._earlier) else self._begun(saying)

    def _end_say(self) -> str:
        """End a text; return what of it has waited, if it is none that was said before."""
        rest, self._thinking = self._heard(self._thinking.finish()), ThinkFilter()
        saying = "".join(self._saying)
        is_new = bool(saying) and saying not in self._earlier
        rest += self._begun(saying) if is_new and not self._is_shown else ""
        if is_new:
            self._earlier.append(saying)
        self._saying, self._is_shown = [], False
        return rest

    def _begun(self, saying: str) -> str:
        """Return the beginning of a text, set apart from one before."""
        before = "\n\n" if self._break_due else ""
        self._break_due, self._has_spoken, self._is_shown = False, True, True
        return before + saying


def _unescaped(escape: re.Match[str]) -> str:
    if escape[2] is not None:
        return _ESCAPES.get(escape[2], escape[2])
    return "\ufffd" if escape[1] is None else chr(int(escape[1], 16))
